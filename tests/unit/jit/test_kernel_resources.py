"""kernel.n_regs and its siblings: what the backend reads from the binary, and None where it reads nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

import tilecore
import tilecore.language as T

REGISTERS_AND_STACK = {"registers": 40, "stack_bytes": 24}
SPILLED = {"vgprs": 128, "spilled_vgprs": 3, "scratch_bytes": 8, "threads_at_most": 256}


def compiled():
    @T.prim_func
    def kernel(A: T.Tensor((4,), "float32")):
        with T.Kernel(1):
            A[0] = 1

    return tilecore.compile(kernel, target="cpu")


def described(figures_of):
    """A kernel whose backend says this of its functions, by the name of the kernel's own."""
    kernel = compiled()
    tools = replace(kernel.backend.toolchain, describe=lambda binary: figures_of(kernel.artifact.entries[0].symbol))
    kernel.backend = replace(kernel.backend, toolchain=tools)
    return kernel


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        (REGISTERS_AND_STACK, (40, 6, None)),
        (SPILLED, (128, 5, 256)),
        ({"registers": 7}, (7, None, None)),
        ({"instructions": 7}, (None, None, None)),
    ],
)
def test_the_kernels_own_function_is_told_of(figures, expected):
    kernel = described(lambda symbol: {"other": {"registers": 1}, symbol: figures})
    assert (kernel.n_regs, kernel.n_spills, kernel.n_max_threads) == expected
    assert set(kernel.resource_usage) == {"other", kernel.artifact.entries[0].symbol}
    assert kernel.resource_usage["other"].n_regs == 1


def test_a_function_of_another_name_is_told_of_where_it_is_the_only_one():
    assert described(lambda symbol: {f"{symbol}_on_device": REGISTERS_AND_STACK}).n_regs == 40


def test_where_the_backend_knows_nothing():
    kernel = compiled()
    assert kernel.resource_usage == {}
    assert (kernel.n_regs, kernel.n_spills, kernel.n_max_threads) == (None, None, None)
