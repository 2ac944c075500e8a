"""Encoder-decoder models: small random configurations of T5 and Whisper."""

import pytest
import torch
import transformers
from agreement import Case, check_generation, check_gradients, check_training, names

VOCABULARY = 128


def translation():
    ids = torch.randint(1, VOCABULARY, (2, 20))
    mask = torch.ones_like(ids)
    mask[1, 14:] = 0
    return {"input_ids": ids, "attention_mask": mask, "labels": torch.randint(1, VOCABULARY, (2, 10))}


def transcription():
    return {"input_features": torch.randn(2, 16, 64), "labels": torch.randint(1, VOCABULARY, (2, 10))}


def t5():
    config = transformers.T5Config(
        vocab_size=VOCABULARY,
        d_model=64,
        d_kv=16,
        d_ff=128,
        num_layers=2,
        num_heads=4,
        dropout_rate=0,
        decoder_start_token_id=0,
        eos_token_id=None,
    )
    return transformers.T5ForConditionalGeneration(config)


def whisper():
    config = transformers.WhisperConfig(
        vocab_size=VOCABULARY,
        num_mel_bins=16,
        d_model=64,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=128,
        decoder_ffn_dim=128,
        max_source_positions=32,
        max_target_positions=64,
        dropout=0,
        decoder_start_token_id=1,
        bos_token_id=1,
        pad_token_id=0,
        eos_token_id=None,
    )
    return transformers.WhisperForConditionalGeneration(config)


CASES = [Case("t5", t5, translation), Case("whisper", whisper, transcription)]


@pytest.mark.parametrize(**names(CASES))
def test_gradients(case):
    check_gradients(case)


@pytest.mark.parametrize(**names(CASES))
def test_training(case):
    check_training(case)


@pytest.mark.parametrize("cache", ["dynamic", "static"])
@pytest.mark.parametrize(**names(CASES))
def test_generation(case, cache):
    check_generation(case, cache)
