// From the core's rows to registered overloads. The in-place and out= overloads follow from the schemas: same
// arguments apart from the out= ones.
#include "boxed.h"

#include <set>
#include <unordered_map>

namespace neuron {
namespace {

using Names = std::unordered_map<std::string, std::vector<c10::OperatorName>>;

struct Kinds {
  Read read;
  uint8_t kind;
};

Kinds kinds_of(const c10::TypePtr& type) {
  using K = c10::TypeKind;
  const auto element = [](const c10::TypePtr& t) { return t->castRaw<c10::ListType>()->getElementType(); };
  switch (type->kind()) {
    case K::OptionalType:
      return kinds_of(type->castRaw<c10::OptionalType>()->getElementType());
    case K::TensorType:
      return {Read::Tensor, NK_TENSOR};
    case K::NumberType:
      return {Read::Scalar, NK_SCALAR};
    case K::FloatType:
    case K::SymFloatType:
      return {Read::Float, NK_FLOAT};
    case K::IntType:
    case K::SymIntType:
      return {Read::Int, NK_INT};
    case K::BoolType:
    case K::SymBoolType:
      return {Read::Bool, NK_BOOL};
    case K::ScalarTypeType:
      return {Read::DType, NK_DTYPE};
    case K::GeneratorType:
      return {Read::Generator, NK_GENERATOR};
    case K::StringType:
      return {Read::String, NK_OTHER};
    case K::DeviceObjType:
      return {Read::Device, NK_OTHER};
    case K::ListType:
      switch (element(type)->kind()) {
        case K::TensorType:
          return {Read::TensorList, NK_TENSOR_LIST};
        case K::OptionalType:
          return element(type)->castRaw<c10::OptionalType>()->getElementType()->kind() == K::TensorType
              ? Kinds{Read::OptionalTensorList, NK_TENSOR_LIST}
              : Kinds{Read::Other, NK_OTHER};
        case K::IntType:
        case K::SymIntType:
          return {Read::IntList, NK_INT_LIST};
        case K::NumberType:
          return {Read::ScalarList, NK_SCALAR_LIST};
        case K::FloatType:
          return {Read::FloatList, NK_OTHER};
        case K::BoolType:
          return {Read::BoolList, NK_OTHER};
        default:
          return {Read::Other, NK_OTHER};
      }
    default:
      return {Read::Other, NK_OTHER};
  }
}

Push push_of(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::ListType:
      return Push::TensorList;
    case c10::TypeKind::BoolType:
      return Push::Bool;
    case c10::TypeKind::FloatType:
      return Push::Float;
    case c10::TypeKind::TensorType:
      return Push::Tensor;
    default:
      return Push::Int;
  }
}

bool written(const c10::Argument& a) { return a.alias_info() && a.alias_info()->isWrite(); }

int aliased_argument(const c10::FunctionSchema& schema, const c10::Argument& ret) {
  if (!ret.alias_info()) {
    return -1;
  }
  for (size_t i = 0; i < schema.arguments().size(); i++) {
    const auto* a = schema.arguments()[i].alias_info();
    if (a && a->beforeSets() == ret.alias_info()->beforeSets()) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

// Pointwise operators carry a tag; these are the others whose kernels look. An in-place one shares its functional form's
// entry.
Overlap overlap_of(const std::string& name) {
  static const std::unordered_map<std::string, Overlap> table = [] {
    std::unordered_map<std::string, Overlap> t;
    for (const auto* n : {"addbmm", "addmm", "addmv", "addr", "baddbmm", "bernoulli", "cumprod", "cumsum", "floor_divide",
             "gelu", "hardshrink", "logcumsumexp", "_logcumsumexp", "normal", "renorm", "softplus", "softshrink", "sort",
             "where"}) {
      t.emplace(n, Overlap::Partial);
    }
    for (const auto* n : {"index_add", "index_copy", "index_fill", "index_put", "_index_put_impl", "index_reduce", "put",
             "scatter", "scatter_add", "scatter_reduce"}) {
      t.emplace(n, Overlap::Operands);
    }
    for (const auto* n : {"cat", "gather", "index", "index_select", "kthvalue", "linalg_cross", "masked_select",
             "nonzero", "take"}) {
      t.emplace(n, Overlap::None);
    }
    return t;
  }();
  const auto base = name.substr(6, name.back() == '_' ? name.size() - 7 : std::string::npos);
  const auto found = table.find(base);
  return found == table.end() ? Overlap::Free : found->second;
}

// Builds what the kernel needs, and tells the core. Everything lives for ever.
const Overload* declare(uint32_t row, int variant, const c10::OperatorHandle& handle,
    std::optional<c10::OperatorHandle> functional) {
  const auto& schema = handle.schema();
  auto* o = new Overload(handle);
  o->functional = std::move(functional);
  o->name = c10::toString(schema.operator_name());
  const size_t nargs = schema.arguments().size(), nrets = schema.returns().size();
  auto* kinds = new uint8_t[nargs];
  auto* writes = new uint8_t[nargs];
  auto* outs = new uint8_t[nargs];
  auto* names = new const char*[nargs];
  auto* aliases = new uint8_t[nrets];
  for (size_t i = 0; i < nargs; i++) {
    const auto& a = schema.arguments()[i];
    const auto k = kinds_of(a.real_type());
    kinds[i] = k.kind;
    writes[i] = written(a);
    outs[i] = a.is_out();
    names[i] = strdup(a.name().c_str());
    o->arguments.push_back({k.read, a.real_type()->kind() == c10::TypeKind::OptionalType, a.is_out(), written(a)});
    o->takes_device |= k.read == Read::Device;
  }
  for (size_t i = 0; i < nrets; i++) {
    const auto& r = schema.returns()[i];
    o->returns.push_back({push_of(r.type()), aliased_argument(schema, r)});
    aliases[i] = o->returns.back().alias >= 0;
  }
  const NSchema described{strdup(schema.name().c_str()), strdup(schema.overload_name().c_str()),
      static_cast<uint32_t>(nargs), static_cast<uint32_t>(nrets), kinds, writes, outs, names, aliases};
  // The tag is on functional and out= overloads; an in-place one shares its functional form's kernel. An out= overload
  // without the tag is a copy of a computed result, and accepts any memory.
  const bool in_place = variant == 1 && o->functional->hasTag(at::Tag::pointwise);
  if (schema.is_mutable()) {
    o->overlap = overlap_of(schema.name());
    if (o->overlap == Overlap::Free && (in_place || handle.hasTag(at::Tag::pointwise))) {
      o->overlap = Overlap::Partial;
    }
  }
  o->id = nrn_declare(row, variant, &described);
  return o;
}

bool same_arguments(const c10::FunctionSchema& a, const c10::FunctionSchema& b, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const auto &x = a.arguments()[i], &y = b.arguments()[i];
    if (x.name() != y.name() || !(*x.real_type() == *y.real_type())) {
      return false;
    }
  }
  return true;
}

// 1 in-place, 2 out=, 0 neither.
int variant_of(const c10::FunctionSchema& row, const c10::FunctionSchema& other) {
  const size_t nargs = row.arguments().size(), more = other.arguments().size();
  if (row.is_mutable() || more < nargs || !same_arguments(row, other, nargs)) {
    return 0;
  }
  if (more == nargs) {
    return other.name() == row.name() + "_" && nargs > 0 && written(other.arguments()[0]) ? 1 : 0;
  }
  size_t outs = 0;
  for (size_t i = nargs; i < more; i++) {
    const auto& a = other.arguments()[i];
    outs += a.is_out() && a.type()->kind() == c10::TypeKind::TensorType;
  }
  return other.name() == row.name() && outs == more - nargs && outs == row.returns().size() ? 2 : 0;
}

// A kernel for an operator that PyTorch decomposes above autograd would cut it off from autograd, unless the operator
// has a formula there as well: with a kernel it is used.
bool implicit(const c10::OperatorHandle& op) {
  return op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) &&
      !op.hasKernelForDispatchKey(c10::DispatchKey::Autograd);
}

} // namespace

