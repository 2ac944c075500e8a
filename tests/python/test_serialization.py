"""torch.save and torch.load."""

import io

import numpy
import pytest
import torch


def roundtrip(obj, **kw):
    buffer = io.BytesIO()
    torch.save(obj, buffer)
    buffer.seek(0)
    return torch.load(buffer, **kw)


@pytest.mark.parametrize("weights_only", [True, False])
def test_tensors_come_back_to_their_device(weights_only):
    x = torch.arange(6.0, device="neuron").view(2, 3)
    y = roundtrip({"x": x, "t": x.t()}, weights_only=weights_only)
    assert y["x"].device == torch.device("neuron", 0) and torch.equal(y["x"].cpu(), x.cpu())
    assert y["t"].stride() == (1, 3)
    assert y["t"].untyped_storage().data_ptr() == y["x"].untyped_storage().data_ptr(), "sharing was lost"


def test_the_device_index_is_kept():
    assert roundtrip(torch.ones(2, device="neuron:1")).device == torch.device("neuron", 1)


def test_map_location():
    x = torch.arange(3, device="neuron")
    assert roundtrip(x, map_location="cpu").device.type == "cpu"
    assert roundtrip(x, map_location="neuron:1").device.index == 1
    assert roundtrip(x, map_location=torch.device("neuron")).is_neuron
    assert roundtrip(torch.arange(3), map_location="neuron").tolist() == [0, 1, 2]
    assert roundtrip(x, map_location=lambda storage, _: storage).device.type == "cpu"


@pytest.mark.parametrize("dtype", [torch.bool, torch.int8, torch.int64, torch.bfloat16, torch.float16, torch.float64, torch.complex64])
def test_every_kind_of_type(dtype):
    x = torch.tensor([0, 1, 2]).to(dtype).to("neuron")
    y = roundtrip(x)
    assert y.dtype == dtype and torch.equal(y.cpu(), x.cpu())


def test_models_and_optimizers():
    m = torch.nn.Linear(3, 2).to("neuron")
    o = torch.optim.AdamW(m.parameters(), lr=1e-2)
    m(torch.ones(1, 3, device="neuron")).sum().backward()
    o.step()
    state = roundtrip({"m": m.state_dict(), "o": o.state_dict()}, weights_only=True)
    other = torch.nn.Linear(3, 2).to("neuron")
    other.load_state_dict(state["m"])
    again = torch.optim.AdamW(other.parameters(), lr=1e-2)
    again.load_state_dict(state["o"])
    for p, q in zip(m.parameters(), other.parameters()):
        assert torch.equal(p.cpu(), q.cpu()) and q.is_neuron
    assert all(v.is_neuron for s in again.state.values() for k, v in s.items() if k != "step")


def test_numpy_goes_through_the_cpu():
    x = torch.arange(3.0, device="neuron")
    assert x.cpu().numpy().tolist() == [0, 1, 2]
    assert torch.from_numpy(numpy.ones(2)).to("neuron").tolist() == [1, 1]
    with pytest.raises(TypeError, match="neuron"):
        x.numpy()
