"""Writes the cases whose wanted values come from PyTorch, or for Philox from the algorithm in Python:
`python tests/hlo/bless.py` (needs only torch).

PyTorch computes everything in float64 (integers exactly); the case states the value, and whoever runs the case rounds
it to the type of the result.
"""

import math
from pathlib import Path

import torch
import torch.nn.functional as F

CASES = Path(__file__).parent / "cases"
torch.manual_seed(0)

# StableHLO name -> (function, points inside its domain).
REAL = [-2.5, -1.5, -0.5, -0.0, 0.0, 0.25, 1.0, 3.75]
POSITIVE = [0.125, 0.5, 1.0, 1.5, 2.0, 10.0, 100.0, 0.0]
UNIT = [-1.0, -0.75, -0.5, 0.0, 0.125, 0.25, 0.875, 1.0]
SPECIAL = [math.inf, -math.inf, math.nan, 5.0, 6.0, 7.0, 8.0, 9.0]
UNARY = {
    "abs": (torch.abs, REAL),
    "cbrt": (lambda x: torch.sign(x) * x.abs() ** (1 / 3), [-8.0, -1.0, 0.0, 0.125, 1.0, 27.0, 64.0, 2.0]),
    "ceil": (torch.ceil, REAL),
    "cosine": (torch.cos, REAL),
    "exponential": (torch.exp, REAL),
    "exponential_minus_one": (torch.expm1, REAL),
    "floor": (torch.floor, REAL),
    "imag": (torch.zeros_like, REAL),
    "is_finite": (torch.isfinite, SPECIAL),
    "log": (torch.log, POSITIVE),
    "log_plus_one": (torch.log1p, POSITIVE),
    "logistic": (torch.sigmoid, REAL),
    "negate": (torch.neg, REAL),
    "real": (lambda x: x, REAL),
    "round_nearest_afz": (lambda x: torch.copysign(torch.floor(x.abs() + 0.5), x), REAL),
    "round_nearest_even": (torch.round, REAL),
    "rsqrt": (torch.rsqrt, POSITIVE),
    "sign": (lambda x: torch.where(x == 0, x, torch.sign(x)), REAL),
    "sine": (torch.sin, REAL),
    "sqrt": (torch.sqrt, POSITIVE),
    "tan": (torch.tan, REAL),
    "tanh": (torch.tanh, REAL),
    "acos": (torch.acos, UNIT),
    "acosh": (torch.acosh, [1.0, 1.125, 1.5, 2.0, 3.0, 10.0, 100.0, 0.5]),
    "asin": (torch.asin, UNIT),
    "asinh": (torch.asinh, REAL),
    "atan": (torch.atan, REAL),
    "atanh": (torch.atanh, UNIT),
    "conj": (lambda x: x, REAL),
    "cosh": (torch.cosh, REAL),
    "digamma": (torch.digamma, [-1.5, -0.25, 0.125, 0.5, 1.0, 2.5, 10.0, 50.0]),
    "erf": (torch.erf, REAL),
    "erfc": (torch.erfc, REAL),
    "erf_inv": (torch.erfinv, UNIT),
    "is_inf": (torch.isinf, SPECIAL),
    "is_nan": (torch.isnan, SPECIAL),
    "lgamma": (torch.lgamma, [-1.5, -0.25, 0.125, 0.5, 1.0, 2.5, 10.0, 50.0]),
    "sinh": (torch.sinh, REAL),
    "trunc": (torch.trunc, REAL),
}
COMPLEX = {
    "abs": torch.abs, "real": torch.real, "imag": torch.imag, "conj": lambda z: z.conj().resolve_conj(),
    "cosine": torch.cos, "exponential": torch.exp, "exponential_minus_one": torch.expm1, "log": torch.log,
    "log_plus_one": torch.log1p, "logistic": lambda z: 1 / (1 + torch.exp(-z)), "negate": torch.neg,
    "rsqrt": torch.rsqrt, "sign": torch.sgn, "sine": torch.sin, "sqrt": torch.sqrt, "tan": torch.tan,
    "tanh": torch.tanh, "acos": torch.acos, "acosh": torch.acosh, "asin": torch.asin, "asinh": torch.asinh,
    "atan": torch.atan, "atanh": torch.atanh, "cosh": torch.cosh, "sinh": torch.sinh,
}
BINARY = {
    "add": torch.add, "subtract": torch.sub, "multiply": torch.mul, "divide": torch.div, "maximum": torch.maximum,
    "minimum": torch.minimum, "power": torch.pow, "remainder": torch.fmod, "atan2": torch.atan2,
}
COMPLEX_BINARY = {"add": torch.add, "subtract": torch.sub, "multiply": torch.mul, "divide": torch.div, "power": torch.pow}
TYPES = {torch.float64: "f64", torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16", torch.bool: "i1",
         torch.int64: "i64", torch.uint64: "ui64", torch.complex128: "complex<f64>", torch.complex64: "complex<f32>"}


