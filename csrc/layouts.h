// What the files about sparse, nested and quantized tensors share.
#pragma once
#include "shim.h"

#include <ATen/ATen.h>
#include <ATen/SparseCsrTensorUtils.h>
#include <ATen/SparseTensorImpl.h>
#include <ATen/native/SparseTensorUtils.h>

namespace neuron {

void register_coo(torch::Library& m, torch::Library& dense);
void register_coo_products(torch::Library& m);
void register_compressed(torch::Library& m, torch::Library& dense);
void register_nested(torch::Library& m, torch::Library& dense);
void register_quantized(torch::Library& m, torch::Library& dense);
void register_fake_quantize(torch::Library& m);

// ---- sparse_coo.cpp ----
// Row-major positions of `indices` [dims, n] in a tensor of the given sizes: int64 [n].
at::Tensor flat_positions(const at::Tensor& indices, at::IntArrayRef sizes);
// A coordinate-format tensor; nothing is checked.
at::Tensor make_coo(const at::Tensor& indices, const at::Tensor& values, at::IntArrayRef sizes, bool coalesced);
// Makes `out` (a coordinate-format out= argument) hold what `value` does.
void store_coo(const at::Tensor& out, const at::Tensor& value);
// Where each of `keys` is in the ascending `sorted`, and whether it is there at all.
std::pair<at::Tensor, at::Tensor> look_up(const at::Tensor& sorted, const at::Tensor& keys);
// Numbers the distinct values of `keys` in ascending order; gives each key's number.
at::Tensor group_of(const at::Tensor& keys);

// ---- quantized.cpp ----
namespace quantized {
// A float32 number on the device of `like`.
at::Tensor number(double v, const at::Tensor& like);
// A per-channel parameter in float32, broadcastable to the tensor.
at::Tensor along(const at::Tensor& p, const at::Tensor& x, int64_t axis);
} // namespace quantized

// ---- sparse_products.cpp ----
// Entries (rows, columns, values) of a matrix with `height` rows, times a dense matrix.
at::Tensor multiply(const at::Tensor& rows, const at::Tensor& columns, const at::Tensor& values, int64_t height,
    const at::Tensor& dense);

} // namespace neuron
