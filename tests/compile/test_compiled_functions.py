"""What a user writes: functions, shapes, mutation, random numbers, errors."""

import pytest
import torch
import torch.nn.functional as F
from torch._dynamo.utils import counters

DEVICE = "neuron"


def compiled(fn, **kw):
    return torch.compile(fn, backend="neuron", **kw)


def same(a, b):
    assert torch.equal(a.cpu(), b.cpu()), (a - b).abs().max()


def randn(*sizes, **kw):
    return torch.randn(*sizes, device=DEVICE, **kw)


def test_the_backend_is_found_by_name():
    assert "neuron" in torch.compiler.list_backends()


def test_elementwise_chain_and_reduction():
    f = lambda x, y: (F.gelu(x * y) + y).softmax(-1).sum(0)
    x, y = randn(8, 16), randn(8, 16)
    same(compiled(f, fullgraph=True)(x, y), f(x, y))


def test_dynamic_shapes_are_one_graph():
    f = lambda x, w: (x @ w).relu().mean(0) + x.shape[0]
    g = compiled(f, dynamic=True, fullgraph=True)
    w = randn(6, 5)
    for n in (3, 7, 4, 12, 9):
        x = randn(n, 6)
        same(g(x, w), f(x, w))
    assert counters["stats"]["unique_graphs"] == 1


def test_automatic_dynamic_shapes_recompile_once():
    f = lambda x: (x * 2).cumsum(0).flip(0)
    g = compiled(f)
    for n in (3, 7, 4, 12, 9):
        x = randn(n, 6)
        same(g(x), f(x))
    assert counters["stats"]["unique_graphs"] == 2


def test_zero_size_and_rank_zero():
    f = lambda x: (x.sum(0), x * 3, x.reshape(-1).sum())
    g = compiled(f, dynamic=True)
    for sizes in ((0, 4), (2, 4), (1, 4)):
        x = randn(*sizes)
        for a, b in zip(g(x), f(x)):
            same(a, b)


def test_inputs_with_gaps_and_in_other_orders():
    f = lambda x: x.t() * 2 + x.t().contiguous().roll(1, 0)
    g = compiled(f)
    base = randn(12, 20)
    for x in (base, base[::2, ::3], base.t(), base[3:7], base.as_strided((4, 5), (1, 3))):
        same(g(x), f(x))


def test_inputs_are_mutated():
    def f(x, y):
        x.add_(1)
        y[1:3].mul_(2)
        y.t()[0].fill_(7)
        return x * y

    a, b = randn(4, 4), randn(4, 4)
    c, d = a.clone(), b.clone()
    same(compiled(f)(a, b), f(c, d))
    same(a, c)
    same(b, d)


def test_results_that_alias():
    def f(x):
        y = x * 2
        return y, y.t(), y[1:], x.view(-1), x

    x = randn(3, 4)
    got, want = compiled(f)(x), f(x)
    for a, b in zip(got, want):
        same(a, b)
        assert a.stride() == b.stride()
    assert got[3].data_ptr() == x.data_ptr()
    got[0].zero_()
    assert got[1].abs().sum().item() == 0


def test_writes_to_parts_of_new_memory():
    def f(x):
        out = torch.empty(3, 8, device=x.device)
        out[:, ::2] = x
        out[:, 1::2] = 1
        out[0].add_(out[1])
        z = torch.zeros(24, device=x.device)
        z.as_strided((3, 4), (8, 2)).copy_(x)
        return out, z

    x = randn(3, 4)
    for a, b in zip(compiled(f)(x), f(x)):
        same(a, b)


def test_random_numbers_are_those_of_eager():
    f = lambda x: F.dropout(x, 0.3) + torch.rand_like(x) + torch.randn(x.shape, device=x.device)
    x = randn(5, 6)
    g = compiled(f)
    for seed in (1, 2):
        torch.manual_seed(seed)
        got = g(x), g(x)
        torch.manual_seed(seed)
        for a in got:
            same(a, f(x))


def test_complex_results_stay_lazy():
    f = lambda x: (x.conj(), x.mH, torch.view_as_real(x * 2), x.conj().imag)
    x = randn(3, 4, dtype=torch.complex64)
    for a, b in zip(compiled(f)(x), f(x)):
        same(a, b)


def test_a_number_from_the_data_breaks_the_graph_or_not():
    def f(x):
        n = x.sum().item()
        return x * n + 1

    x = randn(4)
    same(compiled(f)(x), f(x))
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        torch._dynamo.reset()
        same(compiled(f, fullgraph=True)(x), f(x))


def test_sizes_that_the_data_decides():
    def f(x):
        i = x.nonzero()
        return i * 2, x[x > 0].sum()

    x = randn(5, 5)
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        g = compiled(f, fullgraph=True)
        for _ in range(3):
            x = randn(5, 5)
            for a, b in zip(g(x), f(x)):
                same(a, b)


