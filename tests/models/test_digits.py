"""The example that trains on real handwritten digits learns to read them."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "examples"))
import digits_cnn  # noqa: E402

LEAST_ACCURACY = 0.97


def test_accuracy():
    assert digits_cnn.train("neuron") > LEAST_ACCURACY
