"""The checks of one module (a ModuleInfo) in one dtype: results, gradients and buffers, in training and in evaluation."""

import copy

import torch

from .compare import Difference, compare
from .moving import LIFTED, differentiable, lift, tensors, to_device
from .operators import backward, seed
from .outcome import Outcome
from .tables import RANDOM_IN_TRAINING

MODES = {True: "train", False: "eval"}


def check(info, dtype, limit=10**9, checks=None, tick=lambda text: None, modes=None):
    """All inputs of a module in a dtype, in training and, where that differs, in evaluation."""
    outcome = Outcome(tick)
    for training in modes or ((True, False) if info.train_and_eval_differ else (True,)):
        mode = MODES[training]
        tick(f"{mode} sample generation")
        seed()
        inputs = info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=True, training=training)
        for nth, given in enumerate(inputs):
            if nth >= limit or given.forward_input is None:
                continue
            Case(info, dtype, nth, given, training, outcome).run()
    return outcome


class Case:
    def __init__(self, info, dtype, nth, given, training, outcome):
        self.info, self.dtype, self.nth, self.outcome = info, dtype, nth, outcome
        self.mode = MODES[training]
        made = given.constructor_input
        self.here = given.forward_input.args, given.forward_input.kwargs
        seed()
        self.module = info.module_cls(*made.args, **made.kwargs).to(dtype).train(training)
        self.random = training and info.name in RANDOM_IN_TRAINING

    def run(self):
        try:
            if self.info.is_lazy:
                self.module(*self.here[0], **self.here[1])
            self.there_module = copy.deepcopy(self.module).to("neuron")
            self.exact_module = copy.deepcopy(self.module)
            self.there = to_device(self.here)
        except Exception as e:
            self.outcome.fail(f"{self.mode} construction", self.nth, e)
            return
        try:
            self.want, self.want_grads = self.forward_backward(self.module, self.here, None)
        except Exception:
            self.outcome.refused += 1
            return
        self.outcome.attempt(self.mode, self.nth, self.both)

    def forward_backward(self, module, arguments, seeds):
        """Results, and the gradients of parameters and arguments for given or for random seeds."""
        result = module(*arguments[0], **arguments[1])
        outs = differentiable(result)
        inputs = differentiable([arguments, list(module.parameters())])
        if not outs or not inputs:
            return result, []
        if seeds is None:
            seed(1)
            seeds = self.seeds = [torch.randn_like(t) for t in outs]
        seeds = [s.to(t.device, t.dtype) for s, t in zip(seeds, outs)]
        return result, backward(outs, inputs, seeds)

    def both(self):
        got, grads = self.forward_backward(self.there_module, self.there, getattr(self, "seeds", None))
        name = "bernoulli" if self.random else self.info.name  # random results: sizes only
        exact = lambda nth: lambda: self.exact()[nth]
        compare(self.info, name, self.dtype, got, self.want, exact(0))
        if [g is None for g in grads] != [g is None for g in self.want_grads]:
            raise Difference("gradients are undefined for other inputs")
        compare(self.info, name, self.dtype, grads, self.want_grads, exact(1))
        compare(self.info, name, self.dtype, list(self.there_module.buffers()), list(self.module.buffers()))

    def exact(self):
        """Results and gradients in higher precision, or Nones where that is not possible."""
        try:
            here = lift(self.here)
            result, grads = self.forward_backward(self.exact_module.to(LIFTED.get(self.dtype, self.dtype)), here, getattr(self, "seeds", None))
            return tensors(result), tensors(grads)
        except Exception:
            return None, None
