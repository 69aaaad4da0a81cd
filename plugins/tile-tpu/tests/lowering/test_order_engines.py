"""Waits of the control core for the engines."""

from __future__ import annotations

import numpy as np
from by_hand import alloc, do, element, kernel, local, loop, piece, run, set_element, tensor, tile
from core_model import Machine
from hypothesis import given, settings
from hypothesis import strategies as st
from tile_tpu.ir.instructions import as_command
from tile_tpu.lowering.passes.order_engines import ORDER_ENGINES

from tilecore.ir.build import const, seq, statements_of, store
from tilecore.ir.nodes import (
    Break,
    BufferLoad,
    BufferStore,
    Continue,
    DeclBuffer,
    Evaluate,
    For,
    IfThenElse,
    Var,
    While,
    structural_walk,
    tirx,
)

X, Y, IDX = tensor("X"), tensor("Y"), tensor("idx", 64, "int32")
A, B = local("a"), local("b")
K = Var("k", "int32")
ONE = const(1.0, "float32")
PLACES = {"a": 0, "b": 256, "c": 512}


def with_polls(*body, places=PLACES):
    func = kernel([X, Y, IDX], *alloc(A, B), *body).with_attr("tpu.local", places)
    return run(ORDER_ENGINES, func)


def words(node) -> str:
    """The tree in short form: P poll, c command, r and w reads and writes of the control core."""
    if isinstance(node, (For, While)):
        return "[" + words(node.body) + "]"
    if isinstance(node, IfThenElse):
        other = "" if node.else_case is None else "|" + words(node.else_case)
        return "{" + words(node.then_case) + other + "}"
    command = as_command(node)
    if command is not None:
        return "P" if command.instruction.name == "poll" else "c"
    if isinstance(node, BufferStore):
        return "w"
    if isinstance(node, (Break, Continue)):
        return "x"
    if isinstance(node, Evaluate):
        return "w" if "set_element" in str(node) else "r"
    return "".join(words(part) for part in getattr(node, "seq", ()))


def text(*body, places=PLACES):
    return words(with_polls(*body, places=places).body)


LOAD, STORE = do("load", tile(A), piece(X)), do("store", piece(Y), tile(A))
READ_A, READ_B = Evaluate(element(A)), Evaluate(element(B))


def test_a_read_waits_for_its_writer_once():
    assert text(LOAD, READ_A, READ_A) == "cPrr"


def test_a_read_does_not_wait_for_others():
    assert text(LOAD, READ_B) == "cr"
    assert text(LOAD, Evaluate(BufferLoad(X, [const(0, "int32")]))) == "cr"


def test_a_write_waits_for_readers():
    assert text(STORE, set_element(A, ONE)) == "cPw"
    assert text(STORE, store(Y, ONE, [const(0, "int32")])) == "cPw"
    assert text(STORE, READ_A) == "cr"


def test_memory_that_is_used_again_is_the_same():
    assert text(LOAD, set_element(B, ONE)) == "cw"
    assert text(LOAD, set_element(B, ONE), places={"a": 0, "b": 128}) == "cPw"


def test_aliases_are_the_same():
    view = local("c", 64, "int32")
    alias = DeclBuffer(view, data=tirx.buffer_data(A))
    assert text(alias, LOAD, Evaluate(element(view)), places={"a": 0, "b": 256, "c": 0}) == "cPr"


def test_operands_that_the_control_core_works_out():
    row = BufferLoad(IDX, [const(0, "int32")])
    write = do("store", piece(IDX), tile(A))
    assert text(write, do("load", tile(A), piece(X, row * 64))) == "cPc"


def test_the_state_of_the_end_of_a_loop_is_that_of_its_beginning():
    assert text(loop("k", 4, READ_A, LOAD)) == "[Prc]"
    assert text(loop("k", 4, READ_A, do("load", tile(B), piece(X)))) == "[rc]"


def test_a_loop_without_commands_waits_before_it():
    assert text(LOAD, loop("k", 4, Evaluate(element(A, 0, K)), set_element(B, ONE), var=K)) == "cP[rw]"


