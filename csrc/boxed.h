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
  bool out;
};

struct Return {
  Push push;
  int alias;  // argument that is returned, or -1
};

// One registered overload. Lives as long as the process.
struct Overload {
  explicit Overload(const c10::OperatorHandle& op) : handle(op) {}
  c10::OperatorHandle handle;
  // The overload of the row, when this one was derived from it.
  std::optional<c10::OperatorHandle> functional;
  std::string name;  // aten::add.Tensor
  uint32_t id = 0;
  std::vector<Argument> arguments;
  std::vector<Return> returns;
};

// One call in progress; what the core holds as `frame`.
struct Frame {
  const Overload* overload;
  c10::IValue* arguments;
  NArg* described;
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

torch::CppFunction boxed_function(const Overload* overload);

} // namespace neuron
