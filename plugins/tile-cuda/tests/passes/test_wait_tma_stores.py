"""wait_tma_stores: one lane of each warp waits for its TMA stores at the end; their memory lives until then."""

from __future__ import annotations

from tilecore.testing.kernel_text import text

from .kernels import pipelined, product, scaled
from .one_pass import around_pass

PASS = "wait_tma_stores"
STORE = "T.cuda.tma_store("


def statements(func):
    return [line.strip() for line in text(func).splitlines()]


def test_the_wait_is_the_last_statement_and_the_memory_the_first():
    before, after, _ = around_pass(product(), PASS)
    assert STORE in text(before)
    *_, condition, wait = statements(after)
    assert condition == "if tx % 32 == 0:"
    assert wait.startswith('T.cuda.tma_store_group("wait_stores", 0, ')
    name = wait.split(", ")[2].split("[")[0]
    assert statements(after)[0].startswith(f"{name} = T.alloc_shared(")
    moved = [line for line in statements(before) if line.startswith(f"{name} = ")]
    others = [line for line in statements(before) if line not in moved]
    assert len(moved) == 1
    assert [line for line in statements(after) if line not in moved][:-2] == others


def test_with_warp_roles_the_consumers_wait():
    before, after, _ = around_pass(pipelined(), PASS)
    assert STORE in text(before)
    roles = text(after).split('"cuda.role", ')
    assert ["wait_stores" in role for role in roles] == [False, False, False, True]


def test_copies_by_threads_need_no_wait():
    for kernel in (scaled, product(through_shared=True)):
        before, after, _ = around_pass(kernel, PASS)
        assert STORE not in text(before)
        assert text(before) == text(after)
