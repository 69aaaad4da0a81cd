"""The variables and conditions that must be copies: their memory is written before their last use."""

from __future__ import annotations

from tile_tpu.lowering.nests.overwrites import overwrites_of

from tilecore.ir.build import const, load, seq, store
from tilecore.ir.nodes import Bind, For, ForKind, IfThenElse, Var, tirx

A = tirx.decl_buffer([8], "float32", "a", scope="shared", layout=None)
B = tirx.decl_buffer([8], "float32", "b", scope="shared", layout=None)
I = Var("i", "int32")  # noqa: E741


def read(buffer):
    return load(buffer, [I])


def write(buffer, value):
    return store(buffer, value, [I])


def bound(value):
    name = Var("t", "float32")
    return name, Bind(name, value)


def test_a_name_that_is_used_after_its_memory_is_written():
    name, bind = bound(read(A))
    body = seq([bind, write(A, read(B)), write(B, name)])
    assert overwrites_of(body).needs_copy(bind)


def test_a_name_that_is_used_before_or_with_the_write():
    name, bind = bound(read(A))
    body = seq([bind, write(B, name), write(A, name * 2)])
    assert not overwrites_of(body).needs_copy(bind)


def test_a_name_for_a_name():
    first, bind = bound(read(A))
    second, other = bound(first)
    overwrites = overwrites_of(seq([bind, other, write(A, const(0.0, "float32")), write(B, second)]))
    assert overwrites.needs_copy(other)


def test_an_iteration_reads_what_the_one_before_has_overwritten():
    name, bind = bound(read(A))
    step = seq([write(B, name), write(A, const(0.0, "float32"))])
    loop = For(Var("k", "int32"), const(0, "int32"), const(3, "int32"), ForKind.SERIAL, step)
    assert overwrites_of(seq([bind, loop])).needs_copy(bind)
    inside = For(Var("k", "int32"), const(0, "int32"), const(3, "int32"), ForKind.SERIAL, seq([bind, step]))
    assert not overwrites_of(inside).needs_copy(bind), "each step has a name of its own"


def test_a_condition_that_its_branch_changes():
    condition = read(A) > const(0.0, "float32")
    branch = IfThenElse(condition, write(A, const(1.0, "float32")), None)
    assert not overwrites_of(branch).needs_copy(branch), "nothing comes after the write"
    both = IfThenElse(condition, write(A, const(1.0, "float32")), write(A, const(2.0, "float32")))
    assert overwrites_of(both).needs_copy(both)
    other = IfThenElse(condition, write(B, const(1.0, "float32")), write(B, const(2.0, "float32")))
    assert not overwrites_of(other).needs_copy(other)
