"""Every database by its name: what its cases are, and how one is run."""

import functools

import torch

ERRORS = "errors"


def dtype_name(dtype):
    return str(dtype).removeprefix("torch.")


class Database:
    """Cases (name, dtype) that a module of this package checks; `errors` stands for the operands that the CPU refuses."""

    def __init__(self, checks, infos, name, dtypes, errors=lambda info: False):
        self.checks = checks
        self.infos = {}
        self.types, self.errors = dtypes, errors
        for info in infos:
            self.infos.setdefault(name(info), info)

    def names(self):
        return list(self.infos)

    def family(self, name):
        """The name without its variant."""
        return self.infos[name].name

    def dtypes(self, name):
        info = self.infos[name]
        return sorted(map(dtype_name, self.types(info))) + [ERRORS] * self.errors(info)

    def run(self, name, dtype, samples, checks, tick):
        """Runs a case over at most so many samples (0: all), and all checks or those named."""
        info = self.infos[name]
        if dtype == ERRORS:
            return self.checks.check_errors(info, tick)
        return self.checks.check(info, getattr(torch, dtype), samples or 10**9, checks, tick)


def operators(infos, checks=None):
    from . import operators as module

    return Database(
        checks or module,
        [i for i in infos if not i.name.startswith("jiterator")],  # CUDA's compiler
        module.full_name,
        lambda info: info.supported_dtypes("cpu"),
        lambda info: info.error_inputs_func is not None and checks is None,
    )


def op_db():
    from torch.testing._internal.common_methods_invocations import op_db as infos

    return operators(infos)


def python_ref_db():
    from torch.testing._internal.common_methods_invocations import python_ref_db as infos

    return operators(infos)


def foreach_db():
    from torch.testing._internal import common_methods_invocations as m

    from . import foreach

    parts = (m.foreach_unary_op_db, m.foreach_binary_op_db, m.foreach_pointwise_op_db, m.foreach_reduce_op_db,
        m.foreach_other_op_db)
    return operators([info for part in parts for info in part], foreach)


def module_db():
    from torch.testing._internal.common_modules import module_db as infos

    from . import modules

    return Database(modules, infos, lambda info: info.name, lambda info: info.supported_dtypes("cpu"))


def optim_db():
    from torch.testing._internal.common_optimizers import optim_db as infos

    from . import optimizers

    return Database(
        optimizers,
        infos,
        lambda info: info.name,
        lambda info: [getattr(torch, d) for d in optimizers.dtypes(info)],
        lambda info: info.optim_error_inputs_func is not None,
    )


def gradcheck():
    from torch.testing._internal.common_methods_invocations import op_db as infos

    from . import gradients, operators as module

    return Database(gradients, gradients.slice_of(infos), module.full_name, lambda info: [torch.float64])


DATABASES = {
    "op_db": op_db,
    "python_ref_db": python_ref_db,
    "foreach": foreach_db,
    "module_db": module_db,
    "optim_db": optim_db,
    "gradcheck": gradcheck,
}


@functools.cache
def database(kind):
    return DATABASES[kind]()
