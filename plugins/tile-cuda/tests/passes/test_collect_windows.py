"""collect_windows: the first tensor that a kernel annotates gets the L2 access policy window of its launch."""

from __future__ import annotations

import pytest
from tile_cuda.lowering.state import L2Windows

import tilecore.language as T
from tilecore.testing.kernel_text import text

from .kernels import scaled
from .one_pass import around_pass, notes

PASS = "collect_windows"
n = T.dynamic("n")


def annotated(dtype="float16", second=False):
    @T.prim_func
    def kernel(X: T.Tensor((16, 32), dtype), Y: T.Tensor((16, 32), dtype)):
        with T.Kernel(1, threads=32):
            T.annotate_l2_hit_ratio({Y: 0.5, X: 0.25} if second else {Y: 0.5})
            T.copy(X, Y)

    return kernel


@pytest.mark.parametrize(("dtype", "size"), [("float16", 1024), ("float32", 2048), ("int8", 512), ("int4", 256)])
def test_a_window_has_the_tensor_its_bytes_and_the_ratio(dtype, size):
    before, after, env = around_pass(annotated(dtype), PASS)
    assert env.state(L2Windows).by_kernel == {0: ("Y", size, 0.5)}
    assert [row["text"] for row in notes(env)] == ["0.5 of the accesses to Y stay in L2"]
    assert text(before) == text(after)


def test_a_launch_has_one_window():
    _, _, env = around_pass(annotated(second=True), PASS)
    assert env.state(L2Windows).by_kernel == {0: ("Y", 1024, 0.5)}
    assert notes(env)[1]["text"] == ("not 0.25 of the accesses to X stay in L2: a launch has one window, which Y has")


def test_windows_are_listed_by_the_number_of_their_kernel():
    @T.prim_func
    def kernels(X: T.Tensor((64,), "float32"), Y: T.Tensor((n,), "float32")):
        with T.Kernel(1, threads=32):
            X[0] = 1.0
        with T.Kernel(1, threads=32):
            T.annotate_l2_hit_ratio({Y: 1})
            X[1] = Y[0]

    _, _, env = around_pass(kernels, PASS)
    ((number, (name, size, ratio)),) = env.state(L2Windows).by_kernel.items()
    assert (number, name, ratio) == (1, "Y", 1.0)
    assert "n" in str(size), "the bytes depend on the call"


def test_memory_of_the_kernel_has_no_window():
    @T.prim_func
    def kernel(X: T.Tensor((64,), "float32")):
        scratch = T.alloc_global((64,), "float32")
        with T.Kernel(1, threads=32):
            T.annotate_l2_hit_ratio({scratch: 0.5})
            scratch[0] = X[0]
            X[1] = scratch[0]

    _, _, env = around_pass(kernel, PASS)
    assert env.state(L2Windows).by_kernel == {}
    assert notes(env)[0]["text"].endswith("stay in L2: the window must be a parameter")


def test_architectures_without_windows():
    _, _, env = around_pass(annotated(), PASS, "cuda -arch=sm_75")
    assert env.state(L2Windows).by_kernel == {}
    assert notes(env)[0]["text"].endswith("sm_75 has no L2 access policy windows")


def test_kernels_without_annotations_have_none():
    _, _, env = around_pass(scaled, PASS)
    assert (env.state(L2Windows).by_kernel, notes(env)) == ({}, [])
