"""Sizes compiled for the native launcher mean what dims.evaluate says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from launch_kit import _launcher

from tilecore.artifact.dim_program import STACK, compile_dim
from tilecore.artifact.dims import OPERATORS, DimExpr, evaluate

pytestmark = pytest.mark.skipif(_launcher is None, reason="the extension is not built")

NAMES = ("m", "n", "k")
WORDS = st.integers(-(2**63), 2**63 - 1) | st.integers(-40, 40)
TREES = st.recursive(
    WORDS | st.sampled_from(NAMES),
    lambda inner: (
        st.tuples(st.sampled_from(sorted(OPERATORS)), inner, inner) | st.tuples(st.just("select"), inner, inner, inner)
    ),
    max_leaves=20,
)


@given(TREES, st.tuples(WORDS, WORDS, WORDS))
def test_the_native_machine_agrees_with_python_or_leaves_it_to_python(tree, values):
    program = compile_dim(DimExpr(tree), {name: number for number, name in enumerate(NAMES)})
    if not program.fits:
        return
    got = _launcher.run_program(program.words, values)
    try:
        expected = evaluate(DimExpr(tree), dict(zip(NAMES, values, strict=True)))
    except ZeroDivisionError:
        expected = None
    assert got is None or got == expected


@given(TREES, st.tuples(*[st.integers(1, 1000)] * 3))
def test_small_sizes_never_need_python(tree, values):
    """What the fast path is for: nothing overflows or divides by zero, so the machine must not decline."""
    program = compile_dim(DimExpr(tree), {name: number for number, name in enumerate(NAMES)})
    try:
        steps = _largest_step(tree, dict(zip(NAMES, values, strict=True)))
    except ZeroDivisionError:
        return
    if program.fits and steps < 2**63:
        assert _launcher.run_program(program.words, values) is not None


def _largest_step(tree, values):
    """The largest absolute value of any node that is evaluated."""
    if isinstance(tree, tuple) and tree[0] == "select":
        branch = tree[2] if evaluate(DimExpr(tree[1]), values) else tree[3]
        return max(_largest_step(tree[1], values), _largest_step(branch, values))
    below = max((_largest_step(t, values) for t in tree[1:]), default=0) if isinstance(tree, tuple) else 0
    return max(below, abs(evaluate(DimExpr(tree), values)))


@pytest.mark.parametrize("a", [-7, -1, 0, 1, 7, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("b", [-3, -1, 1, 3, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("operator", ["//", "%"])
def test_division_rounds_towards_minus_infinity(operator, a, b):
    expected = OPERATORS[operator](a, b)
    got = _launcher.run_program(compile_dim(DimExpr((operator, "m", "n")), {"m": 0, "n": 1}).words, (a, b))
    assert got == (expected if -(2**63) <= expected < 2**63 else None)


def test_only_the_chosen_side_of_a_select_is_evaluated():
    tree = ("select", ("==", "m", 0), 7, ("//", 100, "m"))
    words = compile_dim(DimExpr(tree), {"m": 0}).words
    assert _launcher.run_program(words, (0,)) == 7
    assert _launcher.run_program(words, (10,)) == 10


def test_a_program_that_needs_a_deep_stack_does_not_fit():
    tree = "m"
    for _ in range(STACK):
        tree = ("+", 1, tree)
    assert not compile_dim(DimExpr(tree), {"m": 0}).fits
    assert compile_dim(DimExpr(tree[2]), {"m": 0}).fits
    assert _launcher.run_program(compile_dim(DimExpr(tree[2]), {"m": 0}).words, (5,)) == 5 + STACK - 1
