// Output inference by PyTorch's own meta kernels: the same operator on tensors without data gives the results' sizes,
// types and strides, and raises PyTorch's errors.
#include "boxed.h"

#include <ATen/EmptyTensor.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <string_view>

namespace neuron {
namespace {

// What the last `nshim_meta` of this thread returned; its tensors own the sizes and strides.
struct Results {
  std::vector<at::Tensor> tensors;
  std::vector<NMeta> metas;
};
thread_local Results results;

at::Tensor on_meta(const at::Tensor& t, bool out) {
  if (!t.defined() || t.device().is_cpu()) {
    // A 0-dim CPU tensor is a number, and its rank in type promotion depends on that it stays one.
    return t;
  }
  at::Tensor m = out
      // Of an out= argument only the type counts. An empty one resizes without the warning that `nshim_resize` gives.
      ? at::Tensor(at::detail::empty_meta({0}, t.scalar_type()))
      : at::Tensor(at::detail::empty_strided_meta(t.sizes(), t.strides(), t.scalar_type()));
  if (t.unsafeGetTensorImpl()->is_wrapped_number()) {
    m.unsafeGetTensorImpl()->set_wrapped_number(true);
  }
  return m;
}

c10::IValue on_meta(const c10::IValue& v, const Argument& a) {
  if (v.isNone()) {
    return v;
  }
  switch (a.read) {
    case Read::Tensor:
      return on_meta(v.toTensor(), a.out);
    case Read::TensorList: {
      c10::List<at::Tensor> list;
      for (const auto& t : v.toListRef()) {
        list.push_back(on_meta(t.toTensor(), a.out));
      }
      return list;
    }
    case Read::OptionalTensorList: {
      c10::List<std::optional<at::Tensor>> list;
      for (const auto& t : v.toListRef()) {
        list.push_back(t.isNone() ? std::nullopt : std::optional<at::Tensor>(on_meta(t.toTensor(), a.out)));
      }
      return list;
    }
    case Read::Device:
      return v.toDevice().type() == kDevice ? c10::IValue(c10::Device(c10::DeviceType::Meta)) : v;
    case Read::Generator:
      // No number is drawn.
      return c10::IValue();
    default:
      return v;
  }
}

void keep(const at::Tensor& t) {
  if (!t.defined()) {
    results.metas.push_back(NMeta{255, -1, nullptr, nullptr});
    return;
  }
  results.tensors.push_back(t);
  const auto* impl = t.unsafeGetTensorImpl();
  results.metas.push_back(NMeta{nrn_dtype_from_torch[static_cast<uint8_t>(t.scalar_type()) & 63],
      static_cast<int32_t>(impl->dim()), impl->sizes().data(), impl->strides().data()});
}

// PyTorch's Python registrations shadow the C++ meta kernels of structured operators, and are slower by far, with other
// messages. The C++ code is still reachable inside the operator's default kernel, which infers, allocates the outputs
// and calls the out= overload. Under this key that last call does nothing.
constexpr auto kInferOnly = c10::DispatchKey::TESTING_ONLY_GenericMode;

void infer_only(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& arguments = op.schema().arguments();
  size_t outs = 0;
  while (outs < arguments.size() && arguments[arguments.size() - 1 - outs].is_out()) {
    outs++;
  }
  if (outs != 0) {
    stack->erase(stack->end() - static_cast<int64_t>(arguments.size()), stack->end() - static_cast<int64_t>(outs));
    return;
  }
  const c10::impl::ExcludeDispatchKeyGuard past(kInferOnly);
  op.callBoxed(stack);
}

// What a meta kernel in Python raises where a C++ kernel has a plain check: the refusals of `assert`, of reference
// implementations' own helpers, and of Python itself at arguments that no one looked at. Errors of dims and types that it
// raises on purpose are those of the C++ kernel.
bool is_slip(std::string_view text) {
  for (const std::string_view start : {"AssertionError", "ValueError", "ZeroDivisionError", "OverflowError", "AttributeError",
           "KeyError", "UnboundLocalError", "RecursionError", "TypeError"}) {
    if (text.substr(0, start.size()) == start) {
      return true;
    }
  }
  return false;
}

// Stashes a RuntimeError.
void refuse_as(const std::string& message) {
  try {
    TORCH_CHECK(false, message);
  } catch (...) {
    stash();
  }
}

constexpr auto kStructured = c10::DispatchKey::CompositeExplicitAutogradNonFunctional;

// The overload that can run on meta tensors, and how many of the arguments it takes; null when there is none.
std::pair<const c10::OperatorHandle*, size_t> runnable(const Overload& o, bool functional) {
  const bool both = o.functional && o.functional->hasComputedKernelForDispatchKey(c10::DispatchKey::Meta);
  if (!(functional && both) && o.handle.hasComputedKernelForDispatchKey(c10::DispatchKey::Meta)) {
    return {&o.handle, o.arguments.size()};
  }
  if (both) {
    return {&*o.functional, o.functional->schema().arguments().size()};
  }
  return {nullptr, 0};
}

void restate(c10::IValue& result, c10::IntArrayRef sizes, at::ScalarType type) {
  result = at::Tensor(at::detail::empty_meta(sizes, type));
}

// Outside training, batch normalization saves no statistics. Of reduced floats they are float only beside parameters
// that are.
void batch_norm_as_on_cpu(bool saves, bool functional, const c10::IValue* arguments, torch::jit::Stack& results) {
  auto type = results[1].toTensor().scalar_type();
  const auto data = arguments[0].toTensor().scalar_type();
  if (at::isReducedFloatingType(data) && std::none_of(arguments + 1, arguments + 5, [](const c10::IValue& v) {
        return v.isTensor() && v.toTensor().defined() && v.toTensor().scalar_type() == at::kFloat;
      })) {
    type = data;
  }
  for (const size_t i : {1, 2}) {
    restate(results[i], saves ? results[i].toTensor().sizes() : c10::IntArrayRef{0}, type);
  }
  // New running statistics come last.
  for (size_t i = 0; functional && i < 2; i++) {
    auto& last = results[results.size() - 2 + i];
    restate(last, last.toTensor().sizes(), arguments[3 + i].toTensor().scalar_type());
  }
}

// A plain sum may do without the bag of each index, and only the maximum has a list of positions.
void embedding_bag_as_on_cpu(const c10::IValue* arguments, torch::jit::Stack& results) {
  const at::Tensor& weight = arguments[0].toTensor();
  const int64_t mode = arguments[4].toInt(), padding = arguments[8].toInt();
  const bool scaled = arguments[6].isTensor() && arguments[6].toTensor().defined();
  const bool fast = (weight.scalar_type() == at::kFloat || at::isReducedFloatingType(weight.scalar_type())) &&
      weight.stride(1) == 1 && padding < 0 && (!scaled || arguments[6].toTensor().stride(0) == 1);
  const auto type = results[2].toTensor().scalar_type();
  if (mode == 0 && fast) {
    restate(results[1], {0}, type);
  }
  const int64_t bags = results[0].toTensor().size(0);
  restate(results[2], {bags}, type);
  if (mode != 2) {
    restate(results[3], {bags}, type);
  }
}

// Where PyTorch's inference says what CUDA returns and the CPU differs.
void as_on_cpu(const Overload& o, const c10::IValue* arguments, torch::jit::Stack& results) {
  const std::string_view name = std::string_view(o.name).substr(0, o.name.find('.'));
  const bool flagged = name == "aten::native_batch_norm" || name == "aten::_native_batch_norm_legit" ||
      name == "aten::_native_batch_norm_legit_functional";
  const bool never = name == "aten::_native_batch_norm_legit_no_training" || name == "aten::_batch_norm_no_update";
  const bool always = name == "aten::_batch_norm_with_update" || name == "aten::_batch_norm_with_update_functional";
  if (flagged || never || always) {
    const bool saves = always || (flagged && !(arguments[5].isBool() && !arguments[5].toBool()));
    batch_norm_as_on_cpu(saves, name.find("functional") != std::string_view::npos, arguments, results);
  } else if (name == "aten::_embedding_bag" || name == "aten::_embedding_bag_forward_only") {
    embedding_bag_as_on_cpu(arguments, results);
  }
}

} // namespace

void register_meta() {
  auto& all = *new torch::Library(torch::Library::IMPL, "_", kInferOnly, __FILE__, __LINE__);
  all.fallback(torch::CppFunction::makeFromBoxedFunction<&infer_only>());
}

} // namespace neuron

