"""bind_warpgroup_index: the index of a warp's warpgroup is computed once, at the start of the code that uses it."""

from __future__ import annotations

import tilecore.language as T
from tilecore.testing.kernel_text import text

from .kernels import pipelined, product
from .one_pass import around_pass, changes

PASS = "bind_warpgroup_index"
UNIFORM = "T.cuda.uniform("


def test_two_warpgroups_bind_their_index_first():
    before, after, _ = around_pass(product(threads=256, rows=128), PASS)
    first, *others = changes(before, after).splitlines()
    assert first == "+ group: T.let[T.int32] = T.cuda.uniform(tx // 128)"
    assert text(after).startswith(first[2:])
    assert text(after).count(UNIFORM) == 1
    assert len(others) == 2
    assert others[0].replace("T.cuda.uniform(tx // 128)", "group")[1:] == others[1][1:]


def test_one_warpgroup_has_no_index():
    before, after, _ = around_pass(product(), PASS)
    assert UNIFORM not in text(before)
    assert text(before) == text(after)


def test_with_warp_roles_the_consumers_bind_it():
    before, after, _ = around_pass(pipelined(threads=256, tile=(128, 64)), PASS)
    assert UNIFORM in text(before)
    statements = [line.strip() for line in text(after).splitlines()]
    role = statements.index('with T.attr(0, "cuda.role", "consumer"):')
    assert statements[role + 1] == "group: T.let[T.int32] = T.cuda.uniform(tx // 128)"
    assert text(after).count(UNIFORM) == 1


def test_a_range_of_threads_binds_it_in_its_own_code():
    @T.prim_func
    def by_ranges(
        A: T.Tensor((128, 64), "float16"), B: T.Tensor((64, 64), "float16"), C: T.Tensor((128, 64), "float32")
    ):
        with T.Kernel(1, threads=384):
            a = T.alloc_shared((128, 64), "float16")
            b = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((128, 64), "float32")
            T.copy(A, a)
            T.copy(B, b)
            with T.ws(1, 2):
                T.clear(c)
                T.wgmma_gemm(a, b, c)
                T.wait_wgmma(0)
                T.copy(c, C)

    before, after, _ = around_pass(by_ranges, PASS)
    (added, *_) = changes(before, after).splitlines()
    assert added == "+ group: T.let[T.int32] = T.cuda.uniform(thread_128 // 128)"
    assert text(after).index("tile.threads") < text(after).index(UNIFORM)
