"""Causal language models: small random configurations of GPT-2, Llama, Qwen, Mixtral and Mamba."""

import pytest
import torch
import transformers
from agreement import Case, check_generation, check_gradients, check_training, names

VOCABULARY = 128
COMMON = {"vocab_size": VOCABULARY, "bos_token_id": 0, "eos_token_id": None, "pad_token_id": 0}
SHAPE = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
}


def tokens():
    ids = torch.randint(1, VOCABULARY, (2, 24))
    mask = torch.ones_like(ids)
    mask[1, :5] = 0
    return {"input_ids": ids, "attention_mask": mask, "labels": ids.masked_fill(mask == 0, -100)}


def case(name, model, config):
    return Case(name, lambda: model(config), tokens)


def mixtral(experts):
    """A mixture of experts; the tokens go to them by a loop, in batches, or by a grouped matrix product."""
    config = transformers.MixtralConfig(**COMMON, **SHAPE, num_local_experts=4, num_experts_per_tok=2)
    config._experts_implementation = experts
    return Case(f"mixtral_{experts}", lambda: transformers.MixtralForCausalLM(config), tokens)


CASES = [
    case(
        "gpt2",
        transformers.GPT2LMHeadModel,
        transformers.GPT2Config(
            **COMMON, n_embd=64, n_layer=2, n_head=4, n_positions=64, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0
        ),
    ),
    case("llama", transformers.LlamaForCausalLM, transformers.LlamaConfig(**COMMON, **SHAPE)),
    case("qwen2", transformers.Qwen2ForCausalLM, transformers.Qwen2Config(**COMMON, **SHAPE)),
    case("qwen3", transformers.Qwen3ForCausalLM, transformers.Qwen3Config(**COMMON, **SHAPE, head_dim=16)),
    mixtral("eager"),
    mixtral("batched_mm"),
    mixtral("grouped_mm"),
    case(
        "mamba",
        transformers.MambaForCausalLM,
        transformers.MambaConfig(**COMMON, hidden_size=64, num_hidden_layers=2, state_size=8),
    ),
]


@pytest.mark.parametrize(**names(CASES))
def test_gradients(case):
    check_gradients(case)


@pytest.mark.parametrize(**names(CASES))
def test_training(case):
    check_training(case)


@pytest.mark.parametrize("cache", ["dynamic", "static"])
@pytest.mark.parametrize(**names([c for c in CASES if c.name != "mamba"]))
def test_generation(case, cache):
    check_generation(case, cache)


def test_generation_with_a_recurrent_state():
    check_generation(next(c for c in CASES if c.name == "mamba"), None)
