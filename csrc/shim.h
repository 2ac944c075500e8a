// What the topics of the shim share. Everything here is internal to the shim; the C ABI is neuron.h.
#pragma once
#include "neuron.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/DeviceGuard.h>
#include <torch/headeronly/version.h>
#include <torch/library.h>

#include <exception>

// PyTorch's ScalarType code to the core's element type and back; 255 is none. The table lives in the core.
extern "C" C10_HIDDEN const uint8_t nrn_dtype_from_torch[64];
extern "C" C10_HIDDEN const uint8_t nrn_dtype_to_torch[64];

namespace neuron {

constexpr auto kDevice = c10::DeviceType::PrivateUse1;
constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);

// ---- errors (error.cpp) ----
// Throws what the core recorded for this thread, with the type that its kind says.
[[noreturn]] void raise();
// Keeps the exception in flight for `rethrow`, so that it survives its way through the core.
void stash() noexcept;
[[noreturn]] void rethrow();
// Raises unless the core's result code says success.
inline void check(int code) {
  if (C10_UNLIKELY(code != NC_OK)) {
    code == NC_RETHROW ? rethrow() : raise();
  }
}

// ---- devices ----
inline int device_of(c10::Device d) { return d.index() < 0 ? nrn_get_device() : d.index(); }
inline c10::Device device_at(int index) { return {kDevice, static_cast<c10::DeviceIndex>(index)}; }

// ---- allocator.cpp ----
c10::DeviceAllocator* allocator();
// Memory of a device, in the order of its current stream.
c10::DataPtr allocate_on(int device, size_t bytes);
c10::Allocator* pinned_allocator();
void register_allocators();

// ---- guard.cpp, generator.cpp, hooks.cpp, profiler.cpp ----
void register_guard();
const at::Generator& default_generator(int device);
at::Generator new_generator(int device);
void register_hooks();
void register_profiler();

// ---- storage.cpp ----
// Grows or shrinks a storage, keeping the bytes that fit. In stream order.
void resize_storage(c10::StorageImpl* storage, size_t bytes);
const at::Tensor& resize(const at::Tensor& self, at::IntArrayRef size, std::optional<at::MemoryFormat> format);
void register_storage_ops(torch::Library& m);

// ---- view.cpp, copy.cpp, attention.cpp, composite.cpp, dynamic.cpp ----
void register_view_ops(torch::Library& m);
void register_copy_ops(torch::Library& m);
void register_attention(torch::Library& m);
void register_batch_norm(torch::Library& m);
void register_composites(torch::Library& m);
void register_dynamic_ops(torch::Library& m);

// ---- layouts.cpp ----
// Sparse, nested and quantized tensors.
void register_layouts(torch::Library& dense);

// ---- fallback.cpp ----
// Runs an operator with CPU kernels on the device's own memory; counted, or refused. `reason`: why no rule took it.
void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack, const char* reason);
void fallback_without_rule(const c10::OperatorHandle& op, torch::jit::Stack* stack);

// ---- meta.cpp ----
void register_meta();

// ---- autocast.cpp ----
void register_autocast();

// ---- table.cpp ----
// Registers a boxed kernel for every overload that the core's rows cover.
void register_rows(torch::Library& m);

// Describes a tensor to the core. Valid while the tensor lives and is not resized.
C10_ALWAYS_INLINE void describe(NTensor& out, const c10::TensorImpl* impl) {
  const auto sizes = impl->sizes();
  out.data = const_cast<void*>(impl->data());
  out.sizes = sizes.data();
  out.strides = impl->strides().data();
  out.ndim = static_cast<int32_t>(sizes.size());
  out.dtype = nrn_dtype_from_torch[static_cast<uint8_t>(c10::typeMetaToScalarType(impl->dtype())) & 63];
  const auto device = impl->device();
  out.device_type = device.type() == kDevice ? ND_NEURON
      : device.type() == c10::DeviceType::CPU ? ND_CPU
      : device.type() == c10::DeviceType::Meta ? ND_META
                                               : ND_OTHER;
  out.device_index = device.index();
  out.flags = (impl->is_wrapped_number() ? NT_WRAPPED : 0);
  const auto keys = impl->key_set();
  if (C10_UNLIKELY(keys.has_any(c10::DispatchKeySet({c10::DispatchKey::Conjugate, c10::DispatchKey::Negative})))) {
    out.flags |= (keys.has(c10::DispatchKey::Conjugate) ? NT_CONJ : 0) | (keys.has(c10::DispatchKey::Negative) ? NT_NEG : 0);
  }
  out.impl = const_cast<c10::TensorImpl*>(impl);
}

// Takes ownership of a tensor that `nshim_empty` made.
inline at::Tensor adopt(void* impl) {
  return at::Tensor(
      c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::reclaim(static_cast<c10::TensorImpl*>(impl)));
}

// ---- parameters of channels ----
// All dimensions but one.
inline std::vector<int64_t> other_dims(const at::Tensor& x, int64_t dim) {
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < x.dim(); d++) {
    if (d != dim) {
      dims.push_back(d);
    }
  }
  return dims;
}
// One value per position along a dimension of `x`, broadcastable to it.
inline at::Tensor along_dim(const at::Tensor& v, const at::Tensor& x, int64_t dim) {
  std::vector<int64_t> shape(x.dim(), 1);
  shape[dim] = v.numel();
  return v.view(shape);
}

} // namespace neuron
