"""Bad input: a clear exception of PyTorch's type, and the device stays usable."""

import pytest
import torch
import torch.nn.functional as F

DEV = "neuron"


@pytest.fixture(autouse=True)
def _usable_afterwards():
    yield
    try:
        torch.neuron.synchronize()
    except IndexError:
        pass
    assert (torch.ones(3, device=DEV) + 1).tolist() == [2, 2, 2]


def raises_like_cpu(call, *arguments, same_message=True):
    """The call raises on the device what it raises on the CPU: same type, same message."""

    def attempt(device):
        moved = [a.to(device) if isinstance(a, torch.Tensor) else a for a in arguments]
        try:
            call(*moved)
        except Exception as e:
            return type(e), str(e).split("\n")[0].replace(device, "DEVICE")
        return None

    cpu, device = attempt("cpu"), attempt(DEV)
    assert cpu is not None, "the CPU accepts this"
    assert device is not None, f"accepted, but the CPU raises {cpu}"
    assert device[0] == cpu[0] and (device[1] == cpu[1] or not same_message)


def test_shape_mismatch():
    raises_like_cpu(torch.add, torch.ones(2, 3), torch.ones(2, 4))
    raises_like_cpu(torch.mm, torch.ones(2, 3), torch.ones(2, 3))
    raises_like_cpu(lambda a, b: a.copy_(b), torch.ones(2, 3), torch.ones(2, 4))


def test_in_place_results_must_fit():
    raises_like_cpu(lambda a, b: a.add_(b), torch.ones(3), torch.ones(2, 3))
    raises_like_cpu(lambda a: a.add_(1.5), torch.ones(3, dtype=torch.int64))
    raises_like_cpu(lambda a: a.expand(2, 3).add_(1), torch.ones(3))


def test_operators_that_do_not_exist_for_a_dtype():
    # The messages name kernels of the CPU. With a fallback allowed it is the CPU that raises them.
    bools = torch.ones(2, dtype=torch.bool)
    raises_like_cpu(torch.bitwise_and, torch.ones(2), torch.ones(2), same_message=False)
    raises_like_cpu(torch.bitwise_not, torch.ones(2), same_message=False)
    raises_like_cpu(torch.neg, bools, same_message=False)
    raises_like_cpu(torch.sub, bools, bools, same_message=False)
    raises_like_cpu(torch.mm, bools[:, None], bools[None], same_message=False)


def test_matrix_products_of_mixed_dtypes():
    a, b = torch.ones(2, 2), torch.ones(2, 2, dtype=torch.float64)
    raises_like_cpu(torch.mm, a, b)
    raises_like_cpu(torch.mm, a.int(), a.long())
    raises_like_cpu(torch.mm, a.bfloat16(), a)
    raises_like_cpu(torch.bmm, a[None], b[None])
    raises_like_cpu(torch.mv, a, b[0])
    raises_like_cpu(torch.addmm, a, a, b)
    raises_like_cpu(torch.baddbmm, a[None], a[None], b[None])
    raises_like_cpu(torch.addbmm, a, a[None], b[None])
    raises_like_cpu(torch.addbmm, b, a[None], a[None])
    raises_like_cpu(F.linear, a, b)


def test_partial_overlap_of_operands():
    raises_like_cpu(lambda x: x[1:].add_(x[:-1]), torch.ones(5))
    raises_like_cpu(lambda x: x[1:].add_(x[:-1], alpha=2), torch.ones(5))
    raises_like_cpu(lambda x: x[1:].mul_(x[:-1]), torch.ones(5))
    raises_like_cpu(lambda x: torch.neg(x[:-1], out=x[1:]), torch.ones(5))
    raises_like_cpu(lambda x: torch.addcmul(x[:-1], x[:-1], x[:-1], out=x[1:]), torch.ones(5))
    raises_like_cpu(lambda x: x[1:].copy_(x[:-1]), torch.ones(5))
    raises_like_cpu(lambda x: x.add_(x.t()), torch.ones(3, 3))
    raises_like_cpu(lambda x: x.expand(4, 5).copy_(x), torch.ones(5))


