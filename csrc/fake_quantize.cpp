// Quantization simulated on floats, and its gradients.
#include "layouts.h"

#include <ATen/native/quantized/cpu/QuantUtils.h>

namespace neuron {
namespace simulated {

using quantized::along;
using quantized::number;

using Pair = std::tuple<at::Tensor, at::Tensor>;

Pair simulate(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& zero_point, int64_t low, int64_t high) {
  TORCH_CHECK(low <= high, "`quant_min` should be less than or equal to `quant_max`.");
  const at::Tensor s = scale.to(at::kFloat), z = zero_point.to(at::kFloat);
  const at::Tensor q = x.to(at::kFloat).mul(s.reciprocal()).round().add(z.round());
  // What is not a number becomes the least.
  const at::Tensor y = q.clamp(low, high).nan_to_num(static_cast<double>(low)).sub(z.round()).mul(s);
  return {y.to(x.scalar_type()), q.ge(low).logical_and(q.le(high))};
}

Pair fake_quantize(const at::Tensor& x, double scale, int64_t zero_point, int64_t low, int64_t high) {
  TORCH_CHECK(zero_point >= low && zero_point <= high, "`zero_point` must be between `quant_min` and `quant_max`.");
  return simulate(x, number(scale, x), number(zero_point, x), low, high);
}

Pair fake_quantize_tensors(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& zero_point,
    const at::Tensor& enabled, int64_t low, int64_t high) {
  if (!enabled.item<bool>()) {
    return {x.clone(), at::ones(x.sizes(), x.options().dtype(at::kBool))};
  }
  return simulate(x, scale.reshape({}), zero_point.reshape({}), low, high);
}

Pair fake_quantize_channels(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& zero_point, int64_t axis,
    int64_t low, int64_t high) {
  TORCH_CHECK(scale.dim() == 1 && zero_point.dim() == 1 && scale.numel() == zero_point.numel(),
      "scale and zero-point need to be 1-D tensors of the same dimensions");
  TORCH_CHECK(axis >= 0 && axis < x.dim(), "`axis` must be between 0 and number of dimensions of input");
  TORCH_CHECK(scale.numel() == x.size(axis), "dimensions of scale and zero-point are not consistent with input tensor");
  return simulate(x, along(scale, x, axis), along(zero_point, x, axis), low, high);
}

// ---- gradients of learnable scales and zero points ----

using Gradients = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

// Of the data, and for each element of the scale and the zero point, which is rounded but not yet within the range.
Gradients gradients(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& scale, const at::Tensor& rounded,
    int64_t low, int64_t high, double factor) {
  TORCH_CHECK(dy.scalar_type() == at::kFloat && x.scalar_type() == at::kFloat && scale.scalar_type() == at::kFloat &&
      rounded.scalar_type() == at::kFloat, "expected scalar type Float");
  TORCH_CHECK(dy.sizes() == x.sizes(), "`X` and `dY` are not the same size");
  TORCH_CHECK(low <= 0 && high >= 0, "`quant_min` should be less than or equal to `quant_max`, and the quantization range "
      "should include 0.");
  const at::Tensor z = rounded.clamp(low, high), inverse = scale.reciprocal();
  const at::Tensor q = x.mul(inverse).round().add(z), kept = q.clamp(low, high), inside = kept.eq(q);
  const at::Tensor y = kept.sub(z).mul(scale);
  const at::Tensor of_scale = at::where(inside, y.sub(x).mul(inverse), kept.sub(z));
  const at::Tensor of_zero = at::where(inside, at::zeros({}, x.options()), scale.neg());
  return {dy.mul(inside), dy.mul(of_scale).mul(factor), dy.mul(of_zero).mul(factor)};
}

Gradients learnable_backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& scale,
    const at::Tensor& zero_point, int64_t low, int64_t high, double factor) {
  TORCH_CHECK(scale.numel() == 1 && zero_point.numel() == 1, "one scale and one zero point expected");
  if (x.numel() == 0) {
    return {x, scale, zero_point};
  }
  // PyTorch's backward of one scale cuts off where its others round.
  const at::Tensor cut = zero_point.reshape({}).add(0.5).trunc();
  const auto [dx, ds, dz] = gradients(dy, x, scale.reshape({}), cut, low, high, factor);
  return {dx, ds.sum().unsqueeze(0), dz.sum().unsqueeze(0)};
}

Gradients learnable_channels_backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& scale,
    const at::Tensor& zero_point, int64_t axis, int64_t low, int64_t high, double factor) {
  TORCH_CHECK(axis >= 0 && axis < x.dim(), "`axis` must be between 0 and number of dimensions of input");
  TORCH_CHECK(scale.dim() == 1 && zero_point.sizes() == scale.sizes() && scale.numel() == x.size(axis),
      "dimensions of scale and zero-point are not consistent with input tensor");
  if (x.numel() == 0) {
    return {x, scale, zero_point};
  }
  const auto [dx, ds, dz] =
      gradients(dy, x, along(scale, x, axis), along(zero_point.round(), x, axis), low, high, factor);
  const std::vector<int64_t> others = other_dims(x, axis);
  const auto total = [&](const at::Tensor& t) { return others.empty() ? t.clone() : t.sum(others); };
  return {dx, total(ds), total(dz)};
}

