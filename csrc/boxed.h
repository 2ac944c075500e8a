// The operators of the core's table, as the boxed kernel sees them. All schema work is done once, at registration.
#pragma once
#include "shim.h"

#include <memory>
#include <string>
#include <vector>

namespace neuron {

// How an argument is read from the stack. Finer than NKind, which the core sees.
enum class Read : uint8_t {
  Tensor, TensorList, OptionalTensorList, Scalar, ScalarList, Int, DType, IntList, Float, FloatList, Bool, BoolList, String,
  Generator, Device, Other
};

enum class Push : uint8_t { Tensor, TensorList, Int, Float, Bool };

struct Argument {
  Read read;
  bool optional;
  bool out;
  bool written;
};

struct Return {
  Push push;
  int alias;  // argument that is returned, or -1
};

// Which operands may share memory with an argument that is written. Where PyTorch does not look, the core reads
// everything before it writes.
enum class Overlap : uint8_t {
  Free,      // all
  Partial,   // those with exactly the same elements
  Operands,  // the first argument, with exactly the same elements
  None,
};

// One registered overload. Lives as long as the process.
struct Overload {
  explicit Overload(const c10::OperatorHandle& op) : handle(op) {}
  c10::OperatorHandle handle;
  // The overload of the row, when this one was derived from it.
  std::optional<c10::OperatorHandle> functional;
  std::string name;  // aten::add.Tensor
  uint32_t id = 0;
  Overlap overlap = Overlap::Free;
  bool takes_device = false;
  std::vector<Argument> arguments;
  std::vector<Return> returns;
};

// One call in progress; what the core holds as `frame`.
struct Frame {
  explicit Frame(const Overload* o) : overload(o) {}
  const Overload* overload;
  virtual c10::IValue* arguments() = 0;

 protected:
  ~Frame() = default;
};

// Finds the one device of a call while its tensors are described.
struct CommonDevice {
  int index = -1;
  int argument = -1;  // the first argument found elsewhere
  c10::Device other{c10::DeviceType::CPU};
  bool elsewhere = false;  // the result is asked for on another device

  void see(const NTensor& t, size_t i) {
    if (C10_LIKELY(t.device_type == ND_NEURON)) {
      if (index < 0) {
        index = t.device_index;
      } else if (C10_UNLIKELY(index != t.device_index)) {
        clash(t, i);
      }
    } else if (t.ndim != 0 || t.device_type != ND_CPU) {
      // A 0-dim CPU tensor is a number.
      clash(t, i);
    }
  }

 private:
  void clash(const NTensor& t, size_t i) {
    if (argument < 0) {
      argument = static_cast<int>(i);
      other = static_cast<const c10::TensorImpl*>(t.impl)->device();
    }
  }
};

// Memory of one call: a stack buffer that suffices for all but long tensor lists.
class Scratch {
 public:
  template <class T>
  T* take(size_t count) {
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= 8);
    const size_t bytes = (count * sizeof(T) + 7) & ~size_t(7);
    if (C10_LIKELY(used_ + bytes <= sizeof buffer_)) {
      auto* p = reinterpret_cast<T*>(buffer_ + used_);
      used_ += bytes;
      return p;
    }
    more_.emplace_back(new char[bytes]);
    return reinterpret_cast<T*>(more_.back().get());
  }

 private:
  alignas(16) char buffer_[3072];
  size_t used_ = 0;
  c10::SmallVector<std::unique_ptr<char[]>, 1> more_;
};

// ---- call.cpp ----
struct Returns {
  NRet room[NRN_ROOM];
  const NRet* data = nullptr;
  uint32_t count = 0;
};
// Checks the described arguments and calls the core; null, or why there is no native execution.
const char* call_core(Frame& frame, const NArg* described, const CommonDevice& common, Returns& returns);

// ---- boxed.cpp, unboxed.cpp ----
torch::CppFunction boxed_function(const Overload* overload);
// A kernel that takes its arguments as they are, for the signatures of most small operators; none for other signatures.
std::optional<torch::CppFunction> unboxed_function(const Overload* overload);

} // namespace neuron
