// Matrix products with sparse matrices, as gathers, element products and indexed sums.
#include "layouts.h"

namespace neuron {

at::Tensor multiply(const at::Tensor& rows, const at::Tensor& columns, const at::Tensor& values, int64_t height,
    const at::Tensor& dense) {
  // Sums in float32 where the element is narrower, as a matrix product does.
  const bool narrow = values.scalar_type() == at::kHalf || values.scalar_type() == at::kBFloat16;
  const auto type = narrow ? at::kFloat : values.scalar_type();
  at::Tensor sums = at::zeros({height, dense.size(1)}, values.options().dtype(type));
  if (values.size(0) != 0 && dense.numel() != 0) {
    sums.index_add_(0, rows, dense.index_select(0, columns).to(type).mul(values.to(type).unsqueeze(1)));
  }
  return sums.to(values.scalar_type());
}

namespace products {

// Stored entries of a 2-D sparse matrix of any format.
struct Entries {
  at::Tensor rows, columns, values;
  explicit Entries(const at::Tensor& t) {
    const at::Tensor coo = t.is_sparse() ? t : t.to_sparse();
    TORCH_CHECK(coo.dense_dim() == 0, "expected a sparse matrix without dense dimensions, got ", coo.dense_dim());
    rows = coo._indices().select(0, 0);
    columns = coo._indices().select(0, 1);
    values = coo._values();
  }
};

// beta * self + alpha * product, where a beta of zero ignores self.
at::Tensor combine(const at::Tensor& self, const at::Tensor& product, const at::Scalar& beta, const at::Scalar& alpha) {
  const at::Tensor scaled = alpha.equal(1) ? product : product.mul(alpha);
  if (beta.equal(0)) {
    return scaled;
  }
  return (beta.equal(1) ? self : self.mul(beta)).add(scaled);
}

at::Tensor dense_addmm(const at::Tensor& self, const at::Tensor& sparse, const at::Tensor& dense, const at::Scalar& beta,
    const at::Scalar& alpha) {
  TORCH_CHECK(sparse.layout() != at::kStrided, "addmm: expected 'mat1' to be sparse, but got a dense matrix");
  TORCH_CHECK(dense.layout() == at::kStrided && self.layout() == at::kStrided,
      "addmm: expected 'self' and 'mat2' to be dense, but got ", self.layout(), " and ", dense.layout());
  TORCH_CHECK(sparse.sparse_dim() == 2 && sparse.dense_dim() == 0, "addmm: matrices expected, got ", sparse.dim(), "D tensor");
  TORCH_CHECK(dense.dim() == 2, "addmm: matrices expected, got ", dense.dim(), "D tensor");
  TORCH_CHECK(dense.size(0) == sparse.size(1), "addmm: Argument #3 (dense): Expected dim 0 size ", sparse.size(1), ", got ",
      dense.size(0));
  TORCH_CHECK(sparse.scalar_type() == dense.scalar_type() && self.scalar_type() == dense.scalar_type(),
      "addmm: expected 'self', 'mat1' and 'mat2' of one dtype, but got ", self.scalar_type(), ", ", sparse.scalar_type(),
      " and ", dense.scalar_type());
  const at::Tensor wide = self.expand({sparse.size(0), dense.size(1)});
  const Entries e(sparse);
  return combine(wide, multiply(e.rows, e.columns, e.values, sparse.size(0), dense), beta, alpha);
}

at::Tensor& addmm_out(const at::Tensor& self, const at::Tensor& sparse, const at::Tensor& dense, const at::Scalar& beta,
    const at::Scalar& alpha, at::Tensor& out) {
  const at::Tensor result = dense_addmm(self, sparse, dense, beta, alpha);
  return out.resize_(result.sizes()).copy_(result);
}

at::Tensor& addmm_inplace(at::Tensor& self, const at::Tensor& sparse, const at::Tensor& dense, const at::Scalar& beta,
    const at::Scalar& alpha) {
  return self.copy_(dense_addmm(self, sparse, dense, beta, alpha));
}

at::Tensor batched(const at::Tensor& self, const at::Tensor& other) {
  TORCH_CHECK(other.layout() == at::kStrided, "bmm_sparse: Tensor 'mat2' must be dense");
  TORCH_CHECK(self.dense_dim() == 0 && self.dim() == 3 && other.dim() == 3,
      "bmm_sparse: expected a sparse tensor of 3 sparse dimensions and a dense tensor of 3 dimensions");
  TORCH_CHECK(self.size(0) == other.size(0) && self.size(2) == other.size(1), "bmm_sparse: sizes ", self.sizes(), " and ",
      other.sizes(), " do not fit");
  const int64_t batches = self.size(0), height = self.size(1), inner = self.size(2), width = other.size(2);
  const at::Tensor i = self._indices(), batch = i.select(0, 0);
  return multiply(batch.mul(height).add(i.select(0, 1)), batch.mul(inner).add(i.select(0, 2)), self._values(),
      batches * height, other.reshape({batches * inner, width})).view({batches, height, width});
}

at::Tensor& bmm_out(const at::Tensor& self, const at::Tensor& other, at::Tensor& out) {
  const at::Tensor result = batched(self, other);
  return out.resize_(result.sizes()).copy_(result);
}

// Both matrices sparse: each entry of the left meets the row of the right that its column names.
at::Tensor sparse_sparse(const at::Tensor& self, const at::Tensor& other) {
  TORCH_CHECK(self.is_sparse() && other.is_sparse() && self.dim() == 2 && other.dim() == 2 && self.dense_dim() == 0 &&
      other.dense_dim() == 0, "sparse matmul: expected two sparse matrices");
  TORCH_CHECK(self.size(1) == other.size(0), "mat1 and mat2 shapes cannot be multiplied (", self.size(0), "x", self.size(1),
      " and ", other.size(0), "x", other.size(1), ")");
  TORCH_CHECK(self.scalar_type() == other.scalar_type(), "mat1 dtype ", self.scalar_type(), " does not match mat2 dtype ",
      other.scalar_type());
  const Entries a(self.coalesce()), b(other.coalesce());
  const at::Tensor begin = at::searchsorted(b.rows.contiguous(), a.columns);
  const at::Tensor count = at::searchsorted(b.rows.contiguous(), a.columns, /*out_int32=*/false, /*right=*/true).sub(begin);
  const at::Tensor ends = count.cumsum(0);
  const int64_t total = count.numel() == 0 ? 0 : ends.select(0, -1).item<int64_t>();
  const at::Tensor slot = at::arange(total, ends.options());
  const at::Tensor left = at::searchsorted(ends, slot, /*out_int32=*/false, /*right=*/true);
  const at::Tensor right = begin.index_select(0, left).add(slot.sub(ends.sub(count).index_select(0, left)));
  const at::Tensor indices = at::stack({a.rows.index_select(0, left), b.columns.index_select(0, right)});
  const at::Tensor values = a.values.index_select(0, left).mul(b.values.index_select(0, right));
  return make_coo(indices, values, {self.size(0), other.size(1)}, false).coalesce();
}

// Sparse times dense, with the rows that have entries as a hybrid tensor of one sparse dimension.
at::Tensor hybrid(const at::Tensor& sparse, const at::Tensor& dense) {
  TORCH_CHECK(sparse.is_sparse() && sparse.sparse_dim() == 2 && sparse.dense_dim() == 0 && dense.dim() == 2,
      "hspmm: expected a sparse and a dense matrix");
  TORCH_CHECK(dense.size(0) == sparse.size(1), "hspmm: Argument #3: Expected dim 0 size ", sparse.size(1), ", got ",
      dense.size(0));
  const Entries e(sparse.coalesce());
  if (e.values.size(0) == 0) {
    return make_coo(at::empty({1, 0}, e.rows.options()), at::empty({0, dense.size(1)}, dense.options()),
        {sparse.size(0), dense.size(1)}, true);
  }
  const at::Tensor group = group_of(e.rows);
  const int64_t groups = group.max().item<int64_t>() + 1;
  const at::Tensor indices = at::empty({groups}, e.rows.options()).scatter_(0, group, e.rows);
  return make_coo(indices.unsqueeze(0), multiply(group, e.columns, e.values, groups, dense),
      {sparse.size(0), dense.size(1)}, false);
}

at::Tensor& hspmm_out(const at::Tensor& sparse, const at::Tensor& dense, at::Tensor& out) {
  store_coo(out, hybrid(sparse, dense));
  return out;
}

// Everything sparse but the second factor; each entry of the first gives a whole row of entries.
at::Tensor& sspaddmm_out(const at::Tensor& self, const at::Tensor& sparse, const at::Tensor& dense, const at::Scalar& beta,
    const at::Scalar& alpha, at::Tensor& out) {
  TORCH_CHECK(sparse.sparse_dim() == 2 && sparse.dense_dim() == 0 && dense.dim() == 2, "sspaddmm: matrices expected");
  TORCH_CHECK(dense.size(0) == sparse.size(1), "sspaddmm: Argument #3: Expected dim 0 size ", sparse.size(1), ", got ",
      dense.size(0));
  // Before it is looked at: `smm` passes one tensor, still of no size, as both.
  out.sparse_resize_({sparse.size(0), dense.size(1)}, 2, 0);
  TORCH_CHECK(self.dim() == 2 && self.size(0) == sparse.size(0) && self.size(1) == dense.size(1), "sspaddmm: Argument #1: Expected size ",
      sparse.size(0), " x ", dense.size(1), ", got ", self.sizes());
  const Entries e(sparse);
  const int64_t n = e.values.size(0), width = dense.size(1);
  const at::Tensor rows = e.rows.unsqueeze(1).expand({n, width}).reshape(-1);
  const at::Tensor columns = at::arange(width, e.rows.options()).unsqueeze(0).expand({n, width}).reshape(-1);
  const at::Tensor values = dense.index_select(0, e.columns).mul(e.values.mul(alpha).unsqueeze(1)).reshape(-1);
  store_coo(out, make_coo(at::cat({self._indices(), at::stack({rows, columns})}, 1),
      at::cat({self._values().mul(beta), values}), self.sizes(), false));
  return out;
}

} // namespace products

void register_coo_products(torch::Library& m) {
  m.impl("addmm", products::dense_addmm);
  m.impl("addmm_", products::addmm_inplace);
  m.impl("addmm.out", products::addmm_out);
  m.impl("bmm", products::batched);
  m.impl("bmm.out", products::bmm_out);
  m.impl("_sparse_sparse_matmul", products::sparse_sparse);
  m.impl("hspmm", products::hybrid);
  m.impl("hspmm.out", products::hspmm_out);
  m.impl("sspaddmm.out", products::sspaddmm_out);
}

} // namespace neuron
