// Creating, resizing and replacing storage.
#include "shim.h"

#include <ATen/Context.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>

namespace neuron {
namespace {

// `empty` under `use_deterministic_algorithms` shows reads of uninitialised memory as NaN.
void fill_if_deterministic(at::Tensor& t) {
  if (C10_UNLIKELY(at::globalContext().deterministicAlgorithms() &&
          at::globalContext().deterministicFillUninitializedMemory())) {
    at::native::fill_empty_deterministic_(t);
  }
}

void check_options(std::optional<c10::Layout> layout, std::optional<bool> pin_memory) {
  TORCH_CHECK_NOT_IMPLEMENTED(c10::layout_or_default(layout) == c10::Layout::Strided,
      "neuron tensors are strided; layout ", c10::layout_or_default(layout), " is not supported");
  TORCH_CHECK(!pin_memory.value_or(false), "Only dense CPU tensors can be pinned");
}

at::Tensor empty_memory_format(c10::IntArrayRef size, std::optional<c10::ScalarType> dtype,
    std::optional<c10::Layout> layout, std::optional<c10::Device> device, std::optional<bool> pin_memory,
    std::optional<c10::MemoryFormat> format) {
  check_options(layout, pin_memory);
  const c10::DeviceGuard guard(c10::device_or_default(device));
  at::Tensor t = at::detail::empty_generic(size, allocator(), kKeys, c10::dtype_or_default(dtype), format);
  fill_if_deterministic(t);
  return t;
}

at::Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride, std::optional<c10::ScalarType> dtype,
    std::optional<c10::Layout> layout, std::optional<c10::Device> device, std::optional<bool> pin_memory) {
  check_options(layout, pin_memory);
  const c10::DeviceGuard guard(c10::device_or_default(device));
  at::Tensor t = at::detail::empty_strided_generic(size, stride, allocator(), kKeys, c10::dtype_or_default(dtype));
  fill_if_deterministic(t);
  return t;
}

// A tensor of zeros without memory, which autograd uses for tangents and undefined gradients.
at::Tensor efficient_zero_tensor(c10::IntArrayRef size, std::optional<c10::ScalarType> dtype,
    std::optional<c10::Layout>, std::optional<c10::Device> device, std::optional<bool>) {
  at::native::ZeroTensorAllocator zero(device_at(device_of(c10::device_or_default(device))));
  const auto keys = kKeys.add(c10::DispatchKey::ZeroTensor);
  return at::detail::empty_generic(size, &zero, keys, c10::dtype_or_default(dtype), std::nullopt);
}

void ensure_storage(const at::Tensor& t, size_t bytes) {
  auto* impl = t.unsafeGetTensorImpl();
  if (impl->numel() == 0 || bytes <= t.storage().nbytes()) {
    return;
  }
  resize_storage(t.storage().unsafeGetStorageImpl(), bytes);
}

at::Tensor& set_storage_offset(at::Tensor& self, at::Storage source, int64_t offset, c10::IntArrayRef size,
    c10::IntArrayRef stride) {
  at::native::checkSetStorage(self, std::move(source), offset, size, stride, /*check_offset_in_bounds=*/false);
  auto* impl = self.unsafeGetTensorImpl();
  impl->set_storage_offset(offset);
  if (stride.data()) {
    impl->set_sizes_and_strides(size, stride);
  } else {
    impl->set_sizes_contiguous(size);
  }
  ensure_storage(self, at::detail::computeStorageNbytes(self.sizes(), self.strides(), self.itemsize(), offset));
  return self;
}

at::Tensor& set_storage(at::Tensor& self, at::Storage source) {
  const int64_t numel = static_cast<int64_t>(source.nbytes() / self.itemsize());
  return set_storage_offset(self, std::move(source), 0, {numel}, {1});
}

at::Tensor& set_tensor(at::Tensor& self, const at::Tensor& source) {
  if (!self.is_same(source)) {
    set_storage_offset(self, source.storage(), source.storage_offset(), source.sizes(), source.strides());
  }
  return self;
}

at::Tensor& set_nothing(at::Tensor& self) {
  const c10::DeviceGuard guard(self.device());
  c10::Storage storage(c10::Storage::use_byte_size_t(), 0, allocator(), /*resizable=*/true);
  return set_storage_offset(self, std::move(storage), 0, {0}, {1});
}

void record_stream(at::Tensor& self, at::Stream stream) {
  if (void* ctx = self.storage().data_ptr().get_context()) {
    nrn_record_stream(ctx, stream.id());
  }
}

// Lets `Module.to` and `tensor.data = other` move a tensor between host and device without a new Python object.
// Without it an optimizer made before `.to("neuron")` would keep training the host's parameters.
bool compatible(const at::Tensor& a, const at::Tensor& b) {
  const auto ok = [](const at::Tensor& t) { return t.layout() == at::kStrided && (t.is_cpu() || t.is_privateuseone()); };
  return ok(a) && ok(b);
}

} // namespace

