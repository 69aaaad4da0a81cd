"""Wrong uses of the explicit forms: the errors say what is wrong, where, and what to write instead."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from expert_kernels import TARGET, by_roles

import tilecore
import tilecore.language as T
from tilecore.errors import LanguageError, TilecoreError, UnsupportedError

pytestmark = pytest.mark.usefixtures("installed")
HERE = Path(__file__)


def refused(func, target=TARGET) -> TilecoreError:
    """The error of building or compiling; it is at the line that ends with "# here"."""
    with pytest.raises(TilecoreError) as caught:
        tilecore.compile(func() if not hasattr(func, "ir") else func, target=target, execution_backend="sim")
    error = caught.value
    assert error.location is not None, str(error)
    lines = (HERE if Path(error.location.file).name == HERE.name else Path(error.location.file)).read_text()
    assert lines.splitlines()[error.location.line - 1].endswith("# here"), str(error)
    return error


def kernel_of(code):
    """A kernel of two warpgroups around ``code(X, tile, fragment, barrier)``."""

    def build():
        @T.prim_func
        def kernel(X: T.Tensor((256, 256), "float16"), Y: T.Tensor((256, 256), "float32")):
            with T.Kernel(1, threads=256):
                tile = T.alloc_shared((64, 64), "float16")
                sums = T.alloc_fragment((64, 64), "float32")
                bar = T.alloc_barrier([1, 1])
                code(X, Y, tile, sums, bar)

        return kernel

    return build


@T.macro
def no_barrier(X, Y, tile, sums, bar):
    T.mbarrier_arrive(tile[0, 0])  # here


@T.macro
def which_barrier(X, Y, tile, sums, bar):
    T.mbarrier_wait_parity(bar, 0)  # here


@T.macro
def parity_of_2(X, Y, tile, sums, bar):
    T.mbarrier_wait_parity(bar[0], 2)  # here


@T.macro
def load_without_barrier(X, Y, tile, sums, bar):
    T.tma_copy(X[0, 0], tile)  # here


@T.macro
def store_with_barrier(X, Y, tile, sums, bar):
    T.tma_copy(tile, X[0, 0], barrier=bar[0])  # here


@T.macro
def mask_without_cluster(X, Y, tile, sums, bar):
    T.tma_copy(X[0, 0], tile, barrier=bar[0], cluster_mask=3)  # here


@T.macro
def fragment(X, Y, tile, sums, bar):
    T.tma_copy(Y[0, 0], sums, barrier=bar[0])  # here


@T.macro
def group_too_far(X, Y, tile, sums, bar):
    with T.ws(2):  # here
        T.clear(sums)


@T.macro
def groups_apart(X, Y, tile, sums, bar):
    with T.ws(0, 2):  # here
        T.clear(sums)


@T.macro
def many_waits(X, Y, tile, sums, bar):
    T.wait_wgmma(8)  # here


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (no_barrier, "T.mbarrier_arrive takes a barrier"),
        (which_barrier, r"bar has 2"),
        (parity_of_2, "takes a parity"),
        (load_without_barrier, "needs a barrier"),
        (store_with_barrier, "takes no barrier"),
        (mask_without_cluster, "takes a cluster_mask"),
        (fragment, "between global and shared memory"),
        (group_too_far, r"T.ws\(2\): the block has no such warpgroup"),
        (groups_apart, "with consecutive indices"),
        (many_waits, "T.wait_wgmma takes a number"),
    ],
)
def test_the_language_refuses(code, words):
    error = refused(kernel_of(code))
    assert re.search(words, str(error)), str(error)


@T.macro
def converted(X, Y, tile, sums, bar):
    T.tma_copy(Y[0:64, 0:64], tile, barrier=bar[0])  # here


@T.macro
def odd_rows(X, Y, tile, sums, bar):
    T.tma_copy(X[0:8, 0:64], tile[4:12, :], barrier=bar[0])  # here


@T.macro
def few_bytes(X, Y, tile, sums, bar):
    narrow = T.alloc_shared((64, 4), "float16")
    T.tma_copy(X[0:64, 0:4], narrow, barrier=bar[0])  # here


@T.macro
def product_in_shared(X, Y, tile, sums, bar):
    shared_sums = T.alloc_shared((64, 64), "float32")
    with T.ws(0):
        T.wgmma_gemm(tile, tile, shared_sums)  # here


@T.macro
def odd_product(X, Y, tile, sums, bar):
    small = T.alloc_fragment((32, 64), "float32")
    with T.ws(0):
        T.wgmma_gemm(tile[0:32, :], tile, small)  # here


@T.macro
def two_ranges(X, Y, tile, sums, bar):
    with T.ws(0):
        T.clear(sums)
    with T.ws(1):
        T.clear(sums)  # here
    T.mbarrier_arrive(bar[0])


@T.macro
def odd_threads(X, Y, tile, sums, bar):
    tx = T.get_thread_binding()
    if tx % 2 == 0:
        T.tma_copy(X[0, 0], tile, barrier=bar[0])  # here


@T.macro
def half_a_warp(X, Y, tile, sums, bar):
    tx = T.get_thread_binding()
    if tx < 16:
        T.tma_copy(X[0, 0], tile, barrier=bar[0])  # here


@T.macro
def on_the_other_side(X, Y, tile, sums, bar):
    """Threads from 48 on are not a range of whole warps, whatever the second condition is."""
    tx = T.get_thread_binding()
    if tx < 48:
        Y[0, 1] = 3.0
    elif Y[0, 0] > 5.0:
        T.tma_copy(X[0, 0], tile, barrier=bar[0])  # here


@T.macro
def inside_another_condition(X, Y, tile, sums, bar):
    tx = T.get_thread_binding()
    if tx >= 48:  # noqa: SIM102
        if Y[0, 0] > 5.0:
            T.tma_copy(X[0, 0], tile, barrier=bar[0])  # here


@T.macro
def copy_beside_a_continue(X, Y, tile, sums, bar):
    """Threads 0 to 127 skip the copy, and with it the barrier that all threads wait at."""
    tx = T.get_thread_binding()
    for k in T.serial(4):
        if tx < 128:
            T.mbarrier_wait_parity(bar[0], k % 2)
            T.clear(sums)
            if X[k, 0] > 0.0:
                continue
        T.copy(X[k * 64, 0], tile)  # here


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (converted, "tensor maps do not convert element types"),
        (odd_rows, "does not begin at a multiple of 8"),
        (few_bytes, "not a multiple of 16"),
        (product_in_shared, "not in a fragment"),
        (odd_product, "M is 32"),
        (two_ranges, "sums is held in registers of threads 0 to 127 and used by threads 128 to 255"),
        (odd_threads, "not a range of whole warps"),
        (half_a_warp, "not a range of whole warps"),
        (on_the_other_side, "not a range of whole warps"),
        (inside_another_condition, "not a range of whole warps"),
        (copy_beside_a_continue, "reached by only some threads of the block"),
    ],
)
def test_lowering_refuses(code, words):
    error = refused(kernel_of(code))
    assert words in str(error), str(error)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("cuda -arch=sm_80", "T.alloc_barrier requires sm_90 or newer"),
        ("cuda -arch=sm_90", "T.wgmma_gemm requires sm_90a"),
        ("cuda -arch=sm_100", "T.wgmma_gemm requires sm_90a"),
        ("cpu", "T.alloc_barrier belongs to the target 'cuda'"),
    ],
)
def test_other_targets_refuse(target, words):
    backend = "sim" if target.startswith("cuda") else "auto"
    with pytest.raises(UnsupportedError, match=words) as caught:
        tilecore.compile(by_roles(128, 64, 64), target=target, execution_backend=backend)
    assert isinstance(caught.value, ValueError), "as in TileLang"
    assert caught.value.location is not None
    assert "sm_90a" in str(caught.value) or target == "cpu"
    assert "T.Pipelined" in str(caught.value.hint)


def test_the_interpreter_refuses():
    from tilecore.interpreter.program import Program

    with pytest.raises(UnsupportedError, match=r"T\.alloc_barrier belongs to the target 'cuda'"):
        Program(by_roles(128, 64, 64))


def test_outside_of_a_kernel():
    with pytest.raises(LanguageError, match=r"T\.alloc_barrier"):
        T.alloc_barrier(1)
    with pytest.raises(LanguageError, match=r"T\.ws"):
        T.ws(0)
