"""Vector types: their names and facts, what is refused, and where a store of a slice is a vector's."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from tvm import tirx

import tilecore
import tilecore.language as T
from tilecore.dtypes import FACTS, LANES, dtype
from tilecore.errors import LanguageError
from tilecore.interpreter import interpret


def built(body, *shapes, dtype="float32", threads=1):
    """The IR of a kernel of one block with tensors of these shapes."""
    tensors = [T.Tensor(shape, dtype) for shape in shapes]
    macro = T.macro(body)
    if len(shapes) == 1:

        @T.prim_func
        def kernel(X: tensors[0]):
            with T.Kernel(1, threads=threads):
                macro(X)
    else:

        @T.prim_func
        def kernel(X: tensors[0], Y: tensors[1]):
            with T.Kernel(1, threads=threads):
                macro(X, Y)

    return kernel.ir


# -- names and facts -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("element", [name for name in FACTS if name not in ("bool", "tfloat32")])
def test_every_element_type_has_vectors(element, lanes):
    vector = getattr(T, f"{element}x{lanes}")
    assert (vector, vector.lanes, vector.element) == (f"{element}x{lanes}", lanes, element)
    assert vector.bits == dtype(element).bits  # of one lane, as TVM counts them
    assert vector.bytes == dtype(element).bits * lanes // 8
    assert (vector.is_float, vector.is_integer) == (dtype(element).is_float, dtype(element).is_integer)


@pytest.mark.parametrize("name", ["boolx2", "tfloat32x4", "float32x3", "float32x1", "float32x", "x2"])
def test_others_have_none(name):
    assert not hasattr(T, name)
    with pytest.raises(LanguageError, match="unknown dtype"):
        dtype(name)


def test_other_spellings():
    assert dtype("float8_e4m3x4") == T.float8_e4m3fnx4
    assert dtype("T.halfx2") == T.float16x2
    assert dtype("float4_e2m1fn_x2") == T.float4_e2m1fnx2


def test_torch_has_one_of_them():
    torch = pytest.importorskip("torch")
    if hasattr(torch, "float4_e2m1fn_x2"):
        assert T.float4_e2m1fnx2.as_torch() is torch.float4_e2m1fn_x2
        assert dtype(torch.float4_e2m1fn_x2) == T.float4_e2m1fnx2
    with pytest.raises(LanguageError, match="the vector type float32x2 stands where an element type is expected"):
        T.float32x2.as_torch()


def test_facts_of_a_buffer_of_vectors():
    def body(X):
        local = T.alloc_local((3, 5), T.float16x4)
        assert (local.shape, local.ndim, local.dtype) == ((3, 5), 2, T.float16x4)
        assert local[0, 0].dtype == "float16x4"
        assert T.view(local, (30,), T.float16x2).shape == (30,)
        assert T.view(local, dtype=T.float16).shape == (3, 20)
        assert T.alloc_var(T.int8x4).dtype == "int8x4"

    built(body, (4,))


# -- refusals --------------------------------------------------------------------------------------------------

PAIR, FOUR = (lambda X: X[T.Ramp(0, 1, 2)]), (lambda X: X[T.Ramp(0, 1, 4)])


def store(X, value):
    X[T.Ramp(0, 1, 4)] = value


def store_one(X, value):
    X[0] = value


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda X: store(X, PAIR(X)), "vectors of different lengths"),
        (lambda X: store(X, T.Broadcast(1.0, 8)), "a vector of 8 lanes is stored to 4 element"),
        (lambda X: store_one(X, T.Broadcast(1.0, 8)), "a vector of 8 lanes is stored to one element"),
        (lambda X: store_one(X, T.ldg64(X[0])), "a vector of 2 lanes is stored to one element"),
        (lambda X: store_one(X, FOUR(X)), "a vector .* stands where one value is expected"),
        (lambda X: T.extract_lane(X[0], 0), "expects a vector"),
        (lambda X: T.extract_lane(FOUR(X), 4), "out of bounds of a vector of 4 lanes"),
        (lambda X: T.extract_lane(FOUR(X), -1), "out of bounds"),
        (lambda X: T.extract_lane(FOUR(X), T.get_thread_binding()), "compile-time integer"),
        (lambda X: T.extract_lane(1, 0), "expects a PrimExpr"),
        (lambda X: T.Shuffle([FOUR(X)], [4]), "takes elements"),
        (lambda X: T.Shuffle([FOUR(X), T.cast(X[0], "int32")], [0]), "different element types"),
        (lambda X: T.float32x4(X[0], X[1]), "is called with 2 values"),
        (lambda X: T.float32x2(PAIR(X), X[1]), "a vector among its values"),
        (lambda X: T.cast(FOUR(X), T.float16x2), "a vector of 4 lanes is cast to float16x2"),
        (lambda X: T.reinterpret(FOUR(X), "int64"), "cannot read 4 lanes of float32 as int64"),
        (lambda X: T.add2(FOUR(X), FOUR(X)), "takes vectors of two lanes"),
        (lambda X: T.add2(X[0], X[1]), "takes vectors of two lanes"),
        (lambda X: T.add2(PAIR(X), T.cast(PAIR(X), "float16")), "to have the same dtype"),
        (lambda X: T.max2(T.cast(PAIR(X), "int32"), PAIR(X)), "takes vectors of two lanes"),
        (lambda X: T.ldg128(X[1]), "not aligned"),
        (lambda X: T.ldg128(X[0:2]), "a slice of another size"),
        (lambda X: T.ldg64(T.alloc_shared((4,), "float32")), "accesses global memory"),
        (lambda X: T.lds64(X[0]), "accesses shared memory"),
        (lambda X: T.ldg32(T.view(X, dtype="int64")[0]), "no whole number of elements"),
        (lambda X: T.ldg128(3), "takes a place in memory"),
        (lambda X: T.stg64(X[0], X[0]), "cannot read float32 as float32x2"),
        (lambda X: T.ldg128(T.view(X, (8, 2))[0, 0]), "elements of several rows"),
        (lambda X: T.__ldg(T.alloc_local((4,), "float32"), 0), "an element of global memory"),
        (lambda X: T.alloc_reducer((4,), T.float32x2), "the vector type float32x2 stands where"),
        (lambda X: T.view(X, (3,), T.float32x4), "does not match the buffer"),
        (lambda X: T.view(T.view(X, (4, 4)), dtype=T.float32x8), "no whole number of float32x8"),
        (lambda X: T.reduce_sum(T.alloc_fragment((4,), T.float32x2), T.alloc_fragment((2,))), "a tile of vectors"),
        (lambda X: T.atomic_addx2(X[0:4], X[0:2]), "takes 2 elements"),
        (lambda X: T.atomic_addx2(X[T.Ramp(0, 1, 4)], X[0]), "takes 2 elements"),
        (lambda X: T.atomic_addx4(X[0], 1.0), "takes 4 elements"),
    ],
)
def test_refusals(body, message):
    with pytest.raises((LanguageError, TypeError), match=message):
        built(body, (16,))


def test_a_slice_takes_a_vector_of_its_size():
    def body(X):
        X[0:3] = X[T.Ramp(4, 1, 4)]

    with pytest.raises(LanguageError, match="a vector of 4 lanes is stored to a slice of another size"):
        built(body, (16,))


def test_strided_tensors_have_elements():
    with pytest.raises(LanguageError, match="has strides and elements of the vector type float32x2"):
        T.StridedTensor((4, 4), (8, 1), T.float32x2)


def test_errors_are_pythons_too():
    vector = tirx.Var("vector", "bfloat16x2")
    with pytest.raises(IndexError):
        T.extract_lane(vector, 2)
    with pytest.raises(TypeError):
        T.extract_lane(vector, "x")
    with pytest.raises(ValueError, match="same dtype"):
        T.add2(vector, tirx.Var("other", "float16x2"))


def test_lanes_of_tvms_own_vectors():
    result = T.extract_lane(tirx.Var("vector", "bfloat16x2"), 1)
    assert isinstance(result, tirx.Shuffle)
    assert str(result.ty.dtype) == "bfloat16"


# -- meaning ---------------------------------------------------------------------------------------------------


def test_a_promised_alignment_is_checked_by_the_interpreter():
    def body(X, Y):
        at = T.cast(X[0], "int32")
        T.stg128(Y[4], T.ldg128(X[at]))

    ir = built(body, (16,), (16,))
    x, y = np.arange(16, dtype="float32") + 4, np.zeros(16, "float32")
    interpret(ir, x, y)
    np.testing.assert_array_equal(y[4:8], x[4:8])
    with pytest.raises(tilecore.errors.TilecoreError):
        interpret(ir, x + 1, y)


def test_vectors_are_passed_to_macros():
    @T.macro
    def add_product(total: T.Ref, factor, vector):
        total = total + factor * vector

    @T.macro
    def halve(buffer, i):
        buffer[i] = buffer[i] * 0.5

    @T.prim_func
    def kernel(X: T.Tensor((8,), T.float32x4), Y: T.Tensor((2,), T.float32x4), Z: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=1):
            total = T.alloc_var(T.float32x4, init=1)
            for i in T.serial(8):
                total += X[i]
                add_product(total, 2.0, X[i])
            pairs = T.alloc_local((2,), T.float32x2)
            for i in T.vectorized(2):
                pairs[i] = T.Shuffle([total], [3, 0])
            Y[0] = total
            halve(Y, 0)
            Y[1] = T.Shuffle([pairs[0], pairs[1]], [0, 1, 2, 3])
            Z[0:8] = T.Shuffle([total, total], range(8)).astype(T.int32x8)

    x, y, z = (np.arange(32) % 7).reshape(8, 4).astype("float32"), np.zeros((2, 4), "float32"), np.zeros(8, "int32")
    tilecore.compile(kernel, target="cpu")(x, y, z)
    total = 1 + 3 * x.sum(0)
    np.testing.assert_array_equal(y, [total / 2, total[[3, 0, 3, 0]]])
    np.testing.assert_array_equal(z, [*total, *total])


def test_a_vector_of_indices_is_not_stored():
    def body(X, Y):
        where = T.Ramp(T.get_thread_binding() * 4, 1, 4)
        Y[where] = X[where] * 2

    assert "alloc" not in str(built(body, (16,), (16,), threads=4))


@pytest.mark.parametrize("per_thread", [False, True])
def test_a_slice_at_the_place_of_a_thread_is_stored_by_that_thread(per_thread):
    def body(X, Y):
        start = T.get_thread_binding() * 4 if per_thread else 4
        if per_thread:
            Y[start : start + 4] = X[start : start + 4]
        else:
            Y[4:8] = X[4:8]

    ir = built(body, (16,), (16,), threads=4)
    assert ("tile.copy" in str(ir)) is not per_thread
    x, y = np.arange(16, dtype="float32"), np.zeros(16, "float32")
    interpret(ir, x, y)
    np.testing.assert_array_equal(y, x if per_thread else np.where((x >= 4) & (x < 8), x, 0))


def test_a_condition_on_the_thread_makes_a_slice_its_own():
    def body(X, Y):
        if T.get_thread_binding() == 2:
            Y[1:4] = 7

    ir = built(body, (8,), (8,), threads=4)
    y = np.zeros(8, "float32")
    interpret(ir, y.copy(), y)
    np.testing.assert_array_equal(y, [0, 7, 7, 7, 0, 0, 0, 0])


def test_torchs_pairs_of_4_bit_floats_are_passed_as_bytes():
    @T.prim_func
    def kernel(X: T.Tensor((8,), T.float4_e2m1fnx2), Y: T.Tensor((16,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(8):
                Y[T.Ramp(i * 2, 1, 2)] = T.cast(X[i], T.float32x2)

    x = np.arange(8, dtype="uint8") * 37
    y = np.zeros(16, "float32")
    tilecore.compile(kernel, target="cpu")(x, y)
    halves = np.stack([x & 15, x >> 4], axis=-1).reshape(-1)
    np.testing.assert_array_equal(y, halves.view(ml_dtypes.float4_e2m1fn).astype("float32"))
