"""Decompositions beyond their equations: the signs of small matrices' vectors, data that are not finite, and refusals."""

import pytest
import torch

DEV = "neuron"
NAN, INF = float("nan"), float("inf")


def matrix(*shape, dtype=torch.float64):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(sum(shape)))


def hermitian(n, dtype):
    a = matrix(4, n, n, dtype=dtype)
    return a + a.mH


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=str)
@pytest.mark.parametrize("n", [1, 2, 5, 12, 25])
@pytest.mark.parametrize("uplo", ["L", "U"])
def test_eigh_has_the_signs_of_lapack(n, dtype, uplo):
    a = hermitian(n, dtype)
    got = torch.linalg.eigh(a.to(DEV), UPLO=uplo)
    torch.testing.assert_close([x.cpu() for x in got], list(torch.linalg.eigh(a, UPLO=uplo)))


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=str)
@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (5, 3), (3, 5), (20, 4), (4, 20), (12, 12)], ids=str)
@pytest.mark.parametrize("full", [False, True])
def test_svd_has_the_signs_of_lapack(shape, dtype, full):
    a = matrix(4, *shape, dtype=dtype)
    got = torch.linalg.svd(a.to(DEV), full_matrices=full)
    torch.testing.assert_close([x.cpu() for x in got], list(torch.linalg.svd(a, full_matrices=full)))


@pytest.mark.parametrize("n", [1, 2, 4])
def test_eig_has_the_signs_of_lapack(n):
    a = matrix(n, n)
    torch.testing.assert_close([x.cpu() for x in torch.linalg.eig(a.to(DEV))], list(torch.linalg.eig(a)))


@pytest.mark.parametrize("a", [torch.zeros(3, 3), torch.ones(4, 4).triu(1), torch.eye(3) * 1e-30], ids=["0", "nilpotent", "tiny"])
def test_eig_of_defective_matrices_is_finite(a):
    for x in torch.linalg.eig(a.to(DEV)):
        assert x.isfinite().all()


def at(value, *places):
    a = torch.ones(3, 3)
    for i, j in places:
        a[i, j] = a[j, i] = value
    return a


NOT_FINITE = {
    "eigh_nan": (torch.linalg.eigh, at(NAN, (0, 0))),
    "eigh_inf": (torch.linalg.eigh, at(INF, (0, 0))),
    "eigvalsh_nan": (torch.linalg.eigvalsh, at(NAN, (0, 1))),
    "svd_nan": (torch.linalg.svd, at(NAN, (0, 1))),
    "svdvals_inf": (torch.linalg.svdvals, at(INF, (0, 1))),
    "matrix_rank_inf": (torch.linalg.matrix_rank, at(INF, (0, 1))),
    "matrix_sqrth_nan": (torch.linalg.matrix_sqrth, at(NAN, (2, 2))),
    "eig_nan": (torch.linalg.eig, at(NAN, (0, 1))),
}


def outcome(f, *operands):
    """The results, or the error's type and words."""
    try:
        r = f(*operands)
        return [x.cpu() for x in (r if isinstance(r, tuple) else (r,))]
    except RuntimeError as e:
        return type(e), str(e).removeprefix("aten::linalg_eig: ")


@pytest.mark.parametrize("case", NOT_FINITE)
def test_data_that_are_not_finite(case):
    f, a = NOT_FINITE[case]
    actual, expected = outcome(f, a.to(DEV)), outcome(f, a)
    if isinstance(expected, tuple):
        assert actual == expected
    else:
        torch.testing.assert_close(actual, expected, equal_nan=True)


@pytest.mark.parametrize("name", ["cholesky", "det", "eigh", "ldl_factor", "lu_factor", "qr", "svd"])
def test_half_precision_is_refused_in_the_words_of_the_cpu(name):
    f, a = getattr(torch.linalg, name), torch.eye(3, dtype=torch.float16)
    with pytest.raises(NotImplementedError) as expected:
        f(a)
    with pytest.raises(NotImplementedError) as actual:
        f(a.to(DEV))
    assert str(expected.value) in str(actual.value)


@pytest.mark.parametrize("dtypes", [(torch.float32, torch.float64), (torch.complex64, torch.float32)], ids=str)
def test_solve_triangular_takes_the_type_of_the_matrix(dtypes):
    a, b = torch.ones(3, 3, dtype=dtypes[0]).triu(), torch.arange(6.0).reshape(3, 2).to(dtypes[1])
    actual, expected = (torch.linalg.solve_triangular(a.to(d), b.to(d), upper=True) for d in (DEV, "cpu"))
    torch.testing.assert_close(actual.cpu(), expected)


def test_matrix_exp_is_rounded_once():
    a = matrix(3, 5, 5, dtype=torch.float32) * 3
    exact = torch.matrix_exp(a.double())
    torch.testing.assert_close(torch.matrix_exp(a.to(DEV)).cpu(), exact.float(), rtol=1.3e-7, atol=1e-5)
