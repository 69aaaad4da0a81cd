"""Layouts written as functions: what they become, against enumeration of all elements."""

import numpy as np
import pytest

import tilecore.language as T
from tilecore import layout as L
from tilecore.errors import LanguageError, UnsupportedError
from tilecore.ir.nodes import Var
from tilecore.ir.tabulate import tabulate
from tilecore.ir.written_layouts import fragment_layout, memory_layout, padded, run_of, slotted


class Tile:
    def __init__(self, shape, dtype="float16"):
        self.shape, self.dtype = shape, dtype


def offsets(layout, shape):
    """Where each element lies."""
    variables = [Var(f"i{axis}", "int32") for axis in range(len(shape))]
    return np.ravel_multi_index(tabulate(variables, layout.place(variables), shape), layout.shape)


@pytest.mark.parametrize("shape", [(16, 64), (8, 32), (4, 16), (3, 5), (2, 8, 64), (1, 7)], ids=str)
@pytest.mark.parametrize(
    "function",
    [
        lambda *i: i,
        lambda *i: [*i[:-2], i[-1], i[-2]],
        lambda *i: [*i[:-1], i[-1] * 2 + 3],
        lambda *i: [T.if_then_else(i[-1] % 2 == 0, i[-1] + 1, i[-1] - 1), *i[:-1]],
    ],
    ids=["same", "turned", "gaps", "choice"],
)
def test_layouts_of_memory(shape, function):
    layout = memory_layout(T.Layout(shape, function).to_ir(), "tile")
    table = offsets(layout, shape)
    assert len(np.unique(table)) == table.size


@pytest.mark.parametrize(
    "make", [L.make_full_bank_swizzled_layout, L.make_half_bank_swizzled_layout, L.make_quarter_bank_swizzled_layout]
)
def test_swizzles_keep_pieces_of_16_bytes(make):
    tile = Tile((32, 128))
    layout = memory_layout(make(tile).to_ir(), "tile")
    table = offsets(layout, tile.shape)
    for row, column in np.ndindex(*tile.shape):  # as the layout's function has it for Python's numbers
        assert table[row, column] == np.ravel_multi_index(make(tile).map_forward_index([row, column]), tile.shape)
    assert layout.shape == (32, 128)
    assert run_of(layout, tile.shape) == 8
    assert sorted(offsets(layout, tile.shape).flat) == list(range(32 * 128))


def test_runs():
    assert run_of(None, (4, 64)) == 64
    assert run_of(None, (4, 24)) == 8
    assert run_of(padded((4, 32), 8), (4, 32)) == 8
    assert run_of(padded((4, 32), 1), (4, 32)) == 1
    assert run_of(padded((4, 32), 32), (4, 32)) == 32
    turned = memory_layout(T.Layout((8, 8), lambda i, j: (j, i)).to_ir(), "t")
    assert run_of(turned, (8, 8)) == 1
    pairs = memory_layout(T.Layout((8, 8), lambda i, j: (j // 2, i, j % 2)).to_ir(), "t")
    assert run_of(pairs, (8, 8)) == 2


def test_slots_lie_behind_one_another():
    layout = slotted(padded((4, 6), 2), 3)
    assert layout.shape == (3, 4, 8)
    table = offsets(layout, (3, 4, 6))
    assert table[2, 1, 3] == 2 * 32 + 8 + 3
    assert len(np.unique(table)) == table.size


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda i, j: i // 2, "both map to"),
        (lambda i, j: (i - 1, j), "to negative indices"),
        (lambda i, j: (i, j % 7), "both map to"),
    ],
)
def test_functions_that_are_no_layouts(function, message):
    with pytest.raises(LanguageError, match=message):
        memory_layout(T.Layout((8, 8), function).to_ir(), "tile")


def test_functions_that_are_no_arithmetic():
    with pytest.raises(UnsupportedError, match="function of a layout"):
        memory_layout(T.Layout((8, 8), lambda i, j: (T.popcount(i), j)).to_ir(), "tile")


FRAGMENTS = {
    "rows": T.Fragment((32, 4), lambda i, j: (i, j)),
    "columns": T.Fragment((4, 32), lambda i, j: (j, i)),
    "mma": T.Fragment(
        (16, 8), lambda i, j: (i % 8 * 4 + j % 4 * 0 + j // 2, i // 8 * 2 + j % 2)
    ),
    "copies": T.Fragment((16, 4), lambda i, j, copy: (copy * 16 + i, j), replicate=2),
    "apart": T.Fragment((8, 32), forward_thread_fn=lambda i, j: i * 4 + j // 8, forward_index_fn=lambda i, j: j % 8),
    "two indices": T.Fragment((8, 4, 6), lambda i, j, k: (i * 4 + j, k // 3, k % 3)),
    "vector": T.Fragment((1024,), lambda i: (i // 4 % 128, i // 512 * 4 + i % 4)),
    "odd": T.Fragment((5, 3), lambda i, j: (i * 3 + j, 0)),
    "one": T.Fragment((1,), lambda i: (0, 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", FRAGMENTS)
def test_fragments_send_elements_to_the_threads_that_they_name(name):
    written = FRAGMENTS[name]
    layout = fragment_layout(written.to_ir(), 128)
    assert layout is not None
    assert layout.threads == 128
    seen = set()
    for place in np.ndindex(*written.shape):
        thread = written.thread_and_place(*place, *([0] if written.replicate > 1 else []))[0]
        register = layout.register(list(place))
        assert layout.thread(list(place)) == thread
        assert (thread, register) not in seen
        seen.add((thread, register))
        assert register < layout.registers


@pytest.mark.parametrize(
    "written",
    [
        T.Fragment((8, 8), lambda i, j: (i ^ j, j)),  # no digits
        T.Fragment((256,), lambda i: (i, 0)),  # more threads than there are
        T.Fragment((8, 8), lambda i, j: (i + 1 - j, j)),  # a thread before the first
    ],
)
def test_fragments_that_are_no_digits(written):
    assert fragment_layout(written.to_ir(), 128) is None
