"""lower_warp_roles: the roles of a block's warps become branches on the thread index."""

from __future__ import annotations

import pytest
from tile_cuda.lowering.hopper.lower_warp_roles import LOWER_WARP_ROLES

from tilecore.testing.kernel_text import lines, text
from tilecore.transform import PassConfigKey

from .kernels import pipelined, product
from .one_pass import around_pass, notes

PASS = "lower_warp_roles"
ONE_BLOCK_EACH = {PassConfigKey.TL_DISABLE_PERSISTENT_BLOCKS.value: True}


def test_roles_become_branches():
    """The roles as specialize_warps makes them, without the passes between."""
    _, specialized, env = around_pass(pipelined(), "specialize_warps", config=ONE_BLOCK_EACH)
    after = LOWER_WARP_ROLES.run(specialized, env)
    assert text(after) == lines(
        """
        a = T.alloc_buffer((2, 64, 64), "float16", scope="shared.dyn", layout=None)
        b = T.alloc_buffer((2, 64, 64), "float16", scope="shared.dyn", layout=None)
        a_b_full = T.alloc_shared((2,), "uint64", layout=None)
        a_b_empty = T.alloc_shared((2,), "uint64", layout=None)
        if tx == 0:
            T.cuda.mbarrier("init", a_b_full[0], 1)
            T.cuda.mbarrier("init", a_b_empty[0], 4)
            T.cuda.mbarrier("init", a_b_full[1], 1)
            T.cuda.mbarrier("init", a_b_empty[1], 4)
            T.cuda.mbarrier("fence_init")
        T.tile.sync_threads()
        if tx < 128:
            c = T.alloc_buffer((64, 64), scope="local.fragment", layout=None)
            for k in T.serial(4, annotations={"num_stages": 2, "tile.loop": "pipelined"}):
                T.cuda.mbarrier("wait", a_b_full[k % 2], k % 4 // 2)
                T.tile.gemm(a[k % 2, 0:64, 0:64], b[k % 2, 0:64, 0:64], c[0:64, 0:64], 0, 0, k == 0, 0)
                if tx % 32 == 0:
                    T.cuda.mbarrier("arrive", a_b_empty[k % 2])
            T.tile.copy(c[0:64, 0:64], C[by * 64:by * 64 + 64, bx * 64:bx * 64 + 64])
        else:
            if tx == 128:
                for k in T.serial(4, annotations={"tile.loop": "pipelined"}):
                    T.cuda.mbarrier("wait", a_b_empty[k % 2], (k // 2 + 1) % 2)
                    T.cuda.mbarrier("arrive_expect", a_b_full[k % 2], 16384)
                    T.Call("tile.copy", [A[by * 64:by * 64 + 64, k * 64:k * 64 + 64], a[k % 2, 0:64, 0:64]], \
attrs={"bulk": 1}, ret_ty="void")
                    T.Call("tile.copy", [B[k * 64:k * 64 + 64, bx * 64:bx * 64 + 64], b[k % 2, 0:64, 0:64]], \
attrs={"bulk": 1}, ret_ty="void")
        """
    )


@pytest.mark.parametrize(
    ("threads", "tile", "block", "registers"),
    [
        (128, (64, 64), 160, None),
        (256, (128, 64), 288, None),
        (384, (192, 256), 512, "24 for each producer thread, 160 for each consumer thread"),
    ],
)
def test_a_producer_of_a_warp_or_of_a_warpgroup_that_releases_registers(threads, tile, block, registers):
    """Accumulators that need more than an equal share of the registers take those of the producer."""
    _, after, env = around_pass(pipelined(threads=threads, tile=tile), PASS, config=ONE_BLOCK_EACH)
    row = notes(env, "warp_roles")[-1]
    assert (row["producer"], row["consumers"]) == ("1 warp", f"{threads // 32} warps")
    assert row.get("registers") == registers
    assert f'T.launch_thread("threadIdx.x", {block})' in after.script()
    assert ('T.cuda.setmaxnreg("release", 24)' in text(after)) == (registers is not None)
    assert ('T.cuda.setmaxnreg("acquire", 160)' in text(after)) == (registers is not None)


def test_barriers_of_the_consumers_are_named_ones():
    before, after, _ = around_pass(
        pipelined(threads=256, tile=(128, 64), through_shared=True), PASS, config=ONE_BLOCK_EACH
    )
    assert text(before).count("T.tile.sync_threads()") == text(after).count("T.simt.named_barrier(1, 256)") > 0
    assert text(after).count("T.tile.sync_threads()") == 1, "after the init role, for the whole block"


def test_kernels_without_roles_stay_as_they_are():
    before, after, _ = around_pass(product(), PASS)
    assert text(before) == text(after)
