"""choose_tile_ops: an implementation for each tile operation; those that need no layouts become parallel loops."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T
from tilecore.contract.implementation import TileOpImpl
from tilecore.errors import UnsupportedError
from tilecore.lowering.simt.pipeline import IMPLEMENTATIONS
from tilecore.testing.kernel_text import lines

from ..one_pass import after_pass, around_pass, before_and_after, interpreted
from . import kit

PASS = "choose_tile_ops"


def chosen(kernel):
    """(operation, implementation) of each tile operation, as ``kernel.explain()`` has them."""
    _, _, env = around_pass(kernel, PASS)
    return [(row["op"], row["implementation"]) for row in env.report["tile_ops"]]


@T.prim_func
def row_sums(X: T.Tensor((16, 64), "float32"), Y: T.Tensor((16,), "float32")):
    with T.Kernel(1, threads=128):
        tile, total = T.alloc_fragment((16, 64), "float32"), T.alloc_fragment((16,), "float32")
        T.copy(X, tile)
        T.reduce_sum(tile, total, dim=1)
        T.sync_threads()
        T.copy(total, Y)


def test_operations_become_loops_or_keep_the_name_of_their_implementation():
    """A reduction waits for layouts: its operands' layouts follow from one another."""
    _, after = before_and_after(row_sums, PASS)
    assert after == lines(
        """
        tile = T.alloc_buffer((16, 64), scope="local.fragment", layout=None)
        total = T.alloc_buffer((16,), scope="local.fragment", layout=None)
        for i in T.parallel(16):
            for j in T.parallel(64):
                tile[i, j] = X[i, j]
        T.Call("tile.reduce", [tile[0:16, 0:64], total[0:16], "sum", 1, 1, 0], attrs={implementation}, ret_ty="void")
        T.Call("tile.sync_threads", [], attrs={"implementation": "barrier"}, ret_ty="void")
        for i in T.parallel(16):
            Y[i] = total[i]
        """
    ).replace("{implementation}", '{"implementation": "registers, then threads"}')


def test_the_report_names_the_implementation_of_each_operation():
    assert chosen(row_sums) == [
        ("copy", "loops"),
        ("reduce", "registers, then threads"),
        ("sync_threads", "barrier"),
        ("copy", "loops"),
    ]


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", "int32"])
def test_loops_do_what_the_operation_does(dtype):
    """A transposed copy of a part that ends beyond the tensor, and a fill, judged by numpy."""

    @T.prim_func
    def kernel(X: T.Tensor((5, 7), dtype), Y: T.Tensor((8, 8), dtype), Z: T.Tensor((3,), dtype)):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((8, 8), dtype)
            T.copy(X[0:8, 0:8], tile)
            T.transpose(tile, Y)
            T.fill(Z, 7)

    _, after, _ = around_pass(kernel, PASS)
    x = np.arange(1, 36).reshape(5, 7).astype(dtype)
    _, y, z = interpreted(after, x, np.ones((8, 8), dtype), np.zeros(3, dtype))
    np.testing.assert_array_equal(y, np.pad(x, ((0, 3), (0, 1))).T)
    np.testing.assert_array_equal(z, np.full(3, 7, dtype))


def test_a_copy_of_one_element_is_a_nest_of_one_iteration():
    """One thread does what a nest of one iteration does."""

    @T.prim_func
    def kernel(X: T.Tensor((4, 4), "float32")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((4, 4), "float32")
            T.copy(X[2, 3:4], tile[0, 1:2])

    assert after_pass(kernel, PASS).splitlines()[1:] == ["for i in T.parallel(1):", "    tile[0, 1] = X[2, 3]"]


def test_loops_keep_what_later_passes_ask_of_the_operation():
    @T.prim_func
    def kernel(X: T.Tensor((8, 64), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=32):
            tile, local = T.alloc_shared((64,), "float32"), T.alloc_local((4,), "float32")
            for k in T.Pipelined(8, num_stages=2):
                T.copy(X[k, :], tile)
                for i in T.Parallel(64):
                    Y[i] = tile[63 - i]
            T.copy(X[0, 0:4], local)

    after = after_pass(kernel, PASS).splitlines()
    assert sum(line.strip() == 'for i in T.parallel(64, annotations={"async": 1}):' for line in after) == 2
    assert 'for i in T.parallel(4, annotations={"private": 1}):' in after


def test_hints_become_nothing():
    @T.prim_func
    def kernel(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=32):
            T.annotate_min_blocks_per_sm(2)
            T.copy(X, Y)

    before, after = before_and_after(kernel, PASS)
    assert "tile.annotate" in before
    assert "tile.annotate" not in after


def test_the_implementation_of_highest_priority_that_applies_is_taken(monkeypatch):
    """``declined`` in the report has the reasons of the others."""
    (loops,) = (i for i in IMPLEMENTATIONS if i.op == "copy" and i.name == "loops")
    never = TileOpImpl("copy", "never", loops.lower, lambda call, env: "it never does", priority=99)
    flat = TileOpImpl(
        "copy", "flat", loops.lower, lambda call, env: None if len(call.src.region) == 1 else "two axes", priority=50
    )
    monkeypatch.setattr(kit, "IMPLEMENTATIONS", (loops, flat, never, *(i for i in IMPLEMENTATIONS if i.op != "copy")))
    _, _, env = around_pass(row_sums, PASS)
    first, _, _, last = env.report["tile_ops"]
    assert first["implementation"] == "loops"
    assert last["implementation"] == "flat"
    assert [name for name, _ in map(tuple, first["declined"])] == ["never", "flat"]
    assert list(map(tuple, last["declined"])) == [("never", "it never does")]


def test_an_operation_without_an_implementation_is_refused(monkeypatch):
    monkeypatch.setattr(kit, "IMPLEMENTATIONS", tuple(i for i in IMPLEMENTATIONS if i.op != "reduce"))
    with pytest.raises(UnsupportedError, match="reduce") as caught:
        after_pass(row_sums, PASS)
    assert "T.reduce_sum" in caught.value.location.excerpt()
