"""Row-wise functions of a 4096×1024 matrix."""

import torch
import torch.nn.functional as F

from benches.timing import Case

ROWS, COLUMNS = 4096, 1024


def over_rows(function):
    def build(device):
        generator = torch.Generator().manual_seed(0)
        x = torch.randn(ROWS, COLUMNS, generator=generator).to(device)
        w, b = (torch.randn(COLUMNS, generator=generator).to(device) for _ in range(2))
        return lambda: function(x, w, b)

    return build


BYTES = 8 * ROWS * COLUMNS
CASES = [
    Case("softmax 4096x1024", over_rows(lambda x, w, b: torch.softmax(x, -1)), 0.55, BYTES, "GB"),
    Case("layer_norm 4096x1024", over_rows(lambda x, w, b: F.layer_norm(x, (COLUMNS,), w, b)), 0.7, BYTES, "GB"),
    Case("rms_norm 4096x1024", over_rows(lambda x, w, b: F.rms_norm(x, (COLUMNS,), w)), 0.75, BYTES, "GB"),
]