void register_rows(torch::Library& m) {
  auto& dispatcher = c10::Dispatcher::singleton();
  Names names;
  for (const auto& n : dispatcher.getAllOpNames()) {
    names[n.name].push_back(n);
  }
  // Copies start at `_copy_from`, because only one side of them is on the device.
  std::set<std::string> taken{"aten::copy_"};
  std::vector<std::optional<c10::OperatorHandle>> rows(nrn_row_count());
  const auto install = [&](const Overload* o) {
    taken.insert(o->name);
    auto unboxed = unboxed_function(o);
    m.impl(o->name.c_str(), unboxed ? std::move(*unboxed) : boxed_function(o));
  };
  const auto usable = [&](const c10::OperatorName& n) -> std::optional<c10::OperatorHandle> {
    auto op = dispatcher.findSchema(n);
    return op && !implicit(*op) && !taken.count(c10::toString(n)) ? op : std::nullopt;
  };
  for (uint32_t row = 0; row < rows.size(); row++) {
    const std::string full = nrn_row_name(row);
    const auto dot = full.find('.');
    const c10::OperatorName name(full.substr(0, dot), dot == std::string::npos ? "" : full.substr(dot + 1));
    if ((rows[row] = usable(name))) {
      install(declare(row, 0, *rows[row], std::nullopt));
    }
  }
  for (uint32_t row = 0; row < rows.size(); row++) {
    if (!rows[row]) {
      continue;
    }
    const auto& schema = rows[row]->schema();
    for (const auto& base : {schema.name(), schema.name() + "_"}) {
      for (const auto& n : names[base]) {
        const auto other = usable(n);
        if (!other) {
          continue;
        }
        if (const int variant = variant_of(schema, other->schema())) {
          install(declare(row, variant, *other, rows[row]));
        }
      }
    }
  }
}

} // namespace neuron
