// Coordinate format: what PyTorch's CPU backend does by walking through memory, as operators on indices and values.
#include "layouts.h"

#include <set>

#include <ATen/native/DispatchStub.h>

// PyTorch's hook for `at::sparse::flatten_indices`; its header is not installed.
namespace at::native {
using flatten_indices_fn = Tensor (*)(const Tensor& indices, IntArrayRef sizes);
DECLARE_DISPATCH(flatten_indices_fn, flatten_indices_stub)
} // namespace at::native

namespace neuron {

at::Tensor flat_positions(const at::Tensor& indices, at::IntArrayRef sizes) {
  at::Tensor flat = at::zeros({indices.size(1)}, indices.options());
  for (int64_t d = 0; d < indices.size(0); d++) {
    flat = flat.mul(sizes[d]).add(indices.select(0, d));
  }
  return flat;
}

at::Tensor make_coo(const at::Tensor& indices, const at::Tensor& values, at::IntArrayRef sizes, bool coalesced) {
  return at::_sparse_coo_tensor_with_dims_and_tensors(indices.size(0), values.dim() - 1, sizes, indices, values,
      values.options().layout(at::kSparse), coalesced);
}

void store_coo(const at::Tensor& out, const at::Tensor& value) {
  auto* impl = at::sparse::get_sparse_impl(out);
  TORCH_CHECK(c10::canCast(value.scalar_type(), out.scalar_type()), "result type ", value.scalar_type(),
      " can't be cast to the desired output type ", out.scalar_type());
  impl->resize_and_clear_(value.sparse_dim(), value.dense_dim(), value.sizes());
  impl->set_indices_and_values_unsafe(value._indices(), value._values().to(out.scalar_type()));
  out._coalesced_(value.is_coalesced());
}

std::pair<at::Tensor, at::Tensor> look_up(const at::Tensor& sorted, const at::Tensor& keys) {
  if (sorted.numel() == 0) {
    return {at::zeros_like(keys), at::zeros(keys.sizes(), keys.options().dtype(at::kBool))};
  }
  const at::Tensor at = at::searchsorted(sorted, keys).clamp_max(sorted.numel() - 1);
  return {at, sorted.index_select(0, at).eq(keys)};
}

at::Tensor group_of(const at::Tensor& keys) {
  const auto [sorted, order] = at::sort(keys, std::optional<bool>(true), 0);
  const int64_t n = keys.numel();
  at::Tensor first = at::zeros({n}, keys.options());
  if (n > 1) {
    first.narrow(0, 1, n - 1).copy_(sorted.narrow(0, 1, n - 1).ne(sorted.narrow(0, 0, n - 1)));
  }
  return at::empty_like(keys).scatter_(0, order, first.cumsum(0));
}

namespace coo {

at::IntArrayRef sparse_sizes(const at::Tensor& t) { return t.sizes().slice(0, t.sparse_dim()); }

at::Tensor positions(const at::Tensor& t) { return flat_positions(t._indices(), sparse_sizes(t)); }

// Sums the rows of `values` that have the same number; there are `groups`.
at::Tensor sum_groups(const at::Tensor& values, const at::Tensor& group, int64_t groups) {
  auto shape = values.sizes().vec();
  shape[0] = groups;
  const bool logical = values.scalar_type() == at::kBool;
  const at::Tensor addends = logical ? values.to(at::kByte) : values;
  const at::Tensor sums = at::zeros(shape, addends.options()).index_add_(0, group, addends);
  return logical ? sums.ne(0) : sums;
}

at::Tensor coalesce(const at::Tensor& self) {
  if (self._nnz() < 2) {
    return self.clone()._coalesced_(true);
  }
  const at::Tensor keys = positions(self), group = group_of(keys);
  const int64_t groups = group.max().item<int64_t>() + 1;
  const at::Tensor indices = at::empty({self.sparse_dim(), groups}, self._indices().options());
  // Members of a group agree, so any of them may write last.
  indices.scatter_(1, group.unsqueeze(0).expand_as(self._indices()), self._indices());
  return make_coo(indices, sum_groups(self._values(), group, groups), self.sizes(), true);
}

// ---- sums ----

void check_add(const at::Tensor& self, const at::Tensor& other, const at::Tensor& out, at::ScalarType common) {
  TORCH_CHECK(other.is_sparse(), "add(sparse, dense) is not supported. Use add(dense, sparse) instead.");
  TORCH_CHECK(self.sizes() == other.sizes(), "add: expected sizes of 'self' and 'other' to match, but ", self.sizes(),
      " != ", other.sizes());
  TORCH_CHECK(c10::canCast(common, out.scalar_type()), "Can't convert result type ", common, " to output ",
      out.scalar_type(), " in add operation");
}

at::Tensor add_coo(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha, at::ScalarType common) {
  TORCH_CHECK(self.sparse_dim() == other.sparse_dim() && self.dense_dim() == other.dense_dim(),
      "add: expected 'self' and 'other' to have same number of sparse dimensions and dense dimensions");
  const at::Tensor addends = other._values().to(common);
  const at::Tensor values = at::cat({self._values().to(common), alpha.equal(1) ? addends : addends.mul(alpha).to(common)});
  const at::Tensor sum = make_coo(at::cat({self._indices(), other._indices()}, 1), values, self.sizes(), false);
  // As on the CPU: merged when both are, and when there are more entries than elements.
  return (self.is_coalesced() && other.is_coalesced()) || sum._nnz() > sum.numel() ? coalesce(sum) : sum;
}

// Adds a sparse tensor to a dense one in place.
void accumulate(const at::Tensor& dense, const at::Tensor& sparse, const at::Scalar& alpha) {
  if (sparse._nnz() == 0 || dense.numel() == 0) {
    return;
  }
  const at::Tensor values = sparse._values().to(dense.scalar_type()).mul(alpha).to(dense.scalar_type());
  if (sparse.sparse_dim() == 0) {
    dense.add_(sum_groups(values, at::zeros({sparse._nnz()}, sparse._indices().options()), 1).squeeze(0));
    return;
  }
  c10::List<std::optional<at::Tensor>> where;
  for (const auto& i : sparse._indices().unbind(0)) {
    where.push_back(i);
  }
  if (dense.scalar_type() == at::kBool) {
    // Several entries of one element: any of them.
    const at::Tensor merged = sparse.is_coalesced() ? sparse : coalesce(sparse);
    at::Tensor hits = at::zeros(dense.sizes(), dense.options().dtype(at::kByte));
    accumulate(hits, merged.to(at::kByte), alpha);
    dense.logical_or_(hits);
    return;
  }
  dense.index_put_(where, values, /*accumulate=*/true);
}

at::Tensor& add_out(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha, at::Tensor& out) {
  const auto common = at::result_type(self, other);
  check_add(self, other, out, common);
  if (self.is_sparse()) {
    TORCH_CHECK(out.is_sparse(), "add: expected 'out' to be sparse");
    store_coo(out, add_coo(self, other, alpha, common));
    return out;
  }
  TORCH_CHECK(!out.is_sparse(), "add: expected 'out' to be dense, as 'self' is");
  out.resize_(self.sizes());
  if (common == out.scalar_type()) {
    if (!out.is_same(self)) {
      out.copy_(self);
    }
    accumulate(out, other, alpha);
  } else {
    at::Tensor sum = self.to(common, /*non_blocking=*/false, /*copy=*/true);
    accumulate(sum, other, alpha);
    out.copy_(sum);
  }
  return out;
}

// ---- products of elements ----

at::Tensor take_from_dense(const at::Tensor& dense, const at::Tensor& indices) {
  if (indices.size(0) == 0) {
    return dense.unsqueeze(0).expand_symint(c10::fromIntArrayRefSlow([&] {
      auto shape = dense.sizes().vec();
      shape.insert(shape.begin(), indices.size(1));
      return shape;
    }()));
  }
  c10::List<std::optional<at::Tensor>> where;
  for (const auto& i : indices.unbind(0)) {
    where.push_back(i);
  }
  return dense.index(where);
}

at::Tensor multiply_dense(const at::Tensor& sparse, const at::Tensor& dense) {
  const auto sizes = at::infer_size(sparse.sizes(), dense.sizes());
  const at::Tensor s = sparse.sizes() == at::IntArrayRef(sizes) ? sparse : at::_sparse_broadcast_to(sparse, sizes);
  const at::Tensor values = s._values().mul(take_from_dense(dense.expand(sizes), s._indices()));
  return make_coo(s._indices().clone(), values, sizes, s.is_coalesced());
}

at::Tensor multiply_coo(const at::Tensor& self, const at::Tensor& other, at::ScalarType common) {
  TORCH_CHECK(self.sparse_dim() == other.sparse_dim() &&
          (self.sizes() == other.sizes() || sparse_sizes(self) == sparse_sizes(other)),
      "mul(sparse, sparse): inputs have different sizes ", self.sizes(), " and ", other.sizes());
  const at::Tensor a = self.coalesce(), b = other.coalesce();
  const auto [at, found] = look_up(positions(b), positions(a));
  const at::Tensor kept = found.nonzero().squeeze(1);
  const at::Tensor values = a._values().to(common).index_select(0, kept)
                                .mul(b._values().to(common).index_select(0, at.index_select(0, kept)));
  auto sizes = sparse_sizes(self).vec();
  const auto dense = values.sizes().slice(1);
  sizes.insert(sizes.end(), dense.begin(), dense.end());
  return make_coo(a._indices().index_select(1, kept), values, sizes, true);
}

at::Tensor zero_dim_value(const at::Tensor& t) {
  return t.is_sparse() ? (t._nnz() == 0 ? at::zeros({}, t._values().options()) : t.coalesce()._values().squeeze(0)) : t;
}

at::Tensor& mul_out(const at::Tensor& self, const at::Tensor& other, at::Tensor& out) {
  const auto common = at::result_type(self, other);
  TORCH_CHECK(c10::canCast(common, out.scalar_type()), "Can't convert result type ", common, " to output ",
      out.scalar_type(), " in mul operation");
  const auto scale = [&](const at::Tensor& t, const at::Tensor& by) {
    const at::Tensor factor = zero_dim_value(by);
    return make_coo(t._indices().clone(), t._values().mul(factor), t.sizes(), t.is_coalesced());
  };
  at::Tensor product;
  if (other.dim() == 0 && self.is_sparse()) {
    product = scale(self, other);
  } else if (self.dim() == 0 && other.is_sparse()) {
    product = scale(other, self);
  } else if (!self.is_sparse()) {
    product = multiply_dense(other, self);
  } else if (!other.is_sparse()) {
    product = multiply_dense(self, other);
  } else {
    product = multiply_coo(self, other, common);
  }
  if (out.is_sparse()) {
    store_coo(out, product);
  } else {
    out.resize_(product.sizes()).copy_(product.to_dense());
  }
  return out;
}

// ---- masks ----

void check_mask(const char* name, const at::Tensor& self, const at::Tensor& mask) {
  TORCH_CHECK(self.sizes() == mask.sizes(), name, "(): operands have incompatible sizes; self has size ", self.sizes(),
      " but mask has size ", mask.sizes());
  TORCH_CHECK(!self.is_sparse() || self.sparse_dim() == mask.sparse_dim(), name,
      "(): the number of sparse dimensions in `self` should match that of the `mask`. Got `self.sparse_dim() == ",
      self.is_sparse() ? self.sparse_dim() : 0, "` != `mask.sparse_dim() == ", mask.sparse_dim(), "`.");
}

// Values of `rows` where found, zero elsewhere.
at::Tensor where_found(const at::Tensor& rows, const at::Tensor& found) {
  std::vector<int64_t> shape(rows.dim(), 1);
  shape[0] = found.numel();
  return rows.masked_fill(found.logical_not().view(shape), 0);
}

at::Tensor sparse_mask(const at::Tensor& self, const at::Tensor& mask) {
  check_mask("sparse_mask", self, mask);
  if (self.is_same(mask)) {
    return self;
  }
  if (mask.numel() == 0 || mask._nnz() == 0) {
    return mask.clone().to(self.device(), self.scalar_type());
  }
  at::Tensor values;
  if (!self.is_sparse()) {
    values = take_from_dense(self, mask._indices());
  } else if (self._nnz() == 0) {
    values = at::zeros(mask._values().sizes(), self._values().options());
  } else {
    const at::Tensor source = self.coalesce();
    const auto [at, found] = look_up(positions(source), positions(mask));
    values = where_found(source._values().index_select(0, at), found);
  }
  return make_coo(mask._indices().clone(), values.contiguous(), mask.sizes(), mask.is_coalesced());
}

// `self` at the positions of `self` that `mask` has, or, when matches accumulate, times how often it has them.
at::Tensor mask_projection(const at::Tensor& self, const at::Tensor& mask, bool accumulate_matches) {
  check_mask("_sparse_mask_projection", self, mask);
  if (self.numel() == 0 || self._nnz() == 0 || mask._nnz() == 0) {
    at::Tensor none = self.clone();
    none._values().zero_();
    return none;
  }
  const at::Tensor group = group_of(at::cat({positions(mask), positions(self)}));
  const at::Tensor of_mask = group.narrow(0, 0, mask._nnz()), of_self = group.narrow(0, mask._nnz(), self._nnz());
  at::Tensor count = at::zeros({group.numel()}, group.options()).index_add_(0, of_mask, at::ones_like(of_mask));
  count = count.index_select(0, of_self);
  at::Tensor values = where_found(self._values(), count.gt(0));
  if (accumulate_matches) {
    std::vector<int64_t> shape(values.dim(), 1);
    shape[0] = count.numel();
    values = values.mul(count.view(shape).to(values.scalar_type()));
  }
  return make_coo(self._indices().clone(), values, self.sizes(), self.is_coalesced());
}

// ---- selection ----

at::Tensor index_select(const at::Tensor& self, int64_t dim, const at::Tensor& index) {
  TORCH_CHECK_INDEX(self.dim() != 0, "index_select() cannot be applied to a 0-dim tensor.");
  TORCH_CHECK_INDEX(index.dim() == 1 && index.scalar_type() == at::kLong && index.layout() == at::kStrided,
      "index_select() argument index must be 1-D strided long-tensor.");
  dim = at::maybe_wrap_dim(dim, self.dim());
  const int64_t size = self.size(dim);
  auto sizes = self.sizes().vec();
  sizes[dim] = index.numel();
  if (index.numel() != 0) {
    const bool inside = index.ge(-size).logical_and(index.lt(size)).all().item<bool>();
    TORCH_CHECK_INDEX(inside, "index_select(): index contains an index that is out of range for tensor of size ", size,
        " at dimension ", dim);
  }
  const at::Tensor wanted = at::where(index.lt(0), index.add(size), index);
  if (dim >= self.sparse_dim()) {
    const at::Tensor values = self._values().index_select(dim - self.sparse_dim() + 1, wanted);
    return make_coo(self._indices(), values, sizes, self.is_coalesced());
  }
  // Every pair of a stored entry and a wanted index that meet: the entries in order of their index, cut into runs.
  const auto [sorted, order] = at::sort(self._indices().select(0, dim), std::optional<bool>(true), 0);
  const at::Tensor begin = at::searchsorted(sorted, wanted);
  const at::Tensor count = at::searchsorted(sorted, wanted, /*out_int32=*/false, /*right=*/true).sub(begin);
  const at::Tensor ends = count.cumsum(0);
  const int64_t total = count.numel() == 0 ? 0 : ends.select(0, -1).item<int64_t>();
  const at::Tensor slot = at::arange(total, wanted.options());
  const at::Tensor which = at::searchsorted(ends, slot, /*out_int32=*/false, /*right=*/true);
  const at::Tensor within = slot.sub(ends.sub(count).index_select(0, which));
  const at::Tensor source = order.index_select(0, begin.index_select(0, which).add(within));
  at::Tensor indices = self._indices().index_select(1, source);
  indices.select(0, dim).copy_(which);
  return make_coo(indices, self._values().index_select(0, source), sizes, false);
}

// ---- backward of a sum over some dimensions ----

at::Tensor sum_backward(const at::Tensor& grad, const at::Tensor& self, at::IntArrayRef dims) {
  const at::Tensor input = self.coalesce();
  const int64_t sparse = input.sparse_dim();
  std::vector<bool> summed(input.dim(), false);
  for (const auto d : dims) {
    summed[at::maybe_wrap_dim(d, input.dim())] = true;
  }
  std::vector<int64_t> kept;
  for (int64_t d = 0; d < sparse; d++) {
    if (!summed[d]) {
      kept.push_back(d);
    }
  }
  // Gives the summed dense dimensions back, as size 1, and stretches them over the input's values.
  const auto spread = [&](at::Tensor rows) {
    for (int64_t d = sparse; d < input.dim(); d++) {
      if (summed[d]) {
        rows = rows.unsqueeze(d - sparse + 1);
      }
    }
    return rows.expand(input._values().sizes()).contiguous();
  };
  if (kept.empty()) {
    const at::Tensor dense = grad.is_sparse() ? grad.to_dense() : grad;
    return make_coo(input._indices().clone(), spread(dense.unsqueeze(0)), input.sizes(), true);
  }
  TORCH_CHECK(grad.is_sparse(), "_sparse_sum_backward: expected grad to be sparse, but it is dense");
  const at::Tensor g = grad.coalesce();
  const at::Tensor of_input =
      flat_positions(input._indices().index_select(0, at::tensor(kept, input._indices().options())), sparse_sizes(g));
  const auto [at, found] = look_up(positions(g), of_input);
  const at::Tensor rows = g._nnz() == 0
      ? [&] {
          auto shape = g._values().sizes().vec();
          shape[0] = of_input.numel();
          return at::zeros(shape, g._values().options());
        }()
      : where_found(g._values().index_select(0, at), found);
  return make_coo(input._indices().clone(), spread(rows), input.sizes(), true);
}

// ---- softmax over the stored entries ----

// The entries that compete: equal in every sparse dimension but `dim`.
at::Tensor pools(const at::Tensor& self, int64_t dim) {
  auto sizes = sparse_sizes(self).vec();
  at::Tensor indices = self._indices().clone();
  indices.select(0, dim).zero_();
  sizes[dim] = 1;
  return group_of(flat_positions(indices, sizes));
}

at::Tensor softmax(const at::Tensor& input, int64_t dim, bool half_to_float, bool logarithm) {
  TORCH_CHECK(!half_to_float, "softmax with half to float conversion is not supported on sparse tensors");
  const at::Tensor self = input.coalesce();
  dim = at::maybe_wrap_dim(dim, self.dim());
  const at::Tensor x = self._values();
  at::Tensor y;
  if (self._nnz() == 0) {
    y = x.clone();
  } else if (dim >= self.sparse_dim()) {
    const int64_t of_values = dim - self.sparse_dim() + 1;
    y = logarithm ? at::log_softmax(x, of_values) : at::softmax(x, of_values);
  } else {
    const at::Tensor group = pools(self, dim);
    at::Tensor top = at::full_like(x, -std::numeric_limits<double>::infinity());
    top = top.index_reduce_(0, group, x, "amax");
    const at::Tensor shifted = x.sub(top.index_select(0, group)), e = shifted.exp();
    const at::Tensor sums = sum_groups(e, group, self._nnz()).index_select(0, group);
    y = logarithm ? shifted.sub(sums.log()) : e.div(sums);
  }
  return make_coo(self._indices().clone(), y, self.sizes(), true);
}

at::Tensor softmax_coo(const at::Tensor& self, int64_t dim, bool half) { return softmax(self, dim, half, false); }
at::Tensor log_softmax_coo(const at::Tensor& self, int64_t dim, bool half) { return softmax(self, dim, half, true); }

at::Tensor softmax_backward(const at::Tensor& grad_in, const at::Tensor& output_in, int64_t dim, const at::Tensor& input,
    bool logarithm) {
  TORCH_CHECK(grad_in.sizes() == output_in.sizes() && input.sizes() == output_in.sizes(),
      "expected grad, output and input of one size");
  const at::Tensor grad = grad_in.coalesce(), output = output_in.coalesce();
  dim = at::maybe_wrap_dim(dim, output.dim());
  const at::Tensor y = output._values();
  at::Tensor g = at::zeros_like(y);
  if (grad._nnz() != 0 && output._nnz() != 0) {
    const auto [at, found] = look_up(positions(grad), positions(output));
    g = where_found(grad._values().index_select(0, at), found);
  }
  at::Tensor dx;
  if (dim >= output.sparse_dim()) {
    const int64_t of_values = dim - output.sparse_dim() + 1;
    dx = logarithm ? at::_log_softmax_backward_data(g, y, of_values, y.scalar_type())
                   : at::_softmax_backward_data(g, y, of_values, y.scalar_type());
  } else if (output._nnz() == 0) {
    dx = g;
  } else {
    const at::Tensor group = pools(output, dim);
    const at::Tensor sums = sum_groups(logarithm ? g : g.mul(y), group, output._nnz()).index_select(0, group);
    dx = logarithm ? g.sub(y.exp().mul(sums)) : y.mul(g.sub(sums));
  }
  return make_coo(output._indices().clone(), dx, output.sizes(), true);
}

at::Tensor softmax_backward_coo(const at::Tensor& grad, const at::Tensor& output, int64_t dim, const at::Tensor& self) {
  return softmax_backward(grad, output, dim, self, false);
}
at::Tensor log_softmax_backward_coo(const at::Tensor& grad, const at::Tensor& output, int64_t dim, const at::Tensor& self) {
  return softmax_backward(grad, output, dim, self, true);
}

// A sparse matrix from its diagonals: the k-th holds `diagonals[k, column]` where column − row is `offsets[k]`.
at::Tensor spdiags(const at::Tensor& diagonals, const at::Tensor& offsets, at::IntArrayRef shape,
    std::optional<at::Layout> layout) {
  const at::Tensor d = diagonals.dim() == 1 ? diagonals.unsqueeze(0) : diagonals;
  const at::Tensor o = offsets.dim() == 0 ? offsets.unsqueeze(0) : offsets;
  TORCH_CHECK(d.dim() == 2, "Diagonals must be vector or matrix");
  TORCH_CHECK(shape.size() == 2, "Output shape must be 2d");
  TORCH_CHECK(o.dim() == 1, "Offsets must be scalar or vector");
  TORCH_CHECK(d.size(0) == o.size(0), "Number of diagonals (", d.size(0), ") does not match the number of offsets (",
      o.size(0), ")");
  const auto format = layout.value_or(at::kSparse);
  TORCH_CHECK(format == at::kSparse || format == at::kSparseCsc || format == at::kSparseCsr,
      "Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got ", format);
  TORCH_CHECK(o.scalar_type() == at::kLong, "Offset Tensor must have dtype Long but got ", o.scalar_type());
  const at::Tensor here = o.cpu().contiguous();
  const std::vector<int64_t> places(here.const_data_ptr<int64_t>(), here.const_data_ptr<int64_t>() + here.numel());
  TORCH_CHECK(std::set<int64_t>(places.begin(), places.end()).size() == places.size(),
      "Offset tensor contains duplicate values");
  std::vector<at::Tensor> rows{at::empty({0}, o.options())}, columns = rows, values{at::empty({0}, d.options())};
  for (size_t k = 0; k < places.size(); k++) {
    const int64_t offset = places[k], width = d.size(1), first = std::max<int64_t>(offset, 0);
    const int64_t count =
        offset <= 0 ? std::min(offset + shape[0], width) : std::min<int64_t>(shape[1], width) - offset;
    if (count > 0) {
      columns.push_back(at::arange(first, first + count, o.options()));
      rows.push_back(columns.back().sub(offset));
      values.push_back(d.select(0, static_cast<int64_t>(k)).narrow(0, first, count));
    }
  }
  const at::Tensor made = at::sparse_coo_tensor(at::stack({at::cat(rows), at::cat(columns)}), at::cat(values), shape);
  return format == at::kSparseCsr ? made.to_sparse_csr() : format == at::kSparseCsc ? made.to_sparse_csc() : made;
}

} // namespace coo

void register_coo(torch::Library& m, torch::Library& dense) {
  at::native::flatten_indices_stub.set_privateuse1_dispatch_ptr(&flat_positions);
  m.impl("_coalesce", coo::coalesce);
  m.impl("add.out", coo::add_out);
  m.impl("mul.out", coo::mul_out);
  m.impl("sparse_mask", coo::sparse_mask);
  m.impl("_sparse_mask_projection", coo::mask_projection);
  m.impl("index_select", coo::index_select);
  m.impl("_sparse_sum_backward", coo::sum_backward);
  m.impl("_sparse_softmax", coo::softmax_coo);
  m.impl("_sparse_log_softmax", coo::log_softmax_coo);
  m.impl("_sparse_softmax_backward_data", coo::softmax_backward_coo);
  m.impl("_sparse_log_softmax_backward_data", coo::log_softmax_backward_coo);
  dense.impl("_spdiags", coo::spdiags);
}

} // namespace neuron
