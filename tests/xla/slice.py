"""A fixed part of the cases, for each change: every so many-th operator, in a dtype that its name picks."""

import zlib

from tests.coverage.databases import ERRORS, database

EVERY = {"op_db": 3, "foreach": 8, "module_db": 12, "optim_db": 5}


def cases():
    """(kind, op, [dtype])."""
    for kind, every in EVERY.items():
        for name in database(kind).names():
            picked = zlib.crc32(name.encode())
            dtypes = [d for d in database(kind).dtypes(name) if d != ERRORS]
            if picked % every == 0 and dtypes:
                yield kind, name, [dtypes[picked // every % len(dtypes)]]
