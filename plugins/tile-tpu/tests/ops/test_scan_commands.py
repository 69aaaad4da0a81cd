"""scan as commands, compared with numpy: every axis, type, layout and unusual size."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from lowered_tiles import Bench, region
from tile_tpu.ir.layouts import LANE, ROW, TILE
from tile_tpu.lowering.tile_ops.scan import IMPLEMENTATIONS

from tilecore.element_values import value_type
from tilecore.interpreter.tiles.reductions import REDUCTIONS

(SCAN,) = IMPLEMENTATIONS
RNG = np.random.default_rng(0)


def values(shape, dtype):
    kind = np.dtype(dtype)
    if kind.kind in "iu":
        return RNG.integers(np.iinfo(kind).min, np.iinfo(kind).max + 1, shape).astype(kind)
    return RNG.standard_normal(shape).astype(kind)


def check(source, kind, axis, dtype, reverse=0, layouts=(TILE, TILE), in_place=False):
    bench = Bench()
    a = bench.buffer(source, dtype, layouts[0])
    out = a if in_place else bench.buffer(np.zeros_like(source), dtype, layouts[1], written=False)
    bench.run(SCAN, "scan", [region(a), region(out), kind, axis, reverse])
    join, target = REDUCTIONS[kind], value_type(dtype)
    value = np.flip(source, axis) if reverse else source
    expected = join.finish(target, join.accumulate(target, value.astype(target.carrier), axis))
    expected = np.flip(expected, axis) if reverse else expected
    got = bench.value(out)
    if target.is_float and kind == "sum":
        bound = {"float32": 1e-5, "float16": 2e-3, "bfloat16": 1.6e-2}[dtype] * (
            1 + np.abs(expected.astype("f8")).max()
        )
        assert np.abs(got.astype("f8") - expected.astype("f8")).max() <= bound
    else:
        assert np.array_equal(got, expected, equal_nan=target.is_float)


@pytest.mark.parametrize("kind", ["sum", "max"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
def test_matrices_of_odd_sizes(kind, axis, reverse):
    for shape in product((1, 17, 64, 130), (1, 16, 65, 100)):
        check(values(shape, "float32"), kind, axis, "float32", reverse)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int32", "uint32", "int16", "int8", "uint8"])
@pytest.mark.parametrize("kind", ["sum", "max"])
def test_types(dtype, kind):
    for axis, reverse in product((0, 1), (0, 1)):
        check(values((65, 33), dtype), kind, axis, dtype, reverse)


def test_vectors():
    for size, source, target in product((1, 64, 100, 300), (LANE, ROW), (LANE, ROW)):
        check(values((size,), "float32"), "sum", 0, "float32", layouts=(source, target))


def test_stacks():
    for axis in (0, 2):
        check(values((3, 20, 33), "float32"), "sum", axis, "float32")


def test_in_place():
    for axis, size in product((0, 1), (1, 2, 33)):
        check(values((size, size), "float32"), "max", axis, "float32", in_place=True)


def test_nan_is_passed_over():
    source = values((20, 30), "float32")
    source[RNG.random(source.shape) < 0.3] = np.nan
    for axis in (0, 1):
        check(source, "max", axis, "float32")
