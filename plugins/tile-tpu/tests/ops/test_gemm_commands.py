"""gemm as commands, compared with numpy: every form, type and unusual size."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from lowered_tiles import Bench, region
from tile_tpu.lowering.tile_ops.matrix.gemm import IMPLEMENTATIONS

from tilecore.ir.nodes import Var, tirx

(GEMM,) = IMPLEMENTATIONS
RNG = np.random.default_rng(0)
SIZES = [(1, 1, 1), (16, 16, 16), (17, 15, 33), (64, 64, 64), (65, 63, 130), (130, 65, 16), (1, 130, 65)]


def matrix(rows: int, columns: int, dtype: str) -> np.ndarray:
    if dtype in ("int8", "uint8"):
        limits = np.iinfo(dtype)
        return RNG.integers(limits.min, limits.max + 1, (rows, columns)).astype(dtype)
    return (RNG.standard_normal((rows, columns)) / 2).astype(np.dtype(dtype))


def run(sizes, types, turned=(0, 0), clear=1, chip="bm1690", config=None):
    """(result, expected) as float64 or int64, and the bench."""
    (m, n, k), (ta, tb) = sizes, turned
    a = matrix(*((k, m) if ta else (m, k)), types[0])
    b = matrix(*((n, k) if tb else (k, n)), types[1])
    c = RNG.integers(-(2**31), 2**31, (m, n)).astype("int32") if types[2] == "int32" else matrix(m, n, types[2])
    bench = Bench(chip, config or {})
    is_cleared = isinstance(clear, int) and clear
    va, vb, vc = bench.buffer(a, types[0]), bench.buffer(b, types[1]), bench.buffer(c, types[2], written=not is_cleared)
    flag = tirx.const(bool(clear), "bool") if isinstance(clear, int) else clear
    bench.run(GEMM, "gemm", [region(va), region(vb), region(vc), ta, tb, flag, 0])
    wide = np.int64 if types[2] == "int32" else np.float64
    product = (a.T if ta else a).astype(wide) @ (b.T if tb else b).astype(wide)
    expected = product if is_cleared else c.astype(wide) + product
    if wide is np.int64:
        expected = expected.astype(np.int32).astype(np.int64)
    return bench.value(vc).astype(wide), expected, bench


def close(got, expected, dtype):
    bound = {"float32": 2e-6, "float16": 1e-3, "bfloat16": 8e-3}[dtype]
    assert np.abs(got - expected).max() <= bound * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize("chip", ["bm1690", "bm1684x", "bm1688"])
@pytest.mark.parametrize("turned", list(product((0, 1), repeat=2)))
@pytest.mark.parametrize("clear", [0, 1])
def test_forms(chip, turned, clear):
    for sizes in SIZES:
        got, expected, _ = run(sizes, ("float16", "float16", "float32"), turned, clear, chip)
        close(got, expected, "float32")


@pytest.mark.parametrize("result", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float32"])
@pytest.mark.parametrize("turned", [(0, 0), (0, 1), (1, 0)])
def test_float_types(kind, result, turned):
    for clear in (0, 1):
        got, expected, _ = run((65, 33, 40), (kind, kind, result), turned, clear)
        close(got, expected, result)


@pytest.mark.parametrize(
    "kinds",
    [("float8_e4m3fn", "float8_e5m2"), ("float8_e5m2", "bfloat16"), ("float16", "float8_e4m3fn"), ("int8", "uint8"),
     ("float16", "bfloat16"), ("float32", "float16"), ("int8", "int8"), ("float16", "uint8"), ("int8", "float32")],
)  # fmt: skip
def test_mixed_floats(kinds):
    got, expected, _ = run((20, 70, 65), (*kinds, "float32"), (0, 1), 0)
    close(got, expected, "float32")


@pytest.mark.parametrize("chip", ["bm1690", "bm1688"])
@pytest.mark.parametrize("kinds", list(product(("int8", "uint8"), repeat=2)))
@pytest.mark.parametrize("turned", list(product((0, 1), repeat=2)))
def test_bytes_are_exact_and_wrap(kinds, turned, chip):
    for clear in (0, 1):
        got, expected, _ = run((65, 20, 70), (*kinds, "int32"), turned, clear, chip)
        assert np.array_equal(got, expected)


def test_unsigned_bytes_wrap_in_an_unsigned_result():
    for clear, turned in product((0, 1), ((0, 0), (0, 1))):
        bench = Bench()
        a, b = matrix(20, 70, "uint8"), matrix(*((33, 70) if turned[1] else (70, 33)), "uint8")
        c = RNG.integers(2**31, 2**32, (20, 33)).astype("uint32")
        va, vb, vc = bench.buffer(a, "uint8"), bench.buffer(b, "uint8"), bench.buffer(c, "uint32", written=not clear)
        flag = tirx.const(bool(clear), "bool")
        bench.run(GEMM, "gemm", [region(va), region(vb), region(vc), *turned, flag, 0])
        total = a.astype("int64") @ (b.T if turned[1] else b).astype("int64") + (0 if clear else c)
        assert np.array_equal(bench.value(vc), total.astype("uint32"))


def test_float32_is_as_precise_as_float32():
    got, expected, bench = run((64, 64, 256), ("float32", "float32", "float32"))
    single = 256 * 2.0**-24
    assert np.abs(got - expected).max() < single
    assert bench.machine.count["mm"] == 6
    rough, expected, bench = run((64, 64, 256), ("float32",) * 3, config={"tl.allow_tf32": True})
    assert bench.machine.count["mm"] == 3
    assert single < np.abs(rough - expected).max() < 256 * 2.0**-16


def test_clear_as_an_expression():
    step = Var("step", "int32")
    for number in (0, 1):
        for types in (
            ("float16", "float16", "float32"),
            ("float16", "float16", "float16"),
            ("uint8", "uint8", "int32"),
        ):
            a, b, c = matrix(20, 30, types[0]), matrix(30, 17, types[1]), np.ones((20, 17), types[2])
            bench = Bench()
            va, vb = bench.buffer(a, types[0]), bench.buffer(b, types[1])
            vc = bench.buffer(c, types[2], written=number > 0)
            bench.machine.values[step] = number
            flag = tirx.EQ(step, tirx.const(0, "int32"))
            bench.run(GEMM, "gemm", [region(va), region(vb), region(vc), 0, 0, flag, 0])
            expected = a.astype(np.float64) @ b.astype(np.float64) + (number > 0)
            assert np.abs(bench.value(vc) - expected).max() <= 4e-3 * np.abs(expected).max()


def test_slices_are_moved_and_put_back():
    bench = Bench()
    a, b, c = (matrix(*shape, "float16") for shape in ((3 * 100, 80), (90, 150), (200, 140)))
    whole = a.reshape(3, 100, 80)
    va, vb, vc = bench.buffer(whole, "float16"), bench.buffer(b, "float16"), bench.buffer(c, "float16")
    args = [region(va, 2, (30, 66), (16, 33)), region(vb, (5, 33), (7, 100)), region(vc, (70, 66), (3, 100))]
    bench.run(GEMM, "gemm", [*args, 0, 0, tirx.const(False, "bool"), 0])
    expected = c.astype(np.float64)
    expected[70:136, 3:103] += whole[2, 30:96, 16:49].astype(np.float64) @ b[5:38, 7:107].astype(np.float64)
    got = bench.value(vc)
    assert np.abs(got - expected).max() < 0.03
    outside = np.ones(c.shape, bool)
    outside[70:136, 3:103] = False
    assert np.array_equal(got[outside], c[outside])


def test_whole_tiles_need_no_moves():
    _, _, bench = run((130, 96, 64), ("float16", "float16", "float32"), (0, 1), 0)
    assert bench.machine.count == {"mm_nt": 1}
    _, _, bench = run((130, 96, 64), ("float16", "float16", "float16"), (1, 0), 1)
    assert bench.machine.count == {"mm": 1, "transpose": 1}


def test_a_stage_of_a_ring_is_used_in_place():
    bench = Bench()
    ring = bench.buffer(np.ones((3, 70, 64)), "float16")
    b, c = bench.buffer(np.ones((64, 32)), "float16"), bench.buffer(np.zeros((70, 32)), "float32")
    stage = Var("k", "int32")
    bench.machine.values[stage] = 2
    a = region(ring, (0, 1), (0, 70), (0, 64))
    from tilecore.ir.nodes import BufferRegion, Range

    a = BufferRegion(ring, [Range.from_min_extent(stage % 3, 1), *list(a.region)[1:]])
    bench.run(GEMM, "gemm", [a, region(b), region(c), 0, 0, tirx.const(True, "bool"), 0])
    assert bench.machine.count == {"mm": 1}
    assert np.all(bench.value(c) == 64)


@pytest.mark.parametrize(
    ("types", "words"),
    [(("int32", "int32", "int32"), "no product"), (("int8", "int8", "uint32"), "int32"),
     (("float16", "float16", "int32"), "does not store"), (("int8", "int8", "int8"), "does not store")],
)  # fmt: skip
def test_declines_with_a_reason(types, words):
    bench = Bench()
    regions = [region(bench.buffer(np.ones((16, 16)), t)) for t in types]
    reason = bench.declined(GEMM, "gemm", [*regions, 0, 0, tirx.const(True, "bool"), 0])
    assert reason is not None
    assert words in reason


def test_declines_memory_that_is_not_local_and_fp8_where_there_is_none():
    bench = Bench("bm1684x")
    tile = region(bench.buffer(np.ones((16, 16)), "float8_e4m3fn"))
    out = region(bench.buffer(np.ones((16, 16)), "float32"))
    clear = tirx.const(True, "bool")
    assert "fp8" in (bench.declined(GEMM, "gemm", [tile, tile, out, 0, 0, clear, 0]) or "")
    far = region(tirx.decl_buffer([16, 16], "float16", "A", scope="global", layout=None))
    assert "global" in (bench.declined(GEMM, "gemm", [far, far, out, 0, 0, clear, 0]) or "")