// ---- an observer and the quantization by what it saw ----

// Moves a running extreme towards a new value; the first value replaces the infinity that it starts from.
void observe(const at::Tensor& running, const at::Tensor& value, double share) {
  const at::Tensor next = at::where(running.isinf(), value, running.add(value.sub(running).mul(share)));
  running.copy_(next);
}

Pair observe_and_quantize(const at::Tensor& x, const at::Tensor& observer_on, const at::Tensor& quantize_on,
    at::Tensor& running_min, at::Tensor& running_max, at::Tensor& scale, at::Tensor& zero_point, double share, int64_t low,
    int64_t high, int64_t axis, bool per_row, bool symmetric) {
  TORCH_CHECK(axis < x.dim(), "Error in fused_moving_avg_obs_fq_helper: ch_axis must be < self.dim()");
  if (observer_on.item<int64_t>() != 0) {
    const int64_t count = per_row ? x.size(axis) : 1;
    if (per_row && running_min.numel() == 0) {
      const double inf = std::numeric_limits<double>::infinity();
      running_min.resize_({count}).fill_(inf);
      running_max.resize_({count}).fill_(-inf);
      scale.resize_({count});
      zero_point.resize_({count});
    }
    const at::Tensor rows = per_row ? x.transpose(0, axis).reshape({count, -1}) : x.reshape({1, -1});
    observe(running_min, rows.amin(1).view(running_min.sizes()), share);
    observe(running_max, rows.amax(1).view(running_max.sizes()), share);
  }
  if (quantize_on.item<int64_t>() == 0) {
    return {x.clone(), at::ones_like(x, at::kBool)};
  }
  if (observer_on.item<int64_t>() != 0) {
    // The few numbers of a quantizer are chosen on the host.
    const at::Tensor least = running_min.cpu(), most = running_max.cpu(), zeros = at::empty(least.sizes(), at::kInt),
                     scales = at::empty_like(least);
    for (int64_t i = 0; i < least.numel(); i++) {
      const auto chosen = quant_utils::ChooseQuantizationParams(least.const_data_ptr<float>()[i],
          most.const_data_ptr<float>()[i], static_cast<int32_t>(low), static_cast<int32_t>(high), symmetric);
      scales.data_ptr<float>()[i] = static_cast<float>(chosen.scale);
      zeros.data_ptr<int32_t>()[i] = chosen.zero_point;
    }
    scale.copy_(scales.view(scale.sizes()));
    zero_point.copy_(zeros.view(zero_point.sizes()));
  }
  if (per_row) {
    return at::fake_quantize_per_channel_affine_cachemask(x, scale, zero_point, axis, low, high);
  }
  return at::fake_quantize_per_tensor_affine_cachemask(
      x, scale.reshape(-1).select(0, 0).item<float>(), zero_point.reshape(-1).select(0, 0).item<int64_t>(), low, high);
}

} // namespace simulated

void register_fake_quantize(torch::Library& m) {
  m.impl("fake_quantize_per_tensor_affine_cachemask", simulated::fake_quantize);
  m.impl("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", simulated::fake_quantize_tensors);
  m.impl("fake_quantize_per_channel_affine_cachemask", simulated::fake_quantize_channels);
  m.impl("_fake_quantize_learnable_per_tensor_affine_backward", simulated::learnable_backward);
  m.impl("_fake_quantize_learnable_per_channel_affine_backward", simulated::learnable_channels_backward);
  m.impl("_fused_moving_avg_obs_fq_helper", simulated::observe_and_quantize);
}

} // namespace neuron
