"""The simulated element types against numpy and ml_dtypes, bit by bit."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from device_kit import needs_compiler, run

pytestmark = needs_compiler

TYPES = {
    "tc_half": (np.float16, np.uint16),
    "tc_bfloat16": (ml_dtypes.bfloat16, np.uint16),
    "tc_fp8_e4m3": (ml_dtypes.float8_e4m3fn, np.uint8),
    "tc_fp8_e5m2": (ml_dtypes.float8_e5m2, np.uint8),
    "tc_fp8_e4m3fnuz": (ml_dtypes.float8_e4m3fnuz, np.uint8),
    "tc_fp8_e5m2fnuz": (ml_dtypes.float8_e5m2fnuz, np.uint8),
}
EIGHT_BITS = [name for name in TYPES if "fp8" in name]


def every(name):
    dtype, bits = TYPES[name]
    return np.arange(2 ** (8 * np.dtype(bits).itemsize), dtype=np.uint32).astype(bits).view(dtype)


def same(actual, expected):
    """Equal, or both NaN; zeros with their sign."""
    with np.errstate(invalid="ignore"):
        actual, expected = actual.astype(np.float64), expected.astype(np.float64)
    nan = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(actual), nan)
    np.testing.assert_array_equal(actual[~nan], expected[~nan])
    np.testing.assert_array_equal(np.signbit(actual[~nan]), np.signbit(expected[~nan]))


@pytest.mark.parametrize("name", TYPES)
def test_to_float(name):
    source = f"KERNEL f(const {name}* A, float* B, int n) {{ for (int i = 0; i < n; ++i) B[i] = float(A[i]); }}"
    a = every(name)
    b = np.zeros(a.size, np.float32)
    run(source, 1, ("A", a, "r"), ("B", b, "w"), a.size)
    same(b, a)


def floats_near(name):
    """Every value of the type, what lies half way between neighbours, and the floats next to those."""
    values = np.sort(every(name).astype(np.float32))
    values = values[np.isfinite(values)]
    halves = (values[1:].astype(np.float64) + values[:-1]) / 2
    exact = np.concatenate([values, halves.astype(np.float32)])
    up, down = np.nextafter(exact, np.float32(np.inf)), np.nextafter(exact, np.float32(-np.inf))
    more = np.array(
        [0.0, -0.0, np.inf, -np.inf, np.nan, 3e38, -3e38, 1e-40, 464.0, 465.0, 65519.0, 65520.0], np.float32
    )
    return np.concatenate([exact, up, down, more])


def rounded(values, name):
    """To nearest even; the 8-bit types saturate."""
    dtype, _ = TYPES[name]
    if name in EIGHT_BITS:
        largest = float(ml_dtypes.finfo(dtype).max)
        values = np.where(np.isnan(values), values, np.clip(values, -largest, largest))
    with np.errstate(over="ignore"):
        return values.astype(dtype)


@pytest.mark.parametrize("name", TYPES)
def test_from_float(name):
    source = f"KERNEL f(const float* A, {name}* B, int n) {{ for (int i = 0; i < n; ++i) B[i] = {name}(A[i]); }}"
    a = floats_near(name)
    b = np.zeros(a.size, TYPES[name][0])
    run(source, 1, ("A", a, "r"), ("B", b, "w"), a.size)
    same(b, rounded(a, name))


@pytest.mark.parametrize("name", ["tc_half", "tc_bfloat16"])
def test_a_double_rounds_once(name):
    """What is a hair off the middle of two neighbours is in the middle once it is a float."""
    source = f"KERNEL f(const double* A, {name}* B, int n) {{ for (int i = 0; i < n; ++i) B[i] = {name}(A[i]); }}"
    values = every(name)[0x2000:0x2400].astype(np.float64)
    below, above = values[:-1], values[1:]
    middle = (below + above) / 2
    a = np.concatenate([middle * (1 + 2.0**-50), middle * (1 - 2.0**-50), -middle * (1 + 2.0**-50)])
    assert (a[: middle.size].astype(np.float32) == middle).all()
    b = np.zeros(a.size, TYPES[name][0])
    run(source, 1, ("A", a, "r"), ("B", b, "w"), a.size)
    same(b, np.concatenate([above, below, -above]))


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("operator", "+-*/")
def test_arithmetic_rounds_to_the_type(name, operator):
    source = f"""
KERNEL f(const {name}* A, const {name}* B, {name}* C, int n) {{
  for (int i = 0; i < n; ++i) C[i] = A[i] {operator} B[i];
}}
"""
    generator = np.random.default_rng(1)
    values = every(name)
    a, b = generator.choice(values, 4000), generator.choice(values, 4000)
    c = np.zeros_like(a)
    run(source, 1, ("A", a, "r"), ("B", b, "r"), ("C", c, "w"), a.size)
    wide = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}[operator]
    with np.errstate(all="ignore"):
        expected = wide(a.astype(np.float32), b.astype(np.float32))
    same(c, rounded(expected, name))


def test_comparisons_and_signs():
    source = """
