"""One training step of the example's GPT (6 layers, 384 wide, sequence 256, batch 8)."""

import sys
from pathlib import Path

import torch
import torch.nn.functional as F

from benches.timing import Case

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
from train_gpt import GPT  # noqa: E402

VOCABULARY, CONTEXT, BATCH = 65, 256, 8


def step(amp, wrap=lambda f: f):
    """`wrap`: what becomes of the function from tokens to the loss."""

    def build(device):
        torch.manual_seed(0)
        model = GPT(VOCABULARY, 6, 6, 384, CONTEXT).to(device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
        tokens = torch.randint(VOCABULARY, (BATCH, CONTEXT + 1), generator=torch.Generator().manual_seed(0)).to(device)

        @wrap
        def loss_of(tokens):
            with torch.autocast(device, dtype=torch.bfloat16, enabled=amp):
                return F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())

        def run():
            loss = loss_of(tokens)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            return loss

        return run

    return build


CASES = [
    Case("GPT step f32, eager", step(False), 0.55, inner=1, budget=10),
    Case("GPT step bf16 autocast, eager", step(True), 0.8, inner=1, budget=10),
]
