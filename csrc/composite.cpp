// Operators that are made of others here, because PyTorch has no decomposition for them.
#include "shim.h"

#include <ATen/TensorIterator.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/ops/full.h>
#include <ATen/ops/_ctc_loss.h>
#include <ATen/ops/_ctc_loss_backward.h>
#include <ATen/ops/cat.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/i0.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>

#include <cmath>
#include <limits>

namespace neuron {
namespace {

using OptionalTensor = std::optional<at::Tensor>;

// [batch, length, features] as [batch, heads, length, features of a head].
at::Tensor split_heads(const at::Tensor& x, int64_t heads) {
  return x.view({x.size(0), x.size(1), heads, -1}).transpose(1, 2);
}

at::Tensor join_heads(const at::Tensor& x) { return x.transpose(1, 2).flatten(2); }

// Where attention is forbidden, broadcastable to [batch, heads, length, length]. `type` is nn.MultiheadAttention's:
// 0 [length, length], 1 padding as [batch, length], 2 all four dimensions.
OptionalTensor forbidden(const OptionalTensor& mask, std::optional<int64_t> type) {
  if (!mask.has_value() || !mask->defined()) {
    return std::nullopt;
  }
  TORCH_CHECK(type.has_value(), "Mask Type should be defined");
  const at::Tensor m = mask->to(at::kBool);
  return *type == 1 ? m.unsqueeze(1).unsqueeze(1) : m;
}

std::vector<at::Tensor> project(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
    const at::Tensor& weight, const at::Tensor& bias) {
  if (query.is_same(key) && key.is_same(value)) {
    return at::linear(query, weight, bias).chunk(3, -1);
  }
  const auto weights = weight.chunk(3), biases = bias.chunk(3);
  return {at::linear(query, weights[0], biases[0]), at::linear(key, weights[1], biases[1]),
      at::linear(value, weights[2], biases[2])};
}

std::tuple<at::Tensor, at::Tensor> multi_head_attention(const at::Tensor& query, const at::Tensor& key,
    const at::Tensor& value, int64_t embed_dim, int64_t heads, const at::Tensor& qkv_weight, const at::Tensor& qkv_bias,
    const at::Tensor& proj_weight, const at::Tensor& proj_bias, const OptionalTensor& mask, bool need_weights,
    bool average_attn_weights, std::optional<int64_t> mask_type) {
  TORCH_CHECK(query.dim() == 3, "expected 3-D `query`, got ", query.dim(), "-D tensor");
  TORCH_CHECK(query.size(2) == embed_dim, "passed-in embed_dim ", embed_dim, " didn't match last dim of query ",
      query.size(2));
  TORCH_CHECK(qkv_weight.dim() == 2 && qkv_weight.size(0) == 3 * embed_dim,
      "expected `qkv_weight` first dim to be 3x embed_dim");
  TORCH_CHECK(heads > 0 && embed_dim % heads == 0, "embed_dim must be divisible by num_head");
  const auto parts = project(query, key, value, qkv_weight, qkv_bias);
  const at::Tensor q = split_heads(parts[0], heads), k = split_heads(parts[1], heads), v = split_heads(parts[2], heads);
  const auto refused = forbidden(mask, mask_type);
  if (!need_weights) {
    const auto allowed = refused ? OptionalTensor(refused->logical_not()) : std::nullopt;
    const at::Tensor context = at::scaled_dot_product_attention(q, k, v, allowed);
    return {at::linear(join_heads(context), proj_weight, proj_bias), at::Tensor()};
  }
  at::Tensor scores = at::matmul(q.mul(1 / std::sqrt(static_cast<double>(q.size(-1)))), k.transpose(-2, -1));
  if (refused) {
    scores = scores.masked_fill(*refused, -std::numeric_limits<double>::infinity());
  }
  const at::Tensor weights = at::softmax(scores, -1);
  return {at::linear(join_heads(at::matmul(weights, v)), proj_weight, proj_bias),
      average_attn_weights ? weights.mean(1) : weights};
}

at::Tensor encoder_layer(const at::Tensor& src, int64_t embed_dim, int64_t heads, const at::Tensor& qkv_weight,
    const at::Tensor& qkv_bias, const at::Tensor& proj_weight, const at::Tensor& proj_bias, bool use_gelu,
    bool norm_first, double eps, const at::Tensor& norm_weight_1, const at::Tensor& norm_bias_1,
    const at::Tensor& norm_weight_2, const at::Tensor& norm_bias_2, const at::Tensor& ffn_weight_1,
    const at::Tensor& ffn_bias_1, const at::Tensor& ffn_weight_2, const at::Tensor& ffn_bias_2,
    const OptionalTensor& mask, std::optional<int64_t> mask_type) {
  const auto attend = [&](const at::Tensor& x) {
    return std::get<0>(multi_head_attention(x, x, x, embed_dim, heads, qkv_weight, qkv_bias, proj_weight, proj_bias,
        mask, /*need_weights=*/false, /*average_attn_weights=*/true, mask_type));
  };
  const auto feed_forward = [&](const at::Tensor& x) {
    const at::Tensor hidden = at::linear(x, ffn_weight_1, ffn_bias_1);
    return at::linear(use_gelu ? at::gelu(hidden) : at::relu(hidden), ffn_weight_2, ffn_bias_2);
  };
  const auto norm_1 = [&](const at::Tensor& x) { return at::layer_norm(x, {embed_dim}, norm_weight_1, norm_bias_1, eps); };
  const auto norm_2 = [&](const at::Tensor& x) { return at::layer_norm(x, {embed_dim}, norm_weight_2, norm_bias_2, eps); };
  if (norm_first) {
    const at::Tensor x = src.add(attend(norm_1(src)));
    return x.add(feed_forward(norm_2(x)));
  }
  const at::Tensor x = norm_1(src.add(attend(src)));
  return norm_2(x.add(feed_forward(x)));
}

// Positions 0 … length − 1 become the window's values.
void kaiser_window(at::TensorIteratorBase& iter, int64_t length, double beta) {
  const at::Tensor out = iter.tensor(0), x = iter.tensor(1);
  const double half = (static_cast<double>(length) - 1) / 2;
  const at::Tensor from_centre = x.sub(half).div(half);
  const at::Tensor peak = at::i0(at::full({}, beta, x.options()));
  out.copy_(at::i0(from_centre.mul(from_centre).neg().add(1).sqrt().mul(beta)).div(peak));
}

std::vector<int64_t> lengths_of(const at::Tensor& t) {
  TORCH_CHECK(at::isIntegralType(t.scalar_type(), /*includeBool=*/false), "lengths must be integral");
  const at::Tensor here = t.to(at::kCPU, at::kLong).contiguous();
  return {here.data_ptr<int64_t>(), here.data_ptr<int64_t>() + here.numel()};
}

// Lengths are part of a program, so they are read back from wherever they are.
std::tuple<at::Tensor, at::Tensor> ctc_loss(const at::Tensor& log_probs, const at::Tensor& targets,
    const at::Tensor& input_lengths, const at::Tensor& target_lengths, int64_t blank, bool zero_infinity) {
  return at::_ctc_loss(
      log_probs, targets, lengths_of(input_lengths), lengths_of(target_lengths), blank, zero_infinity);
}

at::Tensor ctc_loss_backward(const at::Tensor& grad, const at::Tensor& log_probs, const at::Tensor& targets,
    const at::Tensor& input_lengths, const at::Tensor& target_lengths, const at::Tensor& loss,
    const at::Tensor& log_alpha, int64_t blank, bool zero_infinity) {
  return at::_ctc_loss_backward(grad, log_probs, targets, lengths_of(input_lengths), lengths_of(target_lengths), loss,
      log_alpha, blank, zero_infinity);
}

// PyTorch's default for devices raises another exception than its CPU kernel.
at::Tensor narrowed(const at::Tensor& self, int64_t dim, int64_t start, int64_t length) {
  TORCH_CHECK(self.dim() > 0, "narrow() cannot be applied to a 0-dim tensor.");
  TORCH_CHECK(dim < self.dim(), "narrow_copy: dim ", dim, " of a tensor with ", self.dim(), " dims");
  return self.narrow(dim, start, length).clone(at::MemoryFormat::Contiguous);
}

at::Tensor& narrowed_out(const at::Tensor& self, int64_t dim, int64_t start, int64_t length, at::Tensor& out) {
  TORCH_CHECK(out.scalar_type() == self.scalar_type(), "narrow_copy: out has type ", out.scalar_type(), " instead of ",
      self.scalar_type());
  const at::Tensor part = narrowed(self, dim, start, length);
  if (at::native::resize_output_check(out, part.sizes())) {
    neuron::resize(out, part.sizes(), std::nullopt);
  }
  return out.copy_(part);
}

} // namespace

void register_composites(torch::Library& m) {
  at::native::kaiser_window_stub.set_privateuse1_dispatch_ptr(&kaiser_window);
  m.impl("narrow_copy", narrowed);
  m.impl("narrow_copy.out", narrowed_out);
  m.impl("_native_multi_head_attention", multi_head_attention);
  m.impl("_transformer_encoder_layer_fwd", encoder_layer);
  m.impl("_ctc_loss.Tensor", ctc_loss);
  m.impl("_ctc_loss_backward.Tensor", ctc_loss_backward);
}

} // namespace neuron
