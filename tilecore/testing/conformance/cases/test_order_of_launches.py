"""Launches one after the other: each sees what those before it wrote, on the current stream; waiting waits."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T
from tilecore.contract.adapter import KernelAdapter

from .kit import compiled, same
from .on_device import bare, placed, read

SIZE = 4096


def stepped(rounds):
    @T.prim_func
    def stepped(X: T.Tensor((SIZE,), "int32")):
        with T.Kernel(SIZE // 128, threads=128) as b:
            for i in T.Parallel(128):
                for k in T.serial(rounds):
                    X[b * 128 + i] = X[b * 128 + i] * 3 + k

    return stepped


def after(x, rounds, launches):
    """What the kernel makes of ``x``."""
    x = x.astype(np.uint32)
    for _ in range(launches):
        for k in range(rounds):
            x = x * np.uint32(3) + np.uint32(k)
    return x.view(np.int32)


def has_streams(target):
    adapter = target.adapter()
    return adapter is not None and type(adapter).current_stream is not KernelAdapter.current_stream


def test_launches_come_in_order(target):
    kernel = compiled(stepped(3), target)
    x = np.arange(SIZE, dtype=np.int32)
    launches = 5 if target.is_simulated else 100
    moved = placed(kernel, x.copy())
    for _ in range(launches):
        bare(kernel)(moved)
    bare(kernel).adapter.synchronize()
    same(read(moved), after(x, 3, launches))


def test_a_kernel_reads_what_another_wrote(target):
    """Two kernels in turn on one tensor."""
    first, second = compiled(stepped(1), target), compiled(stepped(2), target)
    x = np.arange(SIZE, dtype=np.int32)
    moved = placed(first, x.copy())
    expected = x
    for _ in range(4):
        bare(first)(moved)
        bare(second)(moved)
        expected = after(after(expected, 1, 1), 2, 1)
    bare(first).adapter.synchronize()
    same(read(moved), expected)


def test_the_device_is_waited_for(target):
    """Work of one stream is read over another one after ``synchronize``."""
    if not has_streams(target):
        pytest.skip("its execution backend has no streams")
    torch = pytest.importorskip("torch")
    kernel = compiled(stepped(2000), target)
    adapter = bare(kernel).adapter
    device = torch.device(adapter.torch_device())
    streams = getattr(torch, device.type)
    x = np.arange(SIZE, dtype=np.int32)
    expected = after(x, 2000, 3)
    default = adapter.current_stream(0)
    for writer, reader in ((streams.Stream(), streams.Stream()),) * 3:
        moved = placed(kernel, x.copy())
        streams.synchronize()
        with streams.stream(writer):
            assert adapter.current_stream(0) != default, "it is not the stream that the tensors' library calls current"
            for _ in range(3):
                bare(kernel)(moved)
        adapter.synchronize()
        with streams.stream(reader):  # which waits for nothing that the first one does
            same(read(moved), expected)
