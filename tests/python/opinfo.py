"""PyTorch's own operator database against the neuron device.

    TORCH_NEURONX_FALLBACK=error python tests/python/opinfo.py [--only NAME] [--dtypes float32,...] [--samples N] [--checks ...]

prints one line per (operator, dtype, check) that differs from the CPU, and a total. `test_opinfo.py` runs the same checks.
Tolerances and exceptions are in `opinfo_tables.py`.
"""

import argparse
import collections
import faulthandler
import functools
import sys
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_flatten, tree_map

from opinfo_tables import DROPOUT, NOT_NATIVE, ORDERS, RANDOM, STATISTICS, TIES, TOLERANCE, WIDER


def full_name(info):
    return f"{info.name}.{info.variant_test_name}" if info.variant_test_name else info.name


def case_name(info, check, dtype):
    return f"{full_name(info)} {str(dtype).removeprefix('torch.')} {check}"


@functools.cache
def rows():
    """Base names of the operators with a native rule."""
    return {name.removeprefix("aten::").split(".")[0] for name in torch.neuron.native_ops()}


def has_row(info):
    """Whether the operator itself has a native rule; PyTorch composes the others from such operators."""
    native = rows()
    return (info.aten_name or info.name) in native or info.name.split(".")[-1] in native


def covered():
    """OpInfos that run on the device without the CPU."""
    beyond = {name for names in NOT_NATIVE.values() for name in names}
    return [info for info in op_db if full_name(info) not in beyond and not info.name.startswith("jiterator")]


