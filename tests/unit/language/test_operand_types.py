"""Types that T.dp4a and the fast functions of TileLang refuse when they are called, in a kernel or outside of one."""

from __future__ import annotations

import pytest

import tilecore.language as T
from tilecore.errors import LanguageError, WrongTypeError
from tilecore.ir.nodes import Call, tirx

from .kit import kind

FAST = {name: getattr(T, f"__{name}") for name in ("exp", "exp10", "log", "log2", "log10", "tan", "cos", "sin")}


@pytest.mark.parametrize("name", FAST)
def test_fast_functions_take_floats_of_16_bits_and_more(name):
    for dtype in ("bool", "int8", "int32", "uint64", "float8_e4m3fn", "float8_e5m2", "float4_e2m1fn"):
        with pytest.raises(WrongTypeError, match=rf"T\.__{name} only supports floating-point inputs, but got {dtype}"):
            FAST[name](tirx.Var("value", dtype))
    for dtype in ("float16", "bfloat16", "float32", "float64"):
        result = FAST[name](tirx.Var("value", dtype))
        assert isinstance(result, Call)
        assert kind(result) == dtype
    with pytest.raises(TypeError, match="but got int32"):
        FAST[name](3)
    assert FAST[name](0.5) == getattr(T, name)(0.5)


def _dot_product(a, b, c, size=4, lanes=4):
    @T.prim_func
    def kernel(A: T.Tensor((2, size), a), B: T.Tensor((8,), b), C: T.Tensor((1,), c)):
        with T.Kernel(1):
            T.dp4a(A[0, 0:lanes], B[1], C)

    return kernel


@pytest.mark.parametrize(
    ("a", "b", "c", "message"),
    [
        ("float16", "float16", "int32", "T.dp4a requires int8 inputs"),
        ("uint8", "uint8", "int32", "T.dp4a requires int8 inputs"),
        ("int8", "float16", "int32", "T.dp4a requires int8 inputs"),
        ("int8", "int8", "float32", "T.dp4a requires an int32 accumulator"),
    ],
)
def test_dot_products_of_other_types(a, b, c, message):
    with pytest.raises(LanguageError, match=message):
        _dot_product(a, b, c)


def test_dot_products_of_other_places():
    assert _dot_product("int8", "int8", "int32") is not None
    with pytest.raises(LanguageError, match="the slice A has another size"):
        _dot_product("int8", "int8", "int32", size=8, lanes=8)
    with pytest.raises(LanguageError, match="may lie in several rows of A"):
        _dot_product("int8", "int8", "int32", size=6)

    def in_a_kernel(body):
        @T.prim_func
        def kernel(A: T.Tensor((8,), "int8"), V: T.Tensor((2,), "int8x8"), C: T.Tensor((1,), "int32")):
            with T.Kernel(1):
                body(A, V, C)

    with pytest.raises(LanguageError, match="takes vectors of 4 lanes"):
        in_a_kernel(lambda A, V, C: T.dp4a(V[0], A[0], C[0]))
    with pytest.raises(LanguageError, match="A is not in memory"):
        in_a_kernel(lambda A, V, C: T.dp4a(A[0] + A[1], A[0], C[0]))
