"""Loss scaling."""

import pytest
import torch


def setup(lr=0.1):
    torch.manual_seed(0)
    m = torch.nn.Linear(4, 4).to("neuron")
    return m, torch.optim.SGD(m.parameters(), lr=lr), torch.randn(8, 4, device="neuron")


def test_scaled_steps_equal_plain_steps():
    results = []
    for scaled in (False, True):
        m, o, x = setup()
        scaler = torch.amp.GradScaler("neuron", enabled=scaled)
        for _ in range(3):
            o.zero_grad()
            scaler.scale(m(x).square().mean()).backward()
            scaler.step(o)
            scaler.update()
        results.append([p.detach().cpu() for p in m.parameters()])
    for plain, scaled in zip(*results):
        torch.testing.assert_close(plain, scaled, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("bad", [float("inf"), float("nan")])
def test_a_step_with_overflow_is_skipped_and_the_scale_halves(bad):
    m, o, x = setup()
    scaler = torch.amp.GradScaler("neuron", init_scale=1024.0)
    before = [p.detach().cpu().clone() for p in m.parameters()]
    loss = m(x).sum()
    scaler.scale(loss).backward()
    m.weight.grad[0, 0] = bad
    scaler.step(o)
    scaler.update()
    assert scaler.get_scale() == 512.0
    for p, q in zip(before, m.parameters()):
        assert torch.equal(p, q.detach().cpu())


def test_the_scale_grows():
    m, o, x = setup(lr=1e-3)
    scaler = torch.amp.GradScaler("neuron", init_scale=8.0, growth_interval=2)
    for _ in range(2):
        o.zero_grad()
        scaler.scale(m(x).square().mean()).backward()
        scaler.step(o)
        scaler.update()
    assert scaler.get_scale() == 16.0


def test_unscale_before_clipping():
    m, o, x = setup()
    scaler = torch.amp.GradScaler("neuron", init_scale=256.0)
    scaler.scale(m(x).square().sum()).backward()
    scaler.unscale_(o)
    reference = torch.nn.Linear(4, 4)
    reference.load_state_dict({k: v.cpu() for k, v in m.state_dict().items()})
    reference(x.cpu()).square().sum().backward()
    for p, q in zip(m.parameters(), reference.parameters()):
        torch.testing.assert_close(p.grad.cpu(), q.grad, rtol=1e-4, atol=1e-4)
    assert torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0).item() > 0
