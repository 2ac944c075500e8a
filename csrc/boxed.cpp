// The one kernel behind every operator: unpacks the dispatcher's stack for the core, and packs what comes back.
#include "boxed.h"

#include <ATen/native/IndexingUtils.h>
#include <ATen/ops/masked_select.h>

namespace neuron {
namespace {

int64_t to_int(const c10::IValue& v) {
  if (C10_LIKELY(v.isInt())) {
    return v.toInt();
  }
  return v.isBool() ? v.toBool() : v.toSymInt().guard_int(__FILE__, __LINE__);
}

double to_float(const c10::IValue& v) {
  return v.isDouble() ? v.toDouble() : v.isInt() ? static_cast<double>(v.toInt()) : v.toSymFloat().guard_float(__FILE__, __LINE__);
}

void read_scalar(NArg& a, const c10::IValue& v, Scratch& scratch) {
  if (v.isInt()) {
    a.tag = NA_INT;
    a.v.i = v.toInt();
  } else if (v.isDouble()) {
    a.tag = NA_FLOAT;
    a.v.f = v.toDouble();
  } else if (v.isBool()) {
    a.tag = NA_BOOL;
    a.v.i = v.toBool();
  } else if (v.isComplexDouble()) {
    auto* pair = scratch.take<double>(2);
    pair[0] = v.toComplexDouble().real();
    pair[1] = v.toComplexDouble().imag();
    a.tag = NA_COMPLEX;
    a.v.floats = pair;
  } else if (v.isSymInt()) {
    a.tag = NA_INT;
    a.v.i = to_int(v);
  } else if (v.isSymFloat()) {
    a.tag = NA_FLOAT;
    a.v.f = to_float(v);
  } else {
    a.tag = NA_OTHER;
  }
}

void read_scalars(NArg& a, c10::ArrayRef<c10::IValue> list, Scratch& scratch) {
  auto* out = scratch.take<NScalar>(list.size());
  for (size_t k = 0; k < list.size(); k++) {
    const c10::IValue& v = list[k];
    out[k] = NScalar{NA_OTHER, 0, {0}, 0.0};
    if (v.isInt() || v.isBool()) {
      out[k].tag = v.isInt() ? NA_INT : NA_BOOL;
      out[k].re.i = to_int(v);
    } else if (v.isDouble()) {
      out[k].tag = NA_FLOAT;
      out[k].re.f = v.toDouble();
    } else if (v.isComplexDouble()) {
      out[k].tag = NA_COMPLEX;
      out[k].re.f = v.toComplexDouble().real();
      out[k].im = v.toComplexDouble().imag();
    }
  }
  a.tag = NA_SCALAR_LIST;
  a.v.scalars = out;
}

void read_tensors(NArg& a, c10::ArrayRef<c10::IValue> list, size_t i, Scratch& scratch, CommonDevice& common) {
  auto* out = scratch.take<NTensor>(list.size());
  for (size_t k = 0; k < list.size(); k++) {
    if (list[k].isNone() || !list[k].toTensor().defined()) {
      out[k] = NTensor{nullptr, nullptr, nullptr, 0, 255, ND_OTHER, -1, 0, nullptr};
    } else {
      describe(out[k], list[k].toTensor().unsafeGetTensorImpl());
      common.see(out[k], i);
    }
  }
  a.tag = NA_TENSOR_LIST;
  a.v.tensors = out;
}

template <class T, class F>
const T* convert(c10::ArrayRef<c10::IValue> list, Scratch& scratch, F f) {
  auto* out = scratch.take<T>(list.size());
  for (size_t k = 0; k < list.size(); k++) {
    out[k] = static_cast<T>(f(list[k]));
  }
  return out;
}

void read(NArg& a, Read how, const c10::IValue& v, size_t i, Scratch& scratch, CommonDevice& common) {
  a.len = 0;
  switch (how) {
    case Read::Tensor: {
      const auto& t = v.toTensor();
      if (C10_UNLIKELY(!t.defined())) {
        a.tag = NA_NONE;
        return;
      }
      auto* described = scratch.take<NTensor>(1);
      describe(*described, t.unsafeGetTensorImpl());
      common.see(*described, i);
      a.tag = NA_TENSOR;
      a.v.tensors = described;
      return;
    }
    case Read::Scalar:
      return read_scalar(a, v, scratch);
    case Read::Int:
      a.tag = NA_INT;
      a.v.i = to_int(v);
      return;
    case Read::DType:
      // The core knows dtypes by its own codes.
      a.tag = NA_INT;
      a.v.i = nrn_dtype_from_torch[v.toInt() & 63];
      return;
    case Read::Float:
      a.tag = NA_FLOAT;
      a.v.f = to_float(v);
      return;
    case Read::Bool:
      a.tag = NA_BOOL;
      a.v.i = v.isBool() ? v.toBool() : v.toSymBool().guard_bool(__FILE__, __LINE__);
      return;
    case Read::String: {
      const auto text = v.toStringView();
      a.tag = NA_STRING;
      a.len = static_cast<uint32_t>(text.size());
      a.v.chars = text.data();
      return;
    }
    case Read::Generator:
      a.tag = NA_GENERATOR;
      a.v.ptr = v.toGenerator().unsafeGetGeneratorImpl();
      return;
    case Read::Device:
      a.tag = NA_OTHER;
      if (v.toDevice().type() != kDevice) {
        common.elsewhere = true;
      } else if (common.index < 0) {
        common.index = device_of(v.toDevice());
      } else {
        common.elsewhere |= common.index != device_of(v.toDevice());
      }
      return;
    case Read::Other:
      a.tag = NA_OTHER;
      return;
    default:
      break;
  }
  const auto list = v.toListRef();
  a.len = static_cast<uint32_t>(list.size());
  switch (how) {
    case Read::IntList:
      a.tag = NA_INT_LIST;
      a.v.ints = convert<int64_t>(list, scratch, to_int);
      return;
    case Read::FloatList:
      a.tag = NA_FLOAT_LIST;
      a.v.floats = convert<double>(list, scratch, to_float);
      return;
    case Read::BoolList:
      a.tag = NA_BOOL_LIST;
      a.v.bools = convert<uint8_t>(list, scratch, to_int);
      return;
    case Read::ScalarList:
      return read_scalars(a, list, scratch);
    default:
      return read_tensors(a, list, i, scratch, common);
  }
}

// Index tensors may live on the CPU (`x[cpu_index]`); they move to the operands' device, as CUDA does it.
c10::List<std::optional<at::Tensor>> moved_indices(const c10::IValue& list, c10::Device device) {
  c10::List<std::optional<at::Tensor>> moved;
  for (const auto& v : list.toListRef()) {
    if (v.isNone() || !v.toTensor().defined()) {
      moved.push_back(std::nullopt);
    } else {
      const auto& t = v.toTensor();
      moved.push_back(t.device().is_cpu() && device.type() == kDevice ? t.to(device) : t);
    }
  }
  return moved;
}

bool is_mask(const at::Tensor& t) { return t.scalar_type() == at::kBool || t.scalar_type() == at::kByte; }

struct IndexList {
  bool cpu = false;
  bool mask = false;
  size_t defined = 0;
  at::Tensor last;

