// Device and pinned host memory. Both allocators only translate: the core caches, counts and orders by stream.
#include "shim.h"

#include <ATen/core/CachingHostAllocator.h>

namespace neuron {
namespace {

c10::CachingAllocator::Stat stat(const NStat& s) {
  c10::CachingAllocator::Stat r;
  r.current = s.current;
  r.peak = s.peak;
  r.allocated = s.allocated;
  r.freed = s.freed;
  return r;
}

struct Allocator final : c10::DeviceAllocator {
  c10::DataPtr allocate(size_t bytes) override { return allocate_on(nrn_get_device(), bytes); }

  // A raw pointer alone does not find its block, so raw allocation is not offered.
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }

  void copy_data(void* dst, const void* src, size_t bytes) const override {
    const int64_t size = static_cast<int64_t>(bytes), stride = 1;
    const auto byte = nrn_dtype_from_torch[static_cast<int>(at::kByte)];
    const int device = nrn_get_device();
    // A null handle would mean an undefined tensor; a copy does not look behind it.
    NTensor d{dst, &size, &stride, 1, byte, ND_NEURON, static_cast<int8_t>(device), 0, dst};
    NTensor s{const_cast<void*>(src), &size, &stride, 1, byte, ND_NEURON, static_cast<int8_t>(device), 0, dst};
    check(nrn_copy(&d, &s, 1));
  }

  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override { check(nrn_empty_cache()); }
  void recordStream(const c10::DataPtr& ptr, c10::Stream stream) override {
    if (ptr.get_context()) {
      nrn_record_stream(ptr.get_context(), stream.id());
    }
  }

  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    NMemoryStats s{};
    nrn_memory_stats(device, &s);
    c10::CachingDeviceAllocator::DeviceStats r;
    r.allocation[0] = stat(s.allocation);
    r.segment[0] = stat(s.segment);
    r.active[0] = stat(s.active);
    r.inactive_split[0] = stat(s.inactive_split);
    r.allocated_bytes[0] = stat(s.allocated_bytes);
    r.reserved_bytes[0] = stat(s.reserved_bytes);
    r.active_bytes[0] = stat(s.active_bytes);
    r.inactive_split_bytes[0] = stat(s.inactive_split_bytes);
    r.requested_bytes[0] = stat(s.requested_bytes);
    r.num_alloc_retries = s.num_alloc_retries;
    r.num_ooms = s.num_ooms;
    r.num_device_alloc = s.num_device_alloc;
    r.num_device_free = s.num_device_free;
    r.num_sync_all_streams = s.num_sync_all_streams;
    return r;
  }
  void resetAccumulatedStats(c10::DeviceIndex device) override { nrn_reset_stats(device, 0); }
  void resetPeakStats(c10::DeviceIndex device) override { nrn_reset_stats(device, 1); }
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex device) override {
    size_t free_bytes = 0, total_bytes = 0;
    nrn_memory_info(device, &free_bytes, &total_bytes);
    return {free_bytes, total_bytes};
  }
};

struct PinnedAllocator final : at::HostAllocator {
  c10::DataPtr allocate(size_t bytes) override {
    NBlock block{nullptr, nullptr};
    if (bytes != 0) {
      check(nrn_host_alloc(bytes, &block));
    }
    return {block.data, block.ctx, &nrn_host_free, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void* dst, const void* src, size_t bytes) const override { default_copy_data(dst, src, bytes); }
  bool record_event(void* ptr, void* ctx, c10::Stream stream) override {
    if (!ctx || !nrn_host_is_pinned(ptr)) {
      return false;
    }
    return nrn_host_record(ctx, stream.device_index(), stream.id()) == NC_OK;
  }
  void empty_cache() override { nrn_host_empty_cache(); }
  at::HostStats get_stats() override {
    NStat allocation{}, bytes{};
    nrn_host_stats(&allocation, &bytes);
    at::HostStats r;
    r.allocations = stat(allocation);
    r.active_requests = r.allocations;
    r.allocated_bytes = stat(bytes);
    r.active_bytes = r.allocated_bytes;
    r.num_host_alloc = allocation.allocated;
    r.num_host_free = allocation.freed;
    return r;
  }
  void reset_accumulated_stats() override { nrn_host_reset_stats(0); }
  void reset_peak_stats() override { nrn_host_reset_stats(1); }
};

// Leaked: tensors that outlive static destruction still reach their allocator.
Allocator& device_allocator = *new Allocator();
PinnedAllocator& host_allocator = *new PinnedAllocator();

} // namespace

c10::DataPtr allocate_on(int device, size_t bytes) {
  NBlock block{nullptr, nullptr};
  if (C10_LIKELY(bytes != 0)) {
    check(nrn_alloc(bytes, device, nrn_current_stream(device), &block));
  }
  return {block.data, block.ctx, &nrn_free, device_at(device)};
}

c10::DeviceAllocator* allocator() { return &device_allocator; }
c10::Allocator* pinned_allocator() { return &host_allocator; }

void register_allocators() {
  c10::SetAllocator(kDevice, &device_allocator);
  at::setHostAllocator(kDevice, &host_allocator);
}

} // namespace neuron
