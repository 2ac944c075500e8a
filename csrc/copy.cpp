// Moving data between device and host, and reading one number back.
#include "shim.h"

#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/ops/_local_scalar_dense_native.h>
#include <ATen/ops/eq.h>

namespace neuron {
namespace {

at::Tensor copy_from(const at::Tensor& self, const at::Tensor& dst, bool non_blocking) {
  NTensor d, s;
  describe(d, dst.unsafeGetTensorImpl());
  describe(s, self.unsafeGetTensorImpl());
  const auto supported = [](const NTensor& t) { return t.device_type == ND_CPU || t.device_type == ND_NEURON; };
  TORCH_CHECK_NOT_IMPLEMENTED(supported(d) && supported(s) && self.layout() == at::kStrided && dst.layout() == at::kStrided,
      "cannot copy from ", self.device(), " (", self.layout(), ") to ", dst.device(), " (", dst.layout(),
      "): only dense tensors of neuron devices and the CPU can be copied");
  TORCH_CHECK_NOT_IMPLEMENTED(d.dtype != 255 && s.dtype != 255, "cannot copy ", self.scalar_type(), " to ",
      dst.scalar_type(), " on ", (dst.is_privateuseone() ? dst : self).device(), ": no such element type there");
  c10::SmallVector<int64_t, 8> strides;
  if (self.sizes() != dst.sizes()) {
    const auto common = at::infer_size(dst.sizes(), self.sizes());
    TORCH_CHECK(c10::IntArrayRef(common) == dst.sizes(), "output with shape ", dst.sizes(),
        " doesn't match the broadcast shape ", c10::IntArrayRef(common));
    strides.assign(dst.dim(), 0);
    const int64_t lead = dst.dim() - self.dim();
    for (int64_t i = 0; i < self.dim(); i++) {
      strides[lead + i] = self.size(i) == 1 ? 0 : self.stride(i);
    }
    s.sizes = d.sizes;
    s.strides = strides.data();
    s.ndim = d.ndim;
  }
  at::assert_no_internal_overlap(dst);
  at::assert_no_partial_overlap(dst, self);
  const int device = d.device_type == ND_NEURON ? d.device_index : s.device_index;
  const c10::DeviceGuard guard(device_at(device));
  check(nrn_copy(&d, &s, non_blocking));
  return dst;
}

at::Tensor copy_from_and_resize(const at::Tensor& self, const at::Tensor& dst) {
  dst.resize_(self.sizes());
  return copy_from(self, dst, false);
}

at::Scalar local_scalar_dense(const at::Tensor& self) {
  const c10::DeviceGuard guard(self.device());
  check(nrn_host_access(self.device().index()));
  return at::native::_local_scalar_dense_cpu(self);
}

// A number, not a tensor, so no row can return it.
bool equal(const at::Tensor& self, const at::Tensor& other) {
  TORCH_CHECK(self.device() == other.device(), "Expected all tensors to be on the same device, but found at least two devices, ",
      self.device(), " and ", other.device(), "! (when checking argument for argument other in method aten::equal)");
  return self.sizes() == other.sizes() && at::eq(self, other).all().item<bool>();
}

} // namespace

void register_copy_ops(torch::Library& m) {
  m.impl("_copy_from", copy_from);
  m.impl("_copy_from_and_resize", copy_from_and_resize);
  m.impl("_local_scalar_dense", local_scalar_dense);
  m.impl("equal", equal);
  // The lazy conjugate and negative bits reach `copy_from`, which honours them. The default for these keys would
  // materialise the source by a copy, which would come here again, without end.
  for (const auto key : {c10::DispatchKey::Conjugate, c10::DispatchKey::Negative}) {
    auto* lazy = new torch::Library(torch::Library::IMPL, "aten", key, __FILE__, __LINE__);
    lazy->impl("_copy_from", torch::CppFunction::makeFallthrough());
    lazy->impl("_copy_from_and_resize", torch::CppFunction::makeFallthrough());
  }
}

} // namespace neuron
