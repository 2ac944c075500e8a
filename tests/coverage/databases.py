"""Every database by its name: what its cases are, and how one is run."""

import functools

import torch

ERRORS = "errors"


def dtype_name(dtype):
    return str(dtype).removeprefix("torch.")


class Operators:
    """OpInfos: a case for each dtype that the CPU supports, and one for the operands it refuses."""

    def __init__(self, infos):
        from . import operators

        self.operators = operators
        self.infos = {}
        for info in infos:
            if not info.name.startswith("jiterator"):  # CUDA's compiler
                self.infos.setdefault(operators.full_name(info), info)

    def names(self):
        return list(self.infos)

    def dtypes(self, name):
        info = self.infos[name]
        found = sorted(map(dtype_name, info.supported_dtypes("cpu")))
        return found + [ERRORS] * (info.error_inputs_func is not None)

    def run(self, name, dtype, options, tick):
        info = self.infos[name]
        if dtype == ERRORS:
            return self.operators.check_errors(info, tick)
        return self.operators.check(info, getattr(torch, dtype), options.get("samples") or 10**9, options.get("checks"), tick)


def op_db():
    from torch.testing._internal.common_methods_invocations import op_db as infos

    return Operators(infos)


DATABASES = {"op_db": op_db}


@functools.cache
def database(kind):
    return DATABASES[kind]()
