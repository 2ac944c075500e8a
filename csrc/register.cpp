// One call that registers everything. Not static initialisers: the linker drops those from a static archive.
#include "shim.h"

extern "C" const char* nshim_register(void) {
  using namespace neuron;
  try {
    register_allocators();
    register_guard();
    register_hooks();
    register_profiler();
    // Libraries deregister when destroyed, so they are leaked.
    auto& m = *new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::PrivateUse1, __FILE__, __LINE__);
    register_storage_ops(m);
    register_view_ops(m);
    register_copy_ops(m);
    register_attention(m);
    register_batch_norm(m);
    register_composites(m);
    register_dynamic_ops(m);
    register_meta();
    register_rows(m);
    register_layouts(m);
    auto& rest = *new torch::Library(torch::Library::IMPL, "_", c10::DispatchKey::PrivateUse1, __FILE__, __LINE__);
    rest.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback_without_rule>());
    register_autocast();
    return nullptr;
  } catch (const std::exception& e) {
    return strdup(e.what());
  }
}
