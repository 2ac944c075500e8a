"""The main job: a GPT trained on neuron follows the same losses as on the CPU."""

import json
import pathlib
import subprocess
import sys

import pytest
import torch

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
STEPS = 60
# Relative difference of the loss over the first 60 steps, f32 with equal weights and batches.
LOSS_TOLERANCE = 1e-3


def train(tmp_path, device, *options, steps=STEPS):
    out = tmp_path / f"{device}{len(options)}.json"
    command = [sys.executable, EXAMPLES / "train_gpt.py", "--device", device, "--steps", str(steps)]
    command += ["--losses", out, "--sample", "8", *options]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(out.read_text()), done.stdout


@pytest.fixture(scope="module")
def cpu(tmp_path_factory):
    return train(tmp_path_factory.mktemp("cpu"), "cpu", "--small")[0]


def test_losses_equal_the_cpu(tmp_path, cpu):
    losses, text = train(tmp_path, "neuron", "--small")
    worst = max(abs(a - b) / b for a, b in zip(losses, cpu, strict=True))
    assert worst < LOSS_TOLERANCE, f"relative difference {worst:.2e}"
    assert losses[-1] < 0.8 * losses[0]
    assert "fell back to the CPU: none" in text


def test_bf16_autocast_converges_alike(tmp_path, cpu):
    losses, text = train(tmp_path, "neuron", "--small", "--amp")
    tail = slice(-10, None)
    mean = lambda xs: sum(xs[tail]) / 10
    assert mean(losses) == pytest.approx(mean(cpu), rel=0.03)
    assert "fell back to the CPU: none" in text


def test_training_with_dropout_needs_no_fallback(tmp_path):
    losses, text = train(tmp_path, "neuron", "--small", "--dropout", "0.1")
    assert losses[-1] < 0.85 * losses[0]
    assert "fell back to the CPU: none" in text


def test_a_killed_run_does_not_hurt_the_next(tmp_path):
    command = [sys.executable, str(EXAMPLES / "train_gpt.py"), "--small", "--steps", "100000"]
    victim = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    seen = ""
    while "loss" not in seen:
        seen += victim.stdout.read(64)
    victim.kill()
    victim.wait()
    losses, _ = train(tmp_path, "neuron", "--small", steps=3)
    assert len(losses) == 3 and all(torch.isfinite(torch.tensor(losses)))
