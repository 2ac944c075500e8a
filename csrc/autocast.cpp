// Automatic mixed precision: the policies of PyTorch's CUDA autocast. A translation unit of its own, because its header
// pulls in all of ATen.
#include <ATen/autocast_mode.h>
#include <torch/library.h>

namespace neuron {

void register_autocast();

namespace {

at::Tensor binary_cross_entropy_banned(const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&, int64_t) {
  TORCH_CHECK(false,
      "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast. Combine the sigmoid and "
      "the loss in torch.nn.functional.binary_cross_entropy_with_logits, or compute it under "
      "torch.autocast(\"neuron\", enabled=False) in float32.");
}

} // namespace

void register_autocast() {
  auto* all = new torch::Library(torch::Library::IMPL, "_", c10::DispatchKey::AutocastPrivateUse1, __FILE__, __LINE__);
  all->fallback(torch::CppFunction::makeFallthrough());
  auto& m = *new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::AutocastPrivateUse1, __FILE__, __LINE__);
#define LOWER(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define FP32(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
#define FP32_OPT(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
#define OTHER(...) KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE(__VA_ARGS__)
#define PROMOTE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)
  using namespace at;
  AT_FORALL_LOWER_PRECISION_FP(LOWER)
  AT_FORALL_FP32(FP32)
  AT_FORALL_FP32_SET_OPT_DTYPE(FP32_OPT)
  AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(OTHER)
  AT_FORALL_PROMOTE(PROMOTE)
  m.impl("binary_cross_entropy", binary_cross_entropy_banned);
#undef LOWER
#undef FP32
#undef FP32_OPT
#undef OTHER
#undef PROMOTE
}

} // namespace neuron
