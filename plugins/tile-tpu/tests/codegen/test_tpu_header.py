"""The header of emitted kernels, compiled by the host: conversions and arithmetic of the control core."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess

import ml_dtypes
import numpy as np
import pytest
from tile_tpu.include import FOLDER
from tile_tpu.simulate.build import INCLUDE
from tile_tpu.target import DTYPES

from tilecore.dtypes import FACTS, NARROW_FLOATS
from tilecore.element_values import cast, value_type

NARROW = {
    "float16": ("tc_half", np.float16, "uint16"),
    "bfloat16": ("tc_bfloat16", ml_dtypes.bfloat16, "uint16"),
    "float8_e4m3fn": ("tc_fp8_e4m3", ml_dtypes.float8_e4m3fn, "uint8"),
    "float8_e5m2": ("tc_fp8_e5m2", ml_dtypes.float8_e5m2, "uint8"),
    "float4_e2m1fn": ("tc_fp4_e2m1", ml_dtypes.float4_e2m1fn, "uint8"),
}
pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc on PATH")


def _functions() -> str:
    loop = "for (long i = 0; i < n; ++i)"
    lines = ['#include "tilecore_tpu.h"']
    for kind, _, _ in NARROW.values():
        lines += [
            f"void {kind}_widen(const {kind}* x, float* y, long n) {{ {loop} y[i] = tc_single(x[i]); }}",
            f"void {kind}_narrow_f(const float* x, {kind}* y, long n) {{ {loop} y[i] = {kind}_from(x[i]); }}",
            f"void {kind}_narrow_d(const double* x, {kind}* y, long n) {{ {loop} y[i] = {kind}_from(x[i]); }}",
            f"void {kind}_next(const {kind}* x, {kind}* y, long n) {{ {loop} y[i] = tc_nextafter(x[i], y[i]); }}",
        ]
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
        lines.append(
            f"void truncate_{name}(const double* x, {name}_t* y, long n) {{ {loop} y[i] = tc_truncate_{name}(x[i]); }}"
        )
    for bits, kind in ((32, "int"), (64, "long long")):
        for name in ("div", "mod", "floor_div", "floor_mod"):
            lines.append(
                f"void {name}_{bits}(const {kind}* x, const {kind}* z, {kind}* y, long n)"
                f" {{ {loop} y[i] = tc_{name}(x[i], z[i]); }}"
            )
    lines.append("int nested(int a, int b) { return tc_max(tc_min(a, tc_max(b, 3)), tc_abs(tc_min(b, a))); }")
    lines.append("float extreme(float a, float b) { return tc_max(tc_min(a, b), tc_min(b, b)); }")
    lines.append("int bits(long long x, unsigned y) { return 100 * tc_popcount(x) + tc_clz(y); }")
    lines.append(
        "int updates(int* p, tc_half* h) { const int old = tc_atomic_add(p, 5); tc_atomic_max(p, 40, tc_acq_rel);"
        " *h = tc_half_from(1.5f); tc_atomic_add(h, tc_half_from(0.25f)); return old + tc_atomic_exchange(p, -7); }"
    )
    return "\n".join(lines)


def test_the_target_has_the_narrow_floats_that_the_header_defines():
    text = (FOLDER / "tilecore_tpu" / "floats.h").read_text()
    defined = {name for name in NARROW_FLOATS if re.search(rf"\b{FACTS[name].c}\b", text)}
    assert defined == {*NARROW_FLOATS} & {*DTYPES}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("header")
    (folder / "all.c").write_text(_functions())
    flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-shared", "-fPIC"]
    command = ["gcc", *flags, f"-I{FOLDER}", f"-I{INCLUDE}", "all.c", "-o", "all.so", "-lm"]
    ended = subprocess.run(command, cwd=folder, text=True, capture_output=True)
    assert ended.returncode == 0, ended.stderr
    return ctypes.CDLL(str(folder / "all.so"))


def call(library, name: str, *arrays: np.ndarray) -> np.ndarray:
    """Calls a function of the library; returns the last array, which it writes."""
    getattr(library, name)(*(a.ctypes.data_as(ctypes.c_void_p) for a in arrays), ctypes.c_long(len(arrays[0])))
    return arrays[-1]


@pytest.mark.parametrize("dtype", NARROW)
def test_every_narrow_value_widens(library, dtype):
    kind, numpy_type, unsigned = NARROW[dtype]
    count = 16 if dtype == "float4_e2m1fn" else 1 << np.dtype(unsigned).itemsize * 8
    raw = np.arange(count, dtype=unsigned)
    got = call(library, f"{kind}_widen", raw, np.zeros(count, np.float32))
    np.testing.assert_array_equal(got, raw.view(numpy_type).astype(np.float32))
    finite = got[np.isfinite(got)]
    np.testing.assert_array_equal(np.signbit(finite), (raw[np.isfinite(got)] >> (int(count).bit_length() - 2)) == 1)


def _samples(numpy_type) -> np.ndarray:
    rng = np.random.default_rng(5)
    raw = rng.integers(0, 2**32, 200_000, dtype=np.uint32).view(np.float32)
    near = np.ldexp(rng.standard_normal(100_000), rng.integers(-30, 20, 100_000)).astype(np.float32)
    limits = np.array(
        [0.0, -0.0, np.inf, -np.inf, 448, 464, 465, 480, 57344, 61440, 65504, 65519, 65520, 6, 7, 5, 1e-9]
    )
    return np.concatenate([raw[~np.isnan(raw)], near, limits.astype(np.float32), -limits.astype(np.float32)])


@pytest.mark.parametrize("dtype", NARROW)
def test_floats_round_to_the_nearest(library, dtype):
    kind, numpy_type, unsigned = NARROW[dtype]
    meaning = value_type(dtype)
    x = _samples(numpy_type)
    got = call(library, f"{kind}_narrow_f", x, np.zeros(len(x), unsigned))
    with np.errstate(over="ignore", invalid="ignore"):
        expected = np.asarray(meaning.encode(cast(value_type("float32"), meaning, x)))
    np.testing.assert_array_equal(got, expected.view(unsigned))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_doubles_round_once(library, dtype):
    """The numbers are near the middle between two values, by less than a float can represent."""
    kind, numpy_type, unsigned = NARROW[dtype]
    steps = np.arange(1, 2000, dtype=np.float64)
    fraction = 10 if dtype == "float16" else 7
    halves = 1 + (steps % (1 << fraction) + 0.5) / (1 << fraction)
    x = np.concatenate([halves + 2.0**-40, halves - 2.0**-40, halves])
    got = call(library, f"{kind}_narrow_d", x, np.zeros(len(x), unsigned)).view(numpy_type).astype(np.float64)
    assert (np.abs(got - x) <= 2.0 ** -(fraction + 1)).all()
    third = len(steps)
    assert (got[:third] > x[:third]).all()
    assert (got[third : 2 * third] < x[third : 2 * third]).all()


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_floats_truncate_and_saturate(library, name):
    limits = np.iinfo(name)
    x = np.array(
        [0.9, -0.9, 1.5, -1.5, 1e30, -1e30, np.inf, -np.inf, np.nan, float(limits.max), float(limits.min), 100.7]
    )
    got = call(library, f"truncate_{name}", x, np.zeros(len(x), name))
    expected = [0 if v != v else min(max(int(np.clip(v, -1e31, 1e31)), limits.min), limits.max) for v in x]
    assert got.tolist() == expected


@pytest.mark.parametrize("bits", [32, 64])
def test_divisions(library, bits):
    kind = f"int{bits}"
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    values = [low, low + 1, -7, -1, 0, 1, 2, 7, high]
    x, z = (np.array(v, kind) for v in zip(*[(a, b) for a in values for b in values if b], strict=True))
    wraps = lambda v: (v - low) % (1 << bits) + low  # noqa: E731
    for name, meaning in {
        "floor_div": lambda a, b: wraps(a // b),
        "floor_mod": lambda a, b: a % b,
        "div": lambda a, b: wraps(abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)),
        "mod": lambda a, b: abs(a) % abs(b) * (-1 if a < 0 else 1),
    }.items():
        got = call(library, f"{name}_{bits}", x, z, np.zeros(len(x), kind))
        assert got.tolist() == [meaning(int(a), int(b)) for a, b in zip(x, z, strict=True)], name


def test_macros_take_each_other(library):
    assert [library.nested(a, b) for a, b in ((1, 2), (9, 4), (-8, 5))] == [1, 4, 8]
    library.extreme.restype = ctypes.c_float
    library.extreme.argtypes = [ctypes.c_float] * 2
    assert library.extreme(float("nan"), 2.0) == 2.0
    assert library.bits(ctypes.c_longlong(-1), 1) == 6431


def test_updates_return_the_old_value(library):
    value, half = ctypes.c_int(3), ctypes.c_uint16(0)
    assert library.updates(ctypes.byref(value), ctypes.byref(half)) == 43
    assert value.value == -7
    assert np.uint16(half.value).view(np.float16) == 1.75
