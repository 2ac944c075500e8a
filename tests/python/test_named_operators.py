"""Operators that no OpInfo calls, or not with all their arguments, against the CPU by their ATen names."""

import pytest
import torch
import torch.nn.functional as F
from torch.utils._pytree import tree_flatten, tree_map

aten = torch.ops.aten
FLOATS = (torch.float32, torch.float64)


def moved(value):
    return tree_map(lambda x: x.detach().to("neuron") if isinstance(x, torch.Tensor) else x, value)


def copied(value):
    return tree_map(lambda x: x.detach().clone() if isinstance(x, torch.Tensor) else x, value)


def same(op, *args, tolerance=None, **kwargs):
    """Runs the operator on both devices: equal results and equal arguments afterwards, or errors of one type."""
    here, there = copied((args, kwargs)), moved((args, kwargs))
    try:
        want = op(*here[0], **here[1])
    except Exception as expected:
        with pytest.raises(type(expected)):
            op(*there[0], **there[1])
            torch.neuron.synchronize()
        return None
    got = op(*there[0], **there[1])
    for g, w in zip(tree_flatten((got, there))[0], tree_flatten((want, here))[0], strict=True):
        if isinstance(w, torch.Tensor):
            torch.testing.assert_close(g.cpu(), w, equal_nan=True, **(tolerance or {}))
    return want


def randn(*sizes, dtype=torch.float32, seed=0):
    return torch.randn(sizes, generator=torch.Generator().manual_seed(seed)).to(dtype)


def log_probabilities(dtype):
    return randn(6, 2, 5, dtype=dtype).log_softmax(-1)


TARGETS = torch.tensor([[1, 2, 2], [3, 4, 1]])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("zero_infinity", [False, True])
@pytest.mark.parametrize(
    "targets,inputs,lengths",
    [
        (TARGETS, [6, 6], [3, 2]),
        (torch.tensor([1, 2, 2, 3, 4]), [6, 5], [3, 2]),
        (TARGETS, [6, 0], [3, 0]),
        (TARGETS, [3, 2], [3, 2]),
        (TARGETS, [0, 0], [1, 0]),
        (TARGETS.int(), [6, 6], [3, 2]),
    ],
)
def test_ctc_loss(dtype, zero_infinity, targets, inputs, lengths):
    x = log_probabilities(dtype)
    for lists in ((inputs, lengths), (torch.tensor(inputs), torch.tensor(lengths))):
        # Beyond the states that a sequence reaches, the CPU leaves alpha unset.
        loss = same(lambda *a: aten._ctc_loss(*a)[0], x, targets, *lists, 0, zero_infinity)
        alpha = aten._ctc_loss(x, targets, *lists, 0, zero_infinity)[1]
        dy = torch.tensor([1.0, 2.0], dtype=dtype)
        same(aten._ctc_loss_backward, dy, x, targets, *lists, loss, alpha, 0, zero_infinity)


@pytest.mark.parametrize(
    "targets,inputs,lengths,blank",
    [
        (TARGETS, [7, 6], [3, 2], 0),
        (TARGETS, [6, 6], [4, 2], 0),
        (TARGETS, [6, 6], [3, 2], 9),
        (TARGETS.float(), [6, 6], [3, 2], 0),
        (TARGETS, [6], [3, 2], 0),
    ],
)
def test_ctc_loss_refuses(targets, inputs, lengths, blank):
    x = log_probabilities(torch.float32)
    assert same(aten._ctc_loss, x, targets, inputs, lengths, blank, False) is None


def test_ctc_loss_of_a_long_sequence_is_one_step():
    x = randn(4000, 2, 20).log_softmax(-1)
    targets = torch.randint(1, 20, (2, 400))
    same(lambda *a: aten._ctc_loss(*a)[0], x, targets, [4000, 3000], [400, 350], 0, False, tolerance={"rtol": 1e-5, "atol": 1e-3})


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min", "prod"])
@pytest.mark.parametrize("initial", [None, 2.5, 0])
@pytest.mark.parametrize(
    "sizes,where",
    [
        ((10,), {"lengths": torch.tensor([3, 0, 5, 2])}),
        ((10, 3), {"lengths": torch.tensor([3, 0, 5, 2], dtype=torch.int32)}),
        ((2, 6, 3), {"lengths": torch.tensor([[3, 0, 3], [1, 2, 3]]), "axis": 1}),
        ((10, 2), {"offsets": torch.tensor([0, 3, 3, 8, 10])}),
        ((10,), {"lengths": torch.tensor([3, 5])}),
        ((10,), {"lengths": torch.tensor([3, -1, 8])}),
    ],
)
def test_segment_reduce(dtype, reduce, initial, sizes, where):
    x = randn(*sizes, dtype=dtype)
    x.view(-1)[4] = 0
    y = same(aten.segment_reduce, x, reduce, initial=initial, **where)
    if y is not None:
        dy = randn(*y.shape, dtype=dtype, seed=1)
        same(aten._segment_reduce_backward, dy, y, x, reduce, initial=initial, **where)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("density", [False, True])
