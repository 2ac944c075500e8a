"""facenet-pytorch's pretrained MTCNN, three networks in a cascade, finds the face in a photograph."""

import facenet_pytorch
import numpy as np
import PIL.Image
import pytest
import skimage.data
import torch
import torchvision
from sklearn.datasets import load_sample_images

# Pixels that a corner or landmark may be off.
PIXELS = 0.05


@pytest.fixture(scope="module")
def detectors():
    return {d: facenet_pytorch.MTCNN(keep_all=True, device=d) for d in ("cpu", "neuron")}


def test_boxes_and_landmarks_are_the_cpu_s(detectors):
    image, found = PIL.Image.fromarray(skimage.data.astronaut()), {}
    for device, detector in detectors.items():
        boxes, probabilities, landmarks = detector.detect(image, landmarks=True)
        found[device] = [np.asarray(part, dtype=np.float64) for part in (boxes, probabilities, landmarks)]
    (boxes, probabilities, landmarks), expected = found["neuron"], found["cpu"]
    assert boxes.shape == (1, 4) and landmarks.shape == (1, 5, 2)
    np.testing.assert_allclose(boxes, expected[0], atol=PIXELS, rtol=0)
    np.testing.assert_allclose(probabilities, expected[1], atol=1e-4, rtol=0)
    np.testing.assert_allclose(landmarks, expected[2], atol=PIXELS, rtol=0)


@pytest.mark.parametrize("index", [0, 1])
def test_no_face_where_there_is_none(detectors, index):
    """A temple and a flower."""
    boxes, _ = detectors["neuron"].detect(PIL.Image.fromarray(load_sample_images().images[index]))
    assert boxes is None


@pytest.mark.parametrize("count", [0, 1, 7, 400])
@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_suppression(count, threshold, dtype):
    torch.manual_seed(count)
    corners = torch.rand(count, 2, dtype=dtype) * 50
    boxes = torch.cat([corners, corners + torch.rand(count, 2, dtype=dtype) * 30], dim=1)
    # Rounded, so that some are equal.
    scores = (torch.rand(count, dtype=dtype) * 100).round()
    expected = torchvision.ops.nms(boxes, scores, threshold)
    found = torchvision.ops.nms(boxes.to("neuron"), scores.to("neuron"), threshold)
    assert found.dtype == torch.int64 and found.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("boxes", "scores"), [((4,), (1,)), ((3, 5), (3,)), ((3, 4), (3, 1)), ((3, 4), (2,))], ids=["1d", "5", "2d", "count"]
)
def test_suppression_refuses_wrong_sizes(boxes, scores):
    messages = []
    for device in ("cpu", "neuron"):
        with pytest.raises(RuntimeError) as e:
            torchvision.ops.nms(torch.rand(boxes, device=device), torch.rand(scores, device=device), 0.5)
        messages.append(str(e.value).splitlines()[0].strip())
    # The CPU names its source line first.
    assert messages[0].endswith(messages[1])
