// Operators that return an alias of their operand. A fallback would silently turn each of them into a copy.
#include "shim.h"

#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/tensor_split.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>

namespace neuron {
namespace {

at::Tensor as_strided(const at::Tensor& self, c10::IntArrayRef size, c10::IntArrayRef stride, std::optional<int64_t> offset) {
  return at::native::as_strided_tensorimpl(self, size, stride, offset);
}
at::Tensor view(const at::Tensor& self, c10::IntArrayRef size) { return at::native::view(self, size); }
at::Tensor reshape_alias(const at::Tensor& self, c10::IntArrayRef size, c10::IntArrayRef stride) {
  return at::native::_reshape_alias(self, size, stride);
}
at::Tensor unfold(const at::Tensor& self, int64_t dim, int64_t size, int64_t step) {
  return at::native::unfold(self, dim, size, step);
}
at::Tensor view_as_real(const at::Tensor& self) { return at::native::view_as_real(self); }
at::Tensor view_as_complex(const at::Tensor& self) { return at::native::view_as_complex(self); }

// PyTorch takes the indices from the CPU only; they are as welcome on the device.
std::vector<at::Tensor> tensor_split(const at::Tensor& self, const at::Tensor& where, int64_t dim) {
  TORCH_CHECK(self.dim() > 0, "tensor_split expected at least a 1-dimensional tensor, but got a tensor with ", self.dim(), " dims");
  TORCH_CHECK(where.scalar_type() == at::kLong, "tensor_split expected tensor_indices_or_sections to have dtype of long, but got ",
      where.scalar_type());
  TORCH_CHECK(where.dim() <= 1, "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
      "one-dimensional tensor, but got a tensor with ", where.dim(), " dims");
  const at::Tensor host = where.cpu().contiguous();
  const int64_t* at = host.const_data_ptr<int64_t>();
  return where.dim() == 0 ? at::tensor_split(self, *at, dim) : at::tensor_split(self, c10::IntArrayRef(at, host.numel()), dim);
}

} // namespace

void register_view_ops(torch::Library& m) {
  m.impl("tensor_split.tensor_indices_or_sections", tensor_split);
  // Above autograd too, as for every operator that PyTorch decomposes there.
  auto& autograd = *new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::AutogradPrivateUse1, __FILE__, __LINE__);
  autograd.impl("tensor_split.tensor_indices_or_sections", tensor_split);
  m.impl("as_strided", as_strided);
  m.impl("view", view);
  m.impl("_reshape_alias", reshape_alias);
  m.impl("unfold", unfold);
  m.impl("view_as_real", view_as_real);
  m.impl("view_as_complex", view_as_complex);
}

} // namespace neuron
