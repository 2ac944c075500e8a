// Nested tensors, as far as nn.TransformerEncoder makes them to leave padding out at inference: packed from a padded
// batch, taken through encoder layers, and padded again with zeros.
#include "shim.h"

#include <ATen/NestedTensorImpl.h>
#include <ATen/ops/_transformer_encoder_layer_fwd.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

namespace neuron {
namespace {

using OptionalTensor = std::optional<at::Tensor>;

void require_mask(const at::Tensor& t, const at::Tensor& mask) {
  TORCH_CHECK(mask.scalar_type() == at::kBool, "Expected mask to be of ScalarType Bool, but got ", mask.scalar_type(),
      " instead.");
  TORCH_CHECK(mask.dim() == 2, "Padding mask should be 2D");
  TORCH_CHECK(t.dim() == 3, "Input should be a 3D tensor, N * L * D");
  TORCH_CHECK(t.size(0) == mask.size(0) && t.size(1) == mask.size(1),
      "Mask size should match input size [N * L]");
}

bool left_aligned(const at::Tensor& t, const at::Tensor& mask) {
  require_mask(t, mask);
  const at::Tensor positions = at::arange(mask.size(1), mask.options().dtype(at::kLong));
  const at::Tensor first = positions.lt(mask.to(at::kLong).sum(-1, /*keepdim=*/true));
  return first.eq(mask).all().item<bool>();
}

// One tensor per row: its first `lengths` elements along dim 0 of [longest, width].
at::Tensor pack(const at::Tensor& padded, const at::Tensor& lengths) {
  const int64_t batch = padded.size(0), width = padded.size(2);
  at::Tensor sizes = at::empty({batch, 2}, at::kLong);
  std::vector<at::Tensor> rows;
  for (int64_t i = 0; i < batch; i++) {
    const int64_t length = lengths.data_ptr<int64_t>()[i];
    sizes.data_ptr<int64_t>()[2 * i] = length;
    sizes.data_ptr<int64_t>()[2 * i + 1] = width;
    rows.push_back(padded.select(0, i).narrow(0, 0, length).reshape({-1}));
  }
  const at::Tensor buffer = rows.empty() ? at::empty({0}, padded.options()) : at::cat(rows);
  return at::detail::make_tensor<at::native::NestedTensorImpl>(buffer, sizes);
}

struct Packed {
  at::Tensor buffer;
  at::Tensor sizes;
  int64_t longest = 0;
  explicit Packed(const at::Tensor& nested) {
    const auto* impl = static_cast<const at::native::NestedTensorImpl*>(nested.unsafeGetTensorImpl());
    TORCH_CHECK(nested.dim() == 3 && at::native::nested_tensor_impl_is_contiguous(impl),
        "nested tensors of neuron devices are packed matrices");
    buffer = impl->get_buffer();
    sizes = impl->get_nested_sizes();
    for (int64_t i = 0; i < batch(); i++) {
      longest = std::max(longest, length(i));
    }
  }
  int64_t batch() const { return sizes.size(0); }
  int64_t length(int64_t i) const { return sizes.data_ptr<int64_t>()[2 * i]; }
  int64_t width() const { return batch() > 0 ? sizes.data_ptr<int64_t>()[1] : 0; }
  at::Tensor lengths() const { return sizes.select(1, 0).contiguous(); }
};

at::Tensor padded(const Packed& p, double padding, at::IntArrayRef size) {
  at::Tensor out = at::full(size, padding, p.buffer.options());
  for (int64_t i = 0, start = 0; i < p.batch(); i++) {
    const int64_t count = p.length(i) * p.width();
    out.select(0, i).narrow(0, 0, p.length(i)).narrow(1, 0, p.width())
        .copy_(p.buffer.narrow(0, start, count).view({p.length(i), p.width()}));
    start += count;
  }
  return out;
}

at::Tensor to_padded_tensor(const at::Tensor& nested, double padding, at::OptionalIntArrayRef size) {
  const Packed p(nested);
  const std::vector<int64_t> least{p.batch(), p.longest, p.width()};
  const at::IntArrayRef wanted = size.has_value() ? *size : at::IntArrayRef(least);
  TORCH_CHECK(wanted.size() == 3, "Length of output_size does not match NestedTensor dims. Broadcasting is not supported.");
  for (size_t d = 0; d < 3; d++) {
    TORCH_CHECK(wanted[d] >= least[d], "Value in output_size is less than NestedTensor padded size. Truncation is not supported.");
  }
  return padded(p, padding, wanted);
}

at::Tensor nested_encoder_layer(const at::Tensor& src, int64_t embed_dim, int64_t heads, const at::Tensor& qkv_weight,
    const at::Tensor& qkv_bias, const at::Tensor& proj_weight, const at::Tensor& proj_bias, bool use_gelu,
    bool norm_first, double eps, const at::Tensor& norm_weight_1, const at::Tensor& norm_bias_1,
    const at::Tensor& norm_weight_2, const at::Tensor& norm_bias_2, const at::Tensor& ffn_weight_1,
    const at::Tensor& ffn_bias_1, const at::Tensor& ffn_weight_2, const at::Tensor& ffn_bias_2,
    const OptionalTensor& mask, std::optional<int64_t>) {
  TORCH_CHECK(!mask.has_value() || !mask->defined(), "a nested tensor has no padding to mask");
  const Packed p(src);
  const at::Tensor dense = padded(p, 0, {p.batch(), p.longest, p.width()});
  const at::Tensor positions = at::arange(p.longest, p.buffer.options().dtype(at::kLong));
  const at::Tensor padding = positions.ge(p.lengths().to(p.buffer.device()).unsqueeze(1));
  return pack(at::_transformer_encoder_layer_fwd(dense, embed_dim, heads, qkv_weight, qkv_bias, proj_weight, proj_bias,
                  use_gelu, norm_first, eps, norm_weight_1, norm_bias_1, norm_weight_2, norm_bias_2, ffn_weight_1,
                  ffn_bias_1, ffn_weight_2, ffn_bias_2, padding, /*mask_type=*/1),
      p.lengths());
}

} // namespace

void register_nested_encoder(torch::Library& m) {
  m.impl("_nested_tensor_from_mask_left_aligned", left_aligned);
  auto& nested =
      *new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::NestedTensorPrivateUse1, __FILE__, __LINE__);
  nested.impl("to_padded_tensor", to_padded_tensor);
  nested.impl("_transformer_encoder_layer_fwd", nested_encoder_layer);
}

} // namespace neuron
