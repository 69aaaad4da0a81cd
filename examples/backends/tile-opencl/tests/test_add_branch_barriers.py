"""A branch with a barrier ends with one; other branches stay as they are."""

from __future__ import annotations

import tilecore
import tilecore.language as T


def source(with_else: bool, ends_with_barrier: bool = False) -> list[str]:
    @T.prim_func
    def kernel(X: T.Tensor((2, 32), "int32"), Y: T.Tensor((2, 32), "int32")):
        with T.Kernel(2, threads=32) as by:
            t = T.alloc_shared((32,), "int32")
            if by == 1:
                T.copy(X[by, 0], t)
                for i in T.Parallel(32):
                    Y[by, i] = t[31 - i]
                if ends_with_barrier:
                    T.sync_threads()
            elif with_else:
                for i in T.Parallel(32):
                    Y[by, i] = 1

    text = tilecore.lower(kernel, target="opencl").kernel_source
    return [line.strip() for line in text.partition("kernel_kernel(")[2].splitlines()]


def test_the_branch_with_a_barrier_ends_with_one_and_the_other_does_not():
    lines = source(with_else=True)
    barriers = [number for number, line in enumerate(lines) if line.startswith("tc_barrier()")]
    assert len(barriers) == 2
    assert lines[barriers[-1] + 1].startswith("} else")


def test_a_branch_that_ends_with_a_barrier_gets_no_other():
    lines = source(with_else=False, ends_with_barrier=True)
    barriers = [number for number, line in enumerate(lines) if line.startswith("tc_barrier()")]
    assert len(barriers) == 2
    assert lines[barriers[-1] + 1] == "}"
