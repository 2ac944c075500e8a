// Compressed formats (CSR, CSC, BSR, BSC): what PyTorch's CPU backend does by walking through memory, as operators on
// their indices and values, mostly by way of the coordinate format.
#include "layouts.h"

namespace neuron {
namespace compressed {

bool by_rows(const at::Tensor& t) { return t.layout() == at::kSparseCsr || t.layout() == at::kSparseBsr; }

// For every stored entry the row (or column) whose run it is in: [batch, n] from [batch, runs + 1].
at::Tensor run_of(const at::Tensor& compressed, int64_t entries) {
  const at::Tensor ends = compressed.narrow(-1, 1, compressed.size(-1) - 1).contiguous();
  const at::Tensor slots = at::arange(entries, ends.options());
  if (ends.size(-1) == 0) {
    return at::zeros_like(slots);
  }
  auto shape = ends.sizes().vec();
  shape.back() = entries;
  return at::searchsorted(ends, slots.expand(shape).contiguous(), /*out_int32=*/ends.scalar_type() == at::kInt, /*right=*/true);
}

at::Tensor compress(const at::Tensor& sorted, int64_t runs, bool int32) {
  return at::searchsorted(sorted.contiguous(), at::arange(runs + 1, sorted.options()), int32);
}

at::Tensor coo_to_csr(const at::Tensor& indices, int64_t size, bool int32) { return compress(indices, size, int32); }

at::Tensor& coo_to_csr_out(const at::Tensor& indices, int64_t size, bool int32, at::Tensor& out) {
  return out.resize_({size + 1}).copy_(coo_to_csr(indices, size, int32));
}

at::Tensor csr_to_coo(const at::Tensor& compressed, const at::Tensor& plain, bool int32, bool transpose) {
  const auto type = int32 ? at::kInt : at::kLong;
  const int64_t nnz = plain.size(-1);
  const at::Tensor runs = run_of(compressed, nnz).reshape(-1).to(type), others = plain.reshape(-1).to(type);
  std::vector<at::Tensor> rows;
  const auto batches = plain.sizes().slice(0, plain.dim() - 1);
  const at::Tensor entry = at::arange(plain.numel(), runs.options());
  int64_t inner = nnz;
  for (int64_t d = static_cast<int64_t>(batches.size()) - 1; d >= 0; d--) {
    rows.insert(rows.begin(), entry.div(inner, "floor").remainder(batches[d]).to(type));
    inner *= batches[d];
  }
  rows.push_back(transpose ? others : runs);
  rows.push_back(transpose ? runs : others);
  return at::stack(rows);
}

at::Tensor& csr_to_coo_out(const at::Tensor& compressed, const at::Tensor& plain, bool int32, bool transpose, at::Tensor& out) {
  const at::Tensor result = csr_to_coo(compressed, plain, int32, transpose);
  return out.resize_(result.sizes()).copy_(result);
}

// The invariants that PyTorch documents, with its messages.
void validate(bool is_crow, const at::Tensor& compressed, const at::Tensor& plain, int64_t runs, int64_t width, int64_t nnz) {
  const char *const c = is_crow ? "crow_indices" : "ccol_indices", *const p = is_crow ? "col_indices" : "row_indices";
  const char *const many = is_crow ? "nrows" : "ncols", *const wide = is_crow ? "ncols" : "nrows";
  TORCH_CHECK(compressed.size(-1) == runs + 1, c, " have wrong shape: ", c, ".shape[-1] = ", compressed.size(-1),
      " is not equal to ", many, " + 1 = ", runs + 1);
  TORCH_CHECK(plain.size(-1) == nnz, p, " have wrong shape: ", p, ".shape[-1] = ", plain.size(-1),
      " is not equal to nnz = ", nnz);
  if (plain.scalar_type() == at::kInt) {
    constexpr int64_t most = std::numeric_limits<int32_t>::max();
    TORCH_CHECK(width <= most, "32-bit integer overflow in ", is_crow ? "column" : "row", " dimension = ", width);
    TORCH_CHECK(runs <= most, "32-bit integer overflow in ", is_crow ? "row" : "column", " dimension = ", runs);
    TORCH_CHECK(nnz <= most, "32-bit integer overflow in nnz = ", nnz);
  }
  const at::Tensor cs = compressed.reshape({-1, runs + 1}).to(at::kLong), ps = plain.reshape({cs.size(0), nnz});
  const at::Tensor steps = cs.narrow(1, 1, runs).sub(cs.narrow(1, 0, runs));
  at::Tensor sorted = at::ones({}, cs.options().dtype(at::kBool));
  if (nnz > 1) {
    // An entry is larger than the one before, or begins a run.
    const at::Tensor begins = at::zeros({cs.size(0), nnz + 1}, cs.options()).scatter_(1, cs.clamp(0, nnz), 1);
    sorted = ps.narrow(1, 1, nnz - 1).gt(ps.narrow(1, 0, nnz - 1)).logical_or(begins.narrow(1, 1, nnz - 1)).all();
  }
  const at::Tensor inside = ps.ge(0).logical_and(ps.lt(width)).all(), first = cs.select(1, 0).eq(0).all(),
                   last = cs.select(1, runs).eq(nnz).all(), bounded = steps.ge(0).logical_and(steps.le(width)).all();
  const at::Tensor verdict = at::stack({inside, first, last, bounded, sorted}).cpu();
  const bool* ok = verdict.const_data_ptr<bool>();
  TORCH_CHECK(ok[0], "`0 <= ", p, " < ", wide, "` is not satisfied.");
  TORCH_CHECK(ok[1], "`", c, "[..., 0] == 0` is not satisfied.");
  TORCH_CHECK(ok[2], "`", c, "[..., -1] == nnz` is not satisfied.");
  TORCH_CHECK(ok[3], "`0 <= ", c, "[..., 1:] - ", c, "[..., :-1] <= ", wide, "` is not satisfied.");
  TORCH_CHECK(ok[4], "`", p, "[..., ", c, "[..., i - 1]:", c, "[..., i]] for all i = 1, ..., ", many,
      " are sorted and distinct along the last dimension values` is not satisfied.");
}

// ---- conversions to blocks ----

at::Tensor to_blocks(const at::Tensor& self, at::IntArrayRef block, bool rows, std::optional<int64_t> dense_dim) {
  const auto layout = rows ? at::kSparseBsr : at::kSparseBsc;
  TORCH_CHECK(self.dim() - self.dense_dim() == 2, "conversion from ", self.layout(), " to ", layout,
      " for batched inputs is not supported.");
  TORCH_CHECK(block.size() == 2 && block[0] > 0 && block[1] > 0, "blocksize needs to be two positive numbers, got ", block);
  TORCH_CHECK(self.size(0) % block[0] == 0 && self.size(1) % block[1] == 0, "tensor sparse size (", self.size(0), ",",
      self.size(1), ") must be divisible by given blocksize (", block[0], ",", block[1], ")");
  TORCH_CHECK(!dense_dim || *dense_dim == self.dense_dim(), "conversion with another dense_dim is not supported");
  const at::Tensor coo = self.to_sparse().coalesce(), i = coo._indices().select(0, 0), j = coo._indices().select(0, 1);
  const int64_t high = self.size(0) / block[0], wide = self.size(1) / block[1];
  const at::Tensor bi = i.div(block[0], "floor"), bj = j.div(block[1], "floor");
  const at::Tensor key = rows ? bi.mul(wide).add(bj) : bj.mul(high).add(bi);
  const at::Tensor group = group_of(key);
  const int64_t blocks = key.numel() == 0 ? 0 : group.max().item<int64_t>() + 1;
  const at::Tensor keys = at::empty({blocks}, key.options()).scatter_(0, group, key);
  auto shape = coo._values().sizes().vec();
  shape[0] = block[0];
  shape.insert(shape.begin(), blocks);
  shape.insert(shape.begin() + 2, block[1]);
  at::Tensor values = at::zeros(shape, coo._values().options());
  if (key.numel() != 0) {
    values.index_put_({group, i.remainder(block[0]), j.remainder(block[1])}, coo._values());
  }
  const int64_t width = rows ? wide : high;
  const auto index_type = self.layout() == at::kSparse ? at::kLong
      : (by_rows(self) ? self.crow_indices() : self.ccol_indices()).scalar_type();
  const at::Tensor compressed = compress(keys.div(width, "floor"), rows ? high : wide, false).to(index_type);
  return at::_sparse_compressed_tensor_unsafe(compressed, keys.remainder(width).to(index_type), values, self.sizes(),
      values.options().layout(layout));
}

at::Tensor to_bsr(const at::Tensor& self, at::IntArrayRef block, std::optional<int64_t> dense_dim) {
  if (self.layout() == at::kSparseBsr && self.values().sizes().slice(1, 2) == block) {
    return self.clone();
  }
  return to_blocks(self, block, true, dense_dim);
}

at::Tensor to_bsc(const at::Tensor& self, at::IntArrayRef block, std::optional<int64_t> dense_dim) {
  if (self.layout() == at::kSparseBsc && self.values().sizes().slice(1, 2) == block) {
    return self.clone();
  }
  return to_blocks(self, block, false, dense_dim);
}

// ---- arithmetic ----

at::Tensor to_layout(const at::Tensor& coo, const at::Tensor& like) {
  switch (like.layout()) {
    case at::kSparseCsr:
      return coo.to_sparse_csr();
    case at::kSparseCsc:
      return coo.to_sparse_csc();
    case at::kSparseBsr:
      return coo.to_sparse_bsr(like.values().sizes().slice(1, 2));
    case at::kSparseBsc:
      return coo.to_sparse_bsc(like.values().sizes().slice(1, 2));
    case at::kSparse:
      return coo;
    default:
      return coo.to_dense();
  }
}

// Makes `out` hold what `value` does, in its own format.
void store(at::Tensor& out, const at::Tensor& value) {
  if (out.layout() == at::kStrided) {
    const at::Tensor dense = value.layout() == at::kStrided ? value : value.to_dense();
    out.resize_(dense.sizes()).copy_(dense);
    return;
  }
  const at::Tensor v = value.layout() == out.layout() ? value : to_layout(value.to_sparse(), out);
  if (out.layout() == at::kSparse) {
    store_coo(out, v);
    return;
  }
  const auto index = by_rows(out) ? out.crow_indices().scalar_type() : out.ccol_indices().scalar_type();
  const at::Tensor compressed = by_rows(v) ? v.crow_indices() : v.ccol_indices(),
                   plain = by_rows(v) ? v.col_indices() : v.row_indices();
  at::sparse_csr::get_sparse_csr_impl(out)->set_member_tensors(compressed.to(index), plain.to(index),
      v.values().to(out.scalar_type()), v.sizes());
}

at::Tensor& add_out(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha, at::Tensor& out) {
  TORCH_CHECK(self.sizes() == other.sizes(), "torch.add: Expected input tensors to have the same shape, but got tensor `self` with shape ",
      self.sizes(), " and tensor `other` with shape ", other.sizes());
  if (self.layout() == at::kStrided) {
    store(out, self.add(other.to_sparse(), alpha));
  } else if (other.layout() == at::kStrided) {
    store(out, other.mul(alpha).add(self.to_sparse()));
  } else {
    TORCH_CHECK(self.layout() == other.layout(), "add: expected tensors of one layout, got ", self.layout(), " and ",
        other.layout());
    store(out, self.to_sparse().add(other.to_sparse(), alpha).coalesce());
  }
  return out;
}

at::Tensor matrix(const at::Tensor& t) { return t.layout() == at::kStrided || t.is_sparse() ? t : t.to_sparse(); }

at::Tensor& addmm_out(const at::Tensor& self, const at::Tensor& a, const at::Tensor& b, const at::Scalar& beta,
    const at::Scalar& alpha, at::Tensor& out) {
  TORCH_CHECK(a.dim() == 2 && b.dim() == 2, "addmm: expected matrices, got ", a.dim(), "-D and ", b.dim(), "-D tensors");
  TORCH_CHECK(a.size(1) == b.size(0), "mat1 and mat2 shapes cannot be multiplied (", a.size(0), "x", a.size(1), " and ",
      b.size(0), "x", b.size(1), ")");
  at::Tensor product;
  if (b.layout() == at::kStrided) {
    product = at::mm(matrix(a), b);
  } else if (a.layout() == at::kStrided) {
    product = at::mm(matrix(b).t(), a.t()).t();
  } else {
    product = at::_sparse_sparse_matmul(matrix(a), matrix(b));
  }
  product = product.mul(alpha);
  if (beta.equal(0)) {
    store(out, product);
  } else if (product.is_sparse() && self.layout() != at::kStrided) {
    store(out, self.to_sparse().mul(beta).add(product).coalesce());
  } else {
    const at::Tensor base = self.layout() == at::kStrided ? self : self.to_dense();
    store(out, base.mul(beta).expand({a.size(0), b.size(1)}).add(product));
  }
  return out;
}

at::Tensor& addmv_out(const at::Tensor& self, const at::Tensor& a, const at::Tensor& v, const at::Scalar& beta,
    const at::Scalar& alpha, at::Tensor& out) {
  TORCH_CHECK(a.layout() != at::kSparseCsc, "addmv_out_sparse_csr: unsupported layout: ", a.layout());
  TORCH_CHECK(a.dim() == 2 && v.dim() == 1 && a.size(1) == v.size(0), "addmv: size mismatch, got ", a.sizes(), " and ",
      v.sizes());
  at::Tensor product = at::mm(matrix(a), v.unsqueeze(1)).squeeze(1).mul(alpha);
  if (!beta.equal(0)) {
    product = self.mul(beta).expand({a.size(0)}).add(product);
  }
  store(out, product);
  return out;
}

// Folds a matrix over its rows, its columns or both; the result keeps two dimensions and is sparse.
at::Tensor reduce(const at::Tensor& self, at::IntArrayRef dims, bool keepdim, std::optional<at::ScalarType> dtype,
    bool product) {
  TORCH_CHECK(self.layout() == at::kSparseCsr, "expected a CSR tensor, got ", self.layout());
  TORCH_CHECK(keepdim, "reduction operations on CSR tensors with keepdim=False is unsupported");
  const at::Tensor coo = self.to_sparse();
  at::Tensor values = coo._values();
  auto type = dtype.value_or(c10::isIntegralType(values.scalar_type(), true) ? at::kLong : values.scalar_type());
  values = values.to(type);
  at::Tensor indices = coo._indices().clone();
  auto sizes = self.sizes().vec();
  for (const auto d : dims) {
    const auto dim = at::maybe_wrap_dim(d, 2);
    indices.select(0, dim).zero_();
    sizes[dim] = 1;
  }
  if (!product || values.numel() == 0) {
    return make_coo(indices, values, sizes, false).coalesce().to_sparse_csr();
  }
  const at::Tensor group = group_of(flat_positions(indices, sizes));
  const int64_t groups = group.max().item<int64_t>() + 1;
  const at::Tensor merged = at::empty({2, groups}, indices.options()).scatter_(1, group.unsqueeze(0).expand_as(indices), indices);
  const at::Tensor products = at::ones({groups}, values.options()).scatter_reduce_(0, group, values, "prod");
  return make_coo(merged, products, sizes, true).to_sparse_csr();
}

at::Tensor sum(const at::Tensor& self, at::IntArrayRef dims, bool keepdim, std::optional<at::ScalarType> dtype) {
  return reduce(self, dims, keepdim, dtype, false);
}
at::Tensor prod(const at::Tensor& self, at::IntArrayRef dims, bool keepdim, std::optional<at::ScalarType> dtype) {
  return reduce(self, dims, keepdim, dtype, true);
}

// beta * self + alpha * (a @ b), only where `self` has entries.
at::Tensor sampled_addmm(const at::Tensor& self, const at::Tensor& a, const at::Tensor& b, const at::Scalar& beta,
    const at::Scalar& alpha) {
  TORCH_CHECK(self.layout() == at::kSparseCsr, "sampled_addmm: Expected self to have sparse csr layout");
  TORCH_CHECK(a.layout() == at::kStrided && b.layout() == at::kStrided, "sampled_addmm: Expected mat1 and mat2 to have strided layout");
  TORCH_CHECK(a.scalar_type() == b.scalar_type() && a.scalar_type() == self.scalar_type(),
      "sampled_addmm: Expected self, mat1 and mat2 to have the same dtype");
  TORCH_CHECK(a.dim() >= 2 && b.dim() >= 2 && self.dim() >= 2, "sampled_addmm: Expected matrices");
  TORCH_CHECK(a.sizes().slice(0, a.dim() - 2) == b.sizes().slice(0, b.dim() - 2) &&
      a.sizes().slice(0, a.dim() - 2) == self.sizes().slice(0, self.dim() - 2),
      "sampled_addmm: Expected mat1, mat2 and self to have the same batch size");
  TORCH_CHECK(a.size(-1) == b.size(-2), "sampled_addmm: mat1 and mat2 shapes cannot be multiplied (", a.size(-2), "x",
      a.size(-1), " and ", b.size(-2), "x", b.size(-1), ")");
  TORCH_CHECK(self.size(-2) == a.size(-2) && self.size(-1) == b.size(-1), "sampled_addmm: self.shape[-2:] must match mat1.shape[-2] x mat2.shape[-1]");
  const at::Tensor crow = self.crow_indices(), col = self.col_indices(), values = self.values();
  const int64_t nnz = col.size(-1), height = self.size(-2), width = self.size(-1), inner = a.size(-1);
  int64_t batches = 1;
  for (const auto n : self.sizes().slice(0, self.dim() - 2)) {
    batches *= n;
  }
  const at::Tensor rows = run_of(crow, nnz).reshape({batches, nnz}).to(at::kLong), columns = col.reshape({batches, nnz}).to(at::kLong);
  const at::Tensor batch = at::arange(batches, rows.options()).unsqueeze(1);
  const at::Tensor left = a.reshape({batches * height, inner}).index_select(0, rows.add(batch.mul(height)).reshape(-1));
  const at::Tensor right = b.transpose(-2, -1).reshape({batches * width, inner}).index_select(0, columns.add(batch.mul(width)).reshape(-1));
  at::Tensor sampled = left.mul(right).sum(1).view(values.sizes()).mul(alpha);
  if (!beta.equal(0)) {
    sampled = values.mul(beta).add(sampled);
  }
  return at::_sparse_compressed_tensor_unsafe(crow.clone(), col.clone(), sampled, self.sizes(),
      values.options().layout(at::kSparseCsr));
}

at::Tensor& sampled_addmm_out(const at::Tensor& self, const at::Tensor& a, const at::Tensor& b, const at::Scalar& beta,
    const at::Scalar& alpha, at::Tensor& out) {
  const at::Tensor result = sampled_addmm(self, a, b, beta, alpha);
  store(out, result);
  return out;
}

// ---- products that reduce with something else than a sum ----

struct Rows {
  at::Tensor row, column, values, count;  // count: entries of a row, at least one, as the values' type
  int64_t nnz;
  explicit Rows(const at::Tensor& csr) {
    const at::Tensor crow = csr.crow_indices();
    column = csr.col_indices().to(at::kLong);
    values = csr.values();
    nnz = column.size(0);
    row = run_of(crow, nnz).to(at::kLong);
    count = crow.narrow(0, 1, csr.size(0)).sub(crow.narrow(0, 0, csr.size(0))).clamp_min(1).to(values.scalar_type());
  }
};

std::tuple<at::Tensor, at::Tensor> mm_reduce(const at::Tensor& self, const at::Tensor& other, c10::string_view how) {
  TORCH_CHECK(self.layout() == at::kSparseCsr && other.layout() == at::kStrided && other.dim() == 2,
      "sparse_mm_reduce: expected a CSR and a dense matrix");
  TORCH_CHECK(self.size(1) == other.size(0), "mat1 and mat2 shapes cannot be multiplied (", self.size(0), "x", self.size(1),
      " and ", other.size(0), "x", other.size(1), ")");
  const Rows r(self);
  const int64_t height = self.size(0), width = other.size(1);
  if (how == "sum" || how == "mean") {
    const at::Tensor sums = multiply(r.row, r.column, r.values, height, other);
    return {how == "sum" ? sums : sums.div(r.count.unsqueeze(1)), at::empty({0}, self.col_indices().options())};
  }
  TORCH_CHECK(how == "amax" || how == "amin", "sparse_mm_reduce: unknown reduction ", how);
  at::Tensor out = at::zeros({height, width}, other.options());
  at::Tensor arg = at::full({height, width}, r.nnz, r.row.options());
  if (r.nnz != 0 && width != 0) {
    const at::Tensor products = other.index_select(0, r.column).mul(r.values.unsqueeze(1));
    const at::Tensor rows = r.row.unsqueeze(1).expand({r.nnz, width});
    out.scatter_reduce_(0, rows, products, how, /*include_self=*/false);
    const at::Tensor hit = products.eq(out.index_select(0, r.row)).logical_or(products.isnan());
    const at::Tensor entry = at::arange(r.nnz, r.row.options()).unsqueeze(1).expand({r.nnz, width});
    arg.scatter_reduce_(0, rows, entry.masked_fill(hit.logical_not(), r.nnz), "amin", /*include_self=*/true);
  }
  return {out, arg};
}

std::tuple<at::Tensor, at::Tensor> mm_reduce_backward(const at::Tensor& self, const at::Tensor& grad, const at::Tensor& weight,
    c10::string_view how, const at::Tensor& arg, std::array<bool, 2> wanted) {
  const Rows r(self);
  const int64_t width = weight.size(1);
  at::Tensor of_values, of_weight;
  if (how == "sum" || how == "mean") {
    const at::Tensor g = how == "sum" ? grad : grad.div(r.count.unsqueeze(1));
    if (wanted[0]) {
      of_values = g.index_select(0, r.row).mul(weight.index_select(0, r.column)).sum(1);
    }
    if (wanted[1]) {
      of_weight = multiply(r.column, r.row, r.values, weight.size(0), g);
    }
  } else {
    // Each element of the result came from one entry; rows without entries from none.
    const at::Tensor none = arg.eq(r.nnz), entry = arg.masked_fill(none, 0).reshape(-1);
    const at::Tensor g = grad.masked_fill(none, 0);
    of_values = at::zeros({r.nnz}, r.values.options());
    of_weight = at::zeros(weight.sizes(), weight.options());
    if (r.nnz != 0) {
      const at::Tensor column = r.column.index_select(0, entry).view(arg.sizes());
      of_values.index_add_(0, entry, g.mul(weight.gather(0, column)).reshape(-1));
      of_weight.scatter_add_(0, column, g.mul(r.values.index_select(0, entry).view({-1, width})));
    }
  }
  at::Tensor grad_self;
  if (wanted[0]) {
    grad_self = at::_sparse_compressed_tensor_unsafe(self.crow_indices(), self.col_indices(), of_values, self.sizes(),
        of_values.options().layout(at::kSparseCsr));
  }
  return {grad_self, wanted[1] ? of_weight : at::Tensor()};
}

std::tuple<at::Tensor&, at::Tensor&> triangular_solve(const at::Tensor& b, const at::Tensor& a, bool upper, bool transpose,
    bool unitriangular, at::Tensor& x, at::Tensor& m) {
  at::Tensor dense = a.to_dense();
  if (transpose) {
    dense = dense.mT();
    upper = !upper;
  }
  store(x, at::linalg_solve_triangular(dense, b, upper, /*left=*/true, unitriangular));
  return {x, m};
}

} // namespace compressed

void register_compressed(torch::Library& m, torch::Library& dense) {
  dense.impl("_convert_indices_from_coo_to_csr", compressed::coo_to_csr);
  dense.impl("_convert_indices_from_coo_to_csr.out", compressed::coo_to_csr_out);
  dense.impl("_convert_indices_from_csr_to_coo", compressed::csr_to_coo);
  dense.impl("_convert_indices_from_csr_to_coo.out", compressed::csr_to_coo_out);
  dense.impl("_validate_compressed_sparse_indices", compressed::validate);
  m.impl("_to_sparse_bsr", compressed::to_bsr);
  m.impl("_to_sparse_bsc", compressed::to_bsc);
  m.impl("add.out", compressed::add_out);
  m.impl("addmm.out", compressed::addmm_out);
  m.impl("addmv.out", compressed::addmv_out);
  m.impl("_sparse_csr_sum.dim_dtype", compressed::sum);
  m.impl("_sparse_csr_prod.dim_dtype", compressed::prod);
  m.impl("sparse_sampled_addmm", compressed::sampled_addmm);
  m.impl("sparse_sampled_addmm.out", compressed::sampled_addmm_out);
  m.impl("_sparse_mm_reduce_impl", compressed::mm_reduce);
  m.impl("_sparse_mm_reduce_impl_backward", compressed::mm_reduce_backward);
  m.impl("triangular_solve.X", compressed::triangular_solve);
}

} // namespace neuron
