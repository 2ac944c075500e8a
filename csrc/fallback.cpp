// Operators without a rule run on CPU kernels over the device's own memory, which the host sees. Counted by the core,
// which may refuse. Views stay views, in-place writes land in place.
#include "shim.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/List.h>
#include <c10/core/ScalarType.h>

#include <sstream>

namespace neuron {
namespace {

// A CPU tensor over a device tensor's memory, which it keeps alive.
at::Tensor cpu_alias(const at::Tensor& t) {
  const auto* impl = t.unsafeGetTensorImpl();
  auto* storage = t.storage().unsafeGetStorageImpl();
  c10::raw::intrusive_ptr::incref(storage);
  c10::DataPtr data(storage->mutable_data(), storage,
      [](void* s) { c10::raw::intrusive_ptr::decref(static_cast<c10::StorageImpl*>(s)); },
      c10::Device(c10::DeviceType::CPU));
  c10::Storage alias(c10::Storage::use_byte_size_t(), storage->nbytes(), std::move(data),
      c10::GetAllocator(c10::DeviceType::CPU), /*resizable=*/true);
  auto r = at::detail::make_tensor<c10::TensorImpl>(
      std::move(alias), c10::DispatchKeySet(c10::DispatchKey::CPU), impl->dtype());
  r.unsafeGetTensorImpl()->set_sizes_and_strides(impl->sizes(), impl->strides(), impl->storage_offset());
  if (impl->is_wrapped_number()) {
    r.unsafeGetTensorImpl()->set_wrapped_number(true);
  }
  return r;
}

struct Call {
  std::vector<std::pair<at::Tensor, at::Tensor>> pairs;  // device tensor, its CPU alias
  c10::Device device = device_at(-1);

  at::Tensor to_cpu(const at::Tensor& t) {
    if (!t.defined() || !t.is_privateuseone()) {
      return t;
    }
    if (device.index() < 0) {
      device = t.device();
    }
    TORCH_CHECK(t.device() == device || t.dim() == 0,
        "Expected all tensors to be on the same device, but found at least two devices, ", device, " and ", t.device(), "!");
    for (const auto& p : pairs) {
      if (p.first.is_same(t)) {
        return p.second;
      }
    }
    pairs.emplace_back(t, cpu_alias(t));
    return pairs.back().second;
  }

  // A CPU generator whose seed follows from the device generator's state, which moves on.
  at::Generator to_cpu(const std::optional<at::Generator>& g) {
    uint64_t seed = 0, offset = 0;
    void* impl = g && g->defined() ? g->unsafeGetGeneratorImpl() : nullptr;
    check(nshim_philox(impl, static_cast<int8_t>(device_of(device)), 1, &seed, &offset));
    return at::detail::createCPUGenerator(seed ^ (offset * 0x9E3779B97F4A7C15ull));
  }

  c10::IValue to_cpu(const c10::IValue& v) {
    if (v.isTensor()) {
      return to_cpu(v.toTensor());
    }
    if (v.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const auto& t : v.toListRef()) {
        list.push_back(to_cpu(t.toTensor()));
      }
      return list;
    }
    if (v.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> list;
      for (const auto& t : v.toListRef()) {
        list.push_back(t.isNone() ? std::nullopt : std::optional<at::Tensor>(to_cpu(t.toTensor())));
      }
      return list;
    }
    if (v.isDevice() && v.toDevice().type() == kDevice) {
      device = device_at(device_of(v.toDevice()));
      return c10::Device(c10::DeviceType::CPU);
    }
    return v;
  }

  // Kernels resize their out= arguments; the device tensors follow.
  void follow_resizes() {
    for (auto& [t, alias] : pairs) {
      if (alias.sizes() == t.sizes() && alias.strides() == t.strides() && alias.storage_offset() == t.storage_offset()) {
        continue;
      }
      const bool moved = alias.storage().data() != t.storage().data();
      if (alias.storage().nbytes() > t.storage().nbytes()) {
        resize_storage(t.storage().unsafeGetStorageImpl(), alias.storage().nbytes());
      }
      t.unsafeGetTensorImpl()->set_sizes_and_strides(alias.sizes(), alias.strides(), alias.storage_offset());
      if (moved) {
        upload(t, alias);
      }
    }
  }

  static void upload(const at::Tensor& dst, const at::Tensor& src) {
    // Strides of a tensor without elements may be any, even ones that a copy refuses.
    if (src.numel() == 0) {
      return;
    }
    NTensor d, s;
    describe(d, dst.unsafeGetTensorImpl());
    describe(s, src.unsafeGetTensorImpl());
    check(nrn_copy(&d, &s, 0));
  }

