"""Encoders: small random configurations of BERT, ViT and CLIP."""

import pytest
import torch
import transformers
from agreement import Case, check_gradients, check_training, names

VOCABULARY = 128
SHAPE = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
NO_DROPOUT = {"hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0}


def text():
    ids = torch.randint(1, VOCABULARY, (3, 20))
    ids[:, -1] = VOCABULARY - 1
    mask = torch.ones_like(ids)
    mask[1, 12:] = 0
    return {"input_ids": ids, "attention_mask": mask}


def masked_words():
    inputs = text()
    labels = inputs["input_ids"].masked_fill(torch.rand(3, 20) > 0.3, -100)
    return inputs | {"labels": labels, "token_type_ids": torch.randint(2, (3, 20))}


def classes():
    return {"pixel_values": torch.randn(3, 3, 32, 32), "labels": torch.tensor([0, 4, 9])}


def pairs():
    return text() | {"pixel_values": torch.randn(3, 3, 32, 32), "return_loss": True}


def clip():
    config = transformers.CLIPConfig(
        text_config={"vocab_size": VOCABULARY, "max_position_embeddings": 32, "eos_token_id": VOCABULARY - 1} | SHAPE,
        vision_config={"image_size": 32, "patch_size": 8} | SHAPE,
        projection_dim=32,
    )
    return transformers.CLIPModel(config)


def bert():
    return transformers.BertForMaskedLM(transformers.BertConfig(vocab_size=VOCABULARY, **SHAPE, **NO_DROPOUT))


def vit():
    config = transformers.ViTConfig(image_size=32, patch_size=8, num_labels=10, **SHAPE, **NO_DROPOUT)
    return transformers.ViTForImageClassification(config)


CASES = [
    Case("bert", bert, masked_words),
    Case("vit", vit, classes),
    Case("clip", clip, pairs, loss=lambda out, inputs: (out.loss, out.logits_per_image)),
]


@pytest.mark.parametrize(**names(CASES))
def test_gradients(case):
    check_gradients(case)


@pytest.mark.parametrize(**names(CASES))
def test_training(case):
    check_training(case)
