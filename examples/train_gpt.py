"""Train a character-level GPT on the Python sources of the installed torch package.

    python examples/train_gpt.py                      # 6 layers, 384 wide, on the software NeuronCore
    python examples/train_gpt.py --small              # a quick one
    python examples/train_gpt.py --device cpu         # the same losses on PyTorch's own CPU backend
    python examples/train_gpt.py --amp                # bf16 autocast
"""

import argparse
import json
import math
import pathlib
import time

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    """Pre-norm transformer block: causal self-attention, then a GELU feed-forward layer."""

    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        batch, time_, width = x.shape
        q, k, v = (
            t.view(batch, time_, self.heads, width // self.heads).transpose(1, 2)
            for t in self.qkv(self.norm1(x)).split(width, dim=2)
        )
        p = self.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=p)
        x = x + self.drop(self.out(y.transpose(1, 2).reshape(batch, time_, width)))
        return x + self.drop(self.down(F.gelu(self.up(self.norm2(x)))))


class GPT(nn.Module):
    """A GPT over characters. Input (batch, time) of int64 → logits (batch, time, vocabulary)."""

    def __init__(self, vocabulary, layers, heads, width, context, dropout=0.0):
        super().__init__()
        self.context = context
        self.token, self.position = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.drop = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(Block(width, heads, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.apply(self._init)

    @staticmethod
    def _init(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, tokens):
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.drop(self.token(tokens) + self.position(positions))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))

    @torch.no_grad()
    def sample(self, tokens, count, temperature=0.8):
        """Appends `count` sampled characters to (1, time) tokens."""
        for _ in range(count):
            logits = self(tokens[:, -self.context :])[:, -1].float() / temperature
            # Gumbel-max sampling: argmax of logits plus Gumbel noise is a draw from the softmax.
            noise = -torch.log(torch.empty_like(logits).exponential_())
            tokens = torch.cat([tokens, (logits + noise).argmax(-1, keepdim=True)], dim=1)
        return tokens


def corpus(limit):
    """Text that every machine with torch has: its Python sources, in a fixed order."""
    text, size = [], 0
    for path in sorted(pathlib.Path(torch.__file__).parent.glob("nn/**/*.py")):
        text.append(path.read_text(encoding="utf-8", errors="ignore"))
        size += len(text[-1])
        if size >= limit:
            break
    return "".join(text)[:limit]


def bar(step, steps, loss, rate):
    width = 28
    done = width * step // steps
    line = f"\r[{'#' * done}{'.' * (width - done)}] {step}/{steps}  loss {loss:.4f}  {rate:,.0f} tokens/s "
    print(line, end="", flush=True)


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--device", default="neuron")
    p.add_argument("--small", action="store_true", help="2 layers, 128 wide, sequence 128")
    p.add_argument("--steps", type=int)
    p.add_argument("--batch", type=int, default=8)
    p.add_argument("--dropout", type=float, default=0.0)
    p.add_argument("--lr", type=float, default=6e-4)
    p.add_argument("--amp", action="store_true", help="bf16 autocast")
    p.add_argument("--seed", type=int, default=1337)
    p.add_argument("--sample", type=int, default=200, help="characters to generate at the end")
    p.add_argument("--losses", type=pathlib.Path, help="write the loss of every step to this JSON file")
    return p.parse_args()


def main():
    args = parse()
    layers, heads, width, context, steps = (2, 4, 128, 128, 120) if args.small else (6, 6, 384, 256, 200)
    steps = args.steps or steps
    text = corpus(1_000_000)
    alphabet = sorted(set(text))
    code = {c: i for i, c in enumerate(alphabet)}
    data = torch.tensor([code[c] for c in text])

    # Weights and batches come from the CPU generator, so that every device sees the same ones.
    torch.manual_seed(args.seed)
    model = GPT(len(alphabet), layers, heads, width, context, args.dropout).to(args.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.99), weight_decay=0.1, fused=True)
    batches = torch.Generator().manual_seed(args.seed)
    parameters = sum(p.numel() for p in model.parameters())
    print(f"{parameters / 1e6:.1f} M parameters, {len(text):,} characters, {len(alphabet)} symbols, device {args.device}")

    losses, started = [], time.perf_counter()
    for step in range(1, steps + 1):
        starts = torch.randint(len(data) - context - 1, (args.batch,), generator=batches)
        windows = torch.stack([data[s : s + context + 1] for s in starts.tolist()]).to(args.device)
        for group in optimizer.param_groups:
            group["lr"] = args.lr * min(1.0, step / 20) * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * step / steps)))
        with torch.autocast(args.device, dtype=torch.bfloat16, enabled=args.amp):
            logits = model(windows[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        bar(step, steps, losses[-1], step * args.batch * context / (time.perf_counter() - started))
    seconds = time.perf_counter() - started
    print(f"\nloss {losses[0]:.4f} -> {losses[-1]:.4f} in {seconds:.1f} s")
    if args.losses:
        args.losses.write_text(json.dumps(losses))

    model.eval()
    prompt = "def forward(self"
    tokens = torch.tensor([[code[c] for c in prompt]], device=args.device)
    print("-" * 60)
    print("".join(alphabet[i] for i in model.sample(tokens, args.sample)[0].tolist()))
    print("-" * 60)
    if args.device.startswith("neuron"):
        fallbacks = torch.neuron.fallback_ops()
        print(f"operators that fell back to the CPU: {fallbacks or 'none'}")


if __name__ == "__main__":
    main()
