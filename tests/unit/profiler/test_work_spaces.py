"""Points of iteration spaces, beside loops of Python that count them one by one."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tilecore.ir.build import nothing
from tilecore.ir.nodes import LT, Add, IntImm, Mul, Sub, Var
from tilecore.profiler.work import spaces
from tilecore.profiler.work.spaces import Holds, Inside, Loop, Space
from tilecore.profiler.work.traffic import part_of
from tilecore.profiler.work.values import Values

NAMES = "ijk"


def number(value: int) -> IntImm:
    return IntImm("int32", value)


def linear(variables: list[Var], factors: list[int], constant: int) -> Add:
    total = number(constant)
    for var, factor in zip(variables, factors, strict=True):
        total = Add(total, Mul(var, number(factor)))
    return total


factors = st.lists(st.sampled_from([-2, -1, 0, 1, 1, 2, 3, 4]), min_size=3, max_size=3)


@settings(deadline=None, max_examples=60)
@given(
    extents=st.tuples(st.integers(0, 4), st.integers(1, 5), st.integers(1, 4)),
    is_triangle=st.booleans(),
    first=st.tuples(factors, st.integers(-3, 3), st.integers(1, 12)),
    second=st.tuples(factors, st.integers(-3, 3), st.integers(1, 12)),
    bound=st.tuples(factors, st.integers(-4, 9)),
    has_bound=st.booleans(),
)
@example((0, 2, 1), False, ([-2, -1, -2], 3, 2), ([-2, 1, -2], 1, 1), ([-2, -2, -2], 0), False)
def test_the_count_is_that_of_loops(extents, is_triangle, first, second, bound, has_bound):
    i, j, k = variables = [Var(name, "int32") for name in NAMES]
    inner = Add(i, number(1)) if is_triangle else number(extents[1])
    loops = [Loop(i, number(0), number(extents[0])), Loop(j, number(0), inner), Loop(k, number(1), number(extents[2]))]
    indices = [linear(variables, *part[:2]) for part in (first, second)]
    sizes = [first[2], second[2]]
    conditions = [Inside(index, size) for index, size in zip(indices, sizes, strict=True)]
    if has_bound:
        conditions.append(Holds(LT(linear(variables, *bound), number(3)), sense=bound[1] % 2 == 0))
    space = Space(Values({}, nothing()), loops, conditions)

    met, points = set(), 0
    for a in range(extents[0]):
        for b in range(a + 1 if is_triangle else extents[1]):
            for c in range(1, extents[2] + 1):
                at = [sum(f * v for f, v in zip(part[0], (a, b, c), strict=True)) + part[1] for part in (first, second)]
                value = sum(f * v for f, v in zip(bound[0], (a, b, c), strict=True)) + bound[1]
                holds = not has_bound or (value < 3) == (bound[1] % 2 == 0)
                if holds and all(0 <= x < size for x, size in zip(at, sizes, strict=True)):
                    points += 1
                    met.add(tuple(at))
    assert space.count() == points
    part = part_of(space, indices, sizes, is_exact=not has_bound)
    if part.is_exact:
        assert part.elements == len(met)
    assert part.elements >= len(met)
    assert all(any(s.least <= x <= s.largest for x in [at[axis]]) for at in met for axis, s in enumerate(part.spans))


def test_neighbouring_values_are_counted_without_enumerating_them():
    tile, i = Var("tile", "int64"), Var("i", "int64")
    loops = [Loop(tile, 0, 2**30), Loop(i, 0, 128)]
    index = Add(Mul(tile, IntImm("int64", 128)), i)
    assert Space(Values({}, nothing()), loops, [Inside(index, 2**36 + 5)]).count() == 2**36 + 5


def test_many_points_are_counted_in_parts(monkeypatch):
    i, j = Var("i", "int32"), Var("j", "int32")
    monkeypatch.setattr(spaces, "POINTS_AT_ONCE", 100)
    space = Space(Values({}, nothing()), [Loop(i, 0, 40), Loop(j, 0, Sub(number(40), i))], [Holds(LT(j, i))])
    assert space.count() == sum(1 for a in range(40) for b in range(40 - a) if b < a)


def test_too_many_points_make_a_bound(monkeypatch):
    i, j = Var("i", "int32"), Var("j", "int32")
    monkeypatch.setattr(spaces, "MOST_POINTS", 100)
    space = Space(Values({}, nothing()), [Loop(i, 0, 40), Loop(j, 0, 40)], [Holds(LT(Mul(i, j), number(7)))])
    assert space.count() == 1600
    assert "taken to hold" in space.unknown_conditions[0]
