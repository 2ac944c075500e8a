// Operators whose results have sizes that the data decides and that take a number on the host first: composites of the
// core's operators around one read.
#include "shim.h"

#include <ATen/ops/_assert_async.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/tensor_split_native.h>
#include <ATen/ops/zeros.h>

namespace neuron {
namespace {

// Position i, repeats[i] times: element j comes from the position that counts how many runs end at or before j.
at::Tensor repeat_interleave(const at::Tensor& repeats, std::optional<int64_t> output_size) {
  TORCH_CHECK(repeats.dim() == 1, "repeat_interleave only accept 1D vector as repeat");
  TORCH_CHECK_NOT_IMPLEMENTED(repeats.scalar_type() == at::kLong || repeats.scalar_type() == at::kInt,
      "repeat_interleave is not implemented for repeats of type ", repeats.scalar_type(), ", only for Long and Int");
  const c10::DeviceGuard guard(repeats.device());
  const at::Tensor counts = repeats.to(at::kLong);
  const int64_t n = counts.numel();
  at::_assert_async(counts.ge(0).all(), "repeats can not be negative");
  const at::Tensor ends = counts.cumsum(0);
  const int64_t total = n == 0 ? 0 : output_size ? *output_size : ends.select(0, n - 1).item<int64_t>();
  TORCH_CHECK(total >= 0, "repeats can not be negative");
  TORCH_CHECK(n != 0 || output_size.value_or(0) == 0, "allocated size does not match required size");
  if (n != 0 && output_size) {
    at::_assert_async(ends.select(0, n - 1).eq(total), "allocated size does not match required size");
  }
  // Runs that end beyond a stated size are reported above; here they must not be illegal indices.
  const at::Tensor marks = at::zeros({total + 1}, counts.options()).scatter_add_(0, ends.clamp(0, total), at::ones_like(ends));
  return marks.slice(0, 0, total).cumsum(0).to(repeats.scalar_type());
}

at::Tensor bincount(const at::Tensor& self, const std::optional<at::Tensor>& weights, int64_t minlength) {
  const bool weighted = weights.has_value() && weights->defined();
  TORCH_CHECK(minlength >= 0, "minlength should be >= 0");
  TORCH_CHECK_NOT_IMPLEMENTED(c10::isIntegralType(self.scalar_type(), /*includeBool=*/false),
      "bincount is not implemented for ", self.scalar_type());
  const c10::DeviceGuard guard(self.device());
  if (self.dim() == 1 && self.numel() == 0) {
    return at::zeros({minlength}, self.options().dtype(at::kLong));
  }
  constexpr auto message = "bincount only supports 1-d non-negative integral inputs.";
  TORCH_CHECK(self.dim() == 1, message);
  TORCH_CHECK(!weighted || (weights->dim() == 1 && weights->numel() == self.numel()),
      "weights should be 1-d and have the same length as input");
  const at::Tensor values = self.to(at::kLong);
  at::_assert_async(values.ge(0).all(), message);
  const int64_t bins = std::max(values.max().item<int64_t>() + 1, minlength);
  if (!weighted) {
    return at::zeros({bins}, values.options()).scatter_add_(0, values, at::ones_like(values));
  }
  const at::Tensor w = weights->scalar_type() == at::kFloat ? *weights : weights->to(at::kDouble);
  return at::zeros({bins}, w.options()).scatter_add_(0, values, w);
}

// The split points are numbers for the host, wherever they are.
std::vector<at::Tensor> tensor_split(const at::Tensor& self, const at::Tensor& indices, int64_t dim) {
  return at::native::tensor_split(self, indices.cpu(), dim);
}

} // namespace

void register_dynamic_ops(torch::Library& m) {
  m.impl("repeat_interleave.Tensor", repeat_interleave);
  m.impl("bincount", bincount);
  m.impl("tensor_split.tensor_indices_or_sections", tensor_split);
  // It has no derivative of its own: the slices that it is made of have.
  auto* above = new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::AutogradPrivateUse1, __FILE__, __LINE__);
  above->impl("tensor_split.tensor_indices_or_sections", tensor_split);
}

} // namespace neuron
