"""The checks of one operator (an OpInfo) in one dtype."""

import random

import torch

from .compare import Difference, compare, raised, same_error
from .moving import differentiable, lift, spread, tensors, to_device
from .outcome import Outcome, Refused, missing_operator
from .tables import DROPOUT, HOST_OPERANDS, MEMORY, TIES, UNDETERMINED
from .tolerance import tolerance

# Samples whose gradients are also taken through views with gaps, and that write to all three kinds of `out=`.
THOROUGH = 3
# Kinds of `out=`: of the right sizes, empty, of the right sizes with gaps.
FITS, GROWS, GAPS = range(3)


def full_name(info):
    return f"{info.name}.{info.variant_test_name}" if info.variant_test_name else info.name


def seed(number=0):
    """Seeds the CPU's generators. (`torch.manual_seed` also formats a stack for every other device, in half a millisecond.)"""
    torch.default_generator.manual_seed(number)
    random.seed(number)


def samples(info, dtype, limit, grad):
    seed()
    taken = []
    for sample in info.sample_inputs("cpu", dtype, requires_grad=grad):
        if len(taken) >= limit:
            break
        drops = DROPOUT.get(full_name(info))
        if not (drops and drops(sample)):
            taken.append(sample)
    return taken


def check(info, dtype, limit=10**9, checks=None, tick=lambda text: None, kind=None):
    """All checks of an OpInfo in a dtype."""
    outcome = Outcome(tick)
    wanted = lambda name: checks is None or name in checks
    tick("sample generation")
    grad = dtype in info.supported_backward_dtypes("cpu") if info.supports_autograd else False
    for nth, sample in enumerate(samples(info, dtype, limit, grad)):
        (kind or Sample)(info, dtype, nth, sample, grad, outcome).run(wanted)
    return outcome


