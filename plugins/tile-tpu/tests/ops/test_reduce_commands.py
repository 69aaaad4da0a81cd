"""reduce as commands, compared with numpy: every axis, kind, type, layout and unusual size."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from lowered_tiles import Bench, region
from tile_tpu.ir.layouts import LANE, PARTITIONED, ROW, TILE
from tile_tpu.lowering.tile_ops.reduce import IMPLEMENTATIONS

from tilecore.element_values import value_type
from tilecore.interpreter.tiles.reductions import PROPAGATING, REDUCTIONS

(REDUCE,) = IMPLEMENTATIONS
RNG = np.random.default_rng(0)
SIZES = (1, 15, 16, 17, 63, 64, 65, 130)
FLOATS = ("float32", "float16", "bfloat16")
FLOAT_KINDS = ("sum", "max", "min", "abssum", "absmax")


def values(shape, dtype):
    kind = np.dtype("uint8" if dtype == "bool" else dtype)
    if dtype == "bool":
        return RNG.integers(0, 2, shape).astype(kind)
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        return RNG.integers(limits.min, limits.max + 1, shape).astype(kind)
    return RNG.standard_normal(shape).astype(kind)


def meaning(source, kind, axis, dtype, old=None, propagate=False):
    """The result of the interpreter, before it is rounded to a narrow type."""
    target = value_type(dtype)
    join = (PROPAGATING.get(kind) if propagate else None) or REDUCTIONS[kind]
    value = source.astype(target.carrier)
    value = np.abs(value) if kind.startswith("abs") and dtype != "bool" else value
    reduced = join.reduce(target, value, axis)
    if old is not None:
        work = join.working(target)
        reduced = join.ufunc(target)(old.astype(work), np.asarray(reduced).astype(work))
    return np.asarray(reduced if target.is_float else join.finish(target, reduced))


def check(source, kind, axis, dtype, *, target_kind=LANE, source_kind=TILE, clear=1, propagate=0, source_dtype=None,
          keep=False, chip="bm1690", config=None):  # fmt: skip
    bench = Bench(chip, config or {})
    source_dtype = source_dtype or dtype
    shape = source.shape[:axis] + ((1,) if keep else ()) + source.shape[axis + 1 :] or (1,)
    old = values(shape, dtype)
    a = bench.buffer(source, source_dtype, source_kind)
    out = bench.buffer(old, dtype, target_kind if len(shape) == 1 else TILE, written=not clear)
    bench.run(REDUCE, "reduce", [region(a), region(out), kind, axis, clear, propagate])
    expected = meaning(source, kind, axis, dtype, None if clear else old.reshape(shape), bool(propagate))
    compare(bench.value(out), expected.reshape(shape), source, dtype, kind)
    return bench


def compare(got, expected, source, dtype, kind):
    if value_type(dtype).is_float:
        spread = float(np.nansum(np.abs(np.where(np.isfinite(source), source, 0).astype(np.float64)))) + 1
        bound = spread * 1e-6 + {"float32": 0, "float16": 1e-3, "bfloat16": 8e-3}[dtype] * (1 + np.abs(expected))
        with np.errstate(invalid="ignore"):
            near = np.abs(got.astype(np.float64) - expected) <= bound
        same = (got == expected) | (np.isnan(got.astype(np.float64)) & np.isnan(expected))
        assert np.all(near | same), (kind, got, expected)
    else:
        assert np.array_equal(got.astype(np.int64), expected.astype(np.int64)), (kind, got, expected)


@pytest.mark.parametrize("kind", FLOAT_KINDS)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("target", [LANE, ROW])
def test_matrices_of_odd_sizes(kind, axis, target):
    for rows, columns in product(SIZES, (1, 17, 64, 130)):
        check(values((rows, columns), "float32"), kind, axis, "float32", target_kind=target)


@pytest.mark.parametrize("kind", FLOAT_KINDS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_float_types(kind, dtype):
    for clear, axis in product((0, 1), repeat=2):
        check(values((70, 33), dtype), kind, axis, dtype, clear=clear)


def test_sums_of_halves_are_float32():
    check(np.ones((3, 8192), "float16"), "sum", 1, "float32", source_dtype="float16")
    check(np.full((200, 40), 0.1, "float16"), "sum", 0, "float16", target_kind=ROW)


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int16", "uint16", "int8", "uint8"])
@pytest.mark.parametrize("kind", ["sum", "max", "min", "abssum", "absmax", "bitand", "bitor", "bitxor"])
def test_integers_are_exact_and_wrap(dtype, kind):
    for (rows, columns), axis in product(((65, 17), (3, 130), (130, 2)), (0, 1)):
        check(values((rows, columns), dtype), kind, axis, dtype, clear=axis, target_kind=ROW)


@pytest.mark.parametrize("kind", ["max", "min", "bitand", "bitor", "bitxor"])
def test_bool(kind):
    for axis in (0, 1):
        check(values((20, 30), "bool"), kind, axis, "bool", clear=1 - axis)


@pytest.mark.parametrize("pair", [("int8", "int32"), ("uint8", "int32"), ("uint8", "float32"), ("float16", "float32"),
                                  ("float32", "float16"), ("bool", "int32"), ("float8_e4m3fn", "float32")])  # fmt: skip
def test_into_another_type(pair):
    source, target = pair
    for kind, axis in product(("sum", "max"), (0, 1)):
        value = values((40, 70), source)
        rounded = value.astype(np.dtype(target))
        bench = Bench()
        a = bench.buffer(value, source)
        out = bench.buffer(np.zeros(70 if axis == 0 else 40), target, LANE, written=False)
        bench.run(REDUCE, "reduce", [region(a), region(out), kind, axis, 1, 0])
        compare(bench.value(out), meaning(rounded, kind, axis, target), rounded, target, kind)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_stacks_of_matrices(axis):
    for shape, keep in product(((3, 20, 17), (2, 130, 5), (65, 3, 33), (1, 16, 16)), (False, True)):
        for kind, dtype in (("sum", "float32"), ("max", "float16"), ("bitxor", "int32")):
            check(values(shape, dtype), kind, axis, dtype, keep=keep, clear=int(keep))


def test_four_axes():
    for axis in range(4):
        check(values((2, 3, 17, 5), "float32"), "sum", axis, "float32")


@pytest.mark.parametrize("layout", [LANE, ROW, PARTITIONED, "flat"])
def test_vectors(layout):
    for size in (1, 17, 64, 65, 128, 130, 1024):
        if layout == PARTITIONED and size % 64:
            continue
        for kind, dtype in (("sum", "float32"), ("max", "float16"), ("sum", "int32"), ("bitand", "uint8")):
            check(values((size,), dtype), kind, 0, dtype, source_kind=layout, clear=size % 2)


@pytest.mark.parametrize("kind", ["max", "min", "absmax"])
@pytest.mark.parametrize("propagate", [0, 1])
def test_nan(kind, propagate):
    for dtype, axis, clear in product(("float32", "float16"), (0, 1), (0, 1)):
        source = values((20, 30), dtype)
        source[RNG.random(source.shape) < 0.2] = np.nan
        source[3] = source[:, 4] = np.nan
        source[5, 5], source[6, 6] = np.inf, -np.inf
        check(source, kind, axis, dtype, clear=clear, propagate=propagate)


def test_nan_in_the_target():
    for propagate, kind in product((0, 1), ("max", "min")):
        bench = Bench()
        source, old = values((20, 30), "float32"), values((20,), "float32")
        old[::3] = np.nan
        a, out = bench.buffer(source, "float32"), bench.buffer(old, "float32", LANE)
        bench.run(REDUCE, "reduce", [region(a), region(out), kind, 1, 0, propagate])
        expected = meaning(source, kind, 1, "float32", old, bool(propagate))
        assert np.array_equal(bench.value(out), expected.astype("float32"), equal_nan=True)


def test_slices():
    bench = Bench()
    whole, old = values((3, 200, 150), "float32"), values((90, 40), "float32")
    a, out = bench.buffer(whole, "float32"), bench.buffer(old, "float32")
    bench.run(REDUCE, "reduce", [region(a, 1, (70, 20), (3, 100)), region(out, (66, 20), 5), "sum", 2, 1, 0])
    expected = old.copy()
    expected[66:86, 5] = whole[1, 70:90, 3:103].sum(1)
    assert np.allclose(bench.value(out), expected, atol=1e-4)


def commands_of(shape, kind, dtype="float32", source_dtype=None, **options):
    bench = check(values(shape, source_dtype or dtype), kind, 1, dtype, source_dtype=source_dtype, **options)
    return bench.machine.count


def test_rows_of_no_more_than_the_units_are_one_pool():
    fast = {"tl.enable_fast_math": True}
    assert commands_of((130, 16), "max") == {"max": 1, "reduce_max": 1}
    assert commands_of((130, 16), "max", config=fast) == {"reduce_max": 1}
    assert commands_of((130, 20), "sum") == {"reduce_sum": 1}


def test_wide_rows_are_pooled_to_the_units_first():
    """A pool of one row keeps one unit of a lane busy: 64 values take 64 cycles, in two pools 4 and 16."""
    assert commands_of((130, 64), "max") == {"max": 1, "reduce_max": 2}
    assert commands_of((130, 64), "sum") == {"reduce_sum": 2}
    assert commands_of((64, 128), "sum", "float32", "float16") == {"reduce_sum": 3}  # 32 units, then 16, then 1


def test_wide_rows_with_tails():
    """The incomplete last row of units is padded behind the values; in a copy where the memory there is the user's."""
    assert commands_of((130, 70), "max") == {"max": 1, "fill": 1, "reduce_max": 2}
    assert commands_of((130, 70), "sum") == {"copy": 1, "fill": 1, "reduce_sum": 2}
    for kind, dtype, columns in product(FLOAT_KINDS, FLOATS, (33, 65, 100, 257, 1020)):
        check(values((70, columns), dtype), kind, 1, dtype)
        check(values((3, columns), dtype), kind, 1, dtype, chip="bm1688")


