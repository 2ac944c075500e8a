"""resemblyzer, a pretrained speaker encoder (an LSTM of three layers): it tells synthesised voices apart as on the CPU."""

import numpy as np
import pytest
import resemblyzer
import torch
from agreement import LEAST_COSINE, cosine

RATE = resemblyzer.sampling_rate


def voice(pitch, formants, seed, seconds=2.0):
    """A buzz of `pitch` Hz with vibrato through resonances at `formants` Hz, with some breath: (samples,) of f32."""
    random = np.random.default_rng(seed)
    time = np.arange(int(RATE * seconds)) / RATE
    phase = 2 * np.pi * pitch * (time + 0.002 * np.sin(2 * np.pi * 5 * time))
    wave = 0.02 * random.standard_normal(len(time))
    for k in range(1, int(RATE / 2 / pitch)):
        gain = sum(1 / (1 + ((pitch * k - f) / 80) ** 2) for f in formants)
        wave += gain * np.sin(k * phase + random.uniform(0, 6))
    return (0.1 * wave / np.abs(wave).max()).astype(np.float32)


LOW, HIGH = (110, (500, 1500, 2500)), (220, (850, 1220, 2810))


@pytest.fixture(scope="module")
def encoders():
    return {d: resemblyzer.VoiceEncoder(device=d, verbose=False) for d in ("cpu", "neuron")}


def test_embeddings_are_the_cpu_s(encoders):
    sound = voice(*LOW, seed=0)
    embeddings = {d: torch.from_numpy(encoder.embed_utterance(sound)) for d, encoder in encoders.items()}
    assert embeddings["cpu"].norm().item() == pytest.approx(1, abs=1e-5)
    assert cosine(embeddings["neuron"], embeddings["cpu"]) >= LEAST_COSINE


def test_a_voice_is_nearest_to_itself(encoders):
    first, again, other = (encoders["neuron"].embed_utterance(voice(*kind, seed)) for kind, seed in ((LOW, 0), (LOW, 1), (HIGH, 2)))
    assert first @ again > first @ other + 0.1


def test_gradients(encoders):
    """Of all weights, through time, of the loss the encoder was trained on the shape of: similar voices, cosine 1."""
    torch.manual_seed(0)
    mels, found = torch.rand(4, 40, 40), {}
    for device, encoder in encoders.items():
        encoder.zero_grad()
        embeddings = encoder(mels.to(device))
        (embeddings @ embeddings.T).square().sum().backward()
        found[device] = {name: p.grad.cpu() for name, p in encoder.named_parameters() if p.grad is not None}
    assert found["cpu"].keys() == found["neuron"].keys() and len(found["cpu"]) == 14
    for name, gradient in found["neuron"].items():
        assert cosine(gradient, found["cpu"][name]) >= LEAST_COSINE, name
