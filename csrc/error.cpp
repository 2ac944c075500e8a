// Errors across the C ABI: the core's become C++ exceptions, C++ exceptions wait out their way through the core.
#include "shim.h"

namespace neuron {

namespace {
thread_local std::exception_ptr stashed;

template <typename T>
bool is(const c10::Error& e) {
  return dynamic_cast<const T*>(&e) != nullptr;
}

// The kind that `raise` makes this exception of.
int kind_of(const c10::Error& e) {
  return is<c10::IndexError>(e)          ? NE_INDEX
      : is<c10::ValueError>(e)           ? NE_VALUE
      : is<c10::TypeError>(e)            ? NE_TYPE
      : is<c10::NotImplementedError>(e)  ? NE_NOT_IMPLEMENTED
      : is<c10::LinAlgError>(e)          ? NE_LINALG
      : is<c10::OutOfMemoryError>(e)     ? NE_OOM
                                         : NE_RUNTIME;
}
} // namespace

void raise() {
  const char* message = nrn_last_error();
  switch (nrn_last_error_kind()) {
    case NE_INDEX:
      TORCH_CHECK_INDEX(false, message);
    case NE_VALUE:
      TORCH_CHECK_VALUE(false, message);
    case NE_TYPE:
      TORCH_CHECK_TYPE(false, message);
    case NE_NOT_IMPLEMENTED:
      TORCH_CHECK_NOT_IMPLEMENTED(false, message);
    case NE_LINALG:
      TORCH_CHECK_LINALG(false, message);
    case NE_OOM:
      TORCH_CHECK_WITH(OutOfMemoryError, false, message);
    default:
      TORCH_CHECK(false, message);
  }
  __builtin_unreachable();
}

void stash() noexcept { stashed = std::current_exception(); }

void rethrow() {
  auto e = std::exchange(stashed, nullptr);
  TORCH_INTERNAL_ASSERT(e, "the core asked to rethrow an exception that nobody stashed");
  std::rethrow_exception(std::move(e));
}

} // namespace neuron

// The stashed exception as a kind and a message, for callers that are not C++.
extern "C" int nshim_stashed(void (*message)(const char*, void*), void* to) {
  try {
    neuron::rethrow();
  } catch (const c10::Error& e) {
    message(e.what_without_backtrace(), to);
    return neuron::kind_of(e);
  } catch (const std::exception& e) {
    message(e.what(), to);
  }
  return NE_RUNTIME;
}