class Sample:
    """One sample: what the CPU makes of it is computed once, and compared with every way to run it on the device."""

    def __init__(self, info, dtype, nth, sample, grad, outcome):
        self.info, self.dtype, self.nth, self.grad, self.outcome = info, dtype, nth, grad, outcome
        # The tables speak of an operator and of its reference implementation alike.
        self.name = full_name(info).removeprefix("_refs.")
        self.may_write = not sample.broadcasts_input
        self.here = sample.input, sample.args, sample.kwargs
        self.kept = {}
        process = sample.output_process_fn_grad if self.name in UNDETERMINED else None
        # The part of the results that the operator determines.
        self.sees = process or (lambda result: result)

    def run(self, wanted):
        seed()
        try:
            self.want = self.call(self.here)
        except Exception:
            self.outcome.refused += 1
            return
        attempt = lambda check, call: not wanted(check) or self.outcome.attempt(check, self.nth, call)
        try:
            self.there = self.moved()
        except Exception as e:
            self.outcome.fail("values", self.nth, e)
            return
        if attempt("values", self.values) and self.has_gradients():
            attempt("gradients", self.gradients)
        if any(t.dim() for t in tensors(self.here)) and self.name not in MEMORY:
            attempt("noncontiguous", self.noncontiguous)
        if self.info.inplace_variant is not None and self.may_write:
            attempt("inplace", self.inplace)
        if self.has_out() and tensors(self.want):
            attempt("out", self.out)

    def moved(self):
        """The arguments on the device; factories that are not told a device are told."""
        if self.name in HOST_OPERANDS:
            return to_device(self.here[0]), *self.here[1:]
        first, args, kwargs = to_device(self.here)
        if tensors(self.want) and not tensors(self.here) and "device" not in kwargs:
            kwargs = {**kwargs, "device": "neuron"}
        return first, args, kwargs

    def has_out(self):
        return self.info.supports_out

    def call(self, arguments, op=None, **more):
        return (op or self.info)(arguments[0], *arguments[1], **arguments[2], **more)

    def compare(self, got, want, exact=None):
        compare(self.info, self.name, self.dtype, self.sees(got), self.sees(want), exact or self.exact)

    def exact(self):
        """The results in higher precision, or None where that is not possible."""
        if "exact" not in self.kept:
            try:
                self.kept["exact"] = tensors(self.sees(self.call(lift(self.here))))
            except Exception:
                self.kept["exact"] = None
        return self.kept["exact"]

    def values(self):
        self.got = self.call(self.there)
        self.compare(self.got, self.want)
        self.ties(self.there, self.got)

    def ties(self, there, got):
        """Where equal elements leave the indices open, they are indices of the values found."""
        if self.name not in TIES or there[0].dim() == 0:
            return
        dim = TIES[self.name](*there[1], **there[2])
        values, indices = tensors(got)[:2]
        if indices.dim() < there[0].dim():
            values, indices = values.unsqueeze(dim), indices.unsqueeze(dim)
        found = torch.gather(there[0].detach().cpu(), dim, indices.detach().cpu())
        torch.testing.assert_close(found, values.detach().cpu(), rtol=0, atol=0, equal_nan=True)

    def has_gradients(self):
        return self.grad and bool(differentiable(self.sees(self.want)))

    def gradients(self):
        self.differentiate(self.there, self.got)

    def on_cpu(self):
        """Seeds and gradients on the CPU, or the exception that the CPU raises."""
        if "grads" not in self.kept:
            outs = differentiable(self.sees(self.want))
            seed(1)
            seeds = [torch.randn_like(t) for t in outs]
            try:
                self.kept["grads"] = seeds, backward(outs, differentiable(self.here), seeds)
            except Exception as e:
                self.kept["grads"] = seeds, e
        return self.kept["grads"]

    def differentiate(self, there, got):
        seeds, want = self.on_cpu()
        if self.name in TIES and not torch.equal(tensors(got)[1].detach().cpu(), tensors(self.want)[1]):
            return  # among equal elements another one was found, and has the gradient
        outs = differentiable(self.sees(got))
        if len(outs) != len(seeds):
            raise Difference(f"{len(outs)} differentiable results instead of {len(seeds)}")
        run = lambda: backward(outs, differentiable(there), [s.to("neuron") for s in seeds])
        if isinstance(want, NotImplementedError):
            raise Refused  # a kernel that the CPU lacks
        if isinstance(want, Exception):
            return same_error(raised(run), want)
        grads = run()
        if [g is None for g in grads] != [g is None for g in want]:
            raise Difference("gradients are undefined for other inputs")
        compare(self.info, self.name, self.dtype, grads, want, self.exact_gradients, ties=False)

    def exact_gradients(self):
        try:
            here = lift(self.here)
            outs = differentiable(self.sees(self.call(here)))
            seeds = [s.to(t.dtype) for s, t in zip(self.on_cpu()[0], outs)]
            return tensors(backward(outs, differentiable(here), seeds))
        except Exception:
            return None

    def noncontiguous(self):
        """With every tensor a view with gaps; what the CPU refuses of that may be refused."""
        there = spread(self.there)
        try:
            got = self.call(there)
            self.compare(got, self.want)
            self.ties(there, got)
            if self.nth < THOROUGH and self.has_gradients():
                self.differentiate(there, got)
        except Exception as e:
            self.refused_alike(e, lambda: self.with_gaps_here())

    def with_gaps_here(self):
        here = spread(self.here)
        outs = differentiable(self.sees(self.call(here)))
        if self.nth < THOROUGH and self.has_gradients():
            backward(outs, differentiable(here), self.on_cpu()[0])

    def refused_alike(self, error, call):
        """Raises the error, or `Refused` where the call raises one of the same type on the CPU."""
        if isinstance(error, AssertionError) or missing_operator(str(error)):
            raise error
        try:
            call()
        except Exception as e:
            if type(e) is type(error):
                raise Refused from None
        raise error

    @torch.no_grad()
    def inplace(self):
        """The in-place variant: on a tensor of its own, and on a view with gaps. What the CPU refuses is refused alike."""
        op = self.info.inplace_variant
        here, there = self.here, self.there
        try:
            want = op(here[0].clone(), *here[1], **here[2])
        except Exception as e:
            return same_error(raised(lambda: op(there[0].clone(), *there[1], **there[2])), e)
        targets = [there[0].clone()] if self.name in MEMORY else [there[0].clone(), spread(there[0])]
        for target in targets:
            got = op(target, *there[1], **there[2])
            if got is not target:
                raise Difference("returns another tensor")
            self.compare(got, want)

    @torch.no_grad()
    def out(self):
        """The `out=` variant: into tensors of the right sizes, of sizes to grow from, and with strides of their own."""
        for kind in (FITS, GROWS, GAPS) if self.nth < THOROUGH else (self.nth % 3,):
            want = tensors(self.want)
            try:
                outs, kept = self.write(self.there, tensors(getattr(self, "got", None)) or want, kind, "neuron")
            except Exception as e:
                self.refused_alike(e, lambda: self.write(self.here, want, kind, "cpu"))
            self.compare(outs[0] if isinstance(self.want, torch.Tensor) else tuple(outs), self.want)
            if not kept and self.write(self.here, want, kind, "cpu")[1]:
                raise Difference("out= lost its strides")

    def write(self, arguments, like, kind, device):
        """What was written to, and whether it kept its strides where it had no need to grow."""
        outs = [destination(t, kind, device) for t in like]
        strides = [t.stride() for t in outs]
        # PyTorch's reference implementations take nothing but a tuple.
        several = outs if isinstance(self.want, list) else tuple(outs)
        self.call(arguments, out=outs[0] if isinstance(self.want, torch.Tensor) else several)
        return outs, kind == GROWS or strides == [t.stride() for t in outs]


def destination(like, kind, device):
    if kind == GROWS:
        return torch.empty(0, dtype=like.dtype, device=device)
    whole = torch.empty(like.shape, dtype=like.dtype, device=device)
    return spread(whole) if kind == GAPS else whole


def backward(outs, inputs, seeds):
    return torch.autograd.grad(outs, inputs, seeds, allow_unused=True)


def check_errors(info, tick=lambda text: None):
    """Bad operands raise what they raise on the CPU (PyTorch lists them once, not by dtype)."""
    outcome = Outcome(tick)
    tick("sample generation")
    seed()
    for nth, bad in enumerate(info.error_inputs("cpu")):
        sample = bad.sample_input
        here = sample.input, sample.args, sample.kwargs
        want = raised(lambda: info(here[0], *here[1], **here[2]))
        if want is None:
            outcome.refused += 1
            continue

        def call():
            there = to_device(here)
            same_error(raised(lambda: info(there[0], *there[1], **there[2])), want)

        outcome.attempt("errors", nth, call)
    return outcome