def number(x):
    if isinstance(x, bool):
        return "true" if x else "false"
    if isinstance(x, complex):
        return f"({number(x.real)}, {number(x.imag)})"
    return repr(x)


def value(t):
    return "[" + ", ".join(number(x) for x in t.reshape(-1).tolist()) + "]" if t.dim() else number(t.item())


def kind(dtype, shape):
    return f"{dtype}[{','.join(map(str, shape))}]"


def case(name, op, attrs, args, wants, dtypes=None, result_dtypes=None, note=""):
    """One case of one instruction. `args` and `wants` are float64, integer or bool tensors."""
    dtypes = dtypes or [TYPES[a.dtype] for a in args]
    result_dtypes = result_dtypes or [TYPES[w.dtype] for w in wants]
    params = ", ".join(f"%p{i}: {kind(d, a.shape)}" for i, (a, d) in enumerate(zip(args, dtypes)))
    names = ", ".join(f"%r{i}" for i in range(len(wants)))
    types = ", ".join(kind(d, w.shape) for w, d in zip(wants, result_dtypes))
    operands = ", ".join(f"%p{i}" for i in range(len(args)))
    attrs = " {" + ", ".join(f"{k}={number(v) if not isinstance(v, (str, list)) else v}" for k, v in attrs.items()) + "}" if attrs else ""
    lines = [note] if note else []
    lines += [f"func @{name}({params}) {{", f"  {names} = {op} {operands}{attrs} : {types}", f"  return {names}", "}"]
    lines += ["args " + " ".join(map(value, args)), "want " + " ".join(map(value, wants)), ""]
    return "\n".join(lines)


def write(file, cases):
    head = "// Written by tests/hlo/bless.py: it computes the wanted values.\n\n"
    (CASES / file).write_text(head + "\n".join(cases))


def unary():
    cases = []
    for name, (f, points) in UNARY.items():
        x = torch.tensor(points, dtype=torch.float64)
        for d, t in (("f64", torch.float64), ("f32", torch.float32), ("bf16", torch.bfloat16)):
            y = f(x)
            cases.append(case(f"{name}_{d}", name, {}, [x], [y], [d], [TYPES[y.dtype] if y.dtype == torch.bool else d]))
    z = torch.tensor([0.5 + 0.25j, -0.75 + 1.5j, 1.25 - 2j, -0.5 - 0.125j], dtype=torch.complex128)
    for name, f in COMPLEX.items():
        y = f(z)
        cases.append(case(f"{name}_complex", name, {}, [z], [y]))
    return cases


