"""Automatic mixed precision."""

import pytest
import torch
import torch.nn.functional as F


@pytest.fixture
def x():
    return torch.randn(8, 8, device="neuron")


def test_the_default_type_is_bfloat16(x):
    assert torch.get_autocast_dtype("neuron") == torch.bfloat16
    with torch.autocast("neuron"):
        assert torch.is_autocast_enabled("neuron")
        assert (x @ x).dtype == torch.bfloat16
    assert (x @ x).dtype == torch.float32


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_matrix_products_run_in_the_lower_type(x, dtype):
    with torch.autocast("neuron", dtype=dtype):
        assert torch.mm(x, x).dtype == F.linear(x, x).dtype == torch.addmm(x, x, x).dtype == dtype
        assert torch.bmm(x[None], x[None]).dtype == torch.matmul(x, x).dtype == dtype
        q = x.view(1, 1, 8, 8)
        assert F.scaled_dot_product_attention(q, q, q).dtype == dtype


def test_sensitive_functions_run_in_float32(x):
    low = x.bfloat16()
    with torch.autocast("neuron"):
        assert F.softmax(low, -1).dtype == F.log_softmax(low, -1).dtype == torch.float32
        assert F.layer_norm(low, (8,)).dtype == torch.float32
        assert low.exp().dtype == low.sum().dtype == F.mse_loss(low, low).dtype == torch.float32


def test_mixed_operands_meet_in_the_wider_type(x):
    with torch.autocast("neuron"):
        assert torch.addcmul(x, x.bfloat16(), x).dtype == torch.float32
        assert torch.dot(x[0], x[1].bfloat16()).dtype == torch.float32


def test_other_operators_keep_their_type(x):
    with torch.autocast("neuron"):
        assert (x + x).dtype == torch.float32 and F.relu(x).dtype == torch.float32


def test_nested_regions(x):
    with torch.autocast("neuron"):
        with torch.autocast("neuron", enabled=False):
            assert torch.mm(x, x).dtype == torch.float32
        assert torch.mm(x, x).dtype == torch.bfloat16


def test_integers_are_left_alone():
    with torch.autocast("neuron"):
        i = torch.arange(4, device="neuron")
        assert i.sum().dtype == torch.int64


def test_types_that_are_not_supported_warn(x):
    with pytest.warns(UserWarning, match="neuron"):
        with torch.autocast("neuron", dtype=torch.float64):
            assert torch.mm(x, x).dtype == torch.float32


def test_binary_cross_entropy_is_refused():
    p = torch.rand(4, device="neuron")
    with torch.autocast("neuron"):
        with pytest.raises(RuntimeError, match="unsafe to autocast"):
            F.binary_cross_entropy(p, p)


def test_gradients_have_the_parameters_type():
    m = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 4)).to("neuron")
    x, y = torch.randn(8, 16, device="neuron"), torch.tensor([0, 1, 2, 3] * 2, device="neuron")
    with torch.autocast("neuron"):
        loss = F.cross_entropy(m(x), y)
    loss.backward()
    assert loss.dtype == torch.float32
    reference = F.cross_entropy(m(x), y)
    assert abs(loss.item() - reference.item()) < 2e-2
    assert all(p.grad.dtype == torch.float32 for p in m.parameters())


def test_supported_types():
    assert torch.neuron.is_bf16_supported()
    assert torch.bfloat16 in torch.neuron.get_amp_supported_dtype()
