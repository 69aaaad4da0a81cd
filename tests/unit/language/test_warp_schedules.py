"""T.WSSchedule: what a schedule says is checked, and the depth of a pipeline becomes the stages of its loop."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import LanguageError
from tilecore.ir.attributes import LoopAttr
from tilecore.ir.nodes import For
from tilecore.ir.visit import collect

ROLES = [T.WSRole("load", warps_lo=0, warps_hi=1, max_nreg=40), T.WSRole("compute", warps_lo=4, warps_hi=8)]


def scheduled(depth):
    @T.prim_func
    def kernel(A: T.Tensor((4, 32), "float32"), B: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32):
            tile, total = T.alloc_shared((32,), "float32"), T.alloc_fragment((32,), "float32")
            acquire, commit = T.WSSync.producer_acquire("tiles"), T.WSSync.producer_commit("tiles")
            wait = T.WSSync.consumer_wait("tiles", stage=depth - 1)
            release = T.WSSync.consumer_release("tiles", stage=depth - 1)
            steps = {"load": [acquire, "fetch", commit], "compute": [wait, T.WSOpRef("add"), release]}
            scopes = [T.WSScope("rows", steps), T.WSScope(T.WSScope.ROOT, {"compute": ["rows"]})]
            T.annotate_ws_schedule(T.WSSchedule(8, ROLES, [T.WSPipeline("tiles", [tile], depth=depth)], scopes))
            T.clear(total)
            for k in T.serial(4, annotations={T.WSID: "rows"}):
                T.copy(A[k, 0], tile, annotations={T.WSID: "fetch"})
                with T.ws_op("add"):
                    for i in T.Parallel(32):
                        total[i] += tile[i]
            T.copy(total, B)

    return kernel


@pytest.mark.parametrize("depth", [1, 3])
def test_a_loop_takes_the_depth_of_its_pipeline(depth):
    kernel = scheduled(depth)
    (loop,) = (loop for loop in collect(kernel.ir.body, For) if T.WSID in loop.annotations)
    assert int(loop.annotations.get(LoopAttr.STAGES, 1)) == depth
    a, b = np.arange(128, dtype=np.float32).reshape(4, 32), np.zeros(32, np.float32)
    tilecore.compile(kernel, target="cpu")(a, b)
    np.testing.assert_array_equal(b, a.sum(0))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: T.WSSchedule(6, ROLES, [], []), "num_warps is 6"),
        (lambda: T.WSSchedule(4, ROLES, [], []), "role 'compute' has no warps"),
        (lambda: T.WSSchedule(8, [*ROLES, T.WSRole("x", warps_lo=7, warps_hi=8)], [], []), "warp 7 belongs to"),
        (lambda: T.WSSchedule(8, ROLES, [], [T.WSScope("k", {"store": []})]), "names 'store'"),
        (lambda: T.WSSchedule(8, ROLES, [], [T.WSScope("k", {"load": [T.WSSync.consumer_wait("a")]})]), "names 'a'"),
        (lambda: T.WSSchedule(8, ROLES, [T.WSPipeline("a", [], depth=0)], []), "the depth of"),
    ],
)
def test_wrong_schedules(make, message):
    with pytest.raises(LanguageError, match=message):
        make()
