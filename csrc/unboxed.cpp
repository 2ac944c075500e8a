// Kernels without a stack for operators of tensors and numbers. What they save is the boxing, which costs as much as all
// else the shim does.
#include "boxed.h"

#include <tuple>
#include <type_traits>

namespace neuron {
namespace {

// An argument as the core sees it, with the memory that this points at.
struct Slot {
  NTensor tensor;
  double pair[2];
};

void show(NArg& a, Slot& slot, const at::Tensor& t, size_t i, CommonDevice& common) {
  a.len = 0;
  if (C10_UNLIKELY(!t.defined())) {
    a.tag = NA_NONE;
    return;
  }
  describe(slot.tensor, t.unsafeGetTensorImpl());
  common.see(slot.tensor, i);
  a.tag = NA_TENSOR;
  a.v.tensors = &slot.tensor;
}

void show(NArg& a, Slot& slot, const at::Scalar& s, size_t, CommonDevice&) {
  a.len = 0;
  if (s.isFloatingPoint()) {
    a.tag = NA_FLOAT;
    a.v.f = s.toDouble();
  } else if (s.isIntegral(/*includeBool=*/false)) {
    a.tag = NA_INT;
    a.v.i = s.toLong();
  } else if (s.isBoolean()) {
    a.tag = NA_BOOL;
    a.v.i = s.toBool();
  } else {
    const auto c = s.toComplexDouble();
    slot.pair[0] = c.real();
    slot.pair[1] = c.imag();
    a.tag = NA_COMPLEX;
    a.v.floats = slot.pair;
  }
}

// The arguments become a stack only when someone asks: on a miss, or for a fallback.
template <class... A>
struct LazyFrame final : Frame {
  LazyFrame(const Overload* o, const A&... a) : Frame(o), operands(a...) {}
  std::tuple<const A&...> operands;
  torch::jit::Stack stack;

  c10::IValue* arguments() override {
    if (stack.empty()) {
      std::apply([this](const auto&... a) { (stack.emplace_back(a), ...); }, operands);
    }
    return stack.data();
  }
};

template <class T>
constexpr bool is_written = std::is_same_v<T, at::Tensor&>;

template <class First, class... Rest>
at::Tensor& first_written(First& first, Rest&... rest) {
  if constexpr (std::is_same_v<First, at::Tensor>) {
    return first;
  } else {
    return first_written(rest...);
  }
}

template <class R, class... A>
struct Signature {
  template <class T>
  static bool fits(const Argument& a) {
    constexpr auto read = std::is_same_v<T, const at::Scalar&> ? Read::Scalar : Read::Tensor;
    return a.read == read && !a.optional && a.written == is_written<T>;
  }

  static bool fits(const Overload& o) {
    if (o.arguments.size() != sizeof...(A) || o.returns.size() != 1 || o.returns[0].push != Push::Tensor ||
        (o.returns[0].alias >= 0) != std::is_same_v<R, at::Tensor&>) {
      return false;
    }
    size_t i = 0;
    return (fits<A>(o.arguments[i++]) && ...);
  }

  static torch::CppFunction kernel(const Overload* o) {
    return torch::CppFunction([o](A... a) -> R { return call(o, a...); });
  }

  static R call(const Overload* o, A... a) {
    NArg described[sizeof...(A)];
    Slot slots[sizeof...(A)];
    CommonDevice common;
    size_t i = 0;
    ((show(described[i], slots[i], a, i, common), i++), ...);
    LazyFrame<std::decay_t<A>...> frame(o, a...);
    Returns returned;
    const char* reason = call_core(frame, described, common, returned);
    if (C10_UNLIKELY(reason != nullptr)) {
      const std::string kept = reason;
      frame.arguments();
      fallback(o->handle, &frame.stack, kept.c_str());
      if constexpr (!std::is_same_v<R, at::Tensor&>) {
        return std::move(frame.stack.back()).toTensor();
      }
    }
    if constexpr (std::is_same_v<R, at::Tensor&>) {
      return first_written(a...);
    } else {
      TORCH_INTERNAL_ASSERT(returned.count == 1 && returned.data->tag == NR_TENSOR, o->name, ": the core returned no tensor");
      return adopt(returned.data->v.impl);
    }
  }
};

template <class... S>
std::optional<torch::CppFunction> first_fit(const Overload* o) {
  std::optional<torch::CppFunction> kernel;
  ((S::fits(*o) && (kernel.emplace(S::kernel(o)), true)) || ...);
  return kernel;
}

using T = const at::Tensor&;
using N = const at::Scalar&;
using W = at::Tensor&;

} // namespace

std::optional<torch::CppFunction> unboxed_function(const Overload* overload) {
  using New = at::Tensor;
  return first_fit<Signature<New, T>, Signature<New, T, T>, Signature<New, T, N>, Signature<New, T, T, T>,
      Signature<New, T, T, N>, Signature<New, T, N, N>, Signature<New, N, T>, Signature<New, T, T, T, N>,
      Signature<New, T, T, T, N, N>, Signature<W, W>, Signature<W, W, T>, Signature<W, W, N>, Signature<W, W, T, N>,
      Signature<W, W, T, T>, Signature<W, W, T, T, N>, Signature<W, T, W>, Signature<W, T, T, W>, Signature<W, T, N, W>,
      Signature<W, T, T, N, W>>(overload);
}

} // namespace neuron
