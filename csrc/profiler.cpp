// Device timestamps for `torch.autograd.profiler.profile(use_device="neuron")`.
#include "shim.h"

#include <torch/csrc/profiler/stubs/base.h>

#include <chrono>

namespace neuron {
namespace {

struct Stubs final : torch::profiler::impl::ProfilerStubs {
  using Event = torch::profiler::impl::ProfilerVoidEventStub;

  void record(c10::DeviceIndex* device, Event* event, int64_t* cpu_ns) const override {
    const int index = nrn_get_device();
    if (device) {
      *device = static_cast<c10::DeviceIndex>(index);
    }
    void* raw = nullptr;
    check(nrn_event_record(&raw, index, nrn_current_stream(index), 1));
    *event = Event(raw, [](void* e) { nrn_event_destroy(e); });
    if (cpu_ns) {
      *cpu_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
          std::chrono::system_clock::now().time_since_epoch()).count();
    }
  }
  float elapsed(const Event* start, const Event* end) const override {
    check(nrn_event_sync(start->get()));
    check(nrn_event_sync(end->get()));
    double milliseconds = 0;
    check(nrn_event_elapsed(start->get(), end->get(), &milliseconds));
    return static_cast<float>(milliseconds * 1000.0);
  }
  // Marks and ranges are for external tools, of which there is none for this device.
  void mark(const char*) const override {}
  void rangePush(const char*) const override {}
  void rangePop() const override {}
  bool enabled() const override { return true; }
  void onEachDevice(std::function<void(int)> visit) const override {
    const int previous = nrn_get_device();
    for (int i = 0; i < nrn_device_count(); i++) {
      nrn_exchange_device(i);
      visit(i);
    }
    nrn_exchange_device(previous);
  }
  void synchronize() const override {
    for (int i = 0; i < nrn_device_count(); i++) {
      check(nrn_device_sync(i));
    }
  }
};

} // namespace

void register_profiler() { torch::profiler::impl::registerPrivateUse1Methods(new Stubs()); }

} // namespace neuron
