"""Many threads on one device."""

import gc
import threading

import torch


def run(threads, body):
    errors = []

    def guarded(i):
        try:
            body(i)
        except BaseException as e:
            errors.append(e)

    pool = [threading.Thread(target=guarded, args=(i,)) for i in range(threads)]
    for t in pool:
        t.start()
    for t in pool:
        t.join()
    assert not errors, errors[0]


def test_a_hundred_threads_share_a_device():
    results = [None] * 100
    gc.collect()
    torch.neuron.synchronize()
    before = torch.neuron.memory_allocated()

    def body(i):
        x = torch.full((64, 64), float(i), device="neuron")
        for _ in range(20):
            x = (x + 1) * 1.0
        results[i] = x.sum().item()

    run(100, body)
    assert results == [(i + 20) * 4096.0 for i in range(100)]
    gc.collect()
    torch.neuron.synchronize()
    assert torch.neuron.memory_allocated() == before


def test_threads_with_streams_of_their_own():
    results = [None] * 32

    def body(i):
        with torch.neuron.stream(torch.neuron.Stream(device=i % 2)):
            x = torch.full((128, 128), float(i), device="neuron")
            results[i] = (x @ torch.eye(128, device="neuron")).sum().item()

    run(32, body)
    assert results == [i * 128.0 * 128 for i in range(32)]


def test_training_in_threads():
    losses = [None] * 8

    def body(i):
        torch_model = torch.nn.Linear(8, 1).to("neuron")
        with torch.no_grad():
            torch_model.weight.fill_(0.1)
            torch_model.bias.zero_()
        o = torch.optim.SGD(torch_model.parameters(), lr=0.01)
        x = torch.ones(4, 8, device="neuron")
        for _ in range(10):
            o.zero_grad()
            loss = torch_model(x).square().mean()
            loss.backward()
            o.step()
        losses[i] = loss.item()

    run(8, body)
    assert len(set(losses)) == 1


def test_shapes_that_miss_the_cache_at_the_same_time():
    sums = [None] * 50

    def body(i):
        sums[i] = torch.ones(7 + i % 5, 3 + i % 7, device="neuron").mul(2).sum().item()

    run(50, body)
    assert sums == [2.0 * (7 + i % 5) * (3 + i % 7) for i in range(50)]
