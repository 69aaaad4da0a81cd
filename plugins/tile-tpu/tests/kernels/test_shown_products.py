"""Products of every form and type, with tails in M, N and K, overwriting and adding."""

from __future__ import annotations

import numpy as np
import pytest
from products import product
from shown import element, empty, normal, run, wide

pytestmark = pytest.mark.rotated
FORMS = ("NN", "NT", "TT", "TN")
TYPES = ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int8", "float32")
SIZES = ((1, 1, 1), (130, 100, 70), (257, 65, 129), (64, 128, 192))  # M, N, K


def operands(m: int, n: int, k: int, form: str, dtype: str, whole: bool):
    """A and B as they are in memory, and their product. whole: the operands are small integers, whose sums are exact in
    float32."""
    a, b = normal(dtype, m, k), normal(dtype, k, n, seed=1)
    if whole:
        a, b = (np.random.default_rng(0).integers(-7, 8, x.shape).astype(x.dtype) for x in (a, b))
    exact = np.matmul(a.astype(np.int64), b.astype(np.int64)) if dtype == "int8" else wide(a) @ wide(b)
    lie = [x.T.copy() if letter == "T" else x for x, letter in zip((a, b), form, strict=True)]
    return lie, exact


def check(
    backend: str, size: tuple[int, int, int], form: str, dtype: str, *, adds: bool, whole: bool = False, out: str = ""
) -> None:
    (m, n, _), total = size, "int32" if dtype == "int8" else "float32"
    lie, exact = operands(*size, form, dtype, whole)
    old = (
        np.round(normal("float32", m, n, seed=2) * 8).astype(element(out or total))
        if adds
        else empty(out or total, m, n)
    )
    func = product(*size, form, dtype, total, out, adds)
    expected = wide(old) + exact if adds else exact
    if whole or dtype == "int8":
        run(backend, func, [*lie, old], {2: expected})
        return
    # sums are rounded to float32 in an order that is the simulators' own
    rounding = {"float16": 2e-3, "bfloat16": 1e-2}.get(out, 5e-5)
    run(backend, func, [*lie, old], {2: expected}, rounding, rounding)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("form", FORMS)
def test_forms_and_types(backend: str, form: str, dtype: str) -> None:
    number = FORMS.index(form) + TYPES.index(dtype)
    check(backend, SIZES[number % 4], form, dtype, adds=False, whole=True)
    check(backend, SIZES[(number + 1) % 4], form, dtype, adds=True)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_sizes(backend: str, size: tuple[int, int, int]) -> None:
    check(backend, size, "NN", "float16", adds=False, out="float16")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_results_of_narrow_floats(backend: str, dtype: str) -> None:
    check(backend, (130, 100, 70), "NT", dtype, adds=False, out=dtype)
    check(backend, (130, 100, 70), "NN", dtype, adds=True, out=dtype)
