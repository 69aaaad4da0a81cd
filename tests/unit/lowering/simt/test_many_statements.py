"""Long kernels: what makes their lowering take time in proportion to their length changes no result."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import tilecore.language as T
from tilecore.lowering.simt import insert_barriers
from tilecore.lowering.simt.layout_propagation import Worklist

from .kit import lowered, same_results


def random_statements(seed):
    """24 loops, some of them in serial loops, over two shared tiles and two parameters; each reads at some shift."""
    rng = np.random.default_rng(seed)
    steps = [tuple(int(n) for n in rng.integers(0, 4, 6)) for _ in range(24)]

    @T.prim_func
    def kernel(A: T.Tensor((4, 64), "int32"), B: T.Tensor((4, 64), "int32")):
        with T.Kernel(1, threads=64):
            s, t = T.alloc_shared((4, 64), "int32"), T.alloc_shared((4, 64), "int32")
            T.copy(A, s)
            T.copy(B, t)
            memory = [s, t, A, B]
            for target, source, row, other_row, shift, repeated in steps:
                target = target if target % 2 != source % 2 else (target + 1) % 4  # no loop changes what it reads
                if repeated == 0:
                    for k in T.serial(2):
                        for i in T.Parallel(64):
                            memory[target % 2][(row + k) % 4, i] = memory[source][other_row, (i + shift // 2) % 64] + k
                else:
                    for i in T.Parallel(64):
                        memory[target][row, i] = memory[source % 2][other_row, (i + shift // 2) % 64] + 1

    return kernel


@pytest.mark.parametrize("seed", range(12))
def test_one_of_equal_pending_accesses_stands_for_all(seed, monkeypatch):
    function = random_statements(seed)
    monkeypatch.setattr(insert_barriers, "MOST_PENDING", 10**9)
    every = str(lowered(function, "insert_barriers")[0])
    monkeypatch.setattr(insert_barriers, "MOST_PENDING", 1)
    assert str(lowered(function, "insert_barriers")[0]) == every
    arrays = [np.arange(256, dtype=np.int32).reshape(4, 64) * scale for scale in (1, 3)]
    same_results(function, *arrays)


def test_a_sweep_visits_in_order_and_keeps_what_is_behind_it_for_the_next():
    worklist = Worklist(4)
    visited = []
    for number in worklist.sweep():
        visited.append(number)
        if visited == [0, 1]:
            for marked in (3, 0, 1, 2):
                worklist.mark(marked)
    assert visited == [0, 1, 2, 3]
    worklist.mark(3)
    assert list(worklist.sweep()) == [0, 1, 3]
    assert list(worklist.sweep()) == []


def test_layouts_of_a_long_chain_of_fragments():
    """Each fragment follows from the one before it, against the order of the loops."""
    count = 40

    @T.prim_func
    def kernel(X: T.Tensor((64, 16), "float32"), Y: T.Tensor((64, 16), "float32")):
        with T.Kernel(1, threads=64):
            chain = [T.alloc_fragment((64, 16), "float32") for _ in range(count)]
            T.clear(chain[0])
            for earlier, later in pairwise(chain):
                for i, j in T.Parallel(64, 16):
                    later[i, j] = earlier[i, j] + X[i, j]
            T.copy(chain[-1], Y)

    _, env = lowered(kernel, "infer_layouts")
    assert len(env.report["layouts"]) == count
    assert len({row["layout"] for row in env.report["layouts"]}) == 1
    x = np.random.default_rng(0).standard_normal((64, 16)).astype(np.float32)
    same_results(kernel, x, np.zeros_like(x))
