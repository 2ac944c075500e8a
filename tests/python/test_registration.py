"""The table of rules and the registration in PyTorch's dispatcher agree."""

import inspect

import torch
from torch_neuronx import _C

has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key

# Rows that are no kernels of their own: copies start at `_copy_from`, and what PyTorch decomposes above autograd
# stays decomposed in eager execution.
NOT_KERNELS = {"aten::copy_"}


def test_every_row_is_an_operator_with_a_kernel():
    names = set(torch._C._dispatch_get_all_op_names())
    rows = _C.row_names()
    assert len(rows) > 100
    assert len(rows) == len(set(rows))
    unknown = [r for r in rows if r not in names]
    assert not unknown, f"rows that name no operator of this PyTorch: {unknown}"
    missing = [
        r
        for r in rows
        if not has_kernel(r, "PrivateUse1")
        and not has_kernel(r, "CompositeImplicitAutograd")
        and r not in NOT_KERNELS
    ]
    assert not missing, f"rows without a kernel: {missing}"


def test_in_place_and_out_overloads_follow_from_the_row():
    for name in (
        "aten::add.Tensor",
        "aten::add_.Tensor",
        "aten::add.out",
        "aten::mul_.Tensor",
        "aten::mm.out",
        "aten::sum.IntList_out",
        "aten::_foreach_add_.Scalar",
        "aten::index_put_",
    ):
        assert has_kernel(name, "PrivateUse1"), name


def test_view_operators_are_native():
    for name in ("view", "as_strided", "_reshape_alias", "unfold", "view_as_real", "view_as_complex"):
        assert has_kernel(f"aten::{name}", "PrivateUse1"), name


def test_operators_that_pytorch_decomposes_keep_their_autograd():
    for name in ("aten::matmul", "aten::linear", "aten::reshape"):
        assert not has_kernel(name, "PrivateUse1"), name


def test_every_function_of_the_device_module_is_documented():
    for name in torch.neuron.__all__:
        member = getattr(torch.neuron, name)
        if inspect.isroutine(member) or inspect.isclass(member):
            assert inspect.getdoc(member), f"torch.neuron.{name} has no docstring"


def test_the_device_module_has_what_pytorch_asks_of_it():
    needed = """_lazy_init init is_initialized is_available _is_in_bad_fork device_count current_device set_device
        _exchange_device _maybe_exchange_device device device_of synchronize Stream Event stream current_stream
        default_stream set_stream get_rng_state set_rng_state get_rng_state_all set_rng_state_all manual_seed
        manual_seed_all seed seed_all initial_seed default_generators get_amp_supported_dtype is_bf16_supported
        memory_allocated memory_reserved max_memory_allocated max_memory_reserved memory_stats memory_summary
        reset_peak_memory_stats empty_cache mem_get_info get_device_name get_device_properties get_device_capability
        _get_generator"""
    missing = [n for n in needed.split() if not hasattr(torch.neuron, n)]
    assert not missing


def test_flags_lists_every_variable():
    flags = torch.neuron.flags()
    assert flags["TORCH_NEURONX_FALLBACK"][0] == "error"
    assert "NEURON_RT_NUM_CORES" in flags and all(help_ for _, help_ in flags.values())


def test_executed_operators_are_counted():
    torch.neuron.reset_executed_ops()
    x = torch.ones(4, device="neuron")
    y = x + x
    assert torch.neuron.executed_ops().get("aten::add.Tensor") == 1
    assert y.tolist() == [2, 2, 2, 2]
    torch.neuron.reset_executed_ops()
    assert "aten::add.Tensor" not in torch.neuron.executed_ops()