def binary():
    x = torch.tensor([1.5, -2.5, 0.75, 3.0, -0.5, 2.0, 7.0, 0.5], dtype=torch.float64)
    y = torch.tensor([2.0, 3.0, -0.5, 2.0, -2.0, 0.0, -3.0, 1.25], dtype=torch.float64)
    cases = []
    for name, f in BINARY.items():
        for d in ("f64", "f32", "f16"):
            cases.append(case(f"{name}_{d}", name, {}, [x, y], [f(x, y)], [d] * 2, [d]))
    nan, inf = math.nan, math.inf
    a = torch.tensor([nan, 1.0, inf, -inf, 5.0], dtype=torch.float64)
    b = torch.tensor([1.0, nan, 1.0, inf, 0.0], dtype=torch.float64)
    for name in ("add", "maximum", "minimum", "divide", "remainder", "power"):
        cases.append(case(f"{name}_specials", name, {}, [a, b], [BINARY[name](a, b)]))
    z = torch.tensor([0.5 + 0.25j, -0.75 + 1.5j], dtype=torch.complex128)
    w = torch.tensor([1.25 - 2j, -0.5 - 0.125j], dtype=torch.complex128)
    for name, f in COMPLEX_BINARY.items():
        cases.append(case(f"{name}_complex", name, {}, [z, w], [f(z, w)]))
    re, im = torch.tensor([1.0, 2.0]), torch.tensor([3.0, -4.0])
    cases.append(case("complex", "complex", {}, [re, im], [torch.complex(re, im)]))
    return cases


def leaf(*shape):
    """Values that bf16 holds exactly, so that every type sees the same operands."""
    return torch.randn(*shape, dtype=torch.float64).bfloat16().double().requires_grad_()


def plain(ts):
    return [t.detach() for t in ts]


def each_type(name, op, attrs, args, wants, statistics=()):
    """The case in f64, f32 and bf16; results numbered in `statistics` stay in f32 for bf16."""
    args, wants = plain(args), plain(wants)
    for d in ("f64", "f32", "bf16"):
        results = [("f32" if d == "bf16" and i in statistics else d) for i in range(len(wants))]
        yield case(f"{name}_{d}", op, attrs, args, wants, [d] * len(args), results)


def activations():
    cases, x = [], torch.tensor([-6.0, -2.5, -1.0, -0.0, 0.5, 1.0, 3.0, 8.0], dtype=torch.float64, requires_grad=True)
    dy = leaf(8)
    for name, op, attrs, f in [
        ("gelu_erf", "gelu", {"tanh": False}, F.gelu),
        ("gelu_tanh", "gelu", {"tanh": True}, lambda x: F.gelu(x, approximate="tanh")),
        ("silu", "silu", {}, F.silu),
    ]:
        y = f(x)
        (dx,) = torch.autograd.grad(y, x, dy)
        cases += each_type(name, f"composite.{op}", attrs, [x], [y])
        cases += each_type(f"{name}_grad", f"composite.{op}_grad", attrs, [dy, x], [dx])
    return cases


def softmaxes():
    cases = []
    for log, f in ((False, F.softmax), (True, F.log_softmax)):
        for dim in (0, 1):
            x, dy = leaf(3, 4), leaf(3, 4)
            y = f(x, dim)
            attrs = {"dim": dim, "log": log}
            cases += each_type(f"softmax_{dim}_{'log' if log else 'exp'}", "composite.softmax", attrs, [x], [y])
            y = y.detach().bfloat16().double().requires_grad_()
            grad = y * (dy - (dy * y).sum(dim, True)) if not log else dy - y.exp() * dy.sum(dim, True)
            cases += each_type(f"softmax_grad_{dim}_{'log' if log else 'exp'}", "composite.softmax_grad", attrs, [dy, y], [grad])
    x = leaf(2, 3).detach()
    cases.append(case("softmax_to_f32", "composite.softmax", {"dim": 1, "log": False}, [x], [F.softmax(x, 1)], ["bf16"], ["f32"]))
    return cases


