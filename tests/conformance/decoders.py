"""Decoders of the suite's packed formats, in operators of the device. One function per format, named by the manifest.

A decoder gives the stored codes as numbers, as the suite's reference does: it compares before the scale is applied.
"""

import functools

import torch

# The 16 values of the formats that store an index: normal float 4 (QLoRA) and the 4-bit float of bitsandbytes.
_NF4 = (
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
    -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
    0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0,
)  # fmt: skip
_FP4 = (0.0, 0.0625, 0.25, 0.3125, 0.5, 0.625, 0.75, 0.875)


def _nibbles(packed):
    """The upper half of a byte comes first."""
    return torch.stack((packed >> 4, packed & 15), dim=1)


def _crumbs(packed):
    """Four fields of two bits, the lowest first; 0 stands for -1."""
    return torch.stack([(packed >> shift) & 3 for shift in (0, 2, 4, 6)], dim=1).to(torch.int8) - 1


def _sextets(packed):
    """Three bytes hold four fields of six bits, the highest first."""
    a, b, c = packed.reshape(-1, 3).unbind(1)
    return torch.stack((a >> 2, (a & 3) << 4 | b >> 4, (b & 15) << 2 | c >> 6, c & 63), dim=1)


def _bytes(packed):
    return packed


def _decode(packed, scale, zero_point, shape, dtype, device, *, fields, values=None, bias=0):
    codes = fields(packed)
    if values is not None:
        return torch.tensor(values, dtype=dtype, device=device)[codes.long()].reshape(shape)
    return (codes.to(dtype) - bias).reshape(shape)


int2_ternary = functools.partial(_decode, fields=_crumbs)
int4_symmetric = functools.partial(_decode, fields=_nibbles, bias=8)
nf4 = functools.partial(_decode, fields=_nibbles, values=_NF4)
fp4_bnb = functools.partial(_decode, fields=_nibbles, values=_FP4 + tuple(-v for v in _FP4))
int4_asymmetric = uint4 = fp4_e2m1 = af4 = mxfp4 = nvfp4 = functools.partial(_decode, fields=_nibbles)
fp6_e3m2 = fp6_e2m3 = mxfp6_e3m2 = mxfp6_e2m3 = functools.partial(_decode, fields=_sextets)
int8_symmetric = functools.partial(_decode, fields=lambda packed: packed.view(torch.int8))
int8_asymmetric = uint8 = fp8_e4m3fn = fp8_e5m2 = fp8_e4m3fnuz = fp8_e5m2fnuz = functools.partial(_decode, fields=_bytes)
e8m0fnu = mxfp8_e4m3 = mxfp8_e5m2 = mxint8 = functools.partial(_decode, fields=_bytes)
