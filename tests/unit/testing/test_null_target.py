"""The null target from end to end: compile, cache, export, load and launch, with nothing that runs."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.contract.hookspecs import hookimpl
from tilecore.contract.passes import Pass, PassEdit
from tilecore.contract.records import Lowering
from tilecore.contract.state import Workspaces
from tilecore.errors import TilecoreError
from tilecore.ir.nodes import IRModule
from tilecore.jit.compile import _kernels
from tilecore.jit.export import load_kernel
from tilecore.lowering.buffers.outline_kernels import outline_kernels
from tilecore.plugins import manager
from tilecore.testing import null_backend


@pytest.fixture(autouse=True)
def null(fresh_caches):
    with manager.register(null_backend, package="tilecore-null") as registration:
        yield registration


@T.prim_func
def scale(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32"), factor: T.float32):
    with T.Kernel(4, threads=32) as block:
        tile = T.alloc_shared((16,), "float32")
        T.copy(A[block * 16], tile)
        for i in T.Parallel(16):
            B[block * 16 + i] = tile[i] * factor


@T.prim_func
def two_kernels(A: T.Tensor((T.dynamic("n"), 8), "float16")):
    with T.Kernel(2):
        T.fill(A[0:4, :], 0)
    with T.Kernel(3):
        T.fill(A[4:8, :], 1)


def arguments():
    return np.arange(64, dtype=np.float32), np.full(64, 7, np.float32), 2.0


def test_the_source_is_the_script_and_a_call_does_nothing():
    kernel = tilecore.compile(scale, target="null -variant=3")
    source = kernel.get_kernel_source()
    assert source.startswith("# target: null -variant=3\n")
    assert "def scale_kernel_" in source
    assert "copy" in source
    a, b, factor = arguments()
    assert kernel(a, b, factor) is None
    assert (b == 7).all()
    assert (a == np.arange(64)).all()


def test_arguments_are_checked_as_on_any_target():
    kernel = tilecore.compile(scale, target="null")
    a, b, factor = arguments()
    with pytest.raises(TilecoreError, match="B"):
        kernel(a, b[:32], factor)


def test_outputs_are_allocated():
    kernel = tilecore.compile(scale, target="null", out_idx=[1])
    output = kernel(np.zeros(64, np.float32), 1.0)
    assert tuple(output.shape) == (64,)


def test_grids_threads_and_symbols_of_every_kernel():
    artifact = tilecore.compile(two_kernels, target="null").artifact
    assert [entry.symbol[:21] for entry in artifact.entries] == ["two_kernels_kernel_0_", "two_kernels_kernel_1_"]
    assert [[int(str(d)) for d in entry.grid] for entry in artifact.entries] == [[2, 1, 1], [3, 1, 1]]
    tilecore.compile(two_kernels, target="null")(np.zeros((8, 8), np.float16))


def test_the_caches_hold_it():
    first = tilecore.compile(scale, target="null")
    assert not first.from_cache
    assert tilecore.compile(scale, target="null") is first
    _kernels.clear()
    second = tilecore.compile(scale, target="null")
    assert second.from_cache
    assert second.get_kernel_source() == first.get_kernel_source()
    other = tilecore.compile(scale, target="null -variant=1")
    assert not other.from_cache
    second(*arguments())


def test_export_and_load(tmp_path):
    kernel = tilecore.compile(scale, target="null")
    path = str(tmp_path / "scale.tilecore")
    kernel.export(path)
    loaded = load_kernel(path)
    a, b, factor = arguments()
    loaded(a, b, factor)
    assert (b == 7).all()


def with_edits(*edits):
    backend = SimpleNamespace(
        **{name: getattr(null_backend, name) for name in vars(null_backend) if name.startswith("tilecore_")}
    )

    @hookimpl
    def tilecore_lowering():
        return Lowering(family="none", edits=edits)

    backend.tilecore_lowering = tilecore_lowering
    return backend


def test_a_backend_puts_its_own_passes_before_the_split(null):
    names = []

    def look(func, env):
        names.append((type(func).__name__, str(func.attrs["global_symbol"])))
        return func

    null.remove()
    with manager.register(with_edits(PassEdit("insert", "all", Pass("look", look))), package="tile-own"):
        kernel = tilecore.compile(scale, target="null")
    assert names == [("PrimFunc", "scale")]
    assert [p["name"] for p in kernel.artifact.report["passes"]] == ["contract_sums", "look", "outline_kernels"]


def test_a_backend_may_split_kernels_by_itself(null):
    def split(func, env):
        module = outline_kernels(func, env)
        return IRModule({"mine": next(iter(module.functions.values()))})

    null.remove()
    with manager.register(
        with_edits(PassEdit("insert", "all", Pass("split", split, leaves=(Workspaces,)))), package="tile-own"
    ):
        kernel = tilecore.compile(scale, target="null")
    assert [entry.symbol[:5] for entry in kernel.artifact.entries] == ["mine_"]
