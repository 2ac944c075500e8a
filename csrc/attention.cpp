// Which algorithm `scaled_dot_product_attention` takes: the fused one where the core has it, PyTorch's decomposition
// otherwise.
#include "shim.h"

#include <ATen/Context.h>
#include <ATen/SDPBackend.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>

#include <cmath>
#include <limits>

namespace neuron {
namespace {

bool fused(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const std::optional<at::Tensor>& mask) {
  const auto dtype = q.scalar_type();
  if (dtype != at::kFloat && dtype != at::kBFloat16 && dtype != at::kHalf) {
    return false;
  }
  if (q.dim() != 4 || k.dim() != 4 || v.dim() != 4 || k.scalar_type() != dtype || v.scalar_type() != dtype) {
    return false;
  }
  if (q.numel() == 0 || k.numel() == 0 || v.numel() == 0 || k.size(1) == 0 || q.size(1) % k.size(1) != 0) {
    return false;
  }
  const bool sizes = q.size(0) == k.size(0) && k.size(0) == v.size(0) && k.size(1) == v.size(1) &&
      k.size(2) == v.size(2) && q.size(3) == k.size(3) && q.size(3) == v.size(3);
  // PyTorch turns a boolean mask into an additive one on the way to the fused operator.
  return sizes && (!mask.has_value() || mask->dim() <= 4);
}

int64_t fused_sdp_choice(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
    const std::optional<at::Tensor>& mask, double, bool, std::optional<double>, bool) {
  const auto& context = at::globalContext();
  if (context.userEnabledOverrideableSDP() && fused(q, k, v, mask)) {
    return static_cast<int64_t>(at::SDPBackend::overrideable);
  }
  TORCH_CHECK(context.userEnabledMathSDP(),
      "No available kernel. Aborting execution: the fused attention of neuron devices needs 4-dim float32, bfloat16 "
      "or float16 operands with equal batch and head sizes, and the math backend is disabled.");
  return static_cast<int64_t>(at::SDPBackend::math);
}

// The operator that PyTorch's CPU backend dispatches to, which programs may call by name. Spelled out, since its second
// result is the logarithm of the softmax's denominator.
struct Scores {
  double scale;
  at::Tensor value;  // [batch, heads, queries, keys], in the type of sums

  Scores(const at::Tensor& q, const at::Tensor& k, bool causal, const std::optional<at::Tensor>& mask, std::optional<double> s)
      : scale(s.value_or(1 / std::sqrt(static_cast<double>(q.size(-1))))) {
    TORCH_CHECK(q.dim() == 4 && k.dim() == 4, "flash attention: accepts only 4 dims inputs, but got ", q.dim(), " and ", k.dim());
    TORCH_CHECK(!(causal && mask.has_value()), "flash attention: an explicit mask and is_causal exclude each other");
    value = at::matmul(sums(q), sums(k).transpose(-2, -1)).mul(scale);
    if (mask.has_value()) {
      value = mask->scalar_type() == at::kBool
          ? value.masked_fill(mask->logical_not(), -std::numeric_limits<double>::infinity())
          : value.add(*mask);
    } else if (causal) {
      const at::Tensor hidden = at::ones({q.size(2), k.size(2)}, q.options().dtype(at::kBool)).tril().logical_not();
      value = value.masked_fill(hidden, -std::numeric_limits<double>::infinity());
    }
  }

  static at::Tensor sums(const at::Tensor& t) { return t.scalar_type() == at::kDouble ? t : t.to(at::kFloat); }
};

std::tuple<at::Tensor, at::Tensor> flash_for_cpu(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
    double dropout, bool causal, const std::optional<at::Tensor>& mask, std::optional<double> scale) {
  TORCH_CHECK(dropout == 0.0, "flash attention: dropout is not supported");
  const Scores scores(q, k, causal, mask, scale);
  const at::Tensor denominator = at::logsumexp(scores.value, {-1});
  const at::Tensor weights = scores.value.sub(denominator.unsqueeze(-1)).exp();
  // In memory the heads of a query are neighbours.
  const auto by_query = [](const at::Tensor& t) { return t.transpose(1, 2).contiguous().transpose(1, 2); };
  return {by_query(at::matmul(weights, Scores::sums(v)).to(q.scalar_type())), by_query(denominator)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> flash_for_cpu_backward(const at::Tensor& grad, const at::Tensor& q,
    const at::Tensor& k, const at::Tensor& v, const at::Tensor& out, const at::Tensor& denominator, double, bool causal,
    const std::optional<at::Tensor>& mask, std::optional<double> scale) {
  const Scores scores(q, k, causal, mask, scale);
  const at::Tensor g = Scores::sums(grad), weights = scores.value.sub(denominator.unsqueeze(-1)).exp();
  const at::Tensor own = g.mul(Scores::sums(out)).sum(-1, /*keepdim=*/true);
  const at::Tensor of_scores = weights.mul(at::matmul(g, Scores::sums(v).transpose(-2, -1)).sub(own)).mul(scores.scale);
  return {at::matmul(of_scores, Scores::sums(k)).to(q.scalar_type()),
      at::matmul(of_scores.transpose(-2, -1), Scores::sums(q)).to(k.scalar_type()),
      at::matmul(weights.transpose(-2, -1), g).to(v.scalar_type())};
}

} // namespace

void register_attention(torch::Library& m) {
  m.impl("_fused_sdp_choice", fused_sdp_choice);
  m.impl("_scaled_dot_product_flash_attention_for_cpu", flash_for_cpu);
  m.impl("_scaled_dot_product_flash_attention_for_cpu_backward", flash_for_cpu_backward);
  // `scaled_dot_product_attention` asks the stub, not the operator.
  at::native::_fused_sdp_choice_stub.set_privateuse1_dispatch_ptr(&fused_sdp_choice);
}

} // namespace neuron
