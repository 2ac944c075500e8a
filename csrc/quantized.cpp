// Quantized tensors: integers on the device with a quantizer beside them. PyTorch's own code makes them and takes them
// apart; here are the conversions between numbers and integers, and the operators that PyTorch defines on them.
#include "layouts.h"

#include <ATen/native/quantized/AffineQuantizer.h>
#include <ATen/quantized/QTensorImpl.h>
#include <ATen/quantized/Quantizer.h>

namespace neuron {
namespace quantized {

at::ScalarType underlying(const at::Tensor& q) { return c10::toUnderlying(q.scalar_type()); }

// The integers in a quantized tensor's own memory.
at::Tensor integers(const at::Tensor& q) {
  auto t = at::detail::make_tensor<c10::TensorImpl>(
      c10::TensorImpl::VIEW, c10::Storage(q.storage()), kKeys, c10::scalarTypeToTypeMeta(underlying(q)));
  t.unsafeGetTensorImpl()->set_sizes_and_strides(q.sizes(), q.strides(), q.storage_offset());
  return t;
}

struct Range {
  int64_t low, high;
};

Range range_of(at::ScalarType type) {
  switch (type) {
    case at::kChar:
      return {-128, 127};
    case at::kByte:
      return {0, 255};
    default:
      return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
  }
}

// Rounds half to even, as the reference does; double where an int32 has to come out exactly.
at::Tensor to_integers(const at::Tensor& x, const at::Tensor& inverse_scale, const at::Tensor& zero_point, at::ScalarType type) {
  const auto [low, high] = range_of(type);
  const auto wide = type == at::kInt ? at::kDouble : at::kFloat;
  return x.to(at::kFloat).mul(inverse_scale).round().to(wide).add(zero_point.to(wide)).clamp(low, high).to(type);
}

at::Tensor number(double v, const at::Tensor& like) { return at::full({}, v, like.options().dtype(at::kFloat)); }

// A per-channel parameter, broadcastable to the tensor.
at::Tensor along(const at::Tensor& p, const at::Tensor& x, int64_t axis) {
  return along_dim(p.to(x.device()).to(at::kFloat), x, axis);
}

void quantize(const at::Tensor& x, at::Tensor& q, double scale, int64_t zero_point) {
  integers(q).copy_(to_integers(x, number(1.0f / static_cast<float>(scale), x), number(zero_point, x), underlying(q)));
}

void quantize_channels(const at::Tensor& x, at::Tensor& q, const at::Tensor& scales, const at::Tensor& zeros, int64_t axis) {
  integers(q).copy_(to_integers(x, along(scales, x, axis).reciprocal(), along(zeros, x, axis), underlying(q)));
}

void quantize_channels_float(const at::Tensor& x, at::Tensor& q, const at::Tensor& scales, const at::Tensor& zeros,
    int64_t axis) {
  const auto [low, high] = range_of(underlying(q));
  const at::Tensor rounded = x.mul(along(scales, x, axis).reciprocal()).add(along(zeros, x, axis)).round();
  integers(q).copy_(rounded.clamp(low, high).to(underlying(q)));
}

void dequantize(const at::Tensor& q, at::Tensor& x, double scale, int64_t zero_point) {
  x.copy_(integers(q).to(at::kFloat).sub(zero_point).mul(scale));
}

void dequantize_channels(const at::Tensor& q, at::Tensor& x, const at::Tensor& scales, const at::Tensor& zeros, int64_t axis) {
  x.copy_(integers(q).to(at::kFloat).sub(along(zeros, x, axis)).mul(along(scales, x, axis)));
}

at::Tensor int_repr(const at::Tensor& self) { return integers(self).clone(); }

// A new tensor of the same quantizer that holds the given integers.
at::Tensor with_integers(const at::Tensor& values, const at::Tensor& like) {
  at::Tensor q = at::empty_quantized(values.sizes(), like);
  integers(q).copy_(values);
  return q;
}

at::Tensor make_per_tensor(const at::Tensor& self, double scale, int64_t zero_point) {
  at::Tensor q = at::_empty_affine_quantized(
      self.sizes(), self.options().dtype(c10::toQIntType(self.scalar_type())), scale, zero_point);
  integers(q).copy_(self);
  return q;
}

at::Tensor make_per_channel(const at::Tensor& self, const at::Tensor& scales, const at::Tensor& zeros, int64_t axis) {
  at::Tensor q = at::_empty_per_channel_affine_quantized(
      self.sizes(), scales, zeros, axis, self.options().dtype(c10::toQIntType(self.scalar_type())));
  integers(q).copy_(self);
  return q;
}

at::Tensor copy_from(const at::Tensor& self, const at::Tensor& dst, bool non_blocking) {
  const auto stored = [](const at::Tensor& t) {
    return t.is_privateuseone() ? integers(t) : [&] {
      auto r = at::detail::make_tensor<c10::TensorImpl>(c10::TensorImpl::VIEW, c10::Storage(t.storage()),
          c10::DispatchKeySet(c10::DispatchKey::CPU), c10::scalarTypeToTypeMeta(underlying(t)));
      r.unsafeGetTensorImpl()->set_sizes_and_strides(t.sizes(), t.strides(), t.storage_offset());
      return r;
    }();
  };
  if (!dst.is_quantized()) {
    dst.copy_(self.dequantize());
  } else if (!self.is_quantized()) {
    const at::Tensor q = at::get_qtensorimpl(dst)->quantizer()->quantize(self.to(dst.device()).expand(dst.sizes()));
    stored(dst).copy_(stored(q));
  } else {
    TORCH_CHECK(self.qscheme() == dst.qscheme(), "Quantized Copy only works with same qscheme");
    TORCH_CHECK(self.scalar_type() == dst.scalar_type(), "Quantized copy only works with tensors of one dtype, got ",
        self.scalar_type(), " and ", dst.scalar_type());
    at::set_quantizer_(dst, at::get_qtensorimpl(self)->quantizer());
    stored(dst).copy_(stored(self), non_blocking);
  }
  return dst;
}

std::vector<at::Tensor> dequantize_list(at::TensorList list) {
  std::vector<at::Tensor> out;
  for (const auto& t : list) {
    out.push_back(t.dequantize());
  }
  return out;
}

// ---- operators on the integers ----

// Order is kept by quantization, so the maximum is taken of the integers.
template <class Pool>
at::Tensor pool(const at::Tensor& q, Pool f) {
  return with_integers(f(integers(q).to(at::kFloat)).to(underlying(q)), q);
}

at::Tensor max_pool1d(const at::Tensor& q, at::IntArrayRef kernel, at::IntArrayRef stride, at::IntArrayRef padding,
    at::IntArrayRef dilation, bool ceil) {
  return pool(q, [&](const at::Tensor& x) { return at::max_pool1d(x, kernel, stride, padding, dilation, ceil); });
}
at::Tensor max_pool2d(const at::Tensor& q, at::IntArrayRef kernel, at::IntArrayRef stride, at::IntArrayRef padding,
    at::IntArrayRef dilation, bool ceil) {
  return pool(q, [&](const at::Tensor& x) { return at::max_pool2d(x, kernel, stride, padding, dilation, ceil); });
}
at::Tensor max_pool3d(const at::Tensor& q, at::IntArrayRef kernel, at::IntArrayRef stride, at::IntArrayRef padding,
    at::IntArrayRef dilation, bool ceil) {
  return pool(q, [&](const at::Tensor& x) { return at::max_pool3d(x, kernel, stride, padding, dilation, ceil); });
}

at::Tensor relu(const at::Tensor& q) { return with_integers(integers(q).clamp_min(q.q_zero_point()), q); }
at::Tensor& relu_inplace(at::Tensor& q) {
  integers(q).clamp_min_(q.q_zero_point());
  return q;
}
at::Tensor index_select(const at::Tensor& q, int64_t dim, const at::Tensor& index) {
  return with_integers(integers(q).index_select(dim, index), q);
}
at::Tensor flip(const at::Tensor& q, at::IntArrayRef dims) { return with_integers(integers(q).flip(dims), q); }
bool equal(const at::Tensor& a, const at::Tensor& b) {
  return b.is_quantized() && a.qscheme() == b.qscheme() && a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() &&
      at::get_qtensorimpl(a)->quantizer()->equalTo(at::get_qtensorimpl(b)->quantizer()) && at::equal(integers(a), integers(b));
}
at::Tensor& fill(at::Tensor& q, const at::Scalar& value) {
  return q.copy_(at::full({}, value, q.options().dtype(at::kFloat)).expand(q.sizes()));
}
at::Tensor& fill_tensor(at::Tensor& q, const at::Tensor& value) { return fill(q, value.item()); }

// ---- operators on the numbers ----

at::Tensor batch_norm(const at::Tensor& q, const std::optional<at::Tensor>& weight, const std::optional<at::Tensor>& bias,
    const at::Tensor& mean, const at::Tensor& var, double eps, double scale, int64_t zero_point) {
  const at::Tensor y = at::batch_norm(q.dequantize(), weight, bias, mean, var, /*training=*/false, 0.0, eps, false);
  return at::quantize_per_tensor(y, scale, zero_point, q.scalar_type());
}

template <class F>
at::Tensor on_numbers(const at::Tensor& q, F f) {
  return at::quantize_per_tensor(f(q.dequantize()), q.q_scale(), q.q_zero_point(), q.scalar_type());
}

at::Tensor gelu(const at::Tensor& q, c10::string_view approximate) {
  return on_numbers(q, [&](const at::Tensor& x) { return at::gelu(x, approximate); });
}
at::Tensor mean(const at::Tensor& q, at::OptionalIntArrayRef dim, bool keepdim, std::optional<at::ScalarType>) {
  return on_numbers(q, [&](const at::Tensor& x) { return at::mean(x, dim, keepdim); });
}
at::Tensor leaky_relu(const at::Tensor& q, const at::Scalar& slope) {
  return on_numbers(q, [&](const at::Tensor& x) { return at::leaky_relu(x, slope); });
}
at::Tensor clamp(const at::Tensor& q, const std::optional<at::Scalar>& low, const std::optional<at::Scalar>& high) {
  return on_numbers(q, [&](const at::Tensor& x) { return at::clamp(x, low, high); });
}
at::Tensor avg_pool2d(const at::Tensor& q, at::IntArrayRef kernel, at::IntArrayRef stride, at::IntArrayRef padding, bool ceil,
    bool count_pad, std::optional<int64_t> divisor) {
  return on_numbers(q, [&](const at::Tensor& x) { return at::avg_pool2d(x, kernel, stride, padding, ceil, count_pad, divisor); });
}
at::Tensor adaptive_avg_pool2d(const at::Tensor& q, at::IntArrayRef size) {
  return on_numbers(q, [&](const at::Tensor& x) { return at::_adaptive_avg_pool2d(x, size); });
}
at::Tensor cat(const at::ITensorListRef& list, int64_t dim) {
  std::vector<at::Tensor> numbers;
  at::Tensor first;
  for (const at::Tensor& t : list) {
    if (!first.defined()) {
      first = t;
    }
    numbers.push_back(t.dequantize());
  }
  return at::quantize_per_tensor(at::cat(numbers, dim), first.q_scale(), first.q_zero_point(), first.scalar_type());
}

} // namespace quantized

void register_quantized(torch::Library& m, torch::Library& dense) {
  using namespace quantized;
  at::native::quantize_tensor_per_tensor_affine_stub.set_privateuse1_dispatch_ptr(&quantize);
  at::native::quantize_tensor_per_channel_affine_stub.set_privateuse1_dispatch_ptr(&quantize_channels);
  at::native::quantize_tensor_per_channel_float_qparams_stub.set_privateuse1_dispatch_ptr(&quantize_channels_float);
  at::native::dequantize_tensor_per_tensor_affine_stub.set_privateuse1_dispatch_ptr(&dequantize);
  at::native::dequantize_tensor_per_channel_affine_stub.set_privateuse1_dispatch_ptr(&dequantize_channels);
  at::native::dequantize_tensor_per_channel_float_qparams_stub.set_privateuse1_dispatch_ptr(&dequantize_channels);
  m.impl("int_repr", quantized::int_repr);
  m.impl("_copy_from", quantized::copy_from);
  m.impl("dequantize.tensors", quantized::dequantize_list);
  m.impl("quantized_max_pool1d", quantized::max_pool1d);
  m.impl("quantized_max_pool2d", quantized::max_pool2d);
  m.impl("quantized_max_pool3d", quantized::max_pool3d);
  m.impl("quantized_batch_norm", quantized::batch_norm);
  m.impl("relu", quantized::relu);
  m.impl("relu_", quantized::relu_inplace);
  m.impl("index_select", quantized::index_select);
  m.impl("flip", quantized::flip);
  m.impl("equal", quantized::equal);
  m.impl("fill_.Scalar", quantized::fill);
  m.impl("fill_.Tensor", quantized::fill_tensor);
  m.impl("gelu", quantized::gelu);
  m.impl("mean.dim", quantized::mean);
  m.impl("leaky_relu", quantized::leaky_relu);
  m.impl("clamp", quantized::clamp);
  m.impl("avg_pool2d", quantized::avg_pool2d);
  m.impl("_adaptive_avg_pool2d", quantized::adaptive_avg_pool2d);
  m.impl("cat", quantized::cat);
  dense.impl("_make_per_tensor_quantized_tensor", quantized::make_per_tensor);
  dense.impl("_make_per_channel_quantized_tensor", quantized::make_per_channel);
}

} // namespace neuron