KERNEL f(const tc_half* A, int* B, int n) {
  for (int i = 0; i < n; ++i)
    B[i] = (A[i] < tc_half(1)) + 2 * (A[i] == tc_half(1.0)) + 4 * (A[i] >= tc_half(2)) + 8 * (float(-A[i]) > 0.5f) +
           16 * tc_isnan(A[i]) + 32 * (int(tc_abs(A[i])) == 3);
}
"""
    a = np.array([0.5, 1.0, 2.0, -1.0, np.nan, -3.25], np.float16)
    b = np.zeros(6, np.int32)
    run(source, 1, ("A", a, "r"), ("B", b, "w"), 6)
    assert b.tolist() == [1, 2, 4, 1 + 8, 16, 1 + 8 + 32]


def test_tensor_float_rounds_to_ten_bits():
    source = "KERNEL f(const float* A, float* B, int n) { for (int i = 0; i < n; ++i) B[i] = tc_round_tf32(A[i]); }"
    a = np.array([1 + 2**-11, 1 + 3 * 2**-11, 1 + 2**-11 + 2**-20, -1.5, np.inf, np.nan, 3.0e38], np.float32)
    b = np.zeros_like(a)
    run(source, 1, ("A", a, "r"), ("B", b, "w"), a.size)
    assert b[:4].tolist() == [1.0, 1 + 2**-9, 1 + 2**-10, -1.5]
    assert np.isposinf(b[4])
    assert np.isnan(b[5])
    assert abs(b[6] / 3.0e38 - 1) < 2**-11


FUNCTIONS = ["exp", "log", "sqrt", "tanh", "sin", "floor", "erf", "rsqrt", "exp2", "abs"]


@pytest.mark.parametrize("kind", ["float", "double", "tc_half", "tc_bfloat16"])
def test_functions(kind):
    from math import erf

    body = "\n".join(f"  B[{i} * 64 + t] = tc_{name}(A[t]);" for i, name in enumerate(FUNCTIONS))
    source = f"KERNEL f(const {kind}* A, {kind}* B) {{\n  const int t = thread_x;\n{body}\n}}\n"
    dtype = {"float": np.float32, "double": np.float64, "tc_half": np.float16, "tc_bfloat16": ml_dtypes.bfloat16}[kind]
    a = np.linspace(0.1, 6, 64).astype(dtype)
    b = np.zeros((len(FUNCTIONS), 64), dtype)
    run(source, 64, ("A", a, "r"), ("B", b, "w"))
    x = a.astype(np.float64)
    references = {"erf": np.vectorize(erf), "rsqrt": lambda v: 1 / np.sqrt(v)}
    tolerance = {"float": 1e-6, "double": 1e-14, "tc_half": 2**-11, "tc_bfloat16": 2**-8}[kind] * 1.01
    for row, name in zip(b, FUNCTIONS, strict=True):
        expected = references.get(name, getattr(np, name, None))(x)
        np.testing.assert_allclose(row.astype(np.float64), expected, rtol=tolerance, atol=1e-7, err_msg=name)


ATOMIC_TYPES = {
    "int": np.int32, "unsigned": np.uint32, "int64_t": np.int64, "uint8_t": np.uint8, "float": np.float32,
    "double": np.float64, "tc_half": np.float16, "tc_bfloat16": ml_dtypes.bfloat16,
}  # fmt: skip


@pytest.mark.parametrize("kind", ATOMIC_TYPES)
def test_atomics_of_every_type(kind):
    source = f"""
KERNEL f({kind}* A) {{
  tc_atomic_add(A + 0, 1);
  tc_atomic_max(A + 1, thread_x);
  tc_atomic_min(A + 2, thread_x + 3);
  const {kind} pair[4] = {{{kind}(1), {kind}(2), {kind}(3), {kind}(4)}};
  tc_atomic_add_x4(A + 4, pair, tc_acq_rel);
  if (thread_x == 5) tc_atomic_exchange(A + 3, 7);
}}
"""
    a = np.zeros(8, ATOMIC_TYPES[kind])
    a[2] = 100
    run(source, 32, ("A", a, "rw"))
    assert a.astype(np.float64).tolist() == [32, 31, 3, 7, 32, 64, 96, 128]


def test_integer_atomics():
    source = """
KERNEL f(unsigned* A) {
  tc_atomic_or(A, 1u << thread_x % 8);
  tc_atomic_and(A + 1, ~(1u << thread_x % 8));
  tc_atomic_xor(A + 2, 1u << thread_x);
  unsigned seen = 0, old;
  while ((old = tc_atomic_cas(A + 3, seen, seen + 2)) != seen) seen = old;
}
"""
    a = np.array([0, 0xFFF, 0, 0], np.uint32)
    run(source, 32, ("A", a, "rw"))
    assert a.tolist() == [0xFF, 0xF00, 0xFFFFFFFF, 64]
