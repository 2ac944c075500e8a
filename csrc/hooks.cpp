// What generic PyTorch code asks any accelerator.
#include "shim.h"

#include <ATen/detail/PrivateUse1HooksInterface.h>

namespace neuron {
namespace {

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return nrn_device_count() > 0; }
  bool hasPrimaryContext(c10::DeviceIndex device) const override { return device < nrn_device_count(); }
  void init() const override {}
  c10::DeviceIndex deviceCount() const override { return static_cast<c10::DeviceIndex>(nrn_device_count()); }

  void setCurrentDevice(c10::DeviceIndex device) const override { c10::impl::VirtualGuardImpl(kDevice).setDevice(device_at(device)); }
  c10::DeviceIndex getCurrentDevice() const override { return static_cast<c10::DeviceIndex>(nrn_get_device()); }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override {
    return c10::impl::VirtualGuardImpl(kDevice).exchangeDevice(device_at(device)).index();
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override { return exchangeDevice(device); }

  bool isPinnedPtr(const void* p) const override { return nrn_host_is_pinned(p) != 0; }
  c10::Allocator* getPinnedMemoryAllocator() const override { return pinned_allocator(); }
  at::Device getDeviceFromPtr(void* p) const override {
    const int device = nrn_pointer_device(p);
    TORCH_CHECK(device >= 0, "the pointer ", p, " is not in the memory of a neuron device");
    return device_at(device);
  }

  const at::Generator& getDefaultGenerator(c10::DeviceIndex device) const override { return default_generator(device); }
  at::Generator getNewGenerator(c10::DeviceIndex device) const override { return new_generator(device); }

  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
    resize_storage(storage.unsafeGetStorageImpl(), bytes);
  }
};

} // namespace

void register_hooks() { at::RegisterPrivateUse1HooksInterface(new Hooks()); }

} // namespace neuron
