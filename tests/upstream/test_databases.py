"""PyTorch's databases through PyTorch's own test generator: a first sample of every operator, module and optimizer on the CPU
and on the device. `make coverage` looks at all samples and at much more; this holds the generator's way open."""

import torch
from torch.testing._internal.common_device_type import OpDTypes, instantiate_device_type_tests, ops
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db, modules
from torch.testing._internal.common_optimizers import optim_db, optims
from torch.testing._internal.common_utils import TestCase

from tests.coverage import modules as module_checks
from tests.coverage import operators, optimizers

FLOAT = [torch.float32]


class TestDatabases(TestCase):
    def passed(self, outcome):
        if outcome.failures:
            self.fail(f"{outcome.failures[0]}")
        if not outcome.passed:
            self.skipTest("the CPU refuses every sample")

    @ops(op_db, dtypes=OpDTypes.any_one)
    def test_first_sample(self, device, dtype, op):
        self.passed(operators.check(op, dtype, 1, {"values"}))

    @modules(module_db, allowed_dtypes=FLOAT)
    def test_module(self, device, dtype, module_info, training):
        self.passed(module_checks.check(module_info, dtype, 1, modes=(training,)))

    @optims(optim_db, dtypes=FLOAT)
    def test_optimizer(self, device, dtype, optim_info):
        if optim_info.only_supports_sparse_grads:
            self.skipTest("sparse gradients")
        self.passed(optimizers.check(optim_info, dtype, 1))


instantiate_device_type_tests(TestDatabases, globals())
