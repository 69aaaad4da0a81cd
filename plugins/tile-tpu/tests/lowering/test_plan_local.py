"""Addresses of local buffers: names, aliases, sharing, and the error where they do not fit."""

from __future__ import annotations

import pytest
from by_hand import ANY_BANK, alloc, do, environment, kernel, local, loop, piece, run, tensor, tile
from tile_tpu.chips import BM1690
from tile_tpu.lowering.local_memory.bank_allocator import Memory
from tile_tpu.lowering.passes.plan_local import PLAN_LOCAL, memory_of

from tilecore.errors import UnsupportedError
from tilecore.ir.nodes import DeclBuffer, Var, tirx

A, B = tensor("A"), tensor("B")
K = Var("k", "int32")


def addresses(func, env=None):
    return {str(k): int(v) for k, v in run(PLAN_LOCAL, func, env).attrs["tpu.local"].items()}


def of_one_product():
    a, b, c = local("a"), local("b"), local("c")
    return kernel(
        [A],
        *alloc(a, b, c),
        do("load", tile(a), piece(A)),
        do("load", tile(b), piece(A)),
        do("mul", tile(c), tile(a), tile(b)),
        do("store", piece(A), tile(c)),
    )


def test_operands_are_in_different_banks():
    banks = {address // BM1690.bank_bytes for address in addresses(of_one_product()).values()}
    assert len(banks) == 3


def test_banks_may_be_left_out_of_the_plan():
    """Then buffers are contiguous, and explain() lists those that share a bank."""
    env = environment(ANY_BANK)
    offsets = addresses(of_one_product(), env)
    assert max(offsets.values()) < BM1690.bank_bytes
    assert len(set(offsets.values())) == 3
    assert sum("share a bank" in row["text"] for row in env.report["notes"]) == 3


def test_names_become_unique():
    a, other, third = local("A"), local("A"), local("b")
    func = kernel([A], *alloc(a, other, third), *(do("load", tile(x), piece(A)) for x in (a, other, third)), do("poll"))
    assert set(addresses(func)) == {"A_1", "A_2", "b"}


def test_an_alias_has_the_address_of_its_memory():
    a, b = local("a", 128), local("b", 128)
    view = local("view", 128, "int32")
    func = kernel(
        [A],
        *alloc(b, a),
        DeclBuffer(view, data=tirx.buffer_data(a)),
        do("load", tile(b), piece(A)),
        do("load", tile(view), piece(A)),
        do("add", tile(a), tile(a), tile(b)),
    )
    offsets = addresses(func)
    assert offsets["view"] == offsets["a"] != offsets["b"]


def test_large_tiles_share_memory():
    size = BM1690.lane_bytes // 4 // 2 + 64
    a, b, c = local("a", size), local("b"), local("c", size)
    big = (1, 64, 1, size)
    func = kernel(
        [A, B],
        *alloc(a, b, c),
        do("load", tile(a).with_shape(*big), piece(A)),
        do("copy", tile(b), tile(a)),
        do("load", tile(c).with_shape(*big), piece(A)),
        do("store", piece(B), tile(c)),
    )
    offsets = addresses(func)
    assert offsets["a"] == offsets["c"] == 0


def test_the_error_lists_the_buffers_that_do_not_fit():
    size = BM1690.lane_bytes // 4 // 2
    a, b = local("a", size), local("b", size + 16)
    with pytest.raises(UnsupportedError) as caught:
        addresses(kernel([A], *alloc(a, b), do("load", tile(a), piece(A)), do("add", tile(b), tile(b), tile(a))))
    assert str(size * 8 + 64) in caught.value.message
    assert f"b {size * 4 + 64}; a {size * 4}" in str(caught.value.found)
    assert "262144" in str(caught.value.expected)


def test_explain_has_the_map():
    env = environment()
    a, b = local("a"), local("b")
    run(PLAN_LOCAL, kernel([A], *alloc(a, b), do("load", tile(a), piece(A)), do("copy", tile(b), tile(a))), env)
    (row,) = env.report["shared_memory"]
    assert row["buffers"]["a"][1] == row["buffers"]["b"][1] == 256
    assert row["bytes"] == max(start + size for start, size in row["buffers"].values())


def test_conflicts_that_are_left_are_named():
    env = environment()
    size = BM1690.lane_bytes // 4 // 2 - 64
    a, b, c = local("a", size), local("b", size), local("c")
    step = loop("i", 7, do("mul", tile(a), tile(b), tile(c)), do("add", tile(b), tile(a), tile(c)))
    run(PLAN_LOCAL, kernel([A], *alloc(a, b, c), step), env)
    assert any("share a bank" in row["text"] for row in env.report["notes"])


def test_the_size_of_memory_depends_on_the_chip():
    a = local("a", 40000)
    func = kernel([A], *alloc(a), do("load", tile(a), piece(A)))
    assert addresses(func) == {"a": 0}
    with pytest.raises(UnsupportedError, match="160000"):
        addresses(func, environment(chip="bm1688"))
    assert memory_of(BM1690) == Memory(262144, 64, 16384)