void resize_storage(c10::StorageImpl* storage, size_t bytes) {
  TORCH_CHECK(storage->resizable(), "Trying to resize storage that is not resizable");
  const c10::DeviceGuard guard(storage->device());
  c10::DataPtr fresh = allocator()->allocate(bytes);
  const size_t kept = std::min(bytes, storage->nbytes());
  if (kept != 0 && storage->data() != nullptr) {
    allocator()->copy_data(fresh.get(), storage->data(), kept);
  }
  storage->set_data_ptr_noswap(std::move(fresh));
  storage->set_nbytes(bytes);
}

const at::Tensor& resize(const at::Tensor& self, at::IntArrayRef size, std::optional<at::MemoryFormat> format) {
  auto* impl = self.unsafeGetTensorImpl();
  const size_t old_bytes = self.storage().nbytes();
  if (impl->sizes() != size) {
    impl->set_sizes_contiguous(size);
    ensure_storage(self,
        at::detail::computeStorageNbytesContiguous(size, self.itemsize(), static_cast<size_t>(impl->storage_offset())));
  }
  if (format.has_value()) {
    TORCH_CHECK(*format != at::MemoryFormat::Preserve, "Unsupported memory format", *format);
    impl->empty_tensor_restride(*format);
  }
  if (C10_UNLIKELY(at::globalContext().deterministicAlgorithms() &&
          at::globalContext().deterministicFillUninitializedMemory())) {
    at::native::fill_resize_deterministic_(self, static_cast<int64_t>(old_bytes));
  }
  return self;
}

namespace {

bool is_set_to(const at::Tensor& self, const at::Tensor& source) {
  return self.storage().unsafeGetStorageImpl() == source.storage().unsafeGetStorageImpl() &&
      self.storage_offset() == source.storage_offset() && self.sizes() == source.sizes() && self.strides() == source.strides();
}

const at::Tensor& resize_output(const at::Tensor& self, c10::IntArrayRef size, c10::Device device) {
  TORCH_CHECK(device_at(device_of(device)) == self.device(), "out Tensor doesn't have the correct device set");
  return at::native::resize_output_check(self, size) ? neuron::resize(self, size, std::nullopt) : self;
}

} // namespace

void register_storage_ops(torch::Library& m) {
  m.impl("empty.memory_format", empty_memory_format);
  m.impl("empty_strided", empty_strided);
  m.impl("_efficientzerotensor", efficient_zero_tensor);
  m.impl("resize_", resize);
  m.impl("_resize_output_", resize_output);
  m.impl("is_set_to", is_set_to);
  m.impl("set_", set_nothing);
  m.impl("set_.source_Tensor", set_tensor);
  m.impl("set_.source_Storage", set_storage);
  m.impl("set_.source_Storage_storage_offset", set_storage_offset);
  m.impl("record_stream", record_stream);
  m.impl("_has_compatible_shallow_copy_type", compatible);
}

} // namespace neuron
