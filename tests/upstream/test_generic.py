"""Tests as PyTorch writes them for any device: that a file dropped beside `conftest.py` runs on this one, unchanged."""

import torch
from torch.testing import make_tensor
from torch.testing._internal.common_device_type import (
    deviceCountAtLeast,
    dtypes,
    instantiate_device_type_tests,
    onlyCPU,
    toleranceOverride,
    tol,
)
from torch.testing._internal.common_utils import TestCase, parametrize, run_tests


class TestGeneric(TestCase):
    def test_device_is_the_primary_one(self, device):
        self.assertEqual(torch.device(device).type, torch._C._get_privateuse1_backend_name())
        self.assertEqual(torch.ones(2, device=device).device, torch.device(device))

    @dtypes(torch.float32, torch.bfloat16, torch.int64)
    def test_sum_of_rows(self, device, dtype):
        x = make_tensor((5, 7), device=device, dtype=dtype, low=-3, high=3)
        self.assertEqual(x.sum(1).cpu(), x.cpu().sum(1))

    @parametrize("keepdim", [True, False])
    @dtypes(torch.float32)
    def test_amax(self, device, dtype, keepdim):
        x = make_tensor((3, 4), device=device, dtype=dtype)
        self.assertEqual(x.amax(1, keepdim=keepdim).cpu(), x.cpu().amax(1, keepdim=keepdim))

    @dtypes(torch.float32)
    @toleranceOverride({torch.float32: tol(atol=1e-3, rtol=1e-3)})
    def test_tolerance_of_a_test(self, device, dtype):
        self.assertEqual(torch.tensor([1.0005], device=device, dtype=dtype).cpu(), torch.tensor([1.0]))

    @onlyCPU
    def test_is_skipped(self, device):
        self.fail("this test is for the CPU only")

    @deviceCountAtLeast(1)
    def test_all_devices(self, devices):
        for device in devices:
            self.assertEqual((torch.arange(3, device=device) + 1).tolist(), [1, 2, 3])

    def test_error_of_an_index_is_the_cpus(self, device):
        with self.assertRaises(RuntimeError):
            torch.gather(torch.ones(3, device=device), 0, torch.tensor([7], device=device))


instantiate_device_type_tests(TestGeneric, globals())

if __name__ == "__main__":
    run_tests()
