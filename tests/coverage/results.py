"""Records of a run, kept as they come, so that an interrupted run goes on where it was."""

import hashlib
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "target" / "coverage"


def identity(settings):
    """Changes when the extension, the tool or the settings do."""
    h = hashlib.sha256(repr(settings).encode())
    for path in sorted((ROOT / "tests" / "coverage").glob("*.py")) + sorted((ROOT / "torch_neuronx").glob("_C*.so")):
        stat = path.stat()
        h.update(f"{path.name} {stat.st_size} {stat.st_mtime_ns}".encode())
    return h.hexdigest()[:16]


class Results:
    """(kind, op, dtype) -> record. With a name they are also lines of a file of that name."""

    def __init__(self, name=None, settings=None, fresh=False):
        self.records, self.file = {}, None
        if name is None:
            return
        FOLDER.mkdir(parents=True, exist_ok=True)
        path = FOLDER / name
        head = json.dumps({"identity": identity(settings)})
        lines = path.read_text().splitlines() if path.exists() and not fresh else []
        if lines and lines[0] == head:
            for line in lines[1:]:
                try:
                    self.keep(json.loads(line))
                except ValueError:
                    pass  # the line that was being written when the run was interrupted
        self.file = path.open("w", buffering=1)
        self.file.write(head + "\n")
        for record in self.records.values():
            self.file.write(json.dumps(record) + "\n")

    def keep(self, record):
        self.records[record["kind"], record["op"], record["dtype"]] = record

    def add(self, record):
        self.keep(record)
        if self.file:
            self.file.write(json.dumps(record) + "\n")