def test_full_overlap_of_operands_is_fine():
    x = torch.arange(6.0, device=DEV).view(2, 3)
    assert x.add_(x).tolist() == [[0, 2, 4], [6, 8, 10]]
    assert x.t().mul_(x.t()).tolist() == [[0, 36], [4, 64], [16, 100]]
    assert torch.sqrt(x, out=x).tolist() == [[0, 2, 4], [6, 8, 10]]


def test_wrong_dims():
    raises_like_cpu(lambda x: x.sum(dim=5), torch.ones(2))
    raises_like_cpu(lambda x: x.transpose(0, 3), torch.ones(2, 2))
    raises_like_cpu(lambda x: F.softmax(x, 4), torch.ones(2))
    raises_like_cpu(lambda x: x.view(3), torch.ones(4))
    raises_like_cpu(lambda x: x[7], torch.ones(4))


def test_item_of_many_elements():
    raises_like_cpu(lambda x: x.item(), torch.ones(2))


@pytest.mark.parametrize("index", [4, -5, 1 << 40])
def test_an_index_out_of_range_raises_at_the_next_synchronisation(index):
    x = torch.arange(4.0, device=DEV)
    i = torch.tensor([0, index], device=DEV)
    with pytest.raises(IndexError, match=f"index {index} is out of bounds for dimension 0 with size 4"):
        x[i].cpu()
    assert x.tolist() == [0, 1, 2, 3]


def test_embedding_with_an_index_out_of_range():
    table = torch.ones(3, 2, device=DEV)
    with pytest.raises(IndexError, match="out of bounds"):
        F.embedding(torch.tensor([7], device=DEV), table)
        torch.neuron.synchronize()


def test_a_target_out_of_range():
    with pytest.raises(IndexError, match="out of bounds"):
        F.cross_entropy(torch.zeros(2, 3, device=DEV), torch.tensor([0, 9], device=DEV)).item()


def test_a_scatter_out_of_range_writes_nothing_outside():
    guard = torch.zeros(1024, device=DEV)
    x = torch.zeros(4, device=DEV)
    with pytest.raises(RuntimeError, match="out of bounds"):
        x.scatter_(0, torch.tensor([100], device=DEV), torch.ones(1, device=DEV))
        torch.neuron.synchronize()
    assert guard.abs().sum().item() == 0


def test_the_fault_names_the_python_line(run_python):
    code = """
import torch
def culprit():
    return torch.arange(4., device="neuron")[torch.tensor([9], device="neuron")]
y = culprit()
try:
    torch.neuron.synchronize()
except IndexError as e:
    print(e)
print((torch.ones(2, device="neuron") + 1).tolist())
"""
    out = run_python(code, TORCH_NEURONX_ENABLE_STACK_TRACE="1").stdout
    assert "culprit" in out and "index 9 is out of bounds" in out and out.strip().endswith("[2.0, 2.0]")


def test_blocking_launches_raise_at_the_call(run_python):
    code = """
import torch
x, i = torch.arange(4., device="neuron"), torch.tensor([9], device="neuron")
try:
    x[i]
    print("late")
except IndexError:
    print("at the call")
"""
    assert run_python(code, NEURON_LAUNCH_BLOCKING="1").stdout.strip() == "at the call"


def test_layouts_and_pinning_that_do_not_exist():
    with pytest.raises(NotImplementedError, match="strided|Sparse|sparse"):
        torch.empty(2, 2, device=DEV, layout=torch.sparse_coo)
    with pytest.raises(RuntimeError, match="Only dense CPU tensors can be pinned"):
        torch.empty(2, device=DEV, pin_memory=True)


def test_overlapping_views_out_of_storage():
    raises_like_cpu(lambda x: x.as_strided((10,), (1,), 0), torch.ones(4))
    raises_like_cpu(lambda x: x.as_strided((2,), (-1,), 0), torch.ones(4))
