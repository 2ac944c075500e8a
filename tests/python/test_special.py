"""Special functions against scipy, and at the edges of their domains against the CPU."""

import math

import pytest
import scipy.special as sp
import torch

special = torch.special

NEAR = torch.linspace(-30, 30, 1201, dtype=torch.float64)
WIDE = torch.logspace(-8, 4, 400, dtype=torch.float64)

# name: (operator, scipy's function, greatest relative error against the function or its amplitude)
FUNCTIONS = {
    "airy_ai": (special.airy_ai, lambda x: sp.airy(x)[0], 1e-11),
    "bessel_j0": (special.bessel_j0, sp.j0, 1e-11),
    "bessel_j1": (special.bessel_j1, sp.j1, 1e-11),
    "bessel_y0": (special.bessel_y0, sp.y0, 1e-11),
    "bessel_y1": (special.bessel_y1, sp.y1, 1e-11),
    "erfcx": (special.erfcx, sp.erfcx, 1e-13),
    "i0e": (special.i0e, sp.i0e, 1e-14),
    "i1e": (special.i1e, sp.i1e, 1e-14),
    "log_ndtr": (special.log_ndtr, sp.log_ndtr, 1e-12),
    "modified_bessel_k0": (special.modified_bessel_k0, sp.k0, 1e-14),
    "modified_bessel_k1": (special.modified_bessel_k1, sp.k1, 1e-14),
    "ndtri": (special.ndtri, sp.ndtri, 1e-12),
    "polygamma-1": (lambda x: special.polygamma(1, x), lambda x: sp.polygamma(1, x), 1e-10),
    "polygamma-4": (lambda x: special.polygamma(4, x), lambda x: sp.polygamma(4, x), 1e-12),
    "scaled_modified_bessel_k0": (special.scaled_modified_bessel_k0, sp.k0e, 1e-14),
    "scaled_modified_bessel_k1": (special.scaled_modified_bessel_k1, sp.k1e, 1e-14),
}


def on_device(f, *operands):
    return f(*(x.to("neuron") for x in operands)).cpu()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_equals_scipy(name):
    f, theory, tolerance = FUNCTIONS[name]
    x = torch.cat([NEAR + 0.01, WIDE])
    if name.startswith("polygamma"):
        x = x[(x > -1) | (x.remainder(1) > 0.2)]
        x = x[x > 0] if name == "polygamma-4" else x
    if name == "ndtri":
        x = torch.cat([torch.logspace(-300, -1, 200, dtype=torch.float64), torch.linspace(0.001, 0.999, 99).double()])
    got, want = on_device(f, x), torch.as_tensor(theory(x.numpy()))
    usable = torch.isfinite(want) & (want.abs() > 1e-290)
    torch.testing.assert_close(got[usable], want[usable], rtol=tolerance, atol=1e-14)


@pytest.mark.parametrize("upper", [False, True], ids=["lower", "upper"])
def test_incomplete_gamma_equals_scipy(upper):
    a = torch.logspace(-3, 7, 60, dtype=torch.float64)[:, None]
    ratio = torch.tensor([1e-6, 0.1, 0.5, 0.9, 0.98, 0.999, 1.0, 1.0005, 1.02, 1.1, 2.0, 10.0], dtype=torch.float64)
    x = a * ratio
    f, theory = (special.gammaincc, sp.gammaincc) if upper else (special.gammainc, sp.gammainc)
    want = torch.as_tensor(theory(*(t.numpy() for t in torch.broadcast_tensors(a, x))))
    # The exponents grow with a, and their rounding with them.
    torch.testing.assert_close(on_device(f, a, x), want, rtol=1e-9, atol=1e-280)
    small = torch.tensor([0.01, 0.3, 0.7, 1.3, 5.0], dtype=torch.float64)[:, None]
    x = torch.logspace(-8, 2, 50, dtype=torch.float64)
    want = torch.as_tensor(theory(*(t.numpy() for t in torch.broadcast_tensors(small, x))))
    torch.testing.assert_close(on_device(f, small, x), want, rtol=1e-12, atol=1e-280)