def norms():
    cases = []
    for axis, shape in ((1, (3, 8)), (1, (2, 3, 4)), (2, (2, 2, 6))):
        for weight, bias in ((True, True), (True, False), (False, False), (False, True)):
            x, w, b = leaf(*shape), leaf(*shape[axis:]), leaf(*shape[axis:])
            operands = [x] + [w] * weight + [b] * bias
            y, mean, rstd = torch.native_layer_norm(x, shape[axis:], w if weight else None, b if bias else None, 1e-5)
            name = f"layer_norm_{'x'.join(map(str, shape))}_{axis}{'_w' * weight}{'_b' * bias}"
            attrs = {"axis": axis, "eps": 1e-5, "weight": weight, "bias": bias}
            cases += each_type(name, "composite.layer_norm", attrs, operands, [y, mean, rstd], (1, 2))
            if bias == weight:
                dy = leaf(*shape)
                ones, zeros = torch.ones_like(w).requires_grad_(), torch.zeros_like(b).requires_grad_()
                z = F.layer_norm(x, shape[axis:], w if weight else ones, b if bias else zeros)
                grads = torch.autograd.grad(z, [x, w if weight else ones, b if bias else zeros], dy)
                # The statistics are operands; stated in f64 only, where they are exact enough.
                a, r = plain([dy, x, mean, rstd] + [w] * weight), plain(grads)
                cases.append(case(f"{name}_grad", "composite.layer_norm_grad", {"axis": axis, "weight": weight}, a, r))
                cases.append(case(f"{name}_grad_f32", "composite.layer_norm_grad", {"axis": axis, "weight": weight}, a, r, ["f32"] * len(a), ["f32"] * 3))
        for weight in (True, False):
            x, w, dy = leaf(*shape), leaf(*shape[axis:]), leaf(*shape)
            scale = w if weight else torch.ones_like(w).requires_grad_()
            dims = tuple(range(axis, len(shape)))
            rstd = torch.rsqrt(x.pow(2).mean(dims, True) + 1e-6)
            y = F.rms_norm(x, shape[axis:], scale, 1e-6)
            name = f"rms_norm_{'x'.join(map(str, shape))}_{axis}{'_w' * weight}"
            attrs = {"axis": axis, "eps": 1e-6, "weight": weight}
            cases += each_type(name, "composite.rms_norm", attrs, [x] + [w] * weight, [y, rstd], (1,))
            grads = torch.autograd.grad(y, [x, scale], dy)
            a, r = plain([dy, x, rstd] + [w] * weight), plain(grads)
            cases.append(case(f"{name}_grad", "composite.rms_norm_grad", {"axis": axis, "weight": weight}, a, r))
    return cases


