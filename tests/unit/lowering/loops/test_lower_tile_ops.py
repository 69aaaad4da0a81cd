"""lower_tile_ops: implementations compete by priority and predicates, and layouts that they need must go together."""

from __future__ import annotations

import pytest

import tilecore.language as T
from tilecore.contract.implementation import TileOpImpl, choose
from tilecore.contract.passes import PassEnv
from tilecore.contract.state import BufferLayouts
from tilecore.errors import UnsupportedError
from tilecore.ir.build import nothing
from tilecore.ir.layout import BufferLayout
from tilecore.ir.nodes import Evaluate
from tilecore.ir.tile_ops import TILE_OPS, as_tile_call
from tilecore.ir.visit import collect
from tilecore.lowering.loops.lower_tile_ops import lower_tile_ops
from tilecore.target import Target

from ..kit import lowered, tile_ops


def impl(op, name, priority=0, reason=None, wished=None, needs=False):
    """An implementation that does nothing. wished: {operand: layout name}."""

    def layouts(call, env):
        return {call.args[operand].source: layout(kind) for operand, kind in (wished or {}).items()}

    return TileOpImpl(op, name, lambda call, env: nothing(), lambda call, env: reason, priority, needs, layouts)


def layout(name):
    return BufferLayout(name, (64,), lambda indices: [indices[0] * 8 + indices[1]])


@T.prim_func
def products(A: T.Tensor((8, 8), "float32"), B: T.Tensor((8, 8), "float32")):
    with T.Kernel(1):
        a, b, c = (T.alloc_shared((8, 8), "float32") for _ in range(3))
        T.copy(A, a)
        T.copy(A, b)
        T.gemm(a, b, c, clear_accum=True)
        T.gemm(b, a, c)
        T.copy(c, B)


COPIES = impl("copy", "plain")
PLAIN = impl("gemm", "plain")


def choices(*implementations, func=products, target="acme"):
    """(implementation, what declined) of each T.gemm, and the layouts that were agreed on."""
    before_pass, before = lowered(func, "lower_tile_ops", before=True)
    env = PassEnv(Target.parse(target), before.capabilities, (COPIES, *implementations))
    lower_tile_ops(before_pass, env)
    rows = [row for row in env.report["tile_ops"] if row["op"] == "gemm"]
    names = {str(buffer.name): granted.name for buffer, granted in env.state(BufferLayouts).by_buffer.items()}
    return [(row["implementation"], dict(row["declined"])) for row in rows], names


def test_the_highest_priority_that_applies():
    assert choices(PLAIN, impl("gemm", "best", 9), impl("gemm", "good", 5))[0] == [("best", {})] * 2
    choices_of_gemms = choices(PLAIN, impl("gemm", "best", 9, "too small"), impl("gemm", "good", 5, "no such type"))[0]
    assert choices_of_gemms == [("plain", {"best": "too small", "good": "no such type"})] * 2
    assert choices(impl("gemm", "first"), impl("gemm", "second"))[0] == [("first", {})] * 2, "of equals the first"
    assert choices(PLAIN, impl("gemm", "worse", -1, "not asked"))[0] == [("plain", {})] * 2


def test_none_that_applies_lists_all_reasons():
    with pytest.raises(UnsupportedError, match=r"T\.gemm has no implementation on target acme") as caught:
        choices(impl("gemm", "one", 1, "too small"), impl("gemm", "two", 2, "too large"))
    assert caught.value.found == "two: too large; one: too small"
    assert caught.value.location.line > 0
    assert "T.gemm(a, b, c, clear_accum=True)" in caught.value.location.excerpt()
    with pytest.raises(UnsupportedError) as caught:
        choices()
    assert caught.value.found == "the target implements none"
    with pytest.raises(UnsupportedError, match=r"on target acme \(1 more attribute\)\n"):
        choices(target=f"acme -features={','.join(['feature'] * 20)}")


def test_predicates_see_the_operation():
    seen = []

    def matches(call, env):
        seen.append((call.a.source.name, bool(call.clear_accum), env.target.kind))
        return None

    choices(TileOpImpl("gemm", "asks", lambda call, env: nothing(), matches))
    assert seen == [("a", True, "acme"), ("b", False, "acme")]