def test_elements_behind_a_slice_are_not_changed():
    """Behind a slice of columns is the rest of its row, not padding."""
    for kind in FLOAT_KINDS:
        bench = Bench(config={"tl.enable_fast_math": True})
        whole, old = values((130, 112), "float32"), values((130,), "float32")
        a, out = bench.buffer(whole, "float32"), bench.buffer(old, "float32", LANE)
        bench.run(REDUCE, "reduce", [region(a, (0, 130), (0, 100)), region(out), kind, 1, 1, 0])
        compare(bench.value(out), meaning(whole[:, :100], kind, 1, "float32"), whole, "float32", kind)
        assert np.array_equal(bench.value(a), whole)


def test_other_lanes():
    for kind, axis in product(("sum", "max"), (0, 1)):
        check(values((70, 33), "float32"), kind, axis, "float32", chip="bm1688", target_kind=ROW)


def test_sources_stay_as_they_are():
    bench = Bench()
    source, old = values((1, 40), "float32"), values((40,), "float32")
    a, out = bench.buffer(source, "float32"), bench.buffer(old, "float32", ROW)
    bench.run(REDUCE, "reduce", [region(a), region(out), "abssum", 0, 0, 0])
    assert np.array_equal(bench.value(a), source)


@pytest.mark.parametrize(
    ("source", "target", "words"),
    [("int64", "int64", "does not support int64"), ("int32", "int8", "does not hold all"),
     ("float32", "int32", "does not hold all"), ("int8", "bool", "to bool")],
)  # fmt: skip
def test_declines_with_a_reason(source, target, words):
    bench = Bench()
    a, out = bench.buffer(np.ones((4, 4)), source), bench.buffer(np.ones(4), target, LANE)
    reason = bench.declined(REDUCE, "reduce", [region(a), region(out), "max", 1, 1, 0]) or ""
    assert words in reason
