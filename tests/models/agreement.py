"""One model on two devices: the same weights and inputs on the CPU and on neuron, and how far apart they may end."""

import copy
import dataclasses
from collections.abc import Callable

import torch

# Least cosine between an output or a gradient on neuron and the same on the CPU.
LEAST_COSINE = 0.9999
# Greatest difference of any loss of a training run.
LOSS_DISTANCE = 1e-3
STEPS = 20
# A gradient this small beside the model's largest is rounding noise (that of a key's bias is zero in exact arithmetic),
# and has no direction to compare.
NOISE = 1e-6


@dataclasses.dataclass
class Case:
    """A model, its inputs and its loss. All is made on the CPU from a fixed seed, so that both devices start alike."""

    name: str
    # The model, without dropout: the devices draw different random numbers.
    build: Callable
    # Keyword arguments of the model.
    inputs: Callable
    # Result of the model and inputs → loss and the output to compare.
    loss: Callable = lambda out, inputs: (out.loss, out.logits)
    lr: float = 1e-3

    def make(self):
        """Model and inputs on the CPU."""
        torch.manual_seed(0)
        model = self.build()
        return model, self.inputs()

    def run(self, model, inputs):
        """Loss and output of one forward pass."""
        return self.loss(model(**inputs), inputs)


def names(cases):
    """Arguments of ``pytest.mark.parametrize``: the cases and their names."""
    return {"argnames": "case", "argvalues": cases, "ids": [case.name for case in cases]}


def move(value, device):
    """`value`, with the tensors in its dictionaries, lists and tuples on `device`."""
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, dict):
        return {key: move(part, device) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(move(part, device) for part in value)
    return value


def cosine(a, b):
    """Cosine of two tensors as vectors, in f64; 1 for two zero vectors."""
    a, b = a.detach().cpu().double().flatten(), b.detach().cpu().double().flatten()
    assert a.shape == b.shape and bool(a.isfinite().all()) and bool(b.isfinite().all())
    product = (a.norm() * b.norm()).item()
    return (a @ b).item() / product if product else float(a.norm() == b.norm())


def check_gradients(case, train=True):
    """Outputs, losses and the gradient of every parameter agree."""
    model, inputs = case.make()
    results = {}
    for device in ("cpu", "neuron"):
        copied = copy.deepcopy(model).to(device).train(train)
        loss, output = case.run(copied, move(inputs, device))
        loss.backward()
        gradients = {name: p.grad.cpu() for name, p in copied.named_parameters() if p.grad is not None}
        results[device] = loss.item(), output, gradients
    (expected_loss, expected, reference), (loss, output, gradients) = results["cpu"], results["neuron"]
    assert abs(loss - expected_loss) < LOSS_DISTANCE, (loss, expected_loss)
    assert cosine(output, expected) >= LEAST_COSINE, cosine(output, expected)
    assert gradients.keys() == reference.keys() and gradients
    largest = max(gradient.norm().item() for gradient in reference.values())
    assert largest > 0
    apart = {}
    for name, gradient in gradients.items():
        if max(gradient.norm().item(), reference[name].norm().item()) <= NOISE * largest:
            continue
        apart[name] = cosine(gradient, reference[name])
    wrong = {name: value for name, value in apart.items() if value < LEAST_COSINE}
    assert apart and not wrong, wrong


def losses(case, device, steps=STEPS):
    """The loss of every step of AdamW on one batch."""
    model, inputs = case.make()
    model, inputs = model.to(device).train(), move(inputs, device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=case.lr)
    found = []
    for _ in range(steps):
        loss, _ = case.run(model, inputs)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def check_training(case):
    """Every loss of a training run agrees, and the run learns."""
    expected, found = losses(case, "cpu"), losses(case, "neuron")
    assert expected[-1] < expected[0], expected
    distance = max(abs(a - b) for a, b in zip(expected, found, strict=True))
    assert distance < LOSS_DISTANCE, (expected, found)


def check_generation(case, cache, tokens=12):
    """Greedy decoding with a kind of cache gives the CPU's tokens, from the same logits."""
    model, inputs = case.make()
    inputs = {key: value for key, value in inputs.items() if key in ("input_ids", "attention_mask", "input_features")}
    model, found = model.eval(), {}
    for device in ("cpu", "neuron"):
        # transformers would compile the forward pass with a static cache, for which there is no backend yet.
        out = model.to(device).generate(
            **move(inputs, device),
            max_new_tokens=tokens,
            do_sample=False,
            cache_implementation=cache,
            disable_compile=True,
            return_dict_in_generate=True,
            output_logits=True,
        )
        found[device] = out.sequences.tolist(), torch.stack(out.logits)
    assert found["neuron"][0] == found["cpu"][0]
    assert len(found["cpu"][1]) == tokens
    assert cosine(found["neuron"][1], found["cpu"][1]) >= LEAST_COSINE
