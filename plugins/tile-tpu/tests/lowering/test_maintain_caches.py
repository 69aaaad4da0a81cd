"""The commands for the control core's cache, checked with a model of a cache that is not coherent."""

from __future__ import annotations

import numpy as np
import pytest
from by_hand import alloc, do, kernel, local, loop, piece, run, tensor, tile
from core_model import Machine
from hypothesis import given, settings
from hypothesis import strategies as st
from tile_tpu.ir.instructions import Command, as_command
from tile_tpu.ir.views import View
from tile_tpu.lowering.passes.maintain_caches import MAINTAIN_CACHES

from tilecore.ir.build import const, constant, seq, store
from tilecore.ir.nodes import Bind, Break, BufferLoad, DeclBuffer, Evaluate, IfThenElse, Return, Var, tirx
from tilecore.ir.visit import collect

LINE = 16  # elements


class Cached(Machine):
    """The control core accesses tensors through cache lines, which stay until they are invalidated. Invalidating a
    modified line is an error."""

    def __init__(self, memory: dict[str, np.ndarray]) -> None:
        super().__init__(memory)
        self.lines: dict[tuple[str, int], np.ndarray] = {}
        self.changed: set[tuple[str, int]] = set()

    def _line(self, name: str, index: int) -> np.ndarray:
        key = (name, index // LINE)
        if key not in self.lines:
            self.lines[key] = self.memory[name][key[1] * LINE : (key[1] + 1) * LINE].copy()
        return self.lines[key]

    def value(self, node):
        if type(node).__name__ in ("TensorLoad", "BufferLoad"):
            index = self.value(node.indices[0])
            return self._line(str(node.source.name), index)[index % LINE].item()
        return super().value(node)

    def statement(self, node):
        if type(node).__name__ == "BufferStore":
            name, index, value = str(node.buffer.name), self.value(node.indices[0]), self.value(node.value)
            self._line(name, index)[index % LINE] = value
            self.changed.add((name, index // LINE))
        else:
            super().statement(node)

    def _command(self, command: Command) -> None:
        word = command.instruction.name
        if word not in ("flush_cache", "invalidate_cache"):
            assert not self.changed, f"{word} begins while {self.changed} are not written back"
            super()._command(command)
            return
        view = self._operand(command.operands["memory"])
        assert isinstance(view, View)
        name, count = str(view.buffer.name), int(view.shape[3])
        if count <= 0:
            return
        assert 0 <= view.offset <= view.offset + count <= len(self.memory[name]), "beyond the tensor"
        for number in range(int(view.offset) // LINE, (int(view.offset) + count - 1) // LINE + 1):
            key = (name, number)
            if word == "flush_cache" and key in self.lines:
                self.memory[name][number * LINE : (number + 1) * LINE] = self.lines[key]
                self.changed.discard(key)
            elif word == "invalidate_cache":
                assert key not in self.changed
                self.lines.pop(key, None)


X, Y, IDX = tensor("X", 1024), tensor("Y", 1024), tensor("idx", 64, "int32")
A = local("a", 16)
K, ROW, COLUMN = (Var(n, "int32") for n in "kij")


def small(buffer=A):
    return tile(buffer, 8, 8)


def block(tensor_, offset=0):
    return piece(tensor_, offset, 8, 8)


def at(buffer, index):
    return BufferLoad(buffer, [const(index, "int32") if isinstance(index, int) else index])


def maintained(*body):
    return run(MAINTAIN_CACHES, kernel([X, Y, IDX], *alloc(A), *body))


def check(*body):
    """Checks that the results with the cache equal those without. Returns the cache commands as (word, tensor, first,
    count)."""
    func = kernel([X, Y, IDX], *alloc(A), *body)
    rng = np.random.default_rng(0)
    memory = {n: rng.uniform(size=1024) for n in "XY"} | {"idx": rng.permutation(64)}
    other = {name: array.copy() for name, array in memory.items()}
    Machine(memory).run(func.body)
    after = maintained(*body)
    machine = Cached(other)
    machine.run(after.body)
    assert not machine.changed
    for name in memory:
        assert np.array_equal(memory[name], other[name]), name
    ranges = []
    for node in collect(after.body, Evaluate):
        command = as_command(node)
        if command is not None and "cache" in command.instruction.name:
            view = command.operands["memory"]
            first, count = constant(view.offset), constant(view.shape[3])
            ranges.append((command.instruction.name.split("_")[0], str(view.buffer.name), first, count))
    return ranges


STORE, LOAD = do("store", block(X), small()), do("load", small(), block(Y))


def test_an_element_that_is_read():
    assert check(LOAD, STORE, store(Y, at(X, 3), [const(5, "int32")]), LOAD) == [
        ("invalidate", "X", 3, 1),
        ("invalidate", "Y", 5, 1),
        ("flush", "Y", 5, 1),
    ]


def test_the_range_of_a_loop_is_invalidated_once():
    index = ROW * 8 + COLUMN
    body = loop("i", 4, loop("j", 8, store(Y, at(X, index + 1), [index]), var=COLUMN), var=ROW)
    assert check(LOAD, STORE, body, LOAD, STORE) == [
        ("invalidate", "X", 1, 32),
        ("invalidate", "Y", 0, 32),
        ("flush", "Y", 0, 32),
    ]


def test_loops_that_go_down():
    body = loop("i", 4, store(Y, at(X, const(20, "int32") - ROW), [ROW]), var=ROW)
    assert check(LOAD, STORE, body)[0] == ("invalidate", "X", 17, 4)


def test_places_that_are_read_themselves():
    body = loop("i", 4, store(Y, at(X, at(IDX, ROW)), [ROW]), var=ROW)
    assert set(check(LOAD, STORE, body, LOAD)) == {
        ("invalidate", "X", 0, 1024),
        ("invalidate", "idx", 0, 4),
        ("invalidate", "Y", 0, 4),
        ("flush", "Y", 0, 4),
    }


def test_aliases_are_the_tensor():
    view = tensor("view", 1024, "int32")
    after = maintained(
        DeclBuffer(view, data=tirx.buffer_data(X)), LOAD, STORE, store(view, const(1, "int32"), [ROW]), LOAD
    )
    views = [c.operands["memory"] for e in collect(after.body, Evaluate) if "cache" in str(e) and (c := as_command(e))]
    assert [(v.buffer.same_as(X), constant(v.shape[3])) for v in views] == [(True, 1024), (True, 1024)]


def test_operands_of_commands():
    assert check(do("load", small(), block(X, at(IDX, 2))), STORE) == [("invalidate", "idx", 2, 1)]


def test_guards_keep_to_the_tensor():
    inside = IfThenElse(const(64, "int32") > ROW, store(Y, tirx.Cast("float32", at(IDX, ROW)), [ROW]), None)
    ranges = check(LOAD, loop("i", 100, inside, var=ROW), LOAD)
    assert ("invalidate", "idx", 0, 64) in ranges


def test_conditions_and_bounds():
    n = Var("n", "int32")
    body = [
        LOAD,
        STORE,
        Bind(n, at(IDX, 3)),
        IfThenElse(at(X, 5) < const(2.0, "float32"), LOAD, None),
        loop("k", tirx.Mod(at(IDX, 9), const(5, "int32")), LOAD, STORE, var=K),
        store(Y, tirx.Cast("float32", n), [const(0, "int32")]),
    ]
    ranges = check(*body)
    assert ("invalidate", "X", 5, 1) in ranges
    assert ("invalidate", "idx", 9, 1) in ranges


@pytest.mark.parametrize("leave", [Break, lambda: Return(const(0, "int32"))])
def test_writes_before_leaving_a_loop_are_flushed(leave):
    last = IfThenElse(tirx.EQ(K, const(2, "int32")), seq([store(Y, at(X, 1), [K]), leave()]), None)
    text = str(maintained(loop("k", 4, LOAD, STORE, last, var=K)))
    lines = [line.strip() for line in text.splitlines()]
    stored = next(i for i, line in enumerate(lines) if line.startswith("Y["))
    assert "flush_cache" in lines[stored + 1]


@st.composite
def programs(draw, depth=0):
    parts = []
    for _ in range(draw(st.integers(1, 5))):
        kind = draw(st.sampled_from(["load", "store", "element", "row", "gather", "loop", "if"]))
        a, b = draw(st.sampled_from([(X, Y), (Y, X), (X, X)]))
        where = draw(st.integers(0, 40))
        if kind == "load":
            parts.append(do("load", small(), block(a, where)))
        elif kind == "store":
            parts.append(do("store", block(a, where), small()))
        elif kind == "element":
            parts.append(store(a, at(b, where) + at(a, where + 7), [const(draw(st.integers(0, 40)), "int32")]))
        elif kind == "row":
            i = Var("i", "int32")
            parts.append(loop("i", draw(st.integers(1, 9)), store(a, at(b, i * 2 + where), [i + where]), var=i))
        elif kind == "gather":
            i = Var("i", "int32")
            parts.append(loop("i", 5, store(a, at(b, at(IDX, i)), [i * 3]), var=i))
        elif depth < 2 and kind == "loop":
            parts.append(loop(f"k{depth}", 3, *draw(programs(depth + 1))))
        elif depth < 2:
            parts.append(IfThenElse(at(a, where) < const(0.5, "float32"), seq(draw(programs(depth + 1))), None))
    return parts


@settings(max_examples=80, deadline=None)
@given(programs())
def test_random_programs_read_what_is_in_memory(body):
    check(do("fill", small(), const(0.25, "float32")), *body)