def test_zeta_equals_scipy():
    s = torch.tensor([1.001, 1.5, 2.0, 3.7, 10.0, 60.0], dtype=torch.float64)[:, None]
    q = torch.tensor([1e-3, 0.3, 1.0, 7.5, 123.4, 1e6], dtype=torch.float64)
    want = torch.as_tensor(sp.zeta(*(t.numpy() for t in torch.broadcast_tensors(s, q))))
    torch.testing.assert_close(on_device(special.zeta, s, q), want, rtol=1e-12, atol=0)
    # By the recurrence ζ(s, q) = ζ(s, q + 1) + q⁻ˢ below 0.
    got = on_device(special.zeta, torch.tensor([2.0, 3.0], dtype=torch.float64), torch.tensor(-70.5, dtype=torch.float64))
    terms = torch.arange(-70.5, 0.5, dtype=torch.float64)
    want = [float(sp.zeta(k, 0.5)) + (terms**-k).sum().item() for k in (2, 3)]
    torch.testing.assert_close(got, torch.tensor(want, dtype=torch.float64), rtol=1e-12, atol=1e-14)


POLYNOMIALS = {
    "chebyshev_polynomial_t": sp.eval_chebyt,
    "chebyshev_polynomial_u": sp.eval_chebyu,
    "hermite_polynomial_h": sp.eval_hermite,
    "hermite_polynomial_he": sp.eval_hermitenorm,
    "laguerre_polynomial_l": sp.eval_laguerre,
    "legendre_polynomial_p": sp.eval_legendre,
    "shifted_chebyshev_polynomial_t": sp.eval_sh_chebyt,
    "shifted_chebyshev_polynomial_u": sp.eval_sh_chebyu,
}


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_equal_scipy(name):
    x = torch.linspace(-1.5, 1.5, 61, dtype=torch.float64)
    n = torch.tensor([0, 1, 2, 3, 5, 6, 7, 9, 12, 31])[:, None]
    f = getattr(special, name)
    want = torch.as_tensor(POLYNOMIALS[name](n.numpy(), x.numpy()))
    torch.testing.assert_close(on_device(f, x, n), want, rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(f(x.to("neuron"), 7).cpu(), want[6], rtol=1e-9, atol=1e-10)
    got = f(0.25, n.to("neuron").double()).cpu()
    torch.testing.assert_close(got[:, 0], torch.as_tensor(POLYNOMIALS[name](n[:, 0].numpy(), 0.25)), rtol=1e-9, atol=1e-10)


INF, NAN = math.inf, math.nan
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, 300.0, -300.0, 1e-30, 1e30, INF, -INF, NAN]
UNARY = [
    *"airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 digamma entr erf erfc erfcx erfinv exp2 expit expm1".split(),
    *"gammaln i0 i0e i1 i1e log1p log_ndtr logit modified_bessel_i0 modified_bessel_i1 modified_bessel_k0".split(),
    *"modified_bessel_k1 ndtr ndtri psi scaled_modified_bessel_k0 scaled_modified_bessel_k1 sinc".split(),
    "spherical_bessel_j0",
]
BINARY = [
    "gammainc",
    "gammaincc",
    "xlog1py",
    "xlogy",
    "zeta",
    *(f"{p}chebyshev_polynomial_{k}" for p in ("", "shifted_") for k in "tuvw"),
    *"hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p".split(),
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", UNARY)
def test_edges_of_functions_are_the_cpus(name, dtype):
    x = torch.tensor(EDGES, dtype=dtype)
    f = getattr(special, name)
    if name.startswith("bessel"):
        # The CPU's sine of 1e30 has another argument reduction in f32.
        x = x[x.abs() != 1e30]
    if name == "airy_ai" and dtype == torch.float32:
        # Nor does an f32 hold the phase of the oscillation at −300 to 1e-4.
        x = x[x != -300]
    torch.testing.assert_close(on_device(f, x), f(x), rtol=1e-4, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", BINARY)
def test_edges_of_functions_of_two_are_the_cpus(name, dtype):
    values = [v for v in EDGES if not (name.endswith(("_l", "_p")) and abs(v) > 1e4 and math.isfinite(v))]
    x, y = torch.tensor(values, dtype=dtype)[:, None], torch.tensor(values, dtype=dtype)
    if "polynomial" in name:
        # A recurrence of 1e30 steps does not end, on the CPU either.
        y = y[(y.abs() <= 300) | ~torch.isfinite(y)]
    if name == "zeta":
        # Nor do 300 steps to the first positive term, with alternating signs, agree in f32.
        y = y[y != -300]
        # Where every term underflows the CPU gives NaN, the device 0.
        x = x[x != 1e30][:, None]
    f = getattr(special, name)
    torch.testing.assert_close(on_device(f, x, y), f(x, y), rtol=1e-4, atol=1e-5, equal_nan=True)