def attention():
    cases = []
    for name, h, hk, m, n, causal, bias in [
        ("plain", 2, 2, 3, 3, False, False),
        ("causal", 2, 2, 4, 4, True, False),
        ("causal_wide", 1, 1, 3, 5, True, False),
        ("grouped", 4, 2, 3, 4, False, False),
        ("bias", 2, 1, 3, 4, False, True),
        ("bias_causal", 2, 1, 3, 3, True, True),
    ]:
        q, k, v = leaf(2, h, m, 4), leaf(2, hk, n, 4), leaf(2, hk, n, 6)
        b = leaf(2, h, m, n)
        mask = torch.ones(m, n, dtype=torch.bool).tril() if causal else torch.ones(m, n, dtype=torch.bool)
        float_mask = torch.zeros(m, n, dtype=torch.float64).masked_fill(~mask, -math.inf)
        full = b + float_mask if bias else float_mask
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=full, scale=0.3, enable_gqa=h != hk)
        keys = k.repeat_interleave(h // hk, 1)
        lse = torch.logsumexp(q @ keys.transpose(-1, -2) * 0.3 + full, -1)
        attrs = {"scale": 0.3, "causal": causal, "bias": bias, "dropout": 0.0}
        operands = [q, k, v] + [b] * bias
        cases += each_type(f"sdpa_{name}", "composite.sdpa", attrs, operands, [out, lse], (1,))
        dout = leaf(2, h, m, 6)
        wanted = torch.autograd.grad(out, [q, k, v] + [b] * bias, dout)
        a = plain([dout, q, k, v, out, lse] + [b] * bias)
        attrs = attrs | {"bias_grad": bias}
        cases.append(case(f"sdpa_grad_{name}", "composite.sdpa_grad", attrs, a, plain(wanted)))
        cases.append(case(f"sdpa_grad_{name}_f32", "composite.sdpa_grad", attrs, a, plain(wanted), ["f32"] * len(a), ["f32"] * len(wanted)))
    q, k, v = leaf(1, 1, 2, 3), leaf(1, 1, 2, 3), leaf(1, 1, 2, 3)
    b = torch.tensor([[[[-math.inf, -math.inf], [0.0, -math.inf]]]], dtype=torch.float64)
    out = torch.stack([torch.zeros(3, dtype=torch.float64), v[0, 0, 0]])[None, None]
    lse = torch.tensor([[[-math.inf, (q[0, 0, 1] @ k[0, 0, 0]).item()]]], dtype=torch.float64)
    attrs = {"scale": 1.0, "causal": False, "bias": True, "dropout": 0.0}
    cases.append(case("sdpa_row_without_keys", "composite.sdpa", attrs, plain([q, k, v, b]), plain([out, lse])))
    dout = torch.ones(1, 1, 2, 3, dtype=torch.float64)
    zero = torch.zeros(1, 1, 2, 3, dtype=torch.float64)
    dv = torch.tensor([[[[1.0] * 3, [0.0] * 3]]], dtype=torch.float64)
    attrs = attrs | {"bias_grad": False}
    cases.append(case("sdpa_grad_row_without_keys", "composite.sdpa_grad", attrs, plain([dout, q, k, v, out, lse, b]), [zero, zero, dv]))
    return cases


def philox(counter, key):
    """The block of a 128-bit counter, as four words; the algorithm of Salmon et al., SC11, in Python integers."""
    c = [counter >> s & 0xFFFFFFFF for s in (0, 32, 64, 96)]
    k = [key & 0xFFFFFFFF, key >> 32]
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & 0xFFFFFFFF, (p0 >> 32) ^ c[3] ^ k[1], p0 & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


# The known answers that Random123 publishes for Philox4x32-10: (counter, key, words).
KNOWN = [
    (0, 0, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    (2**128 - 1, 2**64 - 1, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    (0x0370734413198A2E85A308D3243F6A88, 0x299F31D0A4093822, "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def philoxes():
    for counter, key, words in KNOWN:
        assert philox(counter, key) == [int(w, 16) for w in words.split()]
    cases = []
    for name, seed, offset, shape in [
        ("known_answer", 0, 0, (4,)),
        ("key_and_counter", 0x299F31D0A4093822, 0x85A308D3243F6A88, (2, 3)),
        ("counter_carries", 2**64 - 1, 2**64 - 2, (13,)),
        ("empty", 1, 2, (0,)),
        ("scalar", 1, 2, ()),
    ]:
        words = sum((philox(offset + i, seed) for i in range(4)), [])[: math.prod(shape)]
        seeds = [torch.tensor(seed, dtype=torch.uint64), torch.tensor(offset, dtype=torch.uint64)]
        cases.append(case(f"philox_{name}", "composite.philox", {}, seeds, [torch.tensor(words).reshape(shape)], None, ["ui32"]))
    return cases


def dropout():
    cases, seed, offset, p = [], 0x123456789ABCDEF0, (1 << 64) - 2, 0.4
    b, h, m, n = 1, 2, 3, 4
    words = torch.tensor(sum((philox(offset + i, seed) for i in range(b * h * m * n // 4)), []))
    keep = ((words >> 8).double() * 2.0**-24 < 1 - p).reshape(b, h, m, n)
    q, k, v = leaf(b, h, m, 4), leaf(b, h, n, 4), leaf(b, h, n, 4)
    s = q @ k.transpose(-1, -2) * 0.5
    out = torch.where(keep, torch.softmax(s, -1) / (1 - p), torch.zeros(())) @ v
    lse = torch.logsumexp(s, -1)
    seeds = [torch.tensor(seed, dtype=torch.uint64), torch.tensor(offset, dtype=torch.uint64)]
    attrs = {"scale": 0.5, "causal": False, "bias": False, "dropout": p}
    cases.append(case("sdpa_dropout", "composite.sdpa", attrs, plain([q, k, v]) + seeds, plain([out, lse])))
    dout = leaf(b, h, m, 4)
    grads = torch.autograd.grad(out, [q, k, v], dout)
    attrs = attrs | {"bias_grad": False}
    cases.append(case("sdpa_grad_dropout", "composite.sdpa_grad", attrs, plain([dout, q, k, v, out, lse]) + seeds, plain(grads)))
    return cases


def scalar(x):
    return torch.tensor(x, dtype=torch.float64)


def adam():
    cases = []
    for decoupled in (False, True):
        for amsgrad in (False, True):
            for maximize, weight_decay, step in ((False, 0.0, 1), (True, 0.1, 3)):
                p, g = leaf(5).detach(), leaf(5).detach()
                m, v, top = leaf(5).detach() * 0.1, leaf(5).detach() ** 2, leaf(5).detach() ** 2
                beta1, beta2, eps, lr = 0.9, 0.99, 1e-8, 0.01
                optimizer = (torch.optim.AdamW if decoupled else torch.optim.Adam)
                q = p.clone().requires_grad_()
                o = optimizer([q], lr=lr, betas=(beta1, beta2), eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize, foreach=False)
                q.grad = g.clone()
                o.state[q] = {"step": torch.tensor(float(step - 1)), "exp_avg": m.clone(), "exp_avg_sq": v.clone()}
                if amsgrad:
                    o.state[q]["max_exp_avg_sq"] = top.clone()
                o.step()
                state = o.state[q]
                wanted = [q.detach(), state["exp_avg"], state["exp_avg_sq"]] + ([state["max_exp_avg_sq"]] if amsgrad else [])
                attrs = {"beta1": beta1, "beta2": beta2, "weight_decay": weight_decay, "eps": eps, "decoupled": decoupled,
                         "amsgrad": amsgrad, "maximize": maximize, "scaled": False}
                args = [p, g, m, v] + [top] * amsgrad
                name = f"{'adamw' if decoupled else 'adam'}{'_amsgrad' * amsgrad}{'_maximize' * maximize}"
                cases += each_type(name, "composite.adam_step", attrs, args + [scalar(float(step)), scalar(lr)], wanted)
                if amsgrad and not maximize:
                    scaled = attrs | {"scaled": True}
                    tail = [scalar(float(step)), scalar(lr), scalar(4.0)]
                    big = [p, g * 4.0] + args[2:]
                    cases.append(case(f"{name}_scaled", "composite.adam_step", scaled, big + tail + [scalar(0.0)], wanted))
                    cases.append(case(f"{name}_found_inf", "composite.adam_step", scaled, big + tail + [scalar(1.0)], [p, m, v, top]))
    return cases


def sgd():
    cases = []
    for name, momentum, dampening, nesterov, first, maximize, weight_decay in [
        ("plain", 0.0, 0.0, False, False, False, 0.0),
        ("decay_maximize", 0.0, 0.0, False, False, True, 0.1),
        ("momentum", 0.9, 0.1, False, False, False, 0.01),
        ("momentum_first", 0.9, 0.1, False, True, False, 0.01),
        ("nesterov", 0.9, 0.0, True, False, False, 0.0),
        ("nesterov_first", 0.9, 0.0, True, True, True, 0.0),
    ]:
        p, g, buffer, lr = leaf(5).detach(), leaf(5).detach(), leaf(5).detach(), 0.05
        q = p.clone().requires_grad_()
        o = torch.optim.SGD([q], lr=lr, momentum=momentum, dampening=dampening, nesterov=nesterov, maximize=maximize, weight_decay=weight_decay, foreach=False)
        q.grad = g.clone()
        if momentum and not first:
            o.state[q]["momentum_buffer"] = buffer.clone()
        o.step()
        wanted = [q.detach()] + ([o.state[q]["momentum_buffer"]] if momentum else [])
        attrs = {"weight_decay": weight_decay, "momentum": momentum, "dampening": dampening, "nesterov": nesterov,
                 "maximize": maximize, "first_step": first, "scaled": False}
        args = [p, g] + [buffer] * bool(momentum)
        cases += each_type(f"sgd_{name}", "composite.sgd_step", attrs, args + [scalar(lr)], wanted)
        if name == "momentum":
            scaled = attrs | {"scaled": True}
            big = [p, g * 2.0] + args[2:] + [scalar(lr), scalar(2.0)]
            cases.append(case("sgd_scaled", "composite.sgd_step", scaled, big + [scalar(0.0)], wanted))
            cases.append(case("sgd_found_inf", "composite.sgd_step", scaled, big + [scalar(1.0)], [p, buffer]))
    return cases


def windows():
    cases = []
    x = torch.tensor([3.0, -1.0, 3.0, 0.5, 2.0, math.nan, 2.0, math.nan, 9.0, -math.inf] * 4, dtype=torch.float64)[:36]
    x = torch.stack([x.reshape(6, 6), (x.nan_to_num() * 0.5).flip(0).reshape(6, 6)])
    for kernel, stride, padding, dilation in (([3, 3], [2, 2], [1, 1], [1, 1]), ([2, 3], [1, 2], [0, 1], [2, 1]), ([2], [2], [1], [1])):
        f = F.max_pool2d if len(kernel) == 2 else F.max_pool1d
        wants = f(x, kernel, stride, padding, dilation, return_indices=True)
        attrs = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation}
        for d in ("f64", "bf16"):
            name = f"max_pool_{len(kernel)}d_{dilation[0]}_{d}"
            cases.append(case(name, "composite.max_pool", attrs, [x], wants, [d], [d, "i64"]))
    return cases


def scans():
    cases = []
    x = torch.tensor([[3.0, -1.0, 3.0, 0.5], [math.nan, 2.0, math.nan, 9.0], [-1.0, -1.0, -2.0, -2.0]], dtype=torch.float64)
    for dim in (0, 1):
        for largest, f in ((True, torch.max), (False, torch.min)):
            values, indices = f(x, dim)
            for d in ("f64", "bf16"):
                name = f"arg_reduce_{dim}_{'max' if largest else 'min'}_{d}"
                cases.append(case(name, "composite.arg_reduce", {"dim": dim, "max": largest}, [x], [values, indices], [d], [d, "i64"]))
    i = torch.tensor([[5, -7, 5], [-128, 127, 0]])
    cases.append(case("arg_reduce_int", "composite.arg_reduce", {"dim": 1, "max": True}, [i], [torch.tensor([5, 127]), torch.tensor([0, 1])], ["i8"], ["i8", "i64"]))
    x = leaf(3, 5).detach()
    for dim in (0, 1):
        for kind_, f in (("add", torch.cumsum), ("multiply", torch.cumprod), ("maximum", lambda x, d: torch.cummax(x, d)[0]), ("minimum", lambda x, d: torch.cummin(x, d)[0])):
            cases += each_type(f"cumulative_{kind_}_{dim}", "composite.cumulative", {"dim": dim, "kind": kind_}, [x], [f(x, dim)])
    i = torch.tensor([1, 2, 3, 4, 5, 6, 7])
    cases.append(case("cumulative_int", "composite.cumulative", {"dim": 0, "kind": "multiply"}, [i], [torch.cumprod(i, 0)]))
    cases.append(case("check_index", "composite.check_index", {"lo": -3, "hi": 3, "site": "aten::index_select", "dim": 0, "raises": "index"}, [torch.tensor([-3, 0, 2])], [torch.tensor([-3, 0, 2])]))
    holds = torch.tensor([True, True])
    cases.append(case("assert", "composite.assert", {"message": list(b"must hold")}, [holds], [holds]))
    return cases


def front(name, op, args, packed, room):
    """A case of an op that packs: only the front of its first result is specified."""
    params = ", ".join(f"%p{i}: {kind(TYPES[a.dtype], a.shape)}" for i, a in enumerate(args))
    operands = ", ".join(f"%p{i}" for i in range(len(args)))
    dtype, start, step = TYPES[packed.dtype], [0] * packed.dim(), [1] * packed.dim()
    return "\n".join([
        f"func @{name}({params}) {{",
        f"  %r0, %r1 = {op} {operands} : {kind(dtype, room)}, i64[]",
        f"  %r2 = slice %r0 {{start={start}, limit={list(packed.shape)}, stride={step}}} : {kind(dtype, packed.shape)}",
        "  return %r2, %r1",
        "}",
        "args " + " ".join(map(value, args)),
        f"want {value(packed)} {packed.shape[0]}",
        "",
    ])


def packs():
    cases = []
    for n in (1, 7, 40):
        x, mask = leaf(n).detach(), torch.arange(n) % 3 != 1
        cases.append(front(f"compact_{n}", "composite.compact", [mask, x], x[mask], [n]))
    for shape in ((9,), (3, 5), (2, 3, 4)):
        mask = torch.arange(math.prod(shape)).reshape(shape) % 3 != 1
        name = "nonzero_" + "x".join(map(str, shape))
        cases.append(front(name, "composite.nonzero", [mask], mask.nonzero(), [mask.numel(), mask.dim()]))
    return cases


def fouriers():
    cases = []
    for shape in ((1,), (4,), (2, 5), (3, 2, 4), (2, 3, 2, 3)):
        for d in range(1, min(len(shape), 3) + 1):
            n, dims = list(shape[-d:]), tuple(range(-d, 0))
            name = "x".join(map(str, shape)) + f"_{d}d"
            z, x = torch.complex(leaf(*shape).detach(), leaf(*shape).detach()), leaf(*shape).detach()
            half = torch.fft.rfftn(leaf(*shape).detach(), dim=dims).cfloat().cdouble()
            for kind, operand, y in (
                ("FFT", z, torch.fft.fftn(z, dim=dims)),
                ("IFFT", z, torch.fft.ifftn(z, dim=dims)),
                ("RFFT", x, torch.fft.rfftn(x, dim=dims)),
                ("IRFFT", half, torch.fft.irfftn(half, s=n, dim=dims)),
            ):
                attrs = {"kind": kind, "length": str(n)}
                cases.append(case(f"{kind.lower()}_{name}_f64", "fft", attrs, [operand], [y]))
                narrow = {"f64": "f32", "complex<f64>": "complex<f32>"}
                types = [[narrow[TYPES[t.dtype]]] for t in (operand, y)]
                cases.append(case(f"{kind.lower()}_{name}_f32", "fft", attrs, [operand], [y], *types))
    return cases


def main():
    write("unary.txt", unary())
    write("binary.txt", binary())
    write("activation.txt", activations())
    write("softmax.txt", softmaxes())
    write("norm.txt", norms())
    write("attention.txt", attention() + dropout())
    write("optim.txt", adam() + sgd())
    write("scan.txt", scans())
    write("window.txt", windows())
    write("pack.txt", packs())
    write("philox.txt", philoxes())
    write("fourier.txt", fouriers())


if __name__ == "__main__":
    main()