def test_layouts_that_are_wished_for_go_to_the_first_who_asks():
    choices_of_gemms, layouts = choices(impl("gemm", "wishes", wished={"b": "panels"}))
    assert choices_of_gemms == [("wishes", {})] * 2
    assert layouts == {"a": "panels", "b": "panels"}


def test_layouts_that_are_needed_go_before_those_wished_for():
    needs = impl("gemm", "needs", 5, wished={"a": "tiles"}, needs=True)

    def first_only(call, env):
        return None if bool(call.clear_accum) else "not the first"

    first_impl = TileOpImpl("gemm", "one", needs.lower, first_only, 5, True, needs.layouts)
    choices_of_gemms, layouts = choices(impl("gemm", "wishes", wished={"a": "rows", "b": "panels"}), first_impl)
    assert choices_of_gemms == [("one", {}), ("wishes", {"one": "not the first"})]
    assert layouts == {"a": "tiles", "b": "rows"}


def test_one_buffer_has_one_layout():
    """The second gemm has the operands the other way round, so that it needs both as the first does not."""
    needs = impl("gemm", "needs", 5, wished={"a": "rows", "b": "columns"}, needs=True)
    choices_of_gemms, layouts = choices(PLAIN, needs)
    assert choices_of_gemms == [("needs", {}), ("plain", {"needs": "another operation needs b as columns"})]
    assert layouts == {"a": "rows", "b": "columns"}
    same = impl("gemm", "same", 5, wished={"a": "rows", "b": "rows"}, needs=True)
    assert choices(PLAIN, same)[0] == [("same", {})] * 2


@T.prim_func
def from_global(A: T.Tensor((8, 8), "float32"), C: T.Tensor((8, 8), "float32")):
    with T.Kernel(1):
        c = T.alloc_shared((8, 8), "float32")
        T.gemm(A, A, c, clear_accum=True)
        T.copy(c, C)


@T.prim_func
def with_a_view(A: T.Tensor((64,), "float32"), C: T.Tensor((8, 8), "float32")):
    with T.Kernel(1):
        a, c = T.alloc_shared((64,), "float32"), T.alloc_shared((8, 8), "float32")
        T.copy(A, a)
        table = T.reshape(a, (8, 8))
        T.gemm(table, table, c, clear_accum=True)
        T.copy(c, C)


@pytest.mark.parametrize(
    ("func", "reason"),
    [(from_global, "A is in global memory"), (with_a_view, "table has views")],
    ids=["global", "view"],
)
def test_memory_whose_layout_is_fixed(func, reason):
    needs = impl("gemm", "needs", 5, wished={"a": "rows"}, needs=True)
    assert choices(PLAIN, needs, func=func) == ([("plain", {"needs": reason})], {})
    assert choices(impl("gemm", "wishes", wished={"a": "rows"}), func=func) == ([("wishes", {})], {})
    with pytest.raises(UnsupportedError, match=r"T\.gemm has no implementation"):
        choices(needs, func=func)


def test_what_the_code_generator_does_itself_stays():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            t = T.alloc_shared((8,), "int32")
            T.copy(A, t)
            T.assume(A[0] >= 0)
            T.device_assert(A[1] >= 0, "negative")
            T.print(A[2], msg="value")
            T.atomic_add(A[3], 1)
            T.sync_threads()
            T.print(t)
            T.fill(A, 0)

    func, env = lowered(kernel, "lower_tile_ops")
    left = tile_ops(func)
    assert set(left) == {"assume", "device_assert", "print", "atomic_element"}
    assert left.count("print") == 2, "the one of the tile now prints an element"
    assert {row["op"]: row["implementation"] for row in env.report["tile_ops"]} == {
        "copy": "loops", "sync_threads": "nothing", "print": "one element after the other", "fill": "loops",
    }  # fmt: skip
    assert [op.name for op in TILE_OPS.values() if op.is_emitted] == ["atomic_element", "device_assert", "assume"]


def test_choose_looks_at_implementations_of_the_operation_only():
    func, env = lowered(products, "lower_tile_ops", before=True)
    (call, *_) = [c for node in collect(func.body, Evaluate) if (c := as_tile_call(node)) and c.op.name == "copy"]
    assert choose(call, [impl("gemm", "g", 9), COPIES], env).impl is COPIES