  explicit IndexList(const c10::IValue& list) {
    for (const auto& v : list.toListRef()) {
      if (!v.isNone() && v.toTensor().defined()) {
        last = v.toTensor();
        cpu |= last.device().is_cpu();
        mask |= is_mask(last);
        defined++;
      }
    }
  }
};

// Brings the indices of a call into the form that rules take: on the device, without masks but for the cases below. Of
// a call that this decides, the result.
std::optional<at::Tensor> prepare_indices(const Overload& o, c10::IValue* arguments, size_t i) {
  const IndexList found(arguments[i]);
  const at::Tensor& self = arguments[0].toTensor();
  if (found.cpu) {
    arguments[i] = moved_indices(arguments[i], self.device());
  }
  if (!found.mask || !self.defined()) {
    return std::nullopt;
  }
  if (found.defined == 1) {
    // The core puts values under a single mask without asking how many elements it holds.
    if (o.name.find("put") != std::string::npos) {
      return std::nullopt;
    }
    if (o.name == "aten::index.Tensor" && found.last.scalar_type() == at::kBool && found.last.sizes() == self.sizes() &&
        self.dim() > 0) {
      return at::masked_select(self, found.last.to(self.device()));
    }
  }
  const auto list = arguments[i].toOptionalTensorList();
  c10::List<std::optional<at::Tensor>> expanded;
  for (const auto& t : at::native::expandTensors(self, list)) {
    expanded.push_back(t.defined() ? std::optional<at::Tensor>(t) : std::nullopt);
  }
  arguments[i] = std::move(expanded);
  return std::nullopt;
}

const NRet* push(c10::IValue& out, Push how, const NRet* r, const Overload& o) {
  if (how == Push::TensorList) {
    TORCH_INTERNAL_ASSERT(r->tag == NR_LIST, o.name, ": the core returned no list");
    c10::List<at::Tensor> list;
    const int64_t count = r->v.i;
    list.reserve(count);
    for (int64_t k = 0; k < count; k++) {
      ++r;
      list.push_back(r->tag == NR_TENSOR ? adopt(r->v.impl) : at::Tensor());
    }
    out = std::move(list);
    return r + 1;
  }
  switch (r->tag) {
    case NR_TENSOR:
      out = adopt(r->v.impl);
      break;
    case NR_UNDEFINED:
      out = at::Tensor();
      break;
    case NR_FLOAT:
      out = r->v.f;
      break;
    default:
      if (how == Push::Bool) {
        out = r->v.i != 0;
      } else {
        out = r->v.i;
      }
  }
  return r + 1;
}

struct StackFrame final : Frame {
  StackFrame(const Overload* o, c10::IValue* a) : Frame(o), first(a) {}
  c10::IValue* first;
  c10::IValue* arguments() override { return first; }
};

// What creates a tensor from nothing does it on the current device.
struct DeviceSwitch {
  int previous = -1;
  explicit DeviceSwitch(int index) {
    if (C10_UNLIKELY(index >= 0)) {
      previous = nrn_exchange_device(index);
    }
  }
  ~DeviceSwitch() {
    if (C10_UNLIKELY(previous >= 0)) {
      nrn_exchange_device(previous);
    }
  }
};

struct Boxed final : c10::OperatorKernel {
  const Overload* overload;
  explicit Boxed(const Overload* o) : overload(o) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
    const Overload& o = *overload;
    const size_t count = o.arguments.size();
    const size_t base = stack->size() - count;
    c10::IValue* const arguments = stack->data() + base;
    Scratch scratch;
    CommonDevice common;
    auto* described = scratch.take<NArg>(count);
    for (size_t i = 0; i < count; i++) {
      const c10::IValue& v = arguments[i];
      if (v.isNone()) {
        described[i].tag = NA_NONE;
        described[i].len = 0;
        continue;
      }
      const Read how = o.arguments[i].read;
      if (C10_UNLIKELY(how == Read::OptionalTensorList)) {
        if (auto decided = prepare_indices(o, arguments, i)) {
          stack->resize(base);
          stack->emplace_back(std::move(*decided));
          return;
        }
      }
      read(described[i], how, v, i, scratch, common);
    }
    if (C10_UNLIKELY(common.elsewhere)) {
      return fallback(op, stack, "the result is on another device");
    }
    const DeviceSwitch on_device(o.takes_device ? common.index : -1);
    StackFrame frame(&o, arguments);
    Returns returned;
    if (const char* reason = call_core(frame, described, common, returned); C10_UNLIKELY(reason != nullptr)) {
      return fallback(op, stack, reason);
    }
    const NRet* rets = returned.data;
    const uint32_t nrets = returned.count;
    if (C10_LIKELY(o.returns.size() == 1)) {
      c10::IValue out;
      if (o.returns[0].alias >= 0) {
        out = std::move(arguments[o.returns[0].alias]);
      } else {
        TORCH_INTERNAL_ASSERT(nrets >= 1, o.name, ": the core returned nothing");
        push(out, o.returns[0].push, rets, o);
      }
      stack->resize(base);
      stack->push_back(std::move(out));
      return;
    }
    const NRet* const end = rets + nrets;
    c10::SmallVector<c10::IValue, 8> outs(o.returns.size());
    for (size_t i = 0; i < outs.size(); i++) {
      if (o.returns[i].alias >= 0) {
        outs[i] = arguments[o.returns[i].alias];
      } else {
        TORCH_INTERNAL_ASSERT(rets < end, o.name, ": the core returned too few results");
        rets = push(outs[i], o.returns[i].push, rets, o);
      }
    }
    stack->resize(base);
    for (auto& out : outs) {
      stack->push_back(std::move(out));
    }
  }
};

} // namespace

torch::CppFunction boxed_function(const Overload* overload) {
  return torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Boxed>(overload));
}

} // namespace neuron
