"""A real pretrained sentence encoder gives the CPU's embeddings."""

import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "examples"))
import embed_sentences as example  # noqa: E402

# Least cosine between an embedding on neuron and the same on the CPU.
LEAST_COSINE = 0.99999


def test_embeddings_equal_the_cpu():
    sentences = example.lines(200)
    assert len(sentences) == 200
    torch.neuron.reset_fallback_ops()
    vectors = {}
    for device in ("cpu", "neuron"):
        tokenizer, model = example.load(device)
        vectors[device] = example.embed(sentences, tokenizer, model, device).cpu()
    cosine = (vectors["cpu"] * vectors["neuron"]).sum(1)
    assert cosine.min() >= LEAST_COSINE, cosine.min()
    assert torch.neuron.fallback_ops() == {}


def test_search_finds_meaning_not_words():
    tokenizer, model = example.load("neuron")
    texts = ["A cat sleeps on the sofa.", "The stock market fell sharply.", "Rain is expected tomorrow."]
    vectors = example.embed(texts, tokenizer, model, "neuron")
    query = example.embed(["weather forecast"], tokenizer, model, "neuron")[0]
    assert (vectors @ query).argmax().item() == 2
