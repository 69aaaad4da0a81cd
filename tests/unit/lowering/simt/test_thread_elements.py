"""A thread's share of a layout: together the threads have every element, the first holders each of them once."""

from collections import Counter
from itertools import product

import pytest

from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import all_of, const, constant, nothing
from tilecore.ir.fragments import REGISTER, THREAD, Digit, FragmentLayout, spread
from tilecore.ir.nodes import For, ForKind, IfThenElse, Var
from tilecore.ir.visit import collect, reads_variable, substitute
from tilecore.lowering.simt.tile_ops.thread_elements import (
    bounds_of,
    in_bounds,
    is_first_copy,
    steps_of,
    unrolled,
)

LAYOUTS = {
    "exact": spread([64], 16),
    "neighbours": spread([8, 16], 16, vector=4),
    "past the end": spread([37], 16),
    "past both ends": FragmentLayout((3, 5), 4, (Digit(0, 1, 4, THREAD, 1), Digit(1, 1, 8, REGISTER, 1))),
    "copies": FragmentLayout((4, 2), 32, (Digit(0, 1, 4, THREAD, 2), Digit(1, 1, 2, REGISTER, 1))),
    "copies past the end": FragmentLayout((5,), 24, (Digit(0, 1, 4, THREAD, 3), Digit(0, 4, 2, REGISTER, 1))),
    "everything everywhere": FragmentLayout((3,), 8, (Digit(0, 1, 3, REGISTER, 1),)),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_first_holders_have_each_element_once(layout):
    thread = Var("t", "int32")
    steps = steps_of(layout, "s")
    places = [const(p, "int32") if isinstance(p, int) else p for p in layout.indices(thread, list(steps.values()))]
    conditions, first = in_bounds(layout, places), is_first_copy(layout, thread)
    holders, firsts = Counter(), Counter()
    for number in range(layout.threads):
        for values in product(*(range(digit.extent) for digit in steps)):
            at = {thread: const(number, "int32")}
            at |= {var: const(value, "int32") for var, value in zip(steps.values(), values, strict=True)}

            def evaluated(expr, at=at):
                return constant(Analyzer().simplify(substitute(expr, at)))

            if conditions and not evaluated(all_of(conditions)):
                continue
            element = tuple(evaluated(place) for place in places)
            holders[element] += 1
            firsts[element] += not first or evaluated(all_of(first))
    elements = list(product(*(range(size) for size in layout.shape)))
    assert sorted(holders) == elements
    assert firsts == dict.fromkeys(elements, 1)


BEYOND = {
    **LAYOUTS,
    "pieces of 8": spread([1000], 128, vector=8),
    "pieces of 8 in turns": spread([2, 1000], 32, vector=8),
    "rows of pieces of 4": spread([3, 20], 32, vector=4),
    "no pieces": spread([1001], 64, vector=8),
    "threads first": FragmentLayout((24,), 8, (Digit(0, 1, 8, THREAD, 1), Digit(0, 8, 4, REGISTER, 1))),
    "registers within threads": FragmentLayout(
        (20,), 4, (Digit(0, 1, 2, REGISTER, 1), Digit(0, 2, 4, THREAD, 1), Digit(0, 8, 3, REGISTER, 2))
    ),
}


@pytest.mark.parametrize("layout", BEYOND.values(), ids=BEYOND)
def test_bounds_hold_for_the_elements_of_the_tile(layout):
    thread = Var("t", "int32")
    steps = steps_of(layout, "s")
    bounds = bounds_of(layout, thread, steps)
    assert len(bounds) == len(in_bounds(layout, [Var(f"i{axis}", "int32") for axis in range(len(layout.shape))]))
    for number in range(layout.threads):
        for values in product(*(range(digit.extent) for digit in steps)):
            at = {thread: const(number, "int32")}
            at |= {var: const(value, "int32") for var, value in zip(steps.values(), values, strict=True)}
            held = all(constant(Analyzer().simplify(substitute(bound, at))) for bound in bounds)
            element = layout.indices(number, list(values))
            assert held == all(place < size for place, size in zip(element, layout.shape, strict=True))


def test_bounds_do_not_name_the_elements_of_a_piece():
    layout = BEYOND["pieces of 8 in turns"]
    steps = steps_of(layout, "s")
    (bound,) = bounds_of(layout, Var("t", "int32"), steps)
    assert [digit.place for digit, var in steps.items() if reads_variable(bound, var)] == [256]


def test_conditions_stand_around_the_loops_that_do_not_matter():
    layout = BEYOND["pieces of 8 in turns"]
    steps = steps_of(layout, "s")
    body = unrolled(steps, nothing(), conditions=bounds_of(layout, Var("t", "int32"), steps))
    order = [str(node.loop_var.name) if isinstance(node, For) else "if" for node in collect(body, For, IfThenElse)]
    turns = next(str(var.name) for digit, var in steps.items() if digit.place == 256)
    assert order.index("if") == order.index(turns) + 1
    assert order[-1] != "if"


def test_loops_run_over_the_registers_in_order():
    layout = FragmentLayout((4, 6), 1, (Digit(0, 1, 4, REGISTER, 1), Digit(1, 1, 6, REGISTER, 4)))
    loops = collect(unrolled(steps_of(layout, "r"), nothing()), For)
    assert [(str(loop.loop_var.name), constant(loop.extent)) for loop in loops] == [("r0", 6), ("r1", 4)]
    assert all(loop.kind == ForKind.UNROLLED for loop in loops)
