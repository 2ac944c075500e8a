// Which algorithm `scaled_dot_product_attention` takes: the fused one where the core has it, PyTorch's decomposition
// otherwise.
#include "shim.h"

#include <ATen/Context.h>
#include <ATen/SDPBackend.h>
#include <ATen/native/transformers/attention.h>

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

} // namespace

void register_attention(torch::Library& m) {
  m.impl("_fused_sdp_choice", fused_sdp_choice);
  // `scaled_dot_product_attention` asks the stub, not the operator.
  at::native::_fused_sdp_choice_stub.set_privateuse1_dispatch_ptr(&fused_sdp_choice);
}

} // namespace neuron
