"""Random numbers: seeding, state, generators."""

import pytest
import torch


def draw(n=1000, **kw):
    return torch.rand(n, device="neuron", **kw).cpu()


def test_manual_seed_repeats():
    torch.manual_seed(7)
    a = draw()
    torch.manual_seed(7)
    assert torch.equal(a, draw())
    assert not torch.equal(a, draw())
    assert torch.neuron.initial_seed() == 7


def test_devices_have_generators_of_their_own():
    torch.neuron.manual_seed_all(3)
    a = torch.rand(100, device="neuron:0").cpu()
    b = torch.rand(100, device="neuron:1").cpu()
    assert torch.equal(a, b)
    torch.neuron.manual_seed(4)
    assert torch.neuron.default_generators[0].initial_seed() == 4
    assert torch.neuron.default_generators[1].initial_seed() == 3
    assert len(torch.neuron.default_generators) == 2
    with pytest.raises(IndexError):
        torch.neuron.default_generators[2]


def test_state_saves_and_restores():
    torch.manual_seed(1)
    draw()
    state = torch.neuron.get_rng_state()
    assert state.device.type == "cpu" and state.dtype == torch.uint8 and state.numel() == 16
    a = draw()
    torch.neuron.set_rng_state(state)
    assert torch.equal(a, draw())
    states = torch.neuron.get_rng_state_all()
    b = draw()
    torch.neuron.set_rng_state_all(states)
    assert torch.equal(b, draw())


@pytest.mark.parametrize("bad", [torch.zeros(8, dtype=torch.uint8), torch.full((16,), 1, dtype=torch.uint8)])
def test_a_foreign_state_is_refused(bad):
    with pytest.raises(RuntimeError, match="RNG state"):
        torch.neuron.set_rng_state(bad)


def test_fork_rng_restores():
    torch.manual_seed(5)
    with torch.random.fork_rng(devices=[0], device_type="neuron"):
        torch.manual_seed(99)
        draw()
    assert torch.neuron.initial_seed() == 5
    a = draw()
    torch.manual_seed(5)
    assert torch.equal(a, draw())


def test_explicit_generators():
    g, h = torch.Generator(device="neuron"), torch.Generator(device="neuron")
    g.manual_seed(3)
    h.manual_seed(3)
    before = torch.neuron.get_rng_state()
    assert torch.equal(draw(generator=g), draw(generator=h))
    assert torch.equal(torch.neuron.get_rng_state(), before), "the default generator moved"
    assert g.device.type == "neuron"


def test_a_generator_of_the_cpu_is_refused():
    with pytest.raises(RuntimeError, match="'?neuron'? device type for generator"):
        torch.rand(4, device="neuron", generator=torch.Generator())


def test_offsets():
    g = torch.Generator(device="neuron")
    g.manual_seed(3)
    draw(8, generator=g)
    assert g.get_offset() == 8
    g.set_offset(4)
    tail = draw(4, generator=g)
    g.manual_seed(3)
    assert torch.equal(draw(8, generator=g)[4:], tail)
    with pytest.raises(RuntimeError, match="multiple of 4"):
        g.set_offset(3)


def test_clone_is_independent_and_graphsafe_state_is_shared():
    g = torch.Generator(device="neuron")
    g.manual_seed(11)
    clone, shared = g.clone_state(), g.graphsafe_get_state()
    a = draw(4, generator=g)
    assert clone.get_offset() == 0 and shared.get_offset() == g.get_offset() == 4
    assert torch.equal(draw(4, generator=clone), a)


def test_seed_is_not_deterministic():
    assert torch.neuron.seed() != torch.neuron.seed()
    torch.neuron.seed_all()
    assert torch.neuron.default_generators[0].initial_seed() == torch.neuron.default_generators[1].initial_seed()


def test_results_do_not_depend_on_threads(run_python):
    code = "import torch; torch.manual_seed(2); print(torch.rand(300000, device='neuron').double().sum().item().hex())"
    one = run_python(code, TORCH_NEURONX_SOFTCORE_THREADS="1").stdout
    two = run_python(code, TORCH_NEURONX_SOFTCORE_THREADS="2").stdout
    code = "import torch; torch.manual_seed(2); x = torch.rand(300000, device='neuron').cpu(); print(hash(x.numpy().tobytes()))"
    assert run_python(code, TORCH_NEURONX_SOFTCORE_THREADS="1", PYTHONHASHSEED="0").stdout == run_python(
        code, TORCH_NEURONX_SOFTCORE_THREADS="2", PYTHONHASHSEED="0"
    ).stdout
    assert float.fromhex(one.strip()) == pytest.approx(float.fromhex(two.strip()), rel=1e-12)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout_keeps_its_share_and_scales(p):
    torch.manual_seed(0)
    x = torch.ones(200_000, device="neuron", requires_grad=True)
    y = torch.nn.functional.dropout(x, p)
    kept = (y != 0).float().mean().item()
    assert abs(kept - (1 - p)) < 0.01
    assert abs(y.max().item() - 1 / (1 - p)) < 1e-5
    y.sum().backward()
    torch.testing.assert_close(x.grad.cpu(), y.detach().cpu())


def test_distributions_have_their_moments():
    torch.manual_seed(0)
    u = torch.rand(400_000, device="neuron").cpu()
    assert u.min() >= 0 and u.max() < 1 and abs(u.mean() - 0.5) < 5e-3 and abs(u.var() - 1 / 12) < 5e-3
    n = torch.randn(400_000, device="neuron").cpu()
    assert abs(n.mean()) < 1e-2 and abs(n.var() - 1) < 2e-2
    i = torch.randint(0, 10, (100_000,), device="neuron").cpu()
    assert i.min() == 0 and i.max() == 9 and abs(i.float().mean() - 4.5) < 0.05
