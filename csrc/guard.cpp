// Current device, streams and events. State is the core's and thread-local there, because the autograd engine runs
// backward on threads of its own and sets device and stream through this guard.
#include "shim.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace neuron {
namespace {

c10::Stream stream_of(int device, int64_t id) { return c10::Stream(c10::Stream::UNSAFE, device_at(device), id); }

int checked(c10::Device d) {
  TORCH_INTERNAL_ASSERT(d.type() == kDevice, "expected a neuron device, got ", d);
  const int count = nrn_device_count();
  TORCH_CHECK(d.index() < count, "Invalid device ordinal ", static_cast<int>(d.index()), ": there are ", count,
      " neuron devices (NEURON_RT_NUM_CORES or NEURON_RT_VISIBLE_CORES sets how many)");
  return d.index();
}

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kDevice; }

  c10::Device exchangeDevice(c10::Device d) const override {
    const int index = checked(d);
    return device_at(index < 0 ? nrn_get_device() : nrn_exchange_device(index));
  }
  c10::Device getDevice() const override { return device_at(nrn_get_device()); }
  void setDevice(c10::Device d) const override {
    const int index = checked(d);
    if (index >= 0) {
      nrn_exchange_device(index);
    }
  }
  void uncheckedSetDevice(c10::Device d) const noexcept override {
    if (d.index() >= 0) {
      nrn_exchange_device(d.index());
    }
  }
  c10::DeviceIndex deviceCount() const noexcept override { return static_cast<c10::DeviceIndex>(nrn_device_count()); }
  void synchronizeDevice(const c10::DeviceIndex device) const override {
    check(nrn_device_sync(device < 0 ? nrn_get_device() : device));
  }
  // Every element type has kernels, which is what the default says.
  c10::DeviceCapability getDeviceCapability(c10::Device) const override { return {}; }

  c10::Stream getStream(c10::Device d) const override {
    const int device = device_of(d);
    return stream_of(device, nrn_current_stream(device));
  }
  c10::Stream getDefaultStream(c10::Device d) const override {
    return c10::Stream(c10::Stream::DEFAULT, device_at(device_of(d)));
  }
  c10::Stream getNewStream(c10::Device d, int priority) const override {
    checked(d);
    const int device = device_of(d);
    return stream_of(device, nrn_new_stream(device, priority));
  }
  c10::Stream getStreamFromGlobalPool(c10::Device d, bool high) const override { return getNewStream(d, high ? -1 : 0); }
  c10::Stream exchangeStream(c10::Stream s) const override {
    return stream_of(s.device_index(), nrn_exchange_stream(s.device_index(), s.id()));
  }
  void* getStreamNativeHandle(const c10::Stream s) const override {
    return reinterpret_cast<void*>(static_cast<uintptr_t>(s.id()));
  }
  bool queryStream(const c10::Stream& s) const override { return nrn_stream_query(s.device_index(), s.id()) != 0; }
  void synchronizeStream(const c10::Stream& s) const override { check(nrn_stream_sync(s.device_index(), s.id())); }
  void recordDataPtrOnStream(const c10::DataPtr& ptr, const c10::Stream& s) const override {
    if (ptr.get_context()) {
      nrn_record_stream(ptr.get_context(), s.id());
    }
  }

  void record(void** event, const c10::Stream& s, const c10::DeviceIndex, const c10::EventFlag flag) const override {
    check(nrn_event_record(event, s.device_index(), s.id(), flag == c10::EventFlag::BACKEND_DEFAULT));
  }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override {
    if (event) {
      nrn_event_destroy(event);
    }
  }
  void block(void* event, const c10::Stream& s) const override {
    if (event) {
      check(nrn_event_block(event, s.device_index(), s.id()));
    }
  }
  bool queryEvent(void* event) const override { return !event || nrn_event_query(event) != 0; }
  void synchronizeEvent(void* event) const override {
    if (event) {
      check(nrn_event_sync(event));
    }
  }
  double elapsedTime(void* start, void* end, const c10::DeviceIndex) const override {
    TORCH_CHECK(start && end, "Both events must be recorded before calculating elapsed time.");
    double milliseconds = 0;
    check(nrn_event_elapsed(start, end, &milliseconds));
    return milliseconds;
  }
};

} // namespace

void register_guard() { c10::impl::registerDeviceGuard(kDevice, new Guard()); }

} // namespace neuron
