"""The pass widen_operands: narrow floats are kept as float32 from the copy on, and results stay."""

import numpy as np
import pytest

import tilecore

from .cpu_kit import copies, whole_numbers
from .test_hoist_copies import product

WIDENED = "cpu -bfloat16=widened -features=avx2,f16c,fma"


@pytest.mark.parametrize("kind", ["bfloat16", "float16", "float8_e4m3", "float8_e5m2"])
@pytest.mark.parametrize(
    "sizes", [((64, 64, 64), (32, 32, 32)), ((33, 50, 40), (16, 32, 16)), ((7, 9, 3), (7, 9, 3))], ids=str
)
@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False)], ids=str)
def test_products_are_right(kind, sizes, transposed):
    shape, tile = sizes
    m, n, k = shape
    func = product(*shape, *tile, (kind, "float32"), transposed)
    few_rows = m < 16 and not transposed[1]  # which read B in place
    assert copies(func, "widened", WIDENED) == (["a"] if few_rows else ["a", "b"])
    rng = np.random.default_rng(0)
    a = whole_numbers(rng, (k, m) if transposed[0] else (m, k), kind)
    b = whole_numbers(rng, (n, k) if transposed[1] else (k, n), kind)
    c = np.zeros((m, n), np.float32)
    tilecore.compile(func, target=WIDENED)(a, b, c)
    left, right = a.astype(np.float32), b.astype(np.float32)
    np.testing.assert_array_equal(c, (left.T if transposed[0] else left) @ (right.T if transposed[1] else right))


def test_types_that_are_multiplied_as_they_are():
    assert copies(product(64, 64, 64, 32, 32, 32), "widened", WIDENED) == []
    assert copies(product(64, 64, 64, 32, 32, 32, ("int8", "int32")), "widened", WIDENED) == []
    dots = "cpu -march=znver4"
    assert copies(product(64, 64, 64, 32, 32, 32, ("bfloat16", "float32")), "widened", dots) == []
    assert (
        len(copies(product(64, 64, 64, 32, 32, 32, ("bfloat16", "float32")), "widened", "cpu -march=cooperlake")) == 2
    )
