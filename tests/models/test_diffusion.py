"""Denoisers of diffusers with random weights: an unconditional and a text-conditioned UNet."""

import diffusers
import pytest
import torch
from agreement import Case, check_gradients, check_training, names


def unet():
    return diffusers.UNet2DModel(
        sample_size=16,
        in_channels=3,
        out_channels=3,
        layers_per_block=1,
        block_out_channels=(32, 64),
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
        norm_num_groups=8,
    )


def conditioned():
    return diffusers.UNet2DConditionModel(
        sample_size=16,
        layers_per_block=1,
        block_out_channels=(32, 64),
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=32,
        attention_head_dim=8,
        norm_num_groups=8,
    )


def noisy():
    return {"sample": torch.randn(2, 3, 16, 16), "timestep": torch.tensor([3, 700])}


def prompted():
    return {
        "sample": torch.randn(2, 4, 16, 16),
        "timestep": torch.tensor([3, 700]),
        "encoder_hidden_states": torch.randn(2, 7, 32),
    }


def loss(out, inputs):
    return (out.sample - inputs["sample"]).square().mean(), out.sample


CASES = [Case("unet", unet, noisy, loss), Case("conditioned", conditioned, prompted, loss)]


@pytest.mark.parametrize(**names(CASES))
def test_gradients(case):
    check_gradients(case)


@pytest.mark.parametrize(**names(CASES))
def test_training(case):
    check_training(case)
