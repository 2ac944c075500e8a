"""Recurrent modules against the CPU: PyTorch's module database, packed sequences, projections, half precision."""

import pytest
import torch
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence
from torch.testing._internal.common_modules import module_db
from torch.utils._pytree import tree_flatten, tree_map

RECURRENT = {"RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell"}


def place(x, device):
    if isinstance(x, PackedSequence):
        return x.to(device)
    return x.detach().to(device).requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x


def results(module, args, kwargs):
    """Floating-point results, and gradients of parameters and operands for fixed seeds."""
    outs = tree_flatten(tuple(tree_flatten(module(*args, **kwargs))[0]))[0]
    outs = [t for t in outs if isinstance(t, torch.Tensor) and t.is_floating_point()]
    leaves = list(module.parameters()) + [t for t in args if isinstance(t, torch.Tensor) and t.requires_grad]
    torch.manual_seed(1)
    seeds = [torch.randn(t.shape, dtype=t.dtype).to(t.device) for t in outs]
    return [t.detach().cpu() for t in outs], [t.cpu() for t in torch.autograd.grad(outs, leaves, seeds)]


def same(module, args, kwargs, **tolerance):
    there = type(module)(*module.made[0], **module.made[1]) if hasattr(module, "made") else module
    want = results(module, args, kwargs)
    there.load_state_dict(module.state_dict())
    there.to("neuron")
    move = lambda x: tree_map(lambda t: place(t, "neuron"), x, is_leaf=lambda t: isinstance(t, PackedSequence))  # noqa: E731
    got = results(there, move(args), move(kwargs))
    torch.testing.assert_close(got, want, **tolerance)


def make(name, *args, **kwargs):
    module = getattr(torch.nn, name)(*args, **kwargs)
    module.made = args, kwargs
    return module


INFOS = [i for i in module_db if i.name.removeprefix("nn.") in RECURRENT]


@pytest.mark.parametrize("info", INFOS, ids=[i.name for i in INFOS])
@pytest.mark.filterwarnings("ignore")
def test_module_database(info):
    torch.manual_seed(0)
    count = 0
    for sample in info.module_inputs_func(info, "cpu", torch.float32, requires_grad=True, training=False):
        made = sample.constructor_input
        module = info.module_cls(*made.args, **made.kwargs)
        module.made = made.args, made.kwargs
        same(module, sample.forward_input.args, sample.forward_input.kwargs, rtol=1e-4, atol=1e-5)
        count += 1
        if count == 12:
            break
    assert count > 0


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("sort", [True, False])
def test_packed_sequences(name, sort):
    torch.manual_seed(0)
    lengths = [4, 2, 1] if sort else [1, 4, 2]
    packed = pack_padded_sequence(torch.randn(4, 3, 5), lengths, enforce_sorted=sort)
    same(make(name, 5, 6, num_layers=2, bidirectional=True), (packed,), {}, rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore")
def test_projections():
    torch.manual_seed(0)
    x = torch.randn(4, 3, 5, requires_grad=True)
    same(make("LSTM", 5, 6, proj_size=3, bidirectional=True), (x,), {}, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.filterwarnings("ignore")
def test_other_types(name, dtype):
    torch.manual_seed(0)
    x = torch.randn(4, 3, 5, dtype=dtype, requires_grad=True)
    tolerance = 1e-10 if dtype == torch.float64 else 4e-2
    same(make(name, 5, 6, dtype=dtype), (x,), {}, rtol=tolerance, atol=tolerance)


def test_dropout_between_layers_is_seeded():
    torch.manual_seed(0)
    x = torch.randn(4, 3, 5, device="neuron")
    module = torch.nn.LSTM(5, 6, num_layers=2, dropout=0.5).to("neuron")
    first, again = [], []
    for results_of in (first, again):
        torch.manual_seed(3)
        results_of.append(module(x)[0].cpu())
    assert torch.equal(first[0], again[0])
    assert not torch.equal(first[0], module.eval()(x)[0].cpu())
