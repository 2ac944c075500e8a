// Nested tensors: the few operators whose kernel for the CPU walks through memory, and those that start from dense tensors.
#include "layouts.h"

#include <ATen/NestedTensorImpl.h>
#include <ATen/native/nested/NestedTensorUtils.h>

namespace neuron {
namespace nested {

// Normalizes over trailing dimensions that all parts share: the buffer's rows.
std::tuple<at::Tensor, at::Tensor, at::Tensor> layer_norm(const at::Tensor& self, at::IntArrayRef shape,
    const std::optional<at::Tensor>& weight, const std::optional<at::Tensor>& bias, double eps) {
  const at::Tensor x = self.is_contiguous() ? self : self.contiguous();
  auto* impl = at::native::get_nested_tensor_impl(x);
  const at::Tensor buffer = impl->get_unsafe_storage_as_tensor();
  std::vector<int64_t> rows{-1};
  rows.insert(rows.end(), shape.begin(), shape.end());
  const auto [y, mean, rstd] = at::native_layer_norm(buffer.view(rows), shape, weight, bias, eps);
  return {at::native::wrap_buffer(y.reshape(-1), impl->get_nested_sizes()), mean, rstd};
}

// Sums the last dimension of every part.
at::Tensor sum_dim(const at::Tensor& self, at::OptionalIntArrayRef dims, bool keepdim, std::optional<at::ScalarType> dtype) {
  TORCH_CHECK(dims.has_value() && dims->size() == 1, "NestedTensor only allows reduction of a single dimension for now.");
  TORCH_CHECK(at::maybe_wrap_dim((*dims)[0], self.dim()) == self.dim() - 1,
      "NestedTensor can only be reduced across the last dimension for now, got dimension ", (*dims)[0]);
  TORCH_CHECK(keepdim, "NestedTensor always requires keepdim=True for now.");
  std::vector<at::Tensor> parts;
  for (const auto& part : self.unbind()) {
    parts.push_back(part.sum(-1, /*keepdim=*/true, dtype));
  }
  return at::_nested_tensor_from_tensor_list(parts);
}

at::Tensor sum_backward(const at::Tensor& grad, const at::Tensor& self, at::OptionalIntArrayRef, bool) {
  std::vector<at::Tensor> parts;
  const auto grads = grad.unbind(), inputs = self.unbind();
  for (size_t i = 0; i < inputs.size(); i++) {
    parts.push_back(grads[i].expand(inputs[i].sizes()).contiguous());
  }
  return at::_nested_tensor_from_tensor_list(parts);
}

// Which rows of a padded batch are real is asked on the host: the sizes of a nested tensor live there.
at::Tensor lengths_of(const at::Tensor& mask) { return mask.sum(1).to(at::kCPU, at::kLong); }

bool left_aligned(const at::Tensor& t, const at::Tensor& mask) {
  TORCH_CHECK(mask.dim() == 2, "Padding mask should be 2D");
  TORCH_CHECK(t.dim() == 3, "Input should be a 3D tensor");
  TORCH_CHECK(t.size(0) == mask.size(0) && t.size(1) == mask.size(1), "Input first dimension and mask first dimension should match");
  const at::Tensor count = mask.sum(1, /*keepdim=*/true);
  return at::arange(mask.size(1), count.options()).lt(count).eq(mask).all().item<bool>();
}

at::Tensor from_mask(const at::Tensor& t, const at::Tensor& mask, bool check) {
  TORCH_CHECK(mask.scalar_type() == at::kBool, "Expected mask to be of ScalarType Bool, but got ", mask.scalar_type(), " instead.");
  TORCH_CHECK(mask.dim() == 2, "Padding mask should be 2D");
  TORCH_CHECK(t.dim() == 3, "Input should be a 3D tensor, got ", t.dim(), "D");
  TORCH_CHECK(!check || left_aligned(t, mask), "Mask must be left-aligned without gaps");
  const at::Tensor lengths = lengths_of(mask);
  std::vector<at::Tensor> parts;
  for (int64_t i = 0; i < t.size(0); i++) {
    parts.push_back(t.select(0, i).narrow(0, 0, lengths.const_data_ptr<int64_t>()[i]));
  }
  return at::_nested_tensor_from_tensor_list(parts);
}

// A layer of nn.TransformerEncoder: on the padded batch, with the padding masked.
at::Tensor encoder_layer(const at::Tensor& src, int64_t embed_dim, int64_t heads, const at::Tensor& qkv_weight,
    const at::Tensor& qkv_bias, const at::Tensor& proj_weight, const at::Tensor& proj_bias, bool use_gelu, bool norm_first,
    double eps, const at::Tensor& norm_weight_1, const at::Tensor& norm_bias_1, const at::Tensor& norm_weight_2,
    const at::Tensor& norm_bias_2, const at::Tensor& ffn_weight_1, const at::Tensor& ffn_bias_1, const at::Tensor& ffn_weight_2,
    const at::Tensor& ffn_bias_2, const std::optional<at::Tensor>&, std::optional<int64_t>) {
  const at::Tensor padded = src.to_padded_tensor(0);
  const at::Tensor lengths = at::native::get_nested_tensor_impl(src)->get_nested_sizes().select(1, 0).to(padded.device());
  const at::Tensor padding = at::arange(padded.size(1), lengths.options()).unsqueeze(0).ge(lengths.unsqueeze(1));
  const at::Tensor out = at::_transformer_encoder_layer_fwd(padded, embed_dim, heads, qkv_weight, qkv_bias, proj_weight,
      proj_bias, use_gelu, norm_first, eps, norm_weight_1, norm_bias_1, norm_weight_2, norm_bias_2, ffn_weight_1, ffn_bias_1,
      ffn_weight_2, ffn_bias_2, padding, /*mask_type=*/1);
  return at::_nested_from_padded_and_nested_example(out, src);
}

} // namespace nested

void register_nested(torch::Library& m, torch::Library& dense) {
  m.impl("native_layer_norm", nested::layer_norm);
  m.impl("sum.dim_IntList", nested::sum_dim);
  m.impl("_nested_sum_backward", nested::sum_backward);
  m.impl("_transformer_encoder_layer_fwd", nested::encoder_layer);
  dense.impl("_nested_tensor_from_mask", nested::from_mask);
  dense.impl("_nested_tensor_from_mask_left_aligned", nested::left_aligned);
}

} // namespace neuron