def test_histograms(dtype, weighted, density):
    x, y = randn(20, dtype=dtype), randn(20, 2, dtype=dtype)
    options = {"weight": randn(20, dtype=dtype, seed=1).abs() if weighted else None, "density": density}
    edges = torch.tensor([-2.0, -1.0, 0.0, 0.3, 4.0], dtype=dtype)
    same(torch.histogram, x, 7, **options)
    same(torch.histogram, x, 7, range=[-1.0, 1.0], **options)
    same(torch.histogram, x, edges, **options)
    for bins in (3, [3, 4], [edges, edges[:3]]):
        same(torch.histogramdd, y, bins, **options)
    same(torch.histogramdd, y, [3, 4], range=[-1.0, 1.0, -0.5, 2.0], **options)


@pytest.mark.parametrize("x", [randn(0), torch.ones(4), torch.tensor([1.0, 2.0, 2.0, 3.0])])
def test_histogram_of_little(x):
    same(torch.histogram, x, 5)


@pytest.mark.parametrize(
    "bins,options", [(0, {}), (7, {"range": [1.0, -1.0]}), (7, {"range": [1.0, float("inf")]}), (7, {"weight": randn(3)})]
)
def test_histogram_refuses(bins, options):
    assert same(torch.histogram, randn(20), bins, **options) is None


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize(
    "x,target",
    [
        (randn(3, 5), torch.tensor([[1, 2, -1, 0, 0], [0, 1, 2, 3, 4], [-1, 1, 1, 1, 1]])),
        (randn(5), torch.tensor([1, 1, -1, 0, 0])),
        (randn(), torch.tensor(0)),
        (randn(3, 0), torch.zeros(3, 0, dtype=torch.int64)),
    ],
)
def test_multilabel_margin_loss(reduction, x, target):
    results = same(aten.multilabel_margin_loss_forward, x, target, reduction)
    if results is not None:
        loss, is_target = results
        same(aten.multilabel_margin_loss_backward, randn(*loss.shape, seed=1), x, target, reduction, is_target)


@pytest.mark.parametrize("dtype", (*FLOATS, torch.bfloat16))
@pytest.mark.parametrize(
    "sizes,window,output",
    [((2, 3, 9, 11), (2, 3), (4, 5)), ((3, 9, 11), (3, 2), (1, 6)), ((2, 3, 7, 8, 9), (2, 2, 3), (3, 4, 2)), ((3, 7, 8, 9), 2, (3, 1, 5))],
)
def test_fractional_max_pool(dtype, sizes, window, output):
    pool = F.fractional_max_pool2d if len(output) == 2 else F.fractional_max_pool3d
    x = randn(*sizes, dtype=dtype)
    samples = torch.rand(2, 3, len(output), generator=torch.Generator().manual_seed(2)).to(dtype)

    def forward(x, samples):
        x = x.detach().requires_grad_()
        y, at = pool(x, window, output, _random_samples=samples, return_indices=True)
        # Ones, so that sums of gradients are exact in every type.
        return y.detach(), at, torch.autograd.grad(y, x, torch.ones_like(y))[0]

    same(forward, x, samples, tolerance={"rtol": 0, "atol": 0})


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float("inf")])
@pytest.mark.parametrize("sizes", [(5, 4), (1, 3), (0, 3), (4, 0)])
def test_pdist(p, sizes):
    x = randn(*sizes)
    d = same(aten._pdist_forward, x, p)
    # Without a pair the CPU's gradient reads memory it does not have.
    if x.numel() > 0 and d.numel() > 0:
        same(aten._pdist_backward, randn(*d.shape, seed=1), x, p, d)


@pytest.mark.parametrize("dtype", (*FLOATS, torch.bfloat16, torch.float16))
@pytest.mark.parametrize("sizes,dim", [((3, 4), 0), ((3, 4), 1), ((2, 3, 4), 0), ((2, 3, 4), 2), ((2, 3, 4), 1)])
def test_weight_norm(dtype, sizes, dim):
    v = randn(*sizes, dtype=dtype)
    g = randn(*(n if d == dim else 1 for d, n in enumerate(sizes)), dtype=dtype, seed=1)
    results = same(aten._weight_norm_interface, v, g, dim)
    if results is not None:
        same(aten._weight_norm_interface_backward, randn(*sizes, dtype=dtype, seed=2), v, g, results[1], dim)


