"""Which sums become fused multiply-adds, form by form; Python's own arithmetic says what they stand for."""

from __future__ import annotations

import itertools

import pytest

import tilecore.language as T
from tilecore.ir.contraction import contract, contracted, is_fma, negated, negative, separated
from tilecore.ir.nodes import Add, BufferStore, Call, FloatImm, IntImm, Mul, Sub, Var, structural_equal, structural_map
from tilecore.ir.visit import collect

X, Y, Z, W = (Var(name, "float32") for name in "xyzw")
MINUS = FloatImm("float32", -1.0)


def minus(value):
    return Mul(value, MINUS)


def contracted_node(node):
    return structural_map(node, ((Add, Sub), contract))


def value_of(node, values):
    """In Python's numbers, with whole ones for variables: nothing rounds."""
    if isinstance(node, Var):
        return values[str(node.name)]
    if isinstance(node, (FloatImm, IntImm)):
        return node.value
    if isinstance(node, Call):
        x, y, z = (value_of(a, values) for a in node.args)
        return x * y + z
    a, b = value_of(node.a, values), value_of(node.b, values)
    return {Add: a + b, Sub: a - b, Mul: a * b}[type(node)]


FUSED = [
    Add(Mul(X, Y), Z), Add(Z, Mul(X, Y)), Sub(Mul(X, Y), Z), Sub(Z, Mul(X, Y)), Add(minus(Mul(X, Y)), Z),
    Sub(minus(Mul(X, Y)), Z), Sub(Z, minus(Mul(X, Y))), Sub(Mul(X, Y), minus(Z)),
    Sub(Mul(X, Y), FloatImm("float32", 3.0)),
    Add(Mul(Mul(X, Y), W), Z), Add(minus(minus(Mul(X, Y))), Z),
]  # fmt: skip
SEPARATE = [
    Add(X, Y), Sub(X, Y), Sub(Mul(X, Y), Mul(Y, X)), Add(Mul(X, Y), Mul(Z, W)), Add(Mul(X, Y), minus(Mul(Z, W))),
    Add(minus(X), Y), Add(X, minus(Y)), Mul(X, Y),
]  # fmt: skip


@pytest.mark.parametrize("node", FUSED, ids=str)
def test_exactly_one_product(node):
    result = contracted_node(node)
    assert is_fma(result)
    for numbers in itertools.islice(itertools.product((2, -3, 5, 7), repeat=4), 0, 256, 7):
        values = dict(zip("xyzw", numbers, strict=True))
        assert value_of(result, values) == value_of(node, values)
        assert value_of(separated(result), values) == value_of(node, values)


@pytest.mark.parametrize("node", SEPARATE, ids=str)
def test_none_or_two_products(node):
    assert structural_equal(contracted_node(node), node, map_free_vars=False)


def test_two_products_and_a_third():
    """What is left of two products is a sum and no product."""
    result = contracted_node(Add(Add(Mul(X, Y), Mul(Z, W)), Mul(X, X)))
    assert is_fma(result)
    assert isinstance(result.args[2], Add)
    assert not collect(result.args[2], Call)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_floats(dtype):
    x, y, z = (Var(name, dtype) for name in "xyz")
    assert is_fma(contract(Add(Mul(x, y), z)))


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "float8_e4m3fn"])
def test_other_types(dtype):
    x, y, z = (Var(name, dtype) for name in "xyz")
    assert not is_fma(contract(Add(Mul(x, y), z)))


def test_a_sign_in_front():
    assert negated(minus(X)).same_as(X)
    assert negated(Mul(X, Y)) is None
    assert negated(Mul(X, FloatImm("float32", 1.0))) is None
    assert negative(minus(X)).same_as(X)
    assert negative(FloatImm("float32", 3.0)).value == -3.0
    assert str(negative(FloatImm("float32", 0.0)).value) == "-0.0"


def stores(kernel):
    return collect(contracted(kernel.ir).body, BufferStore)


def test_names_casts_and_choices_end_an_expression():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), H: T.Tensor((8,), "float16"), Y: T.Tensor((8, 8), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(8):
                product = A[i] * A[i]
                Y[0, i] = product + A[i]
                Y[1, i] = T.cast(H[i] * H[i], "float32") + A[i]
                Y[2, i] = T.if_then_else(A[i] > 0, A[i] * A[i], A[i]) + A[i]
                Y[3, i] = T.abs(A[i] * A[i]) + A[i]
                Y[4, i] = T.ieee_mul(A[i], A[i]) + A[i]

    assert not any(is_fma(call) for node in stores(kernel) for call in collect(node.value, Call))


def test_functions_of_python_and_macros_are_part_of_it():
    def square(x):
        return x * x

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), Y: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(8):
                Y[i] = square(A[i]) + A[i]

    (node,) = stores(kernel)
    assert is_fma(node.value)


def test_what_is_added_to_a_reducer_stays_a_sum():
    @T.prim_func
    def kernel(A: T.Tensor((8, 8), "float32"), Y: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            total = T.alloc_reducer((8,), "float32", op="sum")
            T.fill(total, 0)
            for i, j in T.Parallel(8, 8):
                total[i] += A[i, j] * A[i, j]
            T.finalize_reducer(total)
            T.copy(total, Y)

    (node,) = stores(kernel)
    assert isinstance(node.value, Add)


def test_nothing_to_do_leaves_the_function_as_it_is():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(8):
                A[i] = A[i] + 1.0

    assert contracted(kernel.ir).same_as(kernel.ir)
