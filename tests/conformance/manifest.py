"""What the device ``neuron`` claims to TorchCTS. A capability that is true is run, and "unsupported" is then a failure."""

import os

import torch

# Capabilities that are not claimed, with the reason. Everything else in the suite's list is.
NOT_CLAIMED = {
    "compile": "the suite compiles with Inductor only, which has no code generator for the device",
}

if os.environ.get("CTS_CLAIM_ALL"):
    # The oracle records every test.
    NOT_CLAIMED = {}

_CAPABILITIES = (
    "inference training serialization rng device_generator rng_distributions double_backward gradcheck "
    "gradient_checkpointing autocast fused_optimizer dataloader module_hooks channels_last sparse nested named_tensor "
    "foreach fp8 quantized_container_plumbing native_quantization custom_quantized_decode compile pinned_memory streams "
    "events deterministic guard_alloc device_api multi_device ieee754"
).split()

_DTYPES = (
    "float16 float32 float64 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool complex32 complex64 complex128"
).split()

_FORMATS = (
    "int2_ternary int4_symmetric int4_asymmetric uint4 nf4 fp4_e2m1 fp4_bnb af4 mxfp4 nvfp4 fp6_e3m2 fp6_e2m3 mxfp6_e3m2 "
    "mxfp6_e2m3 fp8_e4m3fn fp8_e5m2 fp8_e4m3fnuz fp8_e5m2fnuz int8_symmetric int8_asymmetric uint8 e8m0fnu mxfp8_e4m3 "
    "mxfp8_e5m2 mxint8"
).split()

manifest = {
    "manifest_version": 1,
    "device_name": "neuron",
    "backend_import": "torch_neuronx",
    "supported_dtypes": {getattr(torch, name): True for name in _DTYPES},
    "capabilities": {name: name not in NOT_CLAIMED for name in _CAPABILITIES},
    "supported_container_formats": {name: True for name in _FORMATS},
    "custom_container_decoders": {name: f"decoders:{name}" for name in _FORMATS},
    "device_count": 2,
    "semantic_level": 8,
    "max_samples": 10,
    "max_samples_ieee754": 3,
    "ieee754_seed": 67,
    # `run.py` gives a core exactly this much, so that the out-of-memory test meets the limit and not the machine's.
    "hardware": {
        "memory_model": "discrete",
        "device_memory_gb": [6, 6],
        "system_memory_gb": "auto",
        "oom_recoverable": True,
    },
    "skip_ops": [],
    "tolerance_overrides": {},
    "custom_test_dirs": [],
}