X2, W2, B = randn(2, 3, 7, 6), randn(4, 3, 3, 2, seed=1), randn(4, seed=2)
X3, W3 = randn(2, 3, 5, 6, 4), randn(4, 3, 3, 2, 2, seed=1)
T3 = randn(3, 4, 3, 2, 1)


@pytest.mark.parametrize(
    "op,args",
    [
        (aten._slow_conv2d_forward, (X2, W2, [3, 2], B, [2, 1], [1, 0])),
        (aten._slow_conv2d_forward, (X2, W2, [3, 2], None, [2, 1], [1, 0])),
        (aten._slow_conv2d_forward, (X2[:, :2], W2, [3, 2], B, [2, 1], [1, 0])),
        (aten.slow_conv3d_forward, (X3, W3, [3, 2, 2], B, [2, 1, 1], [1, 0, 1])),
        (aten.slow_conv3d, (X3, W3, [3, 2, 2], B, [2, 1, 1], [1, 0, 1])),
        (aten.slow_conv_dilated2d, (X2, W2, [3, 2], B, [2, 1], [1, 0], [2, 3])),
        (aten.slow_conv_dilated2d, (X2[0], W2, [3, 2], B, [2, 1], [1, 0], [2, 3])),
        (aten.slow_conv_dilated3d, (X3, W3, [3, 2, 2], B, [2, 1, 1], [1, 0, 1], [2, 1, 1])),
        (aten.slow_conv_transpose2d, (X2, W2.transpose(0, 1), [3, 2], B, [2, 1], [1, 0], [1, 0], [1, 1])),
        (aten.slow_conv_transpose3d, (X3, T3, [3, 2, 1], B, [2, 1, 1], [1, 0, 0], [1, 0, 0], [1, 1, 1])),
    ],
)
def test_slow_convolutions(op, args):
    same(op, *args, tolerance={"rtol": 1e-4, "atol": 1e-5})


@pytest.mark.parametrize("mask", [[True] * 3, [True, False, True], [False, True, False]])
def test_slow_convolution_gradients(mask):
    dy = randn(2, 4, 4, 5, seed=3)
    tolerance = {"rtol": 1e-4, "atol": 1e-5}
    same(aten._slow_conv2d_backward.output_mask, dy, X2, W2, [3, 2], [2, 1], [1, 0], mask, tolerance=tolerance)


@pytest.mark.parametrize("dtype", FLOATS)
def test_masked_softmax(dtype):
    x = randn(2, 2, 4, 4, dtype=dtype)
    padding = torch.tensor([[False, True, False, False], [True] * 4])
    square = torch.zeros(4, 4, dtype=torch.bool)
    square[0, :3] = True
    full = square.expand(2, 2, 4, 4).contiguous()
    for mask, dim, kind in ((padding, 3, 1), (square, 3, 0), (full, 2, None), (padding, 2, 1), (square, 2, 1), (square, 2, None)):
        same(aten._masked_softmax, x, mask, dim, kind)
    same(aten._masked_softmax, x, square.to(dtype), 2, 0)
    y = aten._masked_softmax(x, square, 3, 0)
    same(aten._masked_softmax_backward, randn(2, 2, 4, 4, dtype=dtype, seed=1), y, full, 3)


@pytest.mark.parametrize("dtype", (*FLOATS, torch.bfloat16))
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_attention_by_the_cpus_name(dtype, causal, masked):
    tolerance = {"rtol": 3e-2, "atol": 3e-2} if dtype == torch.bfloat16 else {"rtol": 1e-4, "atol": 1e-5}
    q, k, v = (randn(2, 3, n, 8, dtype=dtype, seed=s) for s, n in enumerate((5, 7, 7)))
    options = {"attn_mask": randn(5, 7, dtype=dtype, seed=3) if masked else None, "scale": 0.3}
    op = aten._scaled_dot_product_flash_attention_for_cpu
    y, sums = same(op, q, k, v, 0.0, causal, tolerance=tolerance, **options)
    grad = aten._scaled_dot_product_flash_attention_for_cpu_backward
    same(grad, randn(2, 3, 5, 8, dtype=dtype, seed=4), q, k, v, y, sums, 0.0, causal, tolerance=tolerance, **options)
    same(aten._transform_bias_rescale_qkv, randn(2, 3, 12, dtype=dtype), randn(12, dtype=dtype, seed=1), 2)
    same(aten._transform_bias_rescale_qkv, randn(2, 3, 12, dtype=dtype), randn(12, dtype=dtype, seed=1), 5)


def test_resampling_by_sinc():
    same(aten._upsample_lanczos2d_aa, randn(1, 2, 9, 8), [4, 11], False, None, None)
    same(aten._upsample_lanczos2d_aa_backward, randn(1, 2, 4, 11), [4, 11], [1, 2, 9, 8], False, None, None)


