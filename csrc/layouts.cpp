// Sparse, nested and quantized tensors. Many of PyTorch's kernels for them only take the tensor apart, call ordinary
// operators on its parts and put it together again; the CPU's are those of every device. They are registered here under
// the device's keys. What reads memory itself is in sparse_*.cpp, nested.cpp and quantized.cpp.
#include "layouts.h"

#include <sstream>

namespace neuron {
namespace {

using c10::DispatchKey;

// Kernels on indices and values, in coordinate format.
const char* const kCoo =
    "view_as_real view_as_complex add.Tensor add_.Tensor _sparse_broadcast_to cat copy_ div.Tensor div_.Tensor div.out "
    "div.Tensor_mode div_.Tensor_mode div.out_mode empty.memory_format empty_like floor_divide floor_divide_.Tensor "
    "floor_divide.out isnan isinf mm mm.out mul.Tensor mul_.Tensor mv narrow_copy permute threshold_backward "
    "threshold_backward.grad_input unsqueeze zeros.out sum sum.dim_IntList native_norm native_norm.ScalarOpt_dim_dtype "
    "norm.ScalarOpt_dim norm.ScalarOpt_dim_dtype linalg_vector_norm clone resize_as_sparse_ zero_ sub.out sub.Tensor "
    "sub_.Tensor _sparse_coo_tensor_with_dims _sparse_coo_tensor_with_dims_and_tensors sparse_resize_ "
    "sparse_resize_and_clear_ _to_dense sparse_dim _dimI dense_dim _dimV _nnz is_coalesced _indices _values _coalesced_ "
    "indices values copy_sparse_to_sparse_ _to_sparse _to_sparse.sparse_dim _to_sparse_csr _to_sparse_csc _to_sparse_bsr "
    "_to_sparse_bsc any pow.Tensor_Scalar pow.Tensor_Scalar_out conj_physical.out";

// The same for the compressed formats.
const char* const kCompressed =
    "_conj_physical conj_physical.out conj_physical_ add.Tensor add_.Tensor copy_ empty.memory_format resize_ empty_like "
    "fill_.Scalar isnan isinf mm mm.out mul.Tensor mul_.Tensor mul.out mul.Scalar mul_.Scalar select.int select_copy.int "
    "sum sum.dim_IntList threshold_backward threshold_backward.grad_input clone resize_as_sparse_ zero_ addmm sparse_mask "
    "_to_dense sparse_dim dense_dim _nnz values crow_indices col_indices ccol_indices row_indices _to_sparse "
    "_to_sparse.sparse_dim _to_sparse_csr _to_sparse_csc normal_";

// Operators of one tensor that map zero to zero; with their in-place and out= overloads, in both formats.
const char* const kUnary =
    "abs asin asinh atan atanh ceil deg2rad erf erfinv expm1 floor frac log1p neg rad2deg relu round sgn sign signbit sin "
    "sinh sqrt tan tanh trunc nan_to_num isposinf isneginf angle";

const char* const kNested =
    "native_dropout native_dropout_backward abs abs_ sgn sgn_ add.Tensor add_.Tensor all.dim logical_not logical_not_ cat "
    "chunk copy_ cos div.Tensor div.Scalar embedding empty_like fill_.Scalar fill_.Tensor isnan is_same_size linear "
    "linear_backward matmul matmul_backward matmul.out value_selecting_reduction_backward mul.Tensor mul_.Tensor "
    "mul.Scalar mul_.Scalar narrow ones_like neg neg_ relu relu_ gelu_ gelu gelu_backward select.int "
    "_nested_select_backward silu silu_ silu_backward sin detach _softmax _softmax_backward_data split_with_sizes squeeze "
    "squeeze.dim squeeze.dims sqrt tanh tanh_ threshold_backward transpose.int _nested_tensor_size _nested_tensor_strides "
    "_nested_tensor_storage_offsets _nested_from_padded_and_nested_example unsqueeze where.self where.self_out clone zero_ "
    "sub.Tensor values unbind.int _to_copy masked_fill.Scalar view eq.Scalar eq.Tensor ge.Scalar gt.Scalar normal_ alias "
    "isinf isposinf isneginf _test_autograd_multiple_dispatch.fullcoverage _test_autograd_multiple_dispatch.ntonly "
    "_safe_softmax bmm to_padded_tensor";

const char* const kQuantized =
    "as_strided empty.memory_format _empty_affine_quantized _empty_per_channel_affine_quantized empty_like "
    "empty_strided max.dim min.dim _reshape_alias squeeze squeeze.dim squeeze.dims flip unsqueeze "
    "clone dequantize.self q_scale q_zero_point q_per_channel_scales q_per_channel_zero_points q_per_channel_axis qscheme "
    "set_.source_Storage_storage_offset view unfold";

// Operators of dense tensors that make the others.
const char* const kDense =
    "_to_sparse _to_sparse.sparse_dim _to_sparse_csr _to_sparse_csc _to_sparse_bsr _to_sparse_bsc _empty_affine_quantized "
    "_empty_per_channel_affine_quantized _nested_view_from_buffer _nested_compute_contiguous_strides_offsets "
    "quantize_per_tensor quantize_per_tensor.tensor_qparams quantize_per_tensor.tensors quantize_per_tensor_dynamic "
    "quantize_per_channel _nested_from_padded _embedding_bag_backward _fake_quantize_learnable_per_tensor_affine "
    "_fake_quantize_learnable_per_channel_affine";

template <DispatchKey From>
void borrowed(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  op.callBoxedForDispatchKey(From, *stack);
}

struct Family {
  torch::Library& library;
  DispatchKey from;
  torch::CppFunction (*kernel)();
};

template <DispatchKey From>
torch::CppFunction kernel() {
  return torch::CppFunction::makeFromBoxedFunction<&borrowed<From>>();
}

bool exists(const std::string& name, DispatchKey from) {
  const auto dot = name.find('.');
  const auto op = c10::Dispatcher::singleton().findSchema(
      {"aten::" + name.substr(0, dot), dot == std::string::npos ? "" : name.substr(dot + 1)});
  return op && op->hasKernelForDispatchKey(from);
}

void borrow(const Family& f, const char* names) {
  std::istringstream in(names);
  for (std::string name; in >> name;) {
    TORCH_INTERNAL_ASSERT(exists(name, f.from), "PyTorch has no kernel for ", name, " under ", f.from);
    if (!exists(name, DispatchKey::PrivateUse1) || f.from != DispatchKey::CPU) {
      f.library.impl(name.c_str(), f.kernel());
    }
  }
}

void borrow_unary(const Family& f) {
  std::istringstream in(kUnary);
  for (std::string name; in >> name;) {
    for (const auto& overload : {name, name + "_", name + ".out"}) {
      if (exists(overload, f.from)) {
        f.library.impl(overload.c_str(), f.kernel());
      }
    }
  }
}

torch::Library& library(DispatchKey key) {
  // Libraries deregister when destroyed.
  return *new torch::Library(torch::Library::IMPL, "aten", key, __FILE__, __LINE__);
}

} // namespace

void register_layouts(torch::Library& dense) {
  auto& coo = library(DispatchKey::SparsePrivateUse1);
  const Family coo_family{coo, DispatchKey::SparseCPU, &kernel<DispatchKey::SparseCPU>};
  borrow(coo_family, kCoo);
  borrow_unary(coo_family);
  register_coo(coo, dense);
  register_coo_products(coo);

  auto& compressed = library(DispatchKey::SparseCsrPrivateUse1);
  const Family compressed_family{compressed, DispatchKey::SparseCsrCPU, &kernel<DispatchKey::SparseCsrCPU>};
  borrow(compressed_family, kCompressed);
  borrow_unary(compressed_family);
  register_compressed(compressed, dense);

  auto& nested = library(DispatchKey::NestedTensorPrivateUse1);
  borrow({nested, DispatchKey::NestedTensorCPU, &kernel<DispatchKey::NestedTensorCPU>}, kNested);
  register_nested(nested, dense);

  auto& quantized = library(DispatchKey::QuantizedPrivateUse1);
  borrow({quantized, DispatchKey::QuantizedCPU, &kernel<DispatchKey::QuantizedCPU>}, kQuantized);
  register_quantized(quantized, dense);
  register_fake_quantize(dense);

  borrow({dense, DispatchKey::CPU, &kernel<DispatchKey::CPU>}, kDense);
}

} // namespace neuron
