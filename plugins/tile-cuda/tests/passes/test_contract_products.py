"""contract_products: with fast mathematics a sum of two products rounds one of them only."""

from __future__ import annotations

import pytest

import tilecore.language as T
from tilecore.testing.kernel_text import text
from tilecore.transform import PassConfigKey

from .one_pass import around_pass

PASS = "contract_products"
FAST = {PassConfigKey.TL_ENABLE_FAST_MATH.value: True}
FORMS = {
    "difference": (lambda a, b, s: a * s - b * s, "T.fma(A[i], S, B[0] * S * T.float32(-1.0))"),
    "sum": (lambda a, b, s: a * s + b * s, "T.fma(A[i], S, B[0] * S)"),
    "the first rounded": (lambda a, b, s: b * s - a * s, "T.fma(A[i] * T.float32(-1.0), S, B[0] * S)"),
    "three products": (lambda a, b, s: a * a + b * b + a * b, "T.fma(A[i], B[0], T.fma(A[i], A[i], B[0] * B[0]))"),
    "no product": (lambda a, b, s: a + b, "A[i] + B[0]"),
}


def kernel_of(form):
    @T.prim_func
    def two_products(A: T.Tensor((64,), "float32"), B: T.Tensor((4,), "float32"), S: T.float32):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                A[i] = form(A[i], B[0], S)

    return two_products


@pytest.mark.parametrize("name", FORMS)
def test_the_product_with_fewer_variables_is_rounded(name):
    form, expected = FORMS[name]
    _, after, _ = around_pass(kernel_of(form), PASS, config=FAST)
    assert f"A[i] = {expected}" in text(after)


def test_without_fast_mathematics_both_are_rounded():
    before, after, _ = around_pass(kernel_of(FORMS["difference"][0]), PASS)
    assert text(before) == text(after)
