"""torchcrepe, a pretrained pitch tracker: it hears the pitch of synthesised tones, and what it hears on the CPU."""

import pytest
import torch
import torchcrepe
from agreement import LEAST_COSINE, cosine

RATE = 16000
# Samples from one estimate of the pitch to the next: 10 ms.
HOP = 160
# Greatest relative error of a tone's pitch; a semitone is 6 %.
PITCH_ERROR = 0.02


def tone(pitch, seconds=0.5):
    """Four harmonics with falling amplitudes: (1, samples)."""
    time = torch.arange(int(RATE * seconds), dtype=torch.float64) / RATE
    wave = sum(torch.sin(2 * torch.pi * pitch * k * time) / k for k in range(1, 5))
    return (0.3 * wave).float().unsqueeze(0)


@pytest.fixture
def load():
    """Loads the network on a device; the package keeps the last one it used, for whatever device."""

    def load(size, device):
        torchcrepe.load.model(device, size)

    yield load
    torchcrepe.load.model("cpu", "tiny")


@pytest.mark.parametrize("size", ["tiny", pytest.param("full", marks=pytest.mark.slow)])
def test_salience_is_the_cpu_s(size, load):
    sound, found = torch.cat([tone(p) for p in (110, 330)], dim=1), {}
    for device in ("cpu", "neuron"):
        load(size, device)
        frames = next(torchcrepe.preprocess(sound, RATE, 8 * HOP, batch_size=None, device=device))
        found[device] = torchcrepe.infer(frames, size, device)
    assert found["neuron"].device.type == "neuron" and found["cpu"].shape[1] == torchcrepe.PITCH_BINS
    assert cosine(found["neuron"], found["cpu"]) >= LEAST_COSINE


@pytest.mark.parametrize("pitch", [98.0, 220.0, 440.0, 830.0])
def test_pitch_of_a_tone(pitch, load):
    load("tiny", "neuron")
    found, periodicity = torchcrepe.predict(
        tone(pitch),
        RATE,
        HOP,
        fmin=50,
        fmax=1000,
        model="tiny",
        decoder=torchcrepe.decode.weighted_argmax,
        return_periodicity=True,
        batch_size=64,
        device="neuron",
    )
    assert abs(found.median().item() / pitch - 1) < PITCH_ERROR
    assert periodicity.mean() > 0.5