def test_branches():
    first = tirx.EQ(K, const(0, "int32"))
    assert text(loop("k", 2, IfThenElse(first, LOAD, None), READ_A, var=K)) == "[{c}Pr]"
    assert text(loop("k", 2, IfThenElse(first, seq([LOAD, do("poll")]), READ_B), READ_A, var=K)) == "[{cP|r}r]"
    branch = IfThenElse(tirx.LT(element(A), ONE), do("fill", tile(B), ONE), None)
    assert text(LOAD, branch, READ_B) == "cP{c}Pr"


def test_leaving_a_loop():
    first = tirx.EQ(K, const(1, "int32"))
    leave = IfThenElse(first, Break(), None)
    assert text(loop("k", 4, LOAD, leave, do("poll"), var=K), READ_A) == "[c{x}P]Pr"
    again = IfThenElse(first, Continue(), None)
    assert text(loop("k", 4, READ_A, LOAD, again, do("poll"), var=K)) == "[Prc{x}P]"
    assert text(loop("k", 4, do("poll"), READ_A, LOAD, again, do("poll"), var=K)) == "[Prc{x}P]"


def test_conditions_of_loops():
    positive = tirx.GT(element(A), const(0.0, "float32"))
    assert text(LOAD, While(positive, seq([do("add", tile(A), tile(A), tile(A))]))) == "cP[cP]"


NAMES = {"a": A, "b": B}


@st.composite
def programs(draw, depth=0):
    """Statements on two local buffers and a tensor."""
    parts = []
    for _ in range(draw(st.integers(1, 5))):
        kind = draw(st.sampled_from(["load", "store", "add", "read", "write", "global", "loop", "if"]))
        a, b = (NAMES[draw(st.sampled_from("ab"))] for _ in range(2))
        if kind == "load":
            parts.append(do("load", tile(a), piece(X)))
        elif kind == "store":
            parts.append(do("store", piece(X), tile(a)))
        elif kind == "add":
            parts.append(do("add", tile(a), tile(a), tile(b)))
        elif kind == "read":
            parts.append(store(Y, element(a, 3, 5), [const(7, "int32")]))
        elif kind == "write":
            parts.append(set_element(a, BufferLoad(Y, [const(7, "int32")]), 3, 5))
        elif kind == "global":
            parts.append(store(X, BufferLoad(X, [const(9, "int32")]), [const(11, "int32")]))
        elif depth < 2 and kind == "loop":
            parts.append(loop(f"k{depth}", 3, *draw(programs(depth + 1))))
        elif depth < 2:
            condition = tirx.LT(element(a, 3, 5), const(0.5, "float32"))
            other = draw(st.none() | programs(depth + 1))
            then = seq(draw(programs(depth + 1)))
            parts.append(IfThenElse(condition, then, None if other is None else seq(other)))
    return parts


@settings(max_examples=150, deadline=None)
@given(programs())
def test_the_control_core_never_accesses_memory_too_early(body):
    def ran(func, strict):
        rng = np.random.default_rng(1)
        memory = {"X": rng.uniform(size=1 << 16), "Y": rng.uniform(size=1 << 16)}
        machine = Machine(memory, strict=strict)
        with np.errstate(invalid="ignore", over="ignore"):
            machine.run(func.body)
        return memory

    func = kernel([X, Y, IDX], *alloc(A, B), *body).with_attr("tpu.local", PLACES)
    expected, actual = ran(func, False), ran(run(ORDER_ENGINES, func), True)
    for name in expected:
        assert np.array_equal(expected[name], actual[name], equal_nan=True)


def test_polls_keep_the_annotations_of_loops():
    """The annotations of loops, and the order of their statements."""
    body = loop("k", 4, READ_A, LOAD, notes={"num_stages": 2})
    loops = []
    structural_walk(with_polls(body).body, (For, loops.append))
    assert int(loops[0].annotations["num_stages"]) == 2
    assert len(statements_of(loops[0].body)) == 3
