"""Barriers that order shared memory alone: only where no thread can see the order of accesses of global memory."""

from __future__ import annotations

import pytest

import tilecore.language as T
from tilecore.ir.build import op_name
from tilecore.ir.nodes import Evaluate, IRModule
from tilecore.ir.thread_ops import thread_statement
from tilecore.ir.visit import collect
from tilecore.lowering.simt.analysis.shared_barriers import with_shared_barriers
from tilecore.lowering.simt.state import TileFunction

from .kit import lowered


def barriers(func):
    """The barriers of a kernel in order: "all", or "shared" for those that need to order shared memory alone."""
    module, env = lowered(func, "describe_kernels")
    assert isinstance(module, IRModule)
    (kernel,) = module.functions.values()
    original = env.state(TileFunction).function
    replaced = with_shared_barriers(kernel, original, lambda span: thread_statement("simt.warp_barrier"))
    words = {"simt.barrier": "all", "simt.warp_barrier": "shared"}
    names = [op_name(node.value) for node in collect(replaced.body, Evaluate)]
    return [words[name] for name in names if name in words]


def kernel_of(body):
    """A kernel of 64 threads. ``body`` gets its tensors, a shared tile, and the index of the thread."""

    @T.prim_func
    def kernel(
        X: T.Tensor((256,), "float32"),
        Y: T.Tensor((256,), "int32"),
        Z: T.Tensor((256,), "float32"),
        N: T.Tensor((1,), "int32"),
    ):
        with T.Kernel(1, threads=64):
            tile = T.alloc_shared((64,), "float32")
            body(X, Y, Z, N, tile, T.get_thread_binding())

    return kernel


@T.macro
def exchanged(source, tile, thread):
    tile[thread] = source
    T.sync_threads()
    value = T.alloc_local((1,), "float32")
    value[0] = tile[63 - thread]
    T.sync_threads()
    return T.cast(value[0], "int32")


@T.macro
def pipeline(X, Y, Z, N, tile, thread):
    total = T.alloc_local((1,), "float32")
    total[0] = 0.0
    for k in T.serial(4):
        total[0] += T.cast(exchanged(X[k * 64 + thread], tile, thread), "float32")
    Y[thread] = T.cast(total[0], "int32")


@T.macro
def written_before(X, Y, Z, N, tile, thread):
    Y[thread] = exchanged(X[thread], tile, thread)
    Y[64 + thread] = exchanged(X[64 + thread], tile, thread)


@T.macro
def written_in_the_loop(X, Y, Z, N, tile, thread):
    for k in T.serial(4):
        Y[k * 64 + thread] = exchanged(X[k * 64 + thread], tile, thread)


@T.macro
def written_in_a_branch(X, Y, Z, N, tile, thread):
    if N[0] > 0:
        Y[thread] = 1.0
    Y[thread + 64] = exchanged(X[thread], tile, thread)


@T.macro
def in_place(X, Y, Z, N, tile, thread):
    X[thread] = T.cast(exchanged(X[63 - thread], tile, thread), "float32")


@T.macro
def in_place_in_a_loop(X, Y, Z, N, tile, thread):
    for k in T.serial(4):
        X[k * 64 + thread] = T.cast(exchanged(X[255 - k * 64 - thread], tile, thread), "float32")


@T.macro
def one_tensor_for_two(X, Y, Z, N, tile, thread):
    """A call may pass one tensor for X and Z."""
    total = T.alloc_local((1,), "float32")
    total[0] = 0.0
    for k in T.serial(2):
        total[0] += T.cast(exchanged(X[255 - k * 64 - thread], tile, thread), "float32")
    total[0] += T.cast(exchanged(X[thread], tile, thread), "float32")
    Z[thread] = total[0]


@T.macro
def counted(X, Y, Z, N, tile, thread):
    Y[thread] = exchanged(X[thread], tile, thread)
    T.atomic_add(N[0], 1)


@T.macro
def counted_before(X, Y, Z, N, tile, thread):
    """Another thread may see the new count after the barrier."""
    T.atomic_add(N[0], 1)
    Y[thread] = exchanged(X[thread], tile, thread)


@T.macro
def counted_in_order(X, Y, Z, N, tile, thread):
    Y[thread] = exchanged(X[thread], tile, thread)
    T.atomic_add(N[0], 1, memory_order="release")


@T.macro
def counted_in_shared_memory(X, Y, Z, N, tile, thread):
    tile[thread] = 0
    T.sync_threads()
    T.atomic_add(tile[thread % 4], X[thread])
    T.sync_threads()
    Y[thread] = T.cast(tile[thread % 4], "int32")


@T.macro
def awaited(X, Y, Z, N, tile, thread):
    total = T.alloc_local((1,), "int32")
    total[0] = T.atomic_load(N[0])
    Y[thread + 64] = total[0]
    Y[thread] = exchanged(X[thread], tile, thread)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (pipeline, ["shared", "shared"]),
        (written_before, ["shared", "shared", "all", "all"]),
        (written_in_the_loop, ["all", "all"]),
        (written_in_a_branch, ["all", "all"]),
        (in_place, ["shared", "all"]),
        (in_place_in_a_loop, ["all"] * 3),
        (one_tensor_for_two, ["shared", "shared", "shared", "all"]),
        (counted, ["shared", "all"]),
        (counted_before, ["all", "all"]),
        (counted_in_order, ["all", "all"]),
        (counted_in_shared_memory, ["shared", "shared"]),
        (awaited, ["all", "all"]),
    ],
    ids=range(12),
)
def test_which_barriers_order_shared_memory_alone(body, expected):
    assert barriers(kernel_of(body)) == expected
