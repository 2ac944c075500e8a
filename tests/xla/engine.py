"""StableHLO modules on XLA's CPU client (jax and jaxlib 0.10.2)."""

import functools
import os

# One program at a time and small ones: threads would only cost.
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import jax
import ml_dtypes
import numpy as np
from jaxlib import xla_client

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_enable_x64", True)

# hlo's element types as XLA's. It has no complex number of two f16.
NUMPY = {
    "i1": np.bool_, "ui8": np.uint8, "i8": np.int8, "ui16": np.uint16, "i16": np.int16, "ui32": np.uint32,
    "i32": np.int32, "ui64": np.uint64, "i64": np.int64, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
    "f32": np.float32, "f64": np.float64, "complex<f32>": np.complex64, "complex<f64>": np.complex128,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz, "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
}


def array(data, dtype, dims):
    """The array of dense row-major elements."""
    return np.frombuffer(bytearray(data), dtype=np.uint8).view(NUMPY[dtype]).reshape(dims)


@functools.lru_cache(maxsize=256)
def compiled(module):
    device = jax.devices("cpu")[0]
    return device.client.compile_and_load(module, xla_client.DeviceList((device,)), xla_client.CompileOptions())


def run(module, arguments):
    """Results of a module's `@main`, as arrays."""
    device = jax.devices("cpu")[0]
    results = compiled(module).execute_sharded([jax.device_put(a, device) for a in arguments])
    return [np.asarray(x[0]) for x in results.disassemble_into_single_device_arrays()]