static int infer(void* frame, bool functional, const NMeta** metas, uint32_t* count) {
  using namespace neuron;
  auto& call = *static_cast<Frame*>(frame);
  results.tensors.clear();
  results.metas.clear();
  *count = UINT32_MAX;
  *metas = nullptr;
  try {
    const auto [op, taken] = runnable(*call.overload, functional);
    if (!op) {
      return NC_OK;
    }
    const c10::IValue* const arguments = call.arguments();
    torch::jit::Stack stack;
    stack.reserve(taken);
    for (size_t i = 0; i < taken; i++) {
      stack.push_back(on_meta(arguments[i], call.overload->arguments[i]));
    }
    // Profilers see the operator once.
    const at::DisableRecordFunctionGuard unseen;
    const c10::impl::ExcludeDispatchKeyGuard below(
        c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::autocast_dispatch_keyset);
    // An out= overload under this key is an ordinary composite (`logsumexp`), whose inner calls do have to resize.
    if (op->hasKernelForDispatchKey(kStructured) && !op->schema().arguments().back().is_out()) {
      const c10::impl::IncludeDispatchKeyGuard only(kInferOnly);
      op->callBoxedForDispatchKey(kStructured, stack);
    } else {
      op->redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::Meta), &stack);
    }
    as_on_cpu(*call.overload, arguments, stack);
    for (const auto& v : stack) {
      if (v.isTensor()) {
        keep(v.toTensor());
      } else if (v.isTensorList()) {
        for (const auto& t : v.toListRef()) {
          keep(t.toTensor());
        }
      }
    }
    *metas = results.metas.data();
    *count = static_cast<uint32_t>(results.metas.size());
    return NC_OK;
  } catch (const c10::NotImplementedError&) {
    return NC_OK;
  } catch (const std::exception& e) {
    // A meta kernel in Python, such as that of `nonzero`. Its exception's class is not visible here, only its text.
    if (std::string_view(e.what()).substr(0, 19) == "NotImplementedError") {
      return NC_OK;
    }
    // Some of those for out= overloads cannot be called with the arguments of their own schema.
    if (!functional && call.overload->functional && std::string_view(e.what()).substr(0, 9) == "TypeError") {
      return infer(frame, true, metas, count);
    }
    const std::string text = e.what();
    if (is_slip(text)) {
      // Past the class and the colon; without the stack that may follow.
      const auto from = std::min(text.find(' ') + 1, text.size());
      refuse_as(text.substr(from, text.find('\n', from) - from));
      return NC_RETHROW;
    }
    stash();
    return NC_RETHROW;
  } catch (...) {
    stash();
    return NC_RETHROW;
  }
}

extern "C" int nshim_meta(void* frame, int functional, const NMeta** metas, uint32_t* count) {
  return infer(frame, functional != 0, metas, count);
}
