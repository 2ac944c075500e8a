// One call of the core, and what the core asks of its caller meanwhile.
#include "boxed.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/native/Resize.h>

namespace neuron {
namespace {

[[noreturn]] void mixed_devices(const Overload& o, const CommonDevice& common) {
  const auto device = device_at(common.index < 0 ? nrn_get_device() : common.index);
  TORCH_CHECK(false, "Expected all tensors to be on the same device, but found at least two devices, ", device, " and ",
      common.other, "! (when checking argument for argument ", o.handle.schema().arguments()[common.argument].name(),
      " in method ", o.name, ")");
}

template <class F>
void each_tensor(const NArg& a, F f) {
  const size_t count = a.tag == NA_TENSOR ? 1 : a.tag == NA_TENSOR_LIST ? a.len : 0;
  for (size_t k = 0; k < count; k++) {
    if (const auto* impl = static_cast<const c10::TensorImpl*>(a.v.tensors[k].impl)) {
      f(impl);
    }
  }
}

void refuse(const c10::TensorImpl* target, const c10::TensorImpl* other, bool same_allowed) {
  const auto status = at::get_overlap_status(target, other);
  TORCH_CHECK(status != at::MemOverlapStatus::Partial && (same_allowed || status != at::MemOverlapStatus::Full),
      "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
      "location. Please clone() the tensor before performing the operation.");
}

bool same_allowed(const Overload& o, size_t i) {
  return o.overlap == Overlap::Partial || (o.overlap == Overlap::Operands && i == 0);
}

// As PyTorch's own kernels do.
void refuse_overlap(const Overload& o, const NArg* described) {
  const size_t count = o.arguments.size();
  for (size_t i = 0; i < count; i++) {
    for (size_t j = 0; o.arguments[i].written && j < count; j++) {
      if (!o.arguments[j].written) {
        each_tensor(described[i], [&](const auto* target) {
          each_tensor(described[j], [&](const auto* other) { refuse(target, other, same_allowed(o, j)); });
        });
      }
    }
  }
}

// The same of an argument that has just been resized: only now its memory is known.
void refuse_overlap_of(const at::Tensor& target, const Overload& o, const c10::IValue* arguments) {
  for (size_t j = 0; o.overlap != Overlap::Free && j < o.arguments.size(); j++) {
    const auto& v = arguments[j];
    const auto look = [&](const c10::IValue& t) {
      if (t.isTensor() && t.toTensor().defined()) {
        refuse(target.unsafeGetTensorImpl(), t.toTensor().unsafeGetTensorImpl(), same_allowed(o, j));
      }
    };
    if (!o.arguments[j].written && v.isTensor()) {
      look(v);
    } else if (!o.arguments[j].written && v.isList()) {
      for (const auto& t : v.toListRef()) {
        look(t);
      }
    }
  }
}

} // namespace

const char* call_core(Frame& frame, const NArg* described, const CommonDevice& common, Returns& returns) {
  const Overload& o = *frame.overload;
  if (C10_UNLIKELY(common.argument >= 0)) {
    mixed_devices(o, common);
  }
  if (o.overlap != Overlap::Free) {
    refuse_overlap(o, described);
  }
  const auto count = static_cast<uint32_t>(o.arguments.size());
  const int code = nrn_call(o.id, &frame, described, count, returns.room, &returns.data, &returns.count);
  if (C10_LIKELY(code == NC_OK)) {
    return nullptr;
  }
  if (code == NC_UNSUPPORTED) {
    return nrn_last_error();
  }
  check(code);
  __builtin_unreachable();
}

} // namespace neuron

// Makes the tensor as `at::detail::empty_generic` does, but on a given device.
extern "C" int nshim_empty(const int64_t* sizes, const int64_t* strides, int32_t ndim, uint8_t dtype, int8_t device,
    NTensor* out) {
  try {
    const int index = device < 0 ? nrn_get_device() : device;
    const auto type = c10::scalarTypeToTypeMeta(static_cast<c10::ScalarType>(nrn_dtype_to_torch[dtype & 63]));
    const c10::IntArrayRef size(sizes, ndim), stride(strides, strides ? ndim : 0);
    const size_t bytes = strides ? at::detail::computeStorageNbytes(size, stride, type.itemsize())
                                 : at::detail::computeStorageNbytesContiguous(size, type.itemsize());
    auto storage = c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), bytes,
        neuron::allocate_on(index, bytes), neuron::allocator(), /*resizable=*/true);
    auto t = c10::make_intrusive<c10::TensorImpl>(std::move(storage), neuron::kKeys, type);
    if (strides) {
      t->set_sizes_and_strides(size, stride);
    } else {
      t->set_sizes_contiguous(size);
    }
    neuron::describe(*out, t.get());
    t.release();
    return NC_OK;
  } catch (...) {
    neuron::stash();
    return NC_RETHROW;
  }
}

extern "C" void nshim_drop(void* impl) { neuron::adopt(impl); }

extern "C" int nshim_shrink(void* impl, const int64_t* sizes, int32_t ndim, NTensor* out) {
  try {
    auto* t = static_cast<c10::TensorImpl*>(impl);
    const c10::SmallVector<int64_t, 8> strides(t->strides().begin(), t->strides().end());
    const c10::IntArrayRef size(sizes, static_cast<size_t>(ndim));
    t->set_sizes_and_strides(size, strides);
    // The memory stays with the storage; what is saved or shared is only what is used.
    t->unsafe_storage().unsafeGetStorageImpl()->set_nbytes(
        at::detail::computeStorageNbytes(size, strides, t->itemsize()));
    neuron::describe(*out, t);
    return NC_OK;
  } catch (...) {
    neuron::stash();
    return NC_RETHROW;
  }
}

extern "C" int nshim_resize(void* frame, uint32_t arg, int32_t elem, const int64_t* sizes, int32_t ndim, NTensor* out) {
  try {
    auto& call = *static_cast<neuron::Frame*>(frame);
    const auto& v = call.arguments()[arg];
    const at::Tensor t = elem >= 0 ? v.toListRef()[elem].toTensor() : v.toTensor();
    if (at::native::resize_output_check(t, {sizes, static_cast<size_t>(ndim)})) {
      neuron::resize(t, {sizes, static_cast<size_t>(ndim)}, std::nullopt);
      neuron::refuse_overlap_of(t, *call.overload, call.arguments());
    }
    neuron::describe(*out, t.unsafeGetTensorImpl());
    return NC_OK;
  } catch (...) {
    neuron::stash();
    return NC_RETHROW;
  }
}
