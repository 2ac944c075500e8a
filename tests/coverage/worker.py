"""A process that runs cases: one operator a line on standard input, one result a line on standard output.

What is running now stands in a small shared file, so that the parent can name it when this process is dead.
"""

import faulthandler
import json
import mmap
import os
import sys
import warnings

NOW = 256


def main(path):
    faulthandler.enable()
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    import torch

    from .databases import database
    from .outcome import Outcome

    torch.set_num_threads(1)
    with open(path, "r+b") as f:
        now = mmap.mmap(f.fileno(), NOW)

    def tick(text):
        now[:] = text.encode()[:NOW].ljust(NOW)

    for line in sys.stdin:
        task = json.loads(line)
        for dtype in task["dtypes"]:
            tick("set up")
            replies.write(json.dumps({"begins": dtype}) + "\n")
            try:
                outcome = database(task["kind"]).run(task["op"], dtype, task["options"], tick)
            except Exception as e:
                outcome = Outcome()
                outcome.fail("harness", 0, e)
            replies.write(json.dumps({"dtype": dtype, **outcome.record()}) + "\n")
        replies.write("{}\n")


if __name__ == "__main__":
    main(sys.argv[1])
