// Batch normalization in steps, for statistics that are exchanged between devices in between (SyncBatchNorm).
#include "shim.h"

#include <ATen/OpMathType.h>
#include <ATen/ops/full.h>
#include <ATen/ops/var_mean.h>

namespace neuron {
namespace batch_norm {

using OptionalTensor = std::optional<at::Tensor>;

bool given(const OptionalTensor& t) { return t.has_value() && t->defined(); }

// The type that statistics are computed in.
at::ScalarType wide(const at::Tensor& x) { return at::toOpMathType(x.scalar_type()); }

// All dimensions but that of the channels.
std::vector<int64_t> reduced(const at::Tensor& x) { return other_dims(x, 1); }

// A value per channel, broadcastable to the data.
at::Tensor along(const at::Tensor& v, const at::Tensor& x) { return along_dim(v.to(wide(x)), x, 1); }

std::tuple<at::Tensor, at::Tensor> moments(const at::Tensor& x) {
  TORCH_CHECK(x.dim() >= 2 && x.numel() > 0, "batch normalization: expected data of at least 2 dimensions");
  const auto [var, mean] = at::var_mean(x.to(wide(x)), reduced(x), /*correction=*/at::Scalar(0), /*keepdim=*/false);
  return {mean, var};
}

// Moves a running statistic towards a new value.
void follow(const OptionalTensor& running, const at::Tensor& value, double momentum) {
  if (given(running)) {
    running->copy_(running->to(value.scalar_type()).mul(1 - momentum).add(value, momentum));
  }
}

std::tuple<at::Tensor, at::Tensor> stats(const at::Tensor& x, double eps) {
  const auto [mean, var] = moments(x);
  return {mean, var.add(eps).rsqrt()};
}

// The schema does not tell that the running statistics are written.
std::tuple<at::Tensor, at::Tensor> update_stats(const at::Tensor& x, const OptionalTensor& running_mean,
    const OptionalTensor& running_var, double momentum) {
  const auto [mean, var] = moments(x);
  const double count = static_cast<double>(x.numel() / x.size(1));
  follow(running_mean, mean, momentum);
  follow(running_var, var.mul(count / (count - 1)), momentum);
  return {mean.to(x.scalar_type()), var.to(x.scalar_type())};
}

at::Tensor elemt(const at::Tensor& x, const OptionalTensor& weight, const OptionalTensor& bias, const at::Tensor& mean,
    const at::Tensor& invstd, double) {
  at::Tensor y = x.to(wide(x)).sub(along(mean, x)).mul(along(invstd, x));
  if (given(weight)) {
    y = y.mul(along(*weight, x));
  }
  if (given(bias)) {
    y = y.add(along(*bias, x));
  }
  return y.to(x.scalar_type());
}

at::Tensor& elemt_out(const at::Tensor& x, const OptionalTensor& weight, const OptionalTensor& bias, const at::Tensor& mean,
    const at::Tensor& invstd, double eps, at::Tensor& out) {
  return out.resize_(x.sizes()).copy_(elemt(x, weight, bias, mean, invstd, eps));
}

// Statistics of all parts from those of each, [parts, channels], and how much each part holds.
std::tuple<at::Tensor, at::Tensor> gather_counted(const at::Tensor& x, const at::Tensor& mean, const at::Tensor& invstd,
    const OptionalTensor& running_mean, const OptionalTensor& running_var, double momentum, double eps,
    const at::Tensor& counts) {
  const at::Tensor m = mean.to(wide(x)), n = counts.to(m.scalar_type()).unsqueeze(1), total = n.sum();
  const at::Tensor joint = m.mul(n).sum(0).div(total);
  const at::Tensor var = invstd.to(m.scalar_type()).pow(-2).sub(eps), away = m.sub(joint);
  const at::Tensor squares = var.add(away.mul(away)).mul(n).sum(0);
  follow(running_mean, joint, momentum);
  follow(running_var, squares.div(total.sub(1)), momentum);
  return {joint, squares.div(total).add(eps).rsqrt()};
}

std::tuple<at::Tensor, at::Tensor> gather(const at::Tensor& x, const at::Tensor& mean, const at::Tensor& invstd,
    const OptionalTensor& running_mean, const OptionalTensor& running_var, double momentum, double eps, int64_t count) {
  const at::Tensor counts = at::full({mean.size(0)}, count, mean.options());
  return gather_counted(x, mean, invstd, running_mean, running_var, momentum, eps, counts);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> backward_reduce(const at::Tensor& dy, const at::Tensor& x,
    const at::Tensor& mean, const at::Tensor& invstd, const OptionalTensor& weight, bool of_input, bool of_weight,
    bool of_bias) {
  const at::Tensor g = dy.to(wide(x)), centred = x.to(wide(x)).sub(along(mean, x));
  const at::Tensor sum = g.sum(reduced(x)), product = g.mul(centred).sum(reduced(x));
  const auto type = given(weight) ? weight->scalar_type() : x.scalar_type();
  return {of_input ? sum : at::Tensor(), of_input ? product : at::Tensor(),
      of_weight ? product.mul(invstd.to(product.scalar_type())).to(type) : at::Tensor(), of_bias ? sum.to(type) : at::Tensor()};
}

at::Tensor backward_elemt(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& mean, const at::Tensor& invstd,
    const OptionalTensor& weight, const at::Tensor& sum, const at::Tensor& product, const at::Tensor& count) {
  const at::Tensor total = count.sum().to(wide(x)), scale = along(invstd, x);
  const at::Tensor centred = x.to(wide(x)).sub(along(mean, x));
  at::Tensor dx = dy.to(wide(x)).sub(along(sum.div(total), x));
  dx = dx.sub(centred.mul(scale.mul(scale)).mul(along(product.div(total), x))).mul(scale);
  if (given(weight)) {
    dx = dx.mul(along(*weight, x));
  }
  return dx.to(x.scalar_type());
}

} // namespace batch_norm

void register_batch_norm(torch::Library& m) {
  m.impl("batch_norm_stats", batch_norm::stats);
  m.impl("batch_norm_update_stats", batch_norm::update_stats);
  m.impl("batch_norm_elemt", batch_norm::elemt);
  m.impl("batch_norm_elemt.out", batch_norm::elemt_out);
  m.impl("batch_norm_gather_stats", batch_norm::gather);
  m.impl("batch_norm_gather_stats_with_counts", batch_norm::gather_counted);
  m.impl("batch_norm_backward_reduce", batch_norm::backward_reduce);
  m.impl("batch_norm_backward_elemt", batch_norm::backward_elemt);
}

} // namespace neuron
