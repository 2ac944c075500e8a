"""torch.distributions on the device: draws against scipy's distribution functions and moments, the derivatives of draws
against scipy's quantiles, and densities, entropies and divergences against the CPU."""

import math

import pytest
import scipy.special
import scipy.stats
import torch
import torch.distributions as td

N = 20_000
# Kolmogorov's statistic exceeds this once in 10⁵ seeds; the seeds are fixed.
KOLMOGOROV = 2.47 / math.sqrt(N)


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(11)


def device(value):
    return torch.tensor(value, device="neuron")


def dev64(value):
    return torch.tensor(value, device="neuron", dtype=torch.float64)


def statistic(draws, cdf, discrete=False):
    """Kolmogorov's distance of draws to a distribution function; for integers, of the two step functions."""
    x = draws.detach().cpu().double().sort().values
    if discrete:
        values, counts = x.unique(return_counts=True)
        return float((counts.cumsum(0) / len(x) - torch.as_tensor(cdf(values.numpy()))).abs().max())
    theory = torch.as_tensor(cdf(x.numpy()))
    steps = torch.arange(1, len(x) + 1, dtype=torch.float64) / len(x)
    return float(torch.maximum((theory - steps).abs(), (theory - steps + 1 / len(x)).abs()).max())


CONTINUOUS = {
    "Beta": (lambda: td.Beta(device(0.7), device(2.5)), scipy.stats.beta(0.7, 2.5)),
    "Beta-large": (lambda: td.Beta(dev64(120.0), dev64(35.0)), scipy.stats.beta(120, 35)),
    "Beta-small": (lambda: td.Beta(dev64(0.05), dev64(0.5)), scipy.stats.beta(0.05, 0.5)),
    "Cauchy": (lambda: td.Cauchy(device(0.5), device(2.0)), scipy.stats.cauchy(0.5, 2)),
    "Chi2": (lambda: td.Chi2(device(3.3)), scipy.stats.chi2(3.3)),
    "Exponential": (lambda: td.Exponential(device(1.7)), scipy.stats.expon(scale=1 / 1.7)),
    "FisherSnedecor": (lambda: td.FisherSnedecor(device(5.0), device(7.0)), scipy.stats.f(5, 7)),
    "Gamma": (lambda: td.Gamma(device(2.5), device(0.5)), scipy.stats.gamma(2.5, scale=2)),
    "Gamma-small": (lambda: td.Gamma(dev64(0.02), dev64(1.0)), scipy.stats.gamma(0.02)),
    "Gamma-large": (lambda: td.Gamma(device(3000.0), device(1.0)), scipy.stats.gamma(3000)),
    "GeneralizedPareto": (
        lambda: td.GeneralizedPareto(device(0.5), device(2.0), device(0.3)),
        scipy.stats.genpareto(0.3, loc=0.5, scale=2),
    ),
    "Gumbel": (lambda: td.Gumbel(device(1.0), device(2.0)), scipy.stats.gumbel_r(1, 2)),
    "HalfCauchy": (lambda: td.HalfCauchy(device(2.0)), scipy.stats.halfcauchy(scale=2)),
    "HalfNormal": (lambda: td.HalfNormal(device(2.0)), scipy.stats.halfnorm(scale=2)),
    "InverseGamma": (lambda: td.InverseGamma(device(3.0), device(2.0)), scipy.stats.invgamma(3, scale=2)),
    "Kumaraswamy": (
        lambda: td.Kumaraswamy(device(2.0), device(3.0)),
        type("Kumaraswamy", (), {"cdf": staticmethod(lambda x: 1 - (1 - x**2) ** 3)}),
    ),
    "Laplace": (lambda: td.Laplace(device(-1.0), device(0.5)), scipy.stats.laplace(-1, 0.5)),
    "LogNormal": (lambda: td.LogNormal(device(0.3), device(0.6)), scipy.stats.lognorm(0.6, scale=math.exp(0.3))),
    "Normal": (lambda: td.Normal(device(-2.0), device(3.0)), scipy.stats.norm(-2, 3)),
    "Pareto": (lambda: td.Pareto(device(1.5), device(3.0)), scipy.stats.pareto(3, scale=1.5)),
    "StudentT": (lambda: td.StudentT(device(4.0), device(1.0), device(2.0)), scipy.stats.t(4, 1, 2)),
    "Uniform": (lambda: td.Uniform(device(-1.0), device(3.0)), scipy.stats.uniform(-1, 4)),
    "VonMises": (lambda: td.VonMises(device(0.4), device(2.0)), scipy.stats.vonmises(2, loc=0.4)),
    "Weibull": (lambda: td.Weibull(device(2.0), device(1.5)), scipy.stats.weibull_min(1.5, scale=2)),
}

