"""Views, storages and in-place writes through them."""

import pytest
import torch

VIEWS = {
    "transpose": lambda x: x.t(),
    "slice": lambda x: x[1:, ::2],
    "select": lambda x: x[1],
    "diagonal": lambda x: x.diagonal(),
    "unfold": lambda x: x.unfold(1, 2, 2),
    "expand": lambda x: x[:, :1].expand(-1, 3),
    "view": lambda x: x.view(2, 6),
    "flatten": lambda x: x.flatten(),
    "permute": lambda x: x.view(2, 2, 3).permute(2, 0, 1),
    "split": lambda x: x.split(2)[1],
    "as_strided": lambda x: x.as_strided((2, 2), (3, 1), 1),
    "dtype": lambda x: x.view(torch.int32),
    "squeeze": lambda x: x[None].squeeze(0),
    "detach": lambda x: x.detach(),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_alias_and_agree_with_the_cpu(name):
    cpu = torch.arange(12.0).view(4, 3)
    x = cpu.to("neuron")
    v, r = VIEWS[name](x), VIEWS[name](cpu)
    assert v.is_neuron and v.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    assert v.shape == r.shape and v.stride() == r.stride() and v.storage_offset() == r.storage_offset()
    assert torch.equal(v.cpu(), r)


@pytest.mark.parametrize("name", [n for n in VIEWS if n not in ("expand", "dtype")])
def test_writes_through_views_reach_the_base(name):
    cpu = torch.arange(12.0).view(4, 3)
    x = cpu.to("neuron")
    for t in (x, cpu):
        VIEWS[name](t).mul_(-1)
    assert torch.equal(x.cpu(), cpu)


def test_complex_views():
    x = torch.arange(6.0, device="neuron").view(3, 2)
    c = torch.view_as_complex(x)
    assert c.tolist() == [0 + 1j, 2 + 3j, 4 + 5j]
    torch.view_as_real(c)[0, 0] = 9
    assert x[0, 0].item() == 9


def test_lazy_conjugates_and_negatives_are_honoured_by_copies():
    c = torch.tensor([1 + 2j, 3 - 4j]).to("neuron")
    assert c.conj().is_conj() and torch.equal(c.conj().cpu().resolve_conj(), c.cpu().conj().resolve_conj())
    n = c.conj().imag
    assert n.is_neg() and n.cpu().tolist() == [-2, 4]
    assert torch.equal(c.conj().clone().cpu().resolve_conj(), torch.tensor([1 - 2j, 3 + 4j]))
    host = torch.tensor([1 + 2j, 3 - 4j]).conj()
    assert torch.equal(host.to("neuron").cpu().resolve_conj(), host.resolve_conj())
    assert (c.conj() * c).real.tolist() == [5, 25]


def test_resize_keeps_the_elements():
    x = torch.arange(4.0, device="neuron")
    x.resize_(2, 4)
    assert x.shape == (2, 4) and x[0].tolist() == [0, 1, 2, 3]
    x.resize_(2)
    assert x.tolist() == [0, 1]


def test_storage_resize():
    x = torch.arange(4.0, device="neuron")
    storage = x.untyped_storage()
    storage.resize_(64)
    assert storage.nbytes() == 64 and x.tolist() == [0, 1, 2, 3]
    before = torch.neuron.memory_allocated()
    storage.resize_(0)
    assert torch.neuron.memory_allocated() < before


def test_set():
    x, y = torch.arange(4.0, device="neuron"), torch.zeros(2, device="neuron")
    y.set_(x)
    assert y.data_ptr() == x.data_ptr() and y.shape == (4,)
    y.set_(x.untyped_storage(), 1, (2,), (2,))
    assert y.tolist() == [1, 3]
    y.set_()
    assert y.numel() == 0
    with pytest.raises(RuntimeError, match="different device|devices must match"):
        y.set_(torch.zeros(2).untyped_storage(), 0, (2,), (1,))


def test_memory_formats():
    x = torch.rand(2, 3, 4, 5).to("neuron", memory_format=torch.channels_last)
    assert x.is_contiguous(memory_format=torch.channels_last) and not x.is_contiguous()
    y = x.contiguous()
    assert y.is_contiguous() and torch.equal(x.cpu(), y.cpu())
    assert torch.empty_like(x).stride() == x.stride()
    assert (x + 1).is_contiguous(memory_format=torch.channels_last)


def test_out_arguments():
    a = torch.tensor([1.0, 2.0, 3.0], device="neuron")
    out = torch.empty(0, device="neuron")
    assert torch.neg(a, out=out) is out and out.tolist() == [-1, -2, -3]
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        torch.neg(a, out=torch.empty(2, device="neuron"))
    strided = torch.zeros(6, device="neuron")[::2]
    torch.neg(a, out=strided)
    assert strided.tolist() == [-1, -2, -3]
    wider = torch.empty(3, dtype=torch.float64, device="neuron")
    torch.square(a, out=wider)
    assert wider.tolist() == [1, 4, 9]
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.square(a, out=torch.empty(3, dtype=torch.int32, device="neuron"))


def test_autograd_through_views_and_in_place():
    grads = []
    for device in ("cpu", "neuron"):
        x = torch.arange(6.0, device=device).view(2, 3).requires_grad_()
        y = x * 2
        y.t()[1].mul_(3)
        y[0, 0] = 0
        (y * y).sum().backward()
        grads.append(x.grad.cpu())
    torch.testing.assert_close(*grads)


def test_deterministic_mode_fills_fresh_memory():
    torch.use_deterministic_algorithms(True)
    try:
        assert torch.empty(100, device="neuron").isnan().all().item()
        assert (torch.empty(10, dtype=torch.int32, device="neuron") == torch.iinfo(torch.int32).max).all().item()
    finally:
        torch.use_deterministic_algorithms(False)
