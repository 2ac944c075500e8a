// Random generators: a Philox seed and offset. The offset counts 32-bit words, as PyTorch's CUDA generator does, and
// is a multiple of 4; the core counts 128-bit blocks.
#include "shim.h"

#include <c10/core/GeneratorImpl.h>

#include <atomic>

namespace neuron {
namespace {

struct State {
  std::mutex mutex;
  uint64_t seed = c10::default_rng_seed_val;
  uint64_t offset = 0;
};

struct Philox final : c10::GeneratorImpl {
  // Shared between the generators that `graphsafe_get_state` hands out.
  std::shared_ptr<State> state = std::make_shared<State>();

  explicit Philox(c10::DeviceIndex index) : GeneratorImpl(device_at(index), kKeys) {}
  static c10::DeviceType device_type() { return kDevice; }

  void set_current_seed(uint64_t seed) override {
    std::lock_guard<std::mutex> lock(state->mutex);
    state->seed = seed;
    state->offset = 0;
  }
  uint64_t current_seed() const override {
    std::lock_guard<std::mutex> lock(state->mutex);
    return state->seed;
  }
  uint64_t seed() override {
    const auto seed = c10::detail::getNonDeterministicRandom();
    set_current_seed(seed);
    return seed;
  }
  void set_offset(uint64_t offset) override {
    TORCH_CHECK(offset % 4 == 0, "the offset of a neuron generator must be a multiple of 4, got ", offset);
    std::lock_guard<std::mutex> lock(state->mutex);
    state->offset = offset;
  }
  uint64_t get_offset() const override {
    std::lock_guard<std::mutex> lock(state->mutex);
    return state->offset;
  }

  void set_state(const c10::TensorImpl& t) override {
    TORCH_CHECK_TYPE(t.device().is_cpu() && t.dtype() == caffe2::TypeMeta::Make<uint8_t>() && t.is_contiguous(),
        "RNG state must be a torch.ByteTensor on CPU");
    TORCH_CHECK(t.numel() == 16, "RNG state is wrong size: expected 16 bytes (seed, offset), got ", t.numel());
    uint64_t words[2];
    memcpy(words, t.data(), sizeof words);
    TORCH_CHECK(words[1] % 4 == 0, "RNG state is not one of a neuron generator: offset ", words[1]);
    std::lock_guard<std::mutex> lock(state->mutex);
    state->seed = words[0];
    state->offset = words[1];
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    auto t = at::detail::empty_cpu({16}, at::kByte);
    std::lock_guard<std::mutex> lock(state->mutex);
    const uint64_t words[2] = {state->seed, state->offset};
    memcpy(t.mutable_data_ptr(), words, sizeof words);
    return t.getIntrusivePtr();
  }
  c10::intrusive_ptr<c10::GeneratorImpl> graphsafe_get_state() const override {
    auto g = c10::make_intrusive<Philox>(device_.index());
    g->state = state;
    return g;
  }
  void graphsafe_set_state(const c10::intrusive_ptr<c10::GeneratorImpl>& other) override {
    auto* g = dynamic_cast<Philox*>(other.get());
    TORCH_CHECK(g, "expected the state of a neuron generator");
    state = g->state;
  }

  // Reserves 128-bit blocks; what was reserved starts at the seed and offset returned.
  void reserve(uint64_t blocks, uint64_t& seed, uint64_t& offset_blocks) {
    std::lock_guard<std::mutex> lock(state->mutex);
    seed = state->seed;
    offset_blocks = state->offset / 4;
    state->offset += 4 * blocks;
  }

#if TORCH_VERSION_MINOR >= 14
  void philox_state(uint64_t increment, at::Tensor& seed, at::Tensor& offset, at::Tensor& intragraph) override {
    uint64_t s = 0, o = 0;
    reserve((increment + 3) / 4, s, o);
    seed.fill_(static_cast<int64_t>(s));
    offset.fill_(static_cast<int64_t>(4 * o));
    intragraph.fill_(0);
  }
#endif

 private:
  Philox* clone_impl() const override {
    auto* g = new Philox(device_.index());
    std::lock_guard<std::mutex> lock(state->mutex);
    g->state->seed = state->seed;
    g->state->offset = state->offset;
    return g;
  }
};

} // namespace

const at::Generator& default_generator(int device) {
  static const auto* generators = [] {
    auto* all = new std::vector<at::Generator>();
    for (int i = 0; i < nrn_device_count(); i++) {
      all->push_back(at::make_generator<Philox>(static_cast<c10::DeviceIndex>(i)));
    }
    return all;
  }();
  const int index = device < 0 ? nrn_get_device() : device;
  TORCH_CHECK(static_cast<size_t>(index) < generators->size(), "Invalid device ordinal ", index, ": there are ",
      generators->size(), " neuron devices");
  return (*generators)[index];
}

at::Generator new_generator(int device) {
  return at::make_generator<Philox>(static_cast<c10::DeviceIndex>(device < 0 ? nrn_get_device() : device));
}

} // namespace neuron

extern "C" int nshim_philox(void* generator, int8_t device, uint64_t count, uint64_t* seed, uint64_t* offset) {
  try {
    auto* impl = generator ? static_cast<c10::GeneratorImpl*>(generator)
                           : neuron::default_generator(device).unsafeGetGeneratorImpl();
    auto* philox = dynamic_cast<neuron::Philox*>(impl);
    TORCH_CHECK(philox, "Expected a 'neuron' device type for generator but found '", impl->device().type(), "'");
    philox->reserve(count, *seed, *offset);
    return NC_OK;
  } catch (...) {
    neuron::stash();
    return NC_RETHROW;
  }
}
