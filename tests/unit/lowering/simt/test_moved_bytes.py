"""moved_bytes: the addresses at which parameters must begin, because accesses move several elements at once."""

from __future__ import annotations

import tilecore.language as T
from tilecore.contract.state import ParameterAlignments

from ..one_pass import around_pass
from .kit import CAPABILITIES

ANYWHERE = CAPABILITIES.features | {"unaligned_moves"}


def alignments(kernel, **options):
    _, _, env = around_pass(kernel, "vectorize_accesses", **options)
    return env.state(ParameterAlignments).bytes_of


@T.prim_func
def copied(
    X: T.Tensor((512,), "float16"), Y: T.Tensor((512, 2), "int8"), Z: T.Tensor((63,), "float32"),
    N: T.Tensor((512,), "float32"),
):  # fmt: skip
    halves = T.view(Y, (512,), "float16")
    with T.Kernel(1, threads=64) as b:
        f = T.alloc_fragment((512,), "float16")
        T.copy(X, f)
        for i in T.Parallel(512):
            halves[i] = f[i]
        for i in T.Parallel(63):
            Z[i] = 1
        N[b] = 0


def test_the_widest_move_of_each_parameter():
    """Of the tensor that a view shows; not of tensors whose elements are accessed one by one."""
    assert alignments(copied) == {"X": 16, "Y": 16}


def test_targets_whose_moves_begin_anywhere():
    assert alignments(copied, features=ANYWHERE) == {}


@T.prim_func
def added(X: T.Tensor((512,), "float32"), Y: T.Tensor((512,), "float32")):
    with T.Kernel(1, threads=64):
        f = T.alloc_fragment((512,), "float32")
        T.copy(X, f)
        T.atomic_add(Y, f)


def test_atomics_are_aligned_on_every_target():
    assert alignments(added)["Y"] == 16
    assert alignments(added, features=ANYWHERE) == {"Y": 16}


def test_a_promise_of_the_kernel():
    """T.ldg128 of X[P[t]] may be at a multiple of 16 where X is not; T.stg128 of Z[4] may not."""

    @T.prim_func
    def kernel(
        X: T.Tensor((64,), "float32"),
        Y: T.Tensor((64,), "float32"),
        Z: T.Tensor((64,), "float32"),
        P: T.Tensor((4,), "int32"),
    ):
        with T.Kernel(1, threads=4):
            t = T.get_thread_binding()
            T.stg128(Y[P[t]], T.ldg128(X[P[t]]))
            T.stg128(Z[t * 4], T.uint32x4(1, 2, 3, 4))

    assert alignments(kernel) == {"Z": 16}