  at::Tensor to_device(const at::Tensor& t) {
    if (!t.defined() || !t.device().is_cpu()) {
      return t;
    }
    for (const auto& p : pairs) {
      if (p.second.is_same(t)) {
        return p.first;
      }
    }
    for (const auto& p : pairs) {
      if (t.storage().is_alias_of(p.second.storage())) {
        auto r = at::detail::make_tensor<c10::TensorImpl>(
            c10::TensorImpl::VIEW, c10::Storage(p.first.storage()), p.first.key_set(), t.dtype());
        r.unsafeGetTensorImpl()->set_sizes_and_strides(t.sizes(), t.strides(), t.storage_offset());
        return r;
      }
    }
    at::Tensor r = at::detail::empty_strided_generic(t.sizes(), t.strides(), allocator(), kKeys, t.scalar_type());
    upload(r, t);
    return r;
  }
};

void name_operand(std::ostream& out, const at::Tensor& t) {
  if (!t.defined()) {
    out << "undefined";
    return;
  }
  out << c10::getDtypeNames(t.scalar_type()).first << t.sizes() << " on " << t.device();
}

std::string operands(const c10::OperatorHandle& op, const c10::IValue* arguments) {
  std::ostringstream out;
  const char* separator = "";
  const auto& schema = op.schema().arguments();
  for (size_t i = 0; i < schema.size(); i++) {
    const auto& v = arguments[i];
    if (v.isTensor() && v.toTensor().defined()) {
      out << separator << schema[i].name() << ": ";
      name_operand(out, v.toTensor());
    } else if (v.isTensorList() && !v.toListRef().empty()) {
      out << separator << schema[i].name() << ": " << v.toListRef().size() << " tensors, the first ";
      name_operand(out, v.toListRef()[0].toTensor());
    } else {
      continue;
    }
    separator = ", ";
  }
  return out.str();
}

void on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack, const char* reason) {
  const auto& schema = op.schema();
  const size_t nargs = schema.arguments().size(), nrets = schema.returns().size();
  c10::IValue* const arguments = stack->data() + (stack->size() - nargs);
  const std::string described = operands(op, arguments);
  int warn = 0;
  check(nrn_fallback(schema.name().c_str(), schema.overload_name().c_str(), described.c_str(), reason, &warn));
  if (warn) {
    TORCH_WARN(schema.operator_name(), " has no native implementation on device 'neuron' and runs on the CPU (operands: ",
        described, "). This warning is given once per operator; TORCH_NEURONX_FALLBACK=silent hides it, =error refuses.");
  }
  TORCH_CHECK_NOT_IMPLEMENTED(op.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU), schema.operator_name(),
      " has neither a rule for neuron devices nor a CPU kernel to fall back to (operands: ", described, ")");
  Call call;
  for (size_t i = 0; i < nargs; i++) {
    arguments[i] = call.to_cpu(arguments[i]);
  }
  for (size_t i = 0; i < nargs; i++) {
    const auto& type = schema.arguments()[i].real_type();
    const bool optional = type->kind() == c10::TypeKind::OptionalType;
    const auto kind = optional ? type->castRaw<c10::OptionalType>()->getElementType()->kind() : type->kind();
    if (kind == c10::TypeKind::GeneratorType) {
      arguments[i] = call.to_cpu(arguments[i].isNone() ? std::nullopt : std::optional(arguments[i].toGenerator()));
    }
  }
  if (call.device.index() < 0) {
    call.device = device_at(nrn_get_device());
  }
  const c10::DeviceGuard guard(call.device);
  check(nrn_host_access(call.device.index()));
  {
    const c10::impl::ExcludeDispatchKeyGuard below(c10::autograd_dispatch_keyset_with_ADInplaceOrView);
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  }
  call.follow_resizes();
  for (size_t i = stack->size() - nrets; i < stack->size(); i++) {
    auto& v = (*stack)[i];
    if (v.isTensor()) {
      v = call.to_device(v.toTensor());
    } else if (v.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const auto& t : v.toListRef()) {
        list.push_back(call.to_device(t.toTensor()));
      }
      v = std::move(list);
    }
  }
}

} // namespace

void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack, const char* reason) {
  // An operator that PyTorch itself decomposes needs no CPU kernel: its parts have rules.
  if (op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd)) {
    op.callBoxedForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd, *stack);
    return;
  }
  on_cpu(op, stack, reason);
}

void fallback_without_rule(const c10::OperatorHandle& op, torch::jit::Stack* stack) { fallback(op, stack, ""); }

} // namespace neuron
