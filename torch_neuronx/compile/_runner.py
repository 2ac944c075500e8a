"""Runs a graph of AOTAutograd: records it once per shape, then launches the plan.

A part of a graph that needs its data while it runs (a number for Python, a size that the data decides, work for the CPU) cannot
be in a program. The graph is cut around it: programs before and behind, and the part itself operator by operator.
"""

import operator
import os
import time

import torch
from torch.fx.passes.split_module import split_module

from torch_neuronx._C import Graph
from torch_neuronx.compile import _metrics


class Runner:
    """One program per shape of a graph without parts that have to run by themselves."""

    def __init__(self, gm, settings, kind):
        self._boxed_call = True  # of the instance: Dynamo's wrapper copies its attributes
        self.gm, self.settings, self.kind = gm, settings, kind
        self.graph = Graph(settings.plans)
        self.single = not isinstance(_output(gm), (list, tuple))
        self.instead = None
        _metrics.count("runners")

    def __call__(self, args):
        if self.instead is not None:
            return self.instead(args)
        results = self.graph.run(args)
        if results is None:
            results = self.record(args)
        args.clear()
        return results

    def record(self, args):
        started = time.perf_counter_ns()
        refused = self.try_record(args)
        if refused is not None:
            node = self.locate(args)
            if not self.settings.fallback_execution:
                what = node.format_node() if node else "a graph"
                raise RuntimeError(f"backend 'neuron' cannot compile {what}: {refused}{_site(node)}")
            if node is None:
                _metrics.count("eager_nodes", len(self.gm.graph.nodes))
                self.instead = Parts(self.gm)
            else:
                _metrics.count("eager_nodes")
                self.instead = split(self.gm, {node}, self.settings, self.kind)
            return self.instead(args)
        _metrics.count("record_ns", time.perf_counter_ns() - started)
        return self.graph.run(args)

    def try_record(self, args):
        """Makes a plan, or says why there can be none."""
        with torch.no_grad():
            self.graph.begin(args)
            try:
                results = self.gm.forward(*args)
            except BaseException:
                refused = Graph.cancel()
                if refused is None:
                    raise
                return refused
            try:
                stats = self.graph.finish(args, [results] if self.single else list(results))
            except NotImplementedError as e:
                return str(e)
        for name in ("calls", "instructions", "plan_ns"):
            _metrics.count(name, stats[name])
        _metrics.count("plans")
        self.dump(stats["text"])
        return None

    def locate(self, args):
        """The node that refuses to be recorded; none when it is the whole that no program can be."""
        at = Locator(self.gm)
        with torch.no_grad():
            self.graph.begin(args)
            try:
                at.run(*args)
            except BaseException:
                return at.node
            finally:
                Graph.cancel()
        return None

    def dump(self, text):
        folder = os.environ.get("TORCH_NEURONX_DUMP")
        if not folder or text is None:
            return
        folder = os.path.join(folder, f"graph_{os.getpid()}_{id(self):x}_{len(self.graph)}_{self.kind}")
        os.makedirs(folder, exist_ok=True)
        names = ("fx.txt", "0-lowered.hlo", "1-simplified.hlo")
        for name, content in zip(names, (self.gm.print_readable(print_output=False), *text)):
            with open(os.path.join(folder, name), "w") as f:
                f.write(content)


class Locator(torch.fx.Interpreter):
    node = None

    def run_node(self, n):
        self.node = n
        return super().run_node(n)


def _output(gm):
    return next(n for n in reversed(gm.graph.nodes) if n.op == "output").args[0]


def _site(node):
    trace = node and node.meta.get("stack_trace")
    return f"\n{trace}" if trace else ""


class Part(torch.nn.Module):
    """A runner in the place of a submodule."""

    def __init__(self, runner):
        super().__init__()
        self.runner = runner

    def forward(self, *args):
        results = self.runner(list(args))
        return results[0] if self.runner.single else tuple(results)


class Parts:
    """Programs and single nodes in turn."""

    def __init__(self, gm):
        self._boxed_call = True
        self.gm = gm

    def __call__(self, args):
        given = list(args)
        args.clear()
        with torch.no_grad():
            results = self.gm(*given)
        return list(results) if isinstance(results, (tuple, list)) else [results]


def split(gm, alone, settings, kind):
    """Cuts a graph around the nodes of `alone`, which run by themselves."""
    # What takes a tuple apart stays where the tuple is made: tuples do not go from part to part.
    alone = set(alone)
    for n in gm.graph.nodes:
        if n.op == "call_function" and n.target is operator.getitem and n.args[0] in alone:
            alone.add(n)
    part, number = {}, 0
    lone = set()
    nodes = [n for n in gm.graph.nodes if n.op not in ("placeholder", "output", "get_attr")]
    for before, n in zip([None, *nodes], nodes):
        if before is not None and (n in alone) != (before in alone):
            number += 1
        part[n] = number
        if n in alone:
            lone.add(number)
    for n in gm.graph.nodes:
        if n.op == "get_attr":
            part[n] = min((part[u] for u in n.users if u in part), default=0)
    cut = split_module(gm, None, lambda n: part[n], keep_original_order=True)
    for name, child in list(cut.named_children()):
        if name.startswith("submod_") and int(name[len("submod_"):]) not in lone:
            setattr(cut, name, Part(Runner(child, settings, kind)))
    return Parts(cut)


def _runs_alone(gm):
    """Nodes that no recording can hold: higher-order operators, and work on host tensors that inputs decide."""
    host_inputs = set()
    alone = set()
    for n in gm.graph.nodes:
        leaves = torch.utils._pytree.tree_leaves(n.meta.get("val"))
        on_host = any(isinstance(t, torch.Tensor) and t.device.type == "cpu" for t in leaves)
        if n.op == "placeholder" and on_host:
            host_inputs.add(n)
        if n.op != "call_function":
            continue
        if isinstance(n.target, torch._ops.HigherOrderOperator):
            alone.add(n)
            continue
        random = torch.Tag.nondeterministic_seeded in getattr(n.target, "tags", ())
        if on_host and (random or any(a in host_inputs for a in n.all_input_nodes)):
            host_inputs.add(n)
            alone.add(n)
    return alone


def compile_graph(gm, settings, kind):
    """A callable that takes the graph's inputs as a list, which it empties, and returns its results as a list."""
    alone = _runs_alone(gm)
    if alone:
        _metrics.count("eager_nodes", len(alone))
        return split(gm, alone, settings, kind)
    return Runner(gm, settings, kind)