def test_host_numbers_and_constants():
    f = lambda x, n: x * n + torch.tensor([1.0, 2.0, 3.0], device=x.device) + torch.arange(3, device=x.device)
    g = compiled(f)
    x = randn(2, 3)
    for n in (2.0, 3.5):
        same(g(x, torch.tensor(n)), f(x, torch.tensor(n)))


def test_work_on_the_host_between():
    f = lambda x, c: x * 2 + (c + 1).to(x.device)
    g = compiled(f)
    x = randn(3)
    for _ in range(2):
        c = torch.randn(3)
        same(g(x, c), f(x, c))


def test_autocast():
    w = torch.nn.Linear(8, 8).to(DEVICE)

    def f(x):
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            return w(x).float().relu()

    x = randn(4, 8)
    same(compiled(f)(x), f(x))


def test_control_flow():
    def f(p, x):
        return torch.cond(p, lambda x: x.sin(), lambda x: x.cos() * 2, (x,))

    x = randn(4)
    g = compiled(f, fullgraph=True)
    for p in (True, False):
        p = torch.tensor(p, device=DEVICE)
        same(g(p, x), f(p, x))


def test_export_runs():
    class M(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.l = torch.nn.Linear(4, 3)

        def forward(self, x):
            return self.l(x).tanh()

    m = M().to(DEVICE)
    x = randn(2, 4)
    program = torch.export.export(m, (x,))
    same(compiled(program.module())(x), m(x))


def test_an_index_out_of_range_faults_and_the_device_goes_on():
    f = lambda x, i: x[i] * 2
    g = compiled(f)
    x = randn(4)
    with pytest.raises(IndexError):
        g(x, torch.tensor([9], device=DEVICE)).cpu()
    i = torch.tensor([1], device=DEVICE)
    same(g(x, i), f(x, i))


def test_errors_of_operators_are_pytorchs():
    with pytest.raises(Exception, match="shape|size|mat1"):
        compiled(lambda x, y: x @ y)(randn(2, 3), randn(2, 3))
    x = randn(3)
    same(compiled(lambda x: x + 1)(x), x + 1)


def test_unknown_modes_and_options_list_the_known():
    x = randn(3)
    with pytest.raises(Exception, match="reduce-overhead"):
        compiled(lambda x: x + 1, mode="fast")(x)
    with pytest.raises(Exception, match="fallback_execution"):
        compiled(lambda x: x + 1, options={"tiles": 3})(x)
    with pytest.raises(Exception, match="of type int"):
        compiled(lambda x: x + 1, options={"plans": "many"})(x)


def test_without_fallback_execution_the_operator_is_named():
    f = lambda x: x.nonzero() * 2
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        with pytest.raises(Exception, match="nonzero.*the data decides"):
            compiled(f, options={"fallback_execution": False})(randn(3))


def test_modes_agree():
    x = randn(4, 4)
    want = (x @ x).relu()
    for mode in ("default", "reduce-overhead", "max-autotune"):
        same(compiled(lambda x: (x @ x).relu(), mode=mode)(x), want)


def test_the_oldest_plan_goes_first():
    from torch_neuronx._C import Graph

    graph = Graph(2)

    def make(x):
        graph.begin([x])
        graph.finish([x], [x * 2])

    a, b, c = (randn(n) for n in (2, 3, 4))
    make(a)
    make(b)
    same(graph.run([a])[0], a * 2)
    make(c)
    assert len(graph) == 2 and graph.run([b]) is None and graph.run([a]) is not None


def test_two_threads():
    import threading

    f = compiled(lambda x: (x * 3).softmax(0))
    inputs = [randn(10 + i) for i in range(4)]
    results = [None] * 4

    def work(i):
        for _ in range(20):
            results[i] = f(inputs[i])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    for x, y in zip(inputs, results):
        same(y, (x * 3).softmax(0))


def test_dump(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_NEURONX_DUMP", str(tmp_path))
    compiled(lambda x: x * 2 + 1)(randn(3))
    folders = [p for p in tmp_path.iterdir() if "graph" in p.name]
    assert folders and "multiply" in (folders[0] / "0-lowered.hlo").read_text()
    assert "mul" in (folders[0] / "fx.txt").read_text()


def test_explain_and_metrics():
    from torch_neuronx.compile import explain, get_dynamo_metrics, reset_dynamo_metrics

    reset_dynamo_metrics()
    text = explain(lambda x: x.sin() + x.cos(), randn(4))
    assert "graphs: 1" in text and "no graph break" in text
    metrics = torch.neuron.get_dynamo_metrics()
    assert metrics["plans"] == 1 and metrics["calls"] == 3 and metrics == get_dynamo_metrics()


def test_gradients_that_are_zero_without_memory():
    x = randn(5, requires_grad=True)
    (gradient,) = torch.autograd.grad(compiled(torch.sgn)(x).sum(), x)
    assert gradient.abs().sum().item() == 0
