// complex32. The core has no such element type: an operator on it runs on complex64 instead, as the arithmetic of every
// narrow float is done in a wider one, and copies treat it as pairs of float16.
#include "shim.h"

#include <ATen/ops/view_as_real.h>

namespace neuron {
namespace {

bool is_narrow(const at::Tensor& t) { return t.defined() && t.scalar_type() == at::kComplexHalf; }

// What keeps a result from being complex32, by type promotion.
bool widens(const at::Tensor& t) {
  switch (t.scalar_type()) {
    case at::kFloat:
    case at::kDouble:
    case at::kComplexFloat:
    case at::kComplexDouble:
    case at::kBFloat16:
      return t.dim() != 0;
    default:
      return false;
  }
}

template <class F>
void each_tensor(const c10::IValue& v, F f) {
  if (v.isTensor()) {
    if (v.toTensor().defined()) {
      f(v.toTensor());
    }
  } else if (v.isTensorList() || v.isOptionalTensorList()) {
    for (const auto& e : v.toListRef()) {
      if (!e.isNone() && e.toTensor().defined()) {
        f(e.toTensor());
      }
    }
  }
}

template <class F>
c10::IValue map_tensors(const c10::IValue& v, F f) {
  if (v.isTensor()) {
    return v.toTensor().defined() ? c10::IValue(f(v.toTensor())) : v;
  }
  if (v.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const auto& e : v.toListRef()) {
      list.push_back(e.toTensor().defined() ? f(e.toTensor()) : e.toTensor());
    }
    return list;
  }
  if (v.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const auto& e : v.toListRef()) {
      list.push_back(e.isNone() || !e.toTensor().defined() ? std::nullopt : std::optional(f(e.toTensor())));
    }
    return list;
  }
  return v;
}

bool asks_for_narrow(const c10::Argument& a, const c10::IValue& v) {
  const auto& type = a.real_type();
  const bool optional = type->kind() == c10::TypeKind::OptionalType;
  const auto kind = optional ? type->castRaw<c10::OptionalType>()->getElementType()->kind() : type->kind();
  return kind == c10::TypeKind::ScalarTypeType && v.isInt() && v.toInt() == static_cast<int64_t>(at::kComplexHalf);
}

// Pairs of float16 in the memory of a complex32 tensor; the lazy bits do not count.
at::Tensor pairs(const at::Tensor& t) {
  at::Tensor physical = t.is_neg() ? t._neg_view() : t;
  return at::view_as_real(physical.is_conj() ? physical.conj() : physical);
}

// Real and imaginary parts as numbers of a wider type, the lazy bits applied.
at::Tensor parts(const at::Tensor& t) {
  if (!is_narrow(t)) {
    return at::view_as_real(t.resolve_conj().resolve_neg());
  }
  at::Tensor wide = pairs(t).to(at::kFloat);
  if (t.is_conj()) {
    wide.select(-1, 1).neg_();
  }
  return t.is_neg() ? wide.neg() : wide;
}

} // namespace

bool copies_complex_half(const at::Tensor& self, const at::Tensor& dst) {
  if (!is_narrow(self) && !is_narrow(dst)) {
    return false;
  }
  const at::Tensor source = self.sizes() == dst.sizes() ? self : self.expand(dst.sizes());
  if (!is_narrow(dst)) {
    const at::Tensor wide = parts(source);
    if (dst.is_complex()) {
      dst.copy_(at::view_as_complex(wide));
    } else if (dst.scalar_type() == at::kBool) {
      dst.copy_(wide.ne(0).any(-1));
    } else {
      dst.copy_(wide.select(-1, 0));
    }
    return true;
  }
  at::Tensor target = pairs(dst);
  if (is_narrow(self) && self.is_conj() == dst.is_conj() && self.is_neg() == dst.is_neg()) {
    target.copy_(pairs(source));
  } else if (self.is_complex()) {
    const at::Tensor wide = parts(source);
    target.copy_(dst.is_neg() ? wide.neg() : wide);
    if (dst.is_conj()) {
      target.select(-1, 1).neg_();
    }
  } else {
    target.select(-1, 0).copy_(dst.is_neg() ? source.neg() : source);
    target.select(-1, 1).zero_();
  }
  return true;
}

bool runs_as_complex64(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& schema = op.schema();
  const size_t count = schema.arguments().size(), base = stack->size() - count;
  const auto written = [&](size_t i) {
    const auto* alias = schema.arguments()[i].alias_info();
    return alias && alias->isWrite();
  };
  bool any = false, result_narrow = true, written_narrow = false;
  for (size_t i = 0; i < count; i++) {
    const auto& v = (*stack)[base + i];
    any |= asks_for_narrow(schema.arguments()[i], v);
    each_tensor(v, [&](const at::Tensor& t) {
      any |= is_narrow(t);
      written_narrow |= written(i) && is_narrow(t);
      result_narrow &= !widens(t);
    });
  }
  if (!any) {
    return false;
  }
  std::vector<std::pair<at::Tensor, at::Tensor>> lifted;
  const auto lift = [&](const at::Tensor& t) -> at::Tensor {
    // The parts that `complex` and `polar` join have to be as wide as the result.
    const auto type = is_narrow(t) ? at::kComplexFloat : written_narrow && t.scalar_type() == at::kHalf ? at::kFloat : t.scalar_type();
    if (type == t.scalar_type()) {
      return t;
    }
    for (const auto& [narrow, wide] : lifted) {
      if (narrow.is_same(t)) {
        return wide;
      }
    }
    lifted.emplace_back(t, t.to(type));
    return lifted.back().second;
  };
  std::vector<std::pair<at::Tensor, at::Tensor>> written_back;
  const c10::impl::ExcludeDispatchKeyGuard below(c10::autograd_dispatch_keyset_with_ADInplaceOrView);
  for (size_t i = 0; i < count; i++) {
    auto& v = (*stack)[base + i];
    if (asks_for_narrow(schema.arguments()[i], v)) {
      v = static_cast<int64_t>(at::kComplexFloat);
      continue;
    }
    const bool writes = written(i);
    v = map_tensors(v, [&](const at::Tensor& t) {
      const at::Tensor wide = lift(t);
      if (writes && !wide.is_same(t)) {
        written_back.emplace_back(t, wide);
      }
      return wide;
    });
  }
  op.callBoxed(stack);
  for (const auto& [narrow, wide] : written_back) {
    if (narrow.sizes() != wide.sizes()) {
      neuron::resize(narrow, wide.sizes(), std::nullopt);
    }
    narrow.copy_(wide);
  }
  for (size_t i = stack->size() - schema.returns().size(); i < stack->size(); i++) {
    (*stack)[i] = map_tensors((*stack)[i], [&](const at::Tensor& t) -> at::Tensor {
      for (const auto& [narrow, wide] : written_back) {
        if (wide.is_same(t)) {
          return narrow;
        }
      }
      if (!result_narrow) {
        return t;
      }
      return t.scalar_type() == at::kComplexFloat ? t.to(at::kComplexHalf) : t.scalar_type() == at::kFloat ? t.to(at::kHalf) : t;
    });
  }
  return true;
}

} // namespace neuron