@pytest.mark.parametrize("mode,align", [("bilinear", False), ("bilinear", True), ("bicubic", False), ("bicubic", True)])
@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("channels", [1, 3, 6])
def test_images_of_bytes_are_resized_exactly(mode, align, antialias, channels):
    x = torch.randint(0, 256, (2, channels, 13, 17), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    for size in ((7, 29), (20, 5)):
        same(F.interpolate, x, size=size, mode=mode, align_corners=align, antialias=antialias)


def test_statistics_without_a_kernel_for_the_data():
    x = randn(3, 2, 4)
    same(aten.batch_norm_update_stats, x, randn(2), randn(2).abs(), 0.3)
    outs = {"out": torch.empty(0), "save_mean": torch.empty(0), "save_invstd": torch.empty(0)}
    weights = (randn(2), randn(2, seed=1), randn(2, seed=2), randn(2, seed=3).abs())
    same(aten._native_batch_norm_legit.out, x, *weights, True, 0.3, 1e-5, **outs)
    same(aten._batch_norm_with_update.out, x, *weights, 0.3, 1e-5, **outs, reserve=torch.empty(0, dtype=torch.uint8))


def test_pooling_into_given_tensors():
    empty = torch.empty(0)
    same(aten.adaptive_avg_pool2d.out, randn(2, 3, 7, 5), [3, 2], out=empty)
    same(aten.adaptive_avg_pool3d.out, randn(2, 3, 7, 5, 4), [3, 2, 2], out=empty)
    same(aten.adaptive_avg_pool3d_backward.grad_input, randn(2, 3, 3, 2, 2), randn(2, 3, 7, 5, 4), grad_input=empty)


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize(
    "op",
    [
        lambda x: F.conv2d(x, W4, padding=1),
        lambda x: F.conv_transpose2d(x, W4, padding=1),
        lambda x: F.pad(x, [1, 2, 1, 2], mode="reflect"),
        lambda x: F.pad(x, [1, 2, 1, 2], mode="replicate"),
        lambda x: F.channel_shuffle(x, 2),
        lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2),
        lambda x: F.pixel_unshuffle(x, 2),
    ],
    ids=["convolution", "transposed", "reflect", "replicate", "shuffle", "unpool", "unshuffle"],
)
def test_results_keep_the_order_of_their_operand(layout, op):
    global W4
    orders = []
    for device in ("cpu", "neuron"):
        W4 = randn(4, 4, 3, 3, seed=1).to(device).requires_grad_()
        x = randn(2, 4, 6, 8).to(device).contiguous(memory_format=layout).requires_grad_()
        y = op(x)
        grads = torch.autograd.grad(y, [x, W4], torch.ones_like(y), allow_unused=True)
        orders.append([t.stride() for t in (y, *grads) if t is not None])
    assert orders[1] == orders[0]


@pytest.mark.parametrize("dtype", [torch.bool, torch.int64])
def test_lists_refuse_what_the_cpu_refuses(dtype):
    x, y = [torch.ones(3, dtype=dtype)], [torch.ones(3, dtype=torch.bool)]
    same(torch._foreach_sub, x, y)
    same(torch._foreach_lerp, x, x, 0.5)
    same(torch._foreach_mul_, y, 2)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("lengths", [(6, 4, 2), (6, 6, 6), (3, 2, 1)])
def test_encoders_pack_padded_batches(activation, lengths):
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, activation=activation)
    encoder = torch.nn.TransformerEncoder(layer, 2).eval()
    padding = torch.arange(6) >= torch.tensor(lengths)[:, None]
    x = randn(3, 6, 16)
    with torch.no_grad():
        want = encoder(x, src_key_padding_mask=padding)
        got = encoder.to("neuron")(x.to("neuron"), src_key_padding_mask=padding.to("neuron"))
    torch.testing.assert_close(got.cpu(), want, rtol=1e-4, atol=1e-5)
    assert (got.cpu()[padding] == 0).all()


@pytest.mark.parametrize("sizes", [(7,), (7, 2), (7, 2, 3)])
@pytest.mark.parametrize("longest", [2, 4, 5])
def test_jagged_rows(sizes, longest):
    offsets = torch.tensor([0, 3, 3, 7])
    dense = same(aten._jagged_to_padded_dense_forward, randn(*sizes), [offsets], [longest], -1.0)
    if longest >= 4:
        same(aten._padded_dense_to_jagged_forward, dense, [offsets], 7)
    same(aten._jagged_to_padded_dense_forward, randn(*sizes), [offsets, offsets], [longest, longest])
