// What compiled graphs need of tensors: from Python and back, and views of new memory.
#include "shim.h"

#include <torch/csrc/stable/c/shim.h>

namespace neuron {
namespace {

at::Tensor& tensor_of(AtenTensorHandle handle) { return *reinterpret_cast<at::Tensor*>(handle); }

} // namespace
} // namespace neuron

extern "C" int nshim_from_python(void* object, NTensor* out, void** handle) {
  AtenTensorHandle h = nullptr;
  if (torch_tensor_from_pyobject(object, &h) != AOTI_TORCH_SUCCESS) {
    return NC_ERROR;
  }
  neuron::describe(*out, neuron::tensor_of(h).unsafeGetTensorImpl());
  *handle = h;
  return NC_OK;
}

extern "C" void nshim_release(void* handle) { aoti_torch_delete_tensor_object(static_cast<AtenTensorHandle>(handle)); }

extern "C" void nshim_retain(void* impl) { c10::raw::intrusive_ptr::incref(static_cast<c10::TensorImpl*>(impl)); }

extern "C" void* nshim_to_python(void* impl, int whole, uint8_t dtype, const int64_t* sizes, const int64_t* strides,
    int32_t ndim, int64_t delta, uint8_t flags) {
  try {
    auto* base = static_cast<c10::TensorImpl*>(impl);
    at::Tensor t;
    if (whole) {
      t = neuron::adopt(impl);
    } else {
      const auto type = c10::scalarTypeToTypeMeta(static_cast<c10::ScalarType>(nrn_dtype_to_torch[dtype & 63]));
      const auto item = static_cast<int64_t>(type.itemsize());
      const auto offset = base->storage_offset() * static_cast<int64_t>(base->itemsize()) + delta;
      t = at::detail::make_tensor<c10::TensorImpl>(c10::Storage(base->storage()), neuron::kKeys, type);
      t.unsafeGetTensorImpl()->set_storage_offset(offset / item);
      t.unsafeGetTensorImpl()->set_sizes_and_strides({sizes, static_cast<size_t>(ndim)}, {strides, static_cast<size_t>(ndim)});
    }
    if (flags & NT_CONJ) {
      t._set_conj(true);
    }
    if (flags & NT_NEG) {
      t._set_neg(true);
    }
    void* object = nullptr;
    const bool ok = torch_tensor_to_pyobject(reinterpret_cast<AtenTensorHandle>(&t), nullptr, &object) == AOTI_TORCH_SUCCESS;
    return ok ? object : nullptr;
  } catch (...) {
    neuron::stash();
    return nullptr;
  }
}
