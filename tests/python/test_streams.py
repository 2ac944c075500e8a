"""Streams and events."""

import threading

import pytest
import torch


def heavy(x, times=20):
    for _ in range(times):
        x = x @ x * 1e-3
    return x


def test_a_stream_context_makes_the_stream_current():
    s = torch.neuron.Stream()
    before = torch.neuron.current_stream()
    with torch.neuron.stream(s):
        assert torch.neuron.current_stream() == s
    assert torch.neuron.current_stream() == before
    with torch.neuron.stream(None):
        assert torch.neuron.current_stream() == before
    assert before == torch.neuron.default_stream() and s != before


def test_set_stream_and_torch_stream():
    s = torch.Stream(device="neuron")
    torch.accelerator.set_stream(s)
    assert torch.neuron.current_stream() == s
    torch.neuron.set_stream(torch.neuron.default_stream())
    assert torch.accelerator.current_stream() == torch.neuron.default_stream()


def test_streams_of_a_device():
    s = torch.neuron.Stream(device=1)
    assert s.device == torch.device("neuron", 1)
    with s:
        assert torch.neuron.current_device() == 1
        assert torch.empty(1, device="neuron").device.index == 1
    assert torch.neuron.current_device() == 0


def test_an_event_orders_work_across_streams():
    n, rounds = 384, 12
    source = torch.rand(n, n, device="neuron")
    expected = heavy(source.cpu())
    producer, consumer = torch.neuron.Stream(), torch.neuron.Stream()
    torch.neuron.synchronize()
    for _ in range(rounds):
        shared = torch.zeros(n, n, device="neuron")
        torch.neuron.synchronize()
        with torch.neuron.stream(producer):
            shared.copy_(heavy(source))
            done = producer.record_event()
        with torch.neuron.stream(consumer):
            consumer.wait_event(done)
            result = shared + 1
        consumer.synchronize()
        torch.testing.assert_close(result.cpu(), expected + 1, rtol=1e-3, atol=1e-3)
        shared.record_stream(consumer)


def test_wait_stream_orders_too():
    a, b = torch.neuron.Stream(), torch.neuron.Stream()
    x = torch.rand(256, 256, device="neuron")
    torch.neuron.synchronize()
    with torch.neuron.stream(a):
        y = heavy(x)
    b.wait_stream(a)
    with torch.neuron.stream(b):
        z = y * 2
    b.synchronize()
    torch.testing.assert_close(z.cpu(), heavy(x.cpu()) * 2, rtol=1e-3, atol=1e-3)


def test_elapsed_time_is_real():
    start, middle, end = (torch.neuron.Event(enable_timing=True) for _ in range(3))
    x = torch.rand(512, 512, device="neuron")
    torch.neuron.synchronize()
    start.record()
    heavy(x, 2)
    middle.record()
    heavy(x, 40)
    end.record()
    end.synchronize()
    assert start.query() and middle.query() and end.query()
    short, long = start.elapsed_time(middle), middle.elapsed_time(end)
    assert short > 0 and long > 3 * short, (short, long)


def test_elapsed_time_needs_timing_and_records():
    plain, timed = torch.neuron.Event(), torch.neuron.Event(enable_timing=True)
    plain.record()
    timed.record()
    torch.neuron.synchronize()
    with pytest.raises((RuntimeError, ValueError), match="timing|enable_timing"):
        plain.elapsed_time(timed)
    with pytest.raises((RuntimeError, ValueError), match="recorded"):
        timed.elapsed_time(torch.neuron.Event(enable_timing=True))


def test_an_event_that_was_never_recorded_is_complete():
    assert torch.neuron.Event().query()


def test_query_turns_true():
    s = torch.neuron.Stream()
    x = torch.rand(256, 256, device="neuron")
    torch.neuron.synchronize()
    with torch.neuron.stream(s):
        heavy(x)
        e = s.record_event()
    s.synchronize()
    assert s.query() and e.query()


def test_record_stream_keeps_memory_until_the_other_stream_is_done():
    side = torch.neuron.Stream()
    n = 512
    for _ in range(5):
        x = torch.full((n, n), 2.0, device="neuron")
        side.wait_stream(torch.neuron.current_stream())
        with torch.neuron.stream(side):
            slow = heavy(torch.rand(n, n, device="neuron"), 5)
            y = x * 3 + slow * 0
        x.record_stream(side)
        del x
        # Without the record, this would reuse the memory of `x` while the side stream still reads it.
        torch.full((n, n), 7.0, device="neuron")
        side.synchronize()
        assert (y.cpu() == 6).all()


def test_the_current_stream_is_per_thread():
    seen = []
    torch.neuron.set_stream(torch.neuron.Stream())
    thread = threading.Thread(target=lambda: seen.append(torch.neuron.current_stream()))
    thread.start()
    thread.join()
    assert seen == [torch.neuron.default_stream()]


def test_interprocess_events_are_refused():
    with pytest.raises(NotImplementedError, match="between processes"):
        torch.neuron.Event(interprocess=True)


def test_backward_runs_on_the_stream_of_forward():
    s = torch.neuron.Stream()
    x = torch.rand(64, 64, device="neuron", requires_grad=True)
    torch.neuron.synchronize()
    with torch.neuron.stream(s):
        (x @ x).sum().backward()
    s.synchronize()
    r = x.detach().cpu().requires_grad_()
    (r @ r).sum().backward()
    torch.testing.assert_close(x.grad.cpu(), r.grad, rtol=1e-4, atol=1e-4)