DISCRETE = {
    "Bernoulli": (lambda: td.Bernoulli(device(0.3)), scipy.stats.bernoulli(0.3)),
    "Binomial-few": (lambda: td.Binomial(10, device(0.2)), scipy.stats.binom(10, 0.2)),
    "Binomial-many": (lambda: td.Binomial(300, device(0.2)), scipy.stats.binom(300, 0.2)),
    "Binomial-likely": (lambda: td.Binomial(500, device(0.9)), scipy.stats.binom(500, 0.9)),
    "Categorical": (
        lambda: td.Categorical(device([0.2, 0.5, 0.3])),
        scipy.stats.rv_discrete(values=([0, 1, 2], [0.2, 0.5, 0.3])),
    ),
    "Geometric": (lambda: td.Geometric(device(0.25)), scipy.stats.geom(0.25, loc=-1)),
    "NegativeBinomial": (lambda: td.NegativeBinomial(device(5.0), device(0.4)), scipy.stats.nbinom(5, 0.6)),
    "Poisson-small": (lambda: td.Poisson(device(2.5)), scipy.stats.poisson(2.5)),
    "Poisson-edge": (lambda: td.Poisson(device(10.0)), scipy.stats.poisson(10)),
    "Poisson-large": (lambda: td.Poisson(device(700.0)), scipy.stats.poisson(700)),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_draws_follow_the_distribution_function(name):
    make, theory = CONTINUOUS[name]
    draws = make().sample((N,))
    assert draws.device.type == "neuron"
    if name == "VonMises":
        draws = (draws - 0.4 + math.pi).remainder(2 * math.pi) - math.pi + 0.4
    assert statistic(draws, theory.cdf) < KOLMOGOROV


@pytest.mark.parametrize("name", DISCRETE)
def test_counts_follow_the_distribution_function(name):
    make, theory = DISCRETE[name]
    draws = make().sample((N,))
    assert draws.device.type == "neuron"
    assert statistic(draws, theory.cdf, discrete=True) < KOLMOGOROV


def test_dirichlet_moments_and_marginals():
    alpha = [0.4, 2.0, 5.0]
    draws = td.Dirichlet(device(alpha)).sample((N,)).cpu()
    torch.testing.assert_close(draws.sum(-1), torch.ones(N))
    for i, a in enumerate(alpha):
        assert statistic(draws[:, i], scipy.stats.beta(a, sum(alpha) - a).cdf) < KOLMOGOROV
    theory = torch.as_tensor(scipy.stats.dirichlet(alpha).cov()).float()
    torch.testing.assert_close(torch.cov(draws.T), theory, atol=3e-3, rtol=0)


def test_multinomial_counts():
    p = [0.1, 0.6, 0.3]
    draws = td.Multinomial(20, device(p)).sample((N,)).cpu()
    assert bool((draws.sum(-1) == 20).all())
    for i, q in enumerate(p):
        assert statistic(draws[:, i], scipy.stats.binom(20, q).cdf, discrete=True) < KOLMOGOROV


@pytest.mark.parametrize(
    "draw",
    [
        lambda x: torch.poisson(x * 20),
        lambda x: torch.binomial(x * 100, x.clamp(0, 1)),
        lambda x: torch._standard_gamma(x * 3),
        lambda x: torch._sample_dirichlet(x + 0.1),
    ],
    ids=["poisson", "binomial", "standard_gamma", "dirichlet"],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_a_seed_repeats_its_draws_and_elements_differ(draw, dtype):
    x = torch.full((64, 40), 0.5, dtype=dtype, device="neuron")
    first, second = [], []
    for results in (first, second):
        g = torch.Generator("neuron").manual_seed(5)
        torch.manual_seed(3)
        results += [draw(x).cpu(), draw(x).cpu()]
        assert results[0].dtype == dtype
        del g
    assert torch.equal(first[0], second[0]) and torch.equal(first[1], second[1])
    assert not torch.equal(first[0], first[1])
    assert len(first[0].flatten().unique()) > 5


def test_edges_of_counts():
    x = device([0.0, float("inf")])
    assert torch.poisson(device([0.0])).item() == 0
    with pytest.raises(RuntimeError, match="non-negative"):
        torch.poisson(device([-1.0])).cpu()
    counts, p = device([0.0, 5.0, 5.0, 7.0, 3.0]), device([0.5, 0.0, 1.0, float("nan"), -0.1])
    torch.testing.assert_close(
        torch.binomial(counts, p).cpu(), torch.tensor([0, 0, 5, float("nan"), 0]), equal_nan=True
    )
    assert torch.isinf(x[1]).item()


@pytest.mark.parametrize("alpha", [1e-3, 0.05, 0.7, 1.0, 2.5, 9.0, 40.0, 3000.0, 2e5])
def test_gamma_draws_have_the_derivative_of_the_quantile(alpha):
    quantiles = torch.tensor([0.01, 0.3, 0.5, 0.8, 0.99], dtype=torch.float64)
    h = alpha * 1e-5
    at = lambda a: torch.as_tensor(scipy.special.gammaincinv(a, quantiles.numpy()))
    x, slope = at(alpha), (at(alpha + h) - at(alpha - h)) / (2 * h)
    usable = x > 1e-200
    got = torch._standard_gamma_grad(torch.full_like(x, alpha).to("neuron"), x.to("neuron")).cpu()
    torch.testing.assert_close(got[usable], slope[usable], rtol=2e-5, atol=1e-12)


@pytest.mark.parametrize("alpha", [0.05, 0.7, 1.0, 3.0, 50.0, 2000.0])
@pytest.mark.parametrize("beta", [0.05, 0.7, 1.0, 3.0, 50.0, 2000.0])
def test_beta_draws_have_the_derivative_of_the_quantile(alpha, beta):
    quantiles = torch.tensor([0.05, 0.3, 0.5, 0.8, 0.95], dtype=torch.float64)
    h = alpha * 1e-5
    at = lambda a: torch.as_tensor(scipy.special.betaincinv(a, beta, quantiles.numpy()))
    x, slope = at(alpha), (at(alpha + h) - at(alpha - h)) / (2 * h)
    usable = (x > 1e-200) & (1 - x > 1e-6)
    a = torch.full_like(x, alpha).to("neuron")
    got = torch._dirichlet_grad(x.to("neuron"), a, a + beta).cpu() * (1 - x)
    torch.testing.assert_close(got[usable], slope[usable], rtol=5e-5, atol=1e-12)


def test_reparameterised_gradients_are_the_cpus():
    """The CPU approximates these derivatives to about 5e-4."""
    alpha, x = torch.rand(200, dtype=torch.float64) * 12 + 0.1, torch.rand(200, dtype=torch.float64) * 10 + 0.05
    got = torch._standard_gamma_grad(alpha.to("neuron"), x.to("neuron")).cpu()
    torch.testing.assert_close(got, torch._standard_gamma_grad(alpha, x), rtol=2e-3, atol=1e-4)
    x, total = torch.rand(200, dtype=torch.float64) * 0.9 + 0.05, alpha + torch.rand(200, dtype=torch.float64) * 8 + 0.1
    got = torch._dirichlet_grad(x.to("neuron"), alpha.to("neuron"), total.to("neuron")).cpu()
    torch.testing.assert_close(got, torch._dirichlet_grad(x, alpha, total), rtol=1e-2, atol=1e-3)


def test_gradients_reach_the_parameters():
    for make in (
        lambda p: td.Gamma(p, p + 1),
        lambda p: td.Beta(p, p + 1),
        lambda p: td.Dirichlet(p),
        lambda p: td.StudentT(p + 2),
        lambda p: td.Normal(p, p),
    ):
        p = torch.tensor([0.5, 1.5, 4.0], device="neuron", requires_grad=True)
        make(p).rsample((50,)).square().sum().backward()
        assert p.grad.device.type == "neuron" and bool(torch.isfinite(p.grad).all())


def moved(d, where):
    """The same distribution with its parameters on a device."""

    def to(x):
        if isinstance(x, torch.Tensor):
            return x.to(where)
        return moved(x, where) if isinstance(x, td.Distribution) else x

    kind, params = d
    return kind(**{k: moved(v, where) if isinstance(v, tuple) else to(v) for k, v in params.items()})


P = torch.tensor([0.15, 0.5, 0.8])
S = torch.tensor([0.4, 1.0, 2.5])
M = torch.tensor([-1.0, 0.0, 3.0])
COV = torch.tensor([[2.0, 0.3, 0.1], [0.3, 1.0, -0.2], [0.1, -0.2, 0.7]])
TRIL = torch.tensor([[1.5, 0.0, 0.0], [0.2, 1.0, 0.0], [-0.3, 0.4, 0.8]])

# Every distribution: its class and parameters.
EVERY = {
    "Bernoulli": (td.Bernoulli, {"probs": P}),
    "Beta": (td.Beta, {"concentration1": S, "concentration0": S + 1}),
    "Binomial": (td.Binomial, {"total_count": torch.tensor([5.0, 9.0, 20.0]), "probs": P}),
    "Categorical": (td.Categorical, {"logits": M.expand(3, 3)}),
    "Cauchy": (td.Cauchy, {"loc": M, "scale": S}),
    "Chi2": (td.Chi2, {"df": S}),
    "ContinuousBernoulli": (td.ContinuousBernoulli, {"probs": P}),
    "Dirichlet": (td.Dirichlet, {"concentration": S}),
    "Exponential": (td.Exponential, {"rate": S}),
    "FisherSnedecor": (td.FisherSnedecor, {"df1": S, "df2": S + 3}),
    "Gamma": (td.Gamma, {"concentration": S, "rate": S}),
    "GeneralizedPareto": (td.GeneralizedPareto, {"loc": M, "scale": S, "concentration": P}),
    "Geometric": (td.Geometric, {"probs": P}),
    "Gumbel": (td.Gumbel, {"loc": M, "scale": S}),
    "HalfCauchy": (td.HalfCauchy, {"scale": S}),
    "HalfNormal": (td.HalfNormal, {"scale": S}),
    "InverseGamma": (td.InverseGamma, {"concentration": S, "rate": S}),
    "Kumaraswamy": (td.Kumaraswamy, {"concentration1": S, "concentration0": S}),
    "LKJCholesky": (td.LKJCholesky, {"dim": 3, "concentration": torch.tensor(1.5)}),
    "Laplace": (td.Laplace, {"loc": M, "scale": S}),
    "LogNormal": (td.LogNormal, {"loc": M, "scale": S}),
    "LogisticNormal": (td.LogisticNormal, {"loc": M, "scale": S}),
    "LowRankMultivariateNormal": (
        td.LowRankMultivariateNormal,
        {"loc": M, "cov_factor": TRIL[:, :2].contiguous(), "cov_diag": S},
    ),
    "Multinomial": (td.Multinomial, {"total_count": 6, "probs": P}),
    "MultivariateNormal": (td.MultivariateNormal, {"loc": M, "scale_tril": TRIL}),
    "MultivariateNormal-covariance": (td.MultivariateNormal, {"loc": M, "covariance_matrix": COV}),
    "NegativeBinomial": (td.NegativeBinomial, {"total_count": S * 4, "probs": P}),
    "Normal": (td.Normal, {"loc": M, "scale": S}),
    "OneHotCategorical": (td.OneHotCategorical, {"probs": P}),
    "OneHotCategoricalStraightThrough": (td.OneHotCategoricalStraightThrough, {"probs": P}),
    "Pareto": (td.Pareto, {"scale": S, "alpha": S + 2}),
    "Poisson": (td.Poisson, {"rate": S * 6}),
    "RelaxedBernoulli": (td.RelaxedBernoulli, {"temperature": torch.tensor(0.7), "probs": P}),
    "RelaxedOneHotCategorical": (td.RelaxedOneHotCategorical, {"temperature": torch.tensor(0.7), "probs": P}),
    "StudentT": (td.StudentT, {"df": S + 2, "loc": M, "scale": S}),
    "Uniform": (td.Uniform, {"low": M, "high": M + S}),
    "VonMises": (td.VonMises, {"loc": M, "concentration": S}),
    "Weibull": (td.Weibull, {"scale": S, "concentration": S}),
    "Wishart": (td.Wishart, {"df": torch.tensor(5.0), "scale_tril": TRIL}),
}


def test_every_distribution_is_listed():
    """Those without parameters of their own take others."""
    outer = {"Distribution", "ExponentialFamily", "Independent", "MixtureSameFamily", "TransformedDistribution"}
    kinds = {
        n for n in td.__all__ if isinstance(getattr(td, n), type) and issubclass(getattr(td, n), td.Distribution)
    }
    assert kinds - outer == {kind.__name__ for kind, _ in EVERY.values()}


@pytest.mark.parametrize("name", EVERY)
def test_draws_densities_and_moments_are_the_cpus(name):
    here, there = moved(EVERY[name], "cpu"), moved(EVERY[name], "neuron")
    draws = there.sample((4,))
    assert draws.device.type == "neuron"
    x = here.sample((4,))
    close = lambda a, b: torch.testing.assert_close(a.cpu(), b, rtol=2e-4, atol=2e-4, equal_nan=True)
    assert draws.shape == x.shape and draws.dtype == x.dtype
    close(there.log_prob(x.to("neuron")), here.log_prob(x))
    for what in ("entropy", "cdf", "mean", "variance", "stddev", "mode"):
        try:
            want = getattr(here, what)
            want = want(x) if what == "cdf" else want() if what == "entropy" else want
        except NotImplementedError:
            continue
        got = getattr(there, what)
        close(got(x.to("neuron")) if what == "cdf" else got() if what == "entropy" else got, want)


def test_compound_distributions():
    for where in ("cpu", "neuron"):
        parts = td.Normal(M.to(where), S.to(where))
        mixture = td.MixtureSameFamily(td.Categorical(P.to(where)), parts)
        whole = td.Independent(parts, 1)
        tanh = td.TransformedDistribution(parts, [td.TanhTransform(), td.AffineTransform(1.0, 2.0)])
        results = [mixture.log_prob(S.to(where)), whole.log_prob(S.to(where)), tanh.log_prob((P * 2).to(where))]
        assert mixture.sample((7,)).device.type == where and tanh.rsample((7,)).device.type == where
        if where == "cpu":
            want = results
    for g, w in zip(results, want):
        torch.testing.assert_close(g.cpu(), w, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("first, second", [p for p in td.kl._KL_REGISTRY if p[0] is p[1]], ids=lambda c: c.__name__)
def test_divergences_are_the_cpus(first, second):
    found = [v for v in EVERY.values() if v[0] is first]
    if not found:
        pytest.skip("an abstract or compound distribution")
    kind, params = found[0]
    # A second one of other parameters, where parameters can be moved a little.
    change = lambda v: v * 0.9 if isinstance(v, torch.Tensor) and v.is_floating_point() else v
    others = {k: v if k in ("total_count", "df") else change(v) for k, v in params.items()}
    values = []
    for where in ("cpu", "neuron"):
        try:
            p, q = moved((kind, params), where), moved((kind, others), where)
            values.append(td.kl_divergence(p, q).cpu())
        except NotImplementedError:
            if where == "neuron":
                raise
            pytest.skip("no divergence of these")
    torch.testing.assert_close(values[1], values[0], rtol=2e-4, atol=2e-4)