def to_device(value):
    """The same arguments on the device: tensors keep their strides, and go on sharing memory where they do."""
    memories = {}

    def move(x):
        if isinstance(x, torch.Tensor):
            if x.layout != torch.strided or x.is_conj() or x.is_neg() or x.numel() == 0:
                return x.detach().to("neuron").requires_grad_(x.requires_grad)
            memory = x.untyped_storage()
            key = memory.data_ptr(), x.dtype
            if key not in memories:
                whole = torch.empty(0, dtype=x.dtype).set_(memory, 0, (memory.nbytes() // x.element_size(),))
                memories[key] = whole.to("neuron")
            there = memories[key].as_strided(x.shape, x.stride(), x.storage_offset())
            return there.requires_grad_(x.requires_grad)
        if isinstance(x, torch.device) or (isinstance(x, str) and x == "cpu"):
            return "neuron"
        return x

    return tree_map(move, value)


def spread(value):
    """The same arguments as views with gaps: every second element of a twice as wide tensor, rows before columns."""

    def move(x):
        if not isinstance(x, torch.Tensor) or x.dim() == 0:
            return x
        t = x.detach().transpose(0, -1)
        wide = torch.zeros((*t.shape, 2), dtype=t.dtype, device=t.device)
        wide[..., 1] = t
        return wide[..., 1].transpose(0, -1).requires_grad_(x.requires_grad)

    return tree_map(move, value)


def tensors(x):
    return [t for t in tree_flatten(x)[0] if isinstance(t, torch.Tensor)]


def tolerance(name, *dtypes):
    pairs = [WIDER.get((name, d), TOLERANCE.get(d, (0, 0))) for d in dtypes]
    return {"atol": max(a for a, _ in pairs), "rtol": max(r for _, r in pairs)}


def compare(got, want, name, dtype, exact=lambda: None):
    """Equal structure, device, sizes, dtypes and values, but for what the tables except. In 16-bit floats a result may
    differ from the CPU's if it is as near to what `exact` computes."""
    got, want = tensors(got), tensors(want)
    assert len(got) == len(want), f"{len(got)} tensors instead of {len(want)}"
    for nth, (g, w) in enumerate(zip(got, want)):
        assert g.device.type == "neuron", f"result on {g.device}"
        if nth > 0 and name in STATISTICS:
            if w.numel() == 0:
                continue
            w = w.to(g.dtype)
        assert g.dtype == w.dtype and g.shape == w.shape, f"{g.dtype}{list(g.shape)}, not {w.dtype}{list(w.shape)}"
        if name in RANDOM or name in ORDERS or (nth > 0 and name in TIES):
            continue
        g, w = g.detach().cpu(), w.detach()
        try:
            torch.testing.assert_close(g, w, equal_nan=True, **tolerance(name, dtype, w.dtype))
        except AssertionError:
            best = exact() if w.dtype in (torch.float16, torch.bfloat16) else None
            if best is None or not as_near(g, w, best[nth]):
                raise


def as_near(got, cpu, exact):
    """Whether the largest error, relative to the largest value, is within twice the CPU's or one unit in the last place."""
    scale = exact.double().abs().max()
    error, cpus = ((x.double() - exact.double()).abs().max() for x in (got, cpu))
    return bool(error <= max(2 * cpus, scale * torch.finfo(got.dtype).eps))


def in_float32(info, here):
    """A function that computes a sample's results in f32, or None where that is not possible."""

    def up(x):
        if isinstance(x, torch.Tensor) and x.dtype in (torch.float16, torch.bfloat16):
            return x.detach().float()
        return torch.float32 if x in (torch.float16, torch.bfloat16) and isinstance(x, torch.dtype) else x

    def run():
        try:
            here32 = tree_map(up, here)
            return tensors(info(here32[0], *here32[1], **here32[2]))
        except Exception:
            return None

    return run


def samples(info, dtype, limit, backward=False, inplace=False):
    for nth, sample in enumerate(info.sample_inputs("cpu", dtype, requires_grad=backward)):
        if nth >= limit:
            return
        if inplace and sample.broadcasts_input:
            continue
        if full_name(info) in DROPOUT and DROPOUT[full_name(info)](sample):
            continue
        yield sample.input, sample.args, sample.kwargs


def check_values(info, dtype, limit, move=to_device):
    """Results and, for f32 and f64, gradients."""
    backward = dtype in (torch.float32, torch.float64) and info.supports_autograd
    count = 0
    for here in samples(info, dtype, limit, backward):
        there = move(here)
        want = info(here[0], *here[1], **here[2])
        got = info(there[0], *there[1], **there[2])
        compare(got, want, full_name(info), dtype, in_float32(info, here))
        if full_name(info) in TIES:
            equal_where_found(there, got, TIES[full_name(info)](*here[1], **here[2]))
        if full_name(info) in ORDERS:
            same_order(here, want, got, ORDERS[full_name(info)](*here[1], **here[2]))
        if backward:
            differentiable(info, here, there, want, got, dtype)
        count += 1
    return count


def equal_where_found(there, got, dim):
    """The indices found are those of the values found."""
    values, indices = tensors(got)[:2]
    x = there[0]
    if x.dim() == 0:
        return
    if indices.dim() < x.dim():
        values, indices = values.unsqueeze(dim), indices.unsqueeze(dim)
    torch.testing.assert_close(torch.gather(x, dim, indices).detach().cpu(), values.detach().cpu(), rtol=0, atol=0, equal_nan=True)


def same_order(here, want, got, dim):
    """The elements at the indices found are those at the CPU's."""
    x = here[0].detach()
    if x.dim() > 0:
        ours, cpus = (torch.gather(x, dim, i.cpu()) for i in (got, want))
        torch.testing.assert_close(ours, cpus, rtol=0, atol=0, equal_nan=True)


def check_noncontiguous(info, dtype, limit):
    """As `check_values`, with every tensor a view with gaps."""
    return check_values(info, dtype, limit, lambda x: spread(to_device(x)))


def differentiable(info, here, there, want, got, dtype):
    def leaves(x):
        return [t for t in tensors(x) if t.requires_grad and (t.dtype.is_floating_point or t.dtype.is_complex)]

    outs_w, outs_g = leaves(want), leaves(got)
    assert len(outs_w) == len(outs_g), f"{len(outs_g)} differentiable results instead of {len(outs_w)}"
    if not outs_w:
        return
    torch.manual_seed(1)
    seeds = [torch.randn_like(t) for t in outs_w]
    grads_w = torch.autograd.grad(outs_w, leaves(here), seeds, allow_unused=True)
    grads_g = torch.autograd.grad(outs_g, leaves(there), [s.to("neuron") for s in seeds], allow_unused=True)
    assert [g is None for g in grads_g] == [g is None for g in grads_w], "gradients are undefined for other inputs"
    compare(grads_g, grads_w, full_name(info), dtype)


def check_inplace(info, dtype, limit):
    """The in-place variant, wherever the CPU accepts the sample."""
    op = info.inplace_variant
    count = 0
    for here in samples(info, dtype, limit, inplace=True):
        there = to_device(here)
        try:
            want = op(here[0].clone(), *here[1], **here[2])
        except RuntimeError:
            continue
        for got in (there[0].clone(), spread(there[0])):
            result = op(got, *there[1], **there[2])
            assert result is got, "returns another tensor"
            compare(result, want, full_name(info), dtype, in_float32(info, here))
        count += 1
    return count


def check_out(info, dtype, limit):
    """The `out=` variant: into tensors of the right sizes, of sizes to grow from, and with strides of their own."""
    count = 0
    for here in samples(info, dtype, limit):
        there = to_device(here)
        want = info(here[0], *here[1], **here[2])
        if not tensors(want):
            continue
        right = [torch.empty_like(t) for t in tensors(info(there[0], *there[1], **there[2]))]
        small = [torch.empty(0, dtype=t.dtype, device="neuron") for t in right]
        for outs in (right, small, [spread(t) for t in right]):
            strides = [t.stride() for t in outs]
            info(there[0], *there[1], **there[2], out=outs[0] if isinstance(want, torch.Tensor) else outs)
            compare(outs, want, full_name(info), dtype, in_float32(info, here))
            assert outs is small or strides == [t.stride() for t in outs], "out= lost its strides"
        count += 1
    return count


def raised(call):
    """What the call raises, its asynchronous part included."""
    try:
        call()
        torch.neuron.synchronize()
    except Exception as e:
        return e
    return None


def check_errors(info, dtype, limit):
    """Bad operands raise what they raise on the CPU (PyTorch lists them once, not by dtype)."""
    count = 0
    wrong = []
    for bad in info.error_inputs("cpu"):
        sample = bad.sample_input
        here = (sample.input, sample.args, sample.kwargs)
        there = to_device(here)
        want = raised(lambda: info(here[0], *here[1], **here[2]))
        if want is None:
            continue
        got = raised(lambda: info(there[0], *there[1], **there[2]))
        count += 1
        if type(got) is not type(want):
            wrong.append(f"{type(got).__name__}({str(got)[:150]!r}) instead of {type(want).__name__}({str(want)[:150]!r})")
    assert not wrong, "; ".join(wrong)
    return count


CHECKS = {
    "values": check_values,
    "noncontiguous": check_noncontiguous,
    "inplace": check_inplace,
    "out": check_out,
    "errors": check_errors,
}


def applies(info, check):
    """Whether the operator has what a check looks at."""
    return {
        "inplace": info.inplace_variant is not None,
        "out": info.supports_out,
        "errors": info.error_inputs_func is not None,
    }.get(check, True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--only", default="")
    p.add_argument("--dtypes", default="float32,bfloat16,int64,bool,complex64")
    p.add_argument("--checks", default=",".join(CHECKS))
    p.add_argument("--samples", type=int, default=6)
    p.add_argument("--all", action="store_true", help="every OpInfo, those that need the CPU too")
    p.add_argument("--passes", action="store_true", help="also name what passes")
    p.add_argument("--shard", default="0/1", help="I/N: every N-th operator from the I-th")
    options = p.parse_args()
    faulthandler.enable()
    warnings.simplefilter("ignore")
    dtypes = [getattr(torch, d) for d in options.dtypes.split(",")]
    totals = collections.Counter()
    first, step = map(int, options.shard.split("/"))
    for info in (op_db if options.all else covered())[first::step]:
        if options.only and options.only not in (info.name, full_name(info)):
            continue
        for dtype in dtypes:
            if dtype not in info.supported_dtypes("cpu"):
                continue
            for check in options.checks.split(","):
                if not applies(info, check):
                    continue
                torch.manual_seed(0)
                case = case_name(info, check, dtype)
                try:
                    if CHECKS[check](info, dtype, options.samples):
                        totals["pass"] += 1
                        if options.passes:
                            print("PASS", case, flush=True)
                except Exception as e:
                    totals["fail"] += 1
                    text = str(e).strip().splitlines() or [""]
                    where = [l for l in text[1:] if "Greatest" in l or "Mismatch" in l]
                    print("FAIL", case, type(e).__name__, text[0][:600], *where, flush=True)
                    raised(torch.neuron.synchronize)
    print(dict(totals))
    return totals["fail"] > 0


if __name__ == "__main__":
    sys.exit(main())
