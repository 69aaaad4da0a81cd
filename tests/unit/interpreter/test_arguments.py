"""Arguments: arrays of every kind, numbers, sizes bound from shapes; what does not fit is told by name."""

import ml_dtypes
import numpy as np
import pytest
import torch
from element_types import FLOATS, INTEGERS, element
from hypothesis import given, settings
from hypothesis import strategies as st

import tilecore.language as T
from tilecore.errors import ArgumentError, OutOfBoundsError, UnsupportedError
from tilecore.interpreter import interpret
from tilecore.ir.nodes import BufferStore, Evaluate, IntImm, PointerType, PrimType, Var

from .kit import buffer, function, launch, sample, wide


def doubling(dtype, shape=(6,), strides=None):
    @T.prim_func
    def kernel(A: T.Tensor(shape, dtype, strides=strides)):
        with T.Kernel(1):
            for index in T.Parallel(shape[0]):
                A[index] = A[index] + A[index]

    return kernel


@pytest.mark.parametrize("dtype", [*FLOATS, "int8", "uint8", "int16", "int32", "int64", "uint16", "uint32", "uint64"])
def test_torch_tensors_are_used_in_place(dtype):
    a = torch.tensor([0.0, 1, 2, 3, 4, 5]).to(getattr(torch, dtype))
    interpret(doubling(dtype), a)
    assert a.to(torch.float64).tolist() == [0, 2, 4, 6, 8, 10]


def test_a_torch_tensor_elsewhere_is_refused():
    with pytest.raises(ArgumentError, match="A is on meta"):
        interpret(doubling("float32"), torch.zeros(6, device="meta"))


def test_a_torch_tensor_that_wants_gradients_is_used():
    a = torch.ones(6, requires_grad=True)
    interpret(doubling("float32"), a)
    assert a.detach().tolist() == [2.0] * 6


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_other_element_types_are_refused(dtype):
    other = np.zeros(6, np.complex64) if dtype != "float32" else np.zeros(6, np.float64)
    with pytest.raises(ArgumentError, match="A has the wrong dtype") as caught:
        interpret(doubling(dtype), other)
    assert caught.value.expected == dtype


@pytest.mark.parametrize(
    ("array", "message"),
    [
        ([1.0] * 6, "A is not a tensor"),
        (np.zeros((6, 1), np.float32), "wrong number of axes"),
        (np.zeros(5, np.float32), r"A\.shape\[0\] is 5"),
        (np.zeros(12, np.float32)[::2], "A is not contiguous"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(array, message):
    with pytest.raises(ArgumentError, match=message):
        interpret(doubling("float32"), array)


def test_none_for_a_tensor_that_the_kernel_accesses_is_an_error_at_the_access():
    with pytest.raises(OutOfBoundsError, match="A is accessed, whose pointer is null") as caught:
        interpret(doubling("float32"), None)
    assert caught.value.location.excerpt().splitlines()[1].endswith("A[index] = A[index] + A[index]")


def test_a_read_only_array_is_read_but_not_written():
    @T.prim_func
    def kernel(A: T.Tensor((6,), "float32"), Y: T.Tensor((6,), "float32")):
        with T.Kernel(1):
            T.copy(A, Y)

    a, y = sample("float32", 6), np.zeros(6, np.float32)
    a.flags.writeable = False
    interpret(kernel, a, y)
    np.testing.assert_array_equal(a, y)
    with pytest.raises(ArgumentError, match="Y is read-only"):
        interpret(kernel, y, a)


def test_the_number_of_arguments():
    with pytest.raises(ArgumentError, match="2 arguments were given") as caught:
        interpret(doubling("float32"), 1, 2)
    assert caught.value.expected == "1: A"


def test_strided_tensors_are_written_in_place():
    @T.prim_func
    def kernel(A: T.StridedTensor((3, 4), (T.dynamic("s"), 2), "float32")):
        with T.Kernel(1):
            for i, j in T.Parallel(3, 4):
                A[i, j] = A[i, j] * 10 + j

    base = sample("float32", (3, 11))
    expected = base.copy()
    expected[:, 0:8:2] = expected[:, 0:8:2].astype(np.float64) * 10 + np.arange(
        4
    )  # one fused multiply-add: rounded once
    interpret(kernel, base[:, 0:8:2])
    np.testing.assert_array_equal(base, expected)
    with pytest.raises(ArgumentError, match=r"A\.strides\[1\] is 1"):
        interpret(kernel, np.zeros((3, 4), np.float32))


def test_strides_of_axes_of_extent_one_do_not_matter():
    @T.prim_func
    def kernel(A: T.Tensor((1, 4), "float32")):
        with T.Kernel(1):
            T.fill(A, 3.0)

    base = np.zeros((4, 4), np.float32)
    interpret(kernel, base[::7])
    assert base[0].tolist() == [3.0] * 4


# -- packed elements ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int4", "uint4"])
@pytest.mark.parametrize("storage", [np.int8, np.uint8, "native"])
def test_packed_four_bit_tensors(dtype, storage):
    @T.prim_func
    def kernel(A: T.Tensor((3, 8), dtype), Y: T.Tensor((3, 8), dtype), Z: T.Tensor((3, 8), "int32")):
        with T.Kernel(1):
            for i, j in T.Parallel(3, 8):
                Z[i, j] = A[i, j]
                Y[i, j] = A[i, 7 - j]

    values = sample(dtype, (3, 8)).astype(np.int64)
    z = np.zeros((3, 8), np.int32)
    if storage == "native":
        a, y = values.astype(np.int8).astype(element(dtype)), np.zeros((3, 8), element(dtype))
        interpret(kernel, a, y, z)
        got = y.astype(np.int64)
    else:
        nibbles = values % 16
        a = (nibbles[:, 0::2] + 16 * nibbles[:, 1::2]).astype(np.uint8).view(storage)
        y = np.zeros_like(a)
        interpret(kernel, a, y, z)
        raw = y.view(np.uint8).astype(np.int64)
        got = np.stack([raw % 16, raw // 16], axis=-1).reshape(3, 8)
        got = (got + 8) % 16 - 8 if dtype == "int4" else got
    np.testing.assert_array_equal(z, values)
    np.testing.assert_array_equal(got, values[:, ::-1])


def test_a_packed_tensor_has_half_the_columns():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "int4")):
        with T.Kernel(1):
            T.clear(A)

    with pytest.raises(ArgumentError, match=r"A\.shape\[0\] is 16"):
        interpret(kernel, np.zeros(8, np.int8))


# -- numbers -----------------------------------------------------------------------------------------------------


def scalar_kernel(dtype):
    @T.prim_func
    def kernel(x: dtype, Y: T.Tensor((1,), dtype)):
        with T.Kernel(1):
            Y[0] = x

    return kernel


@pytest.mark.parametrize("dtype", [T.int8, T.uint32, T.int64, T.float16, T.float32, T.bfloat16, T.bool])
@pytest.mark.parametrize("make", [int, float, np.int16, np.float32, lambda v: torch.tensor(v), lambda v: np.array(v)])
def test_numbers(dtype, make):
    value = make(1)
    y = np.zeros(1, element(str(dtype)))
    if dtype.is_integer and isinstance(value, (float, np.float32)):
        with pytest.raises(ArgumentError, match="x is not an integer"):
            interpret(scalar_kernel(dtype), value, y)
        return
    interpret(scalar_kernel(dtype), value, y)
    assert wide(y)[0] == 1


@pytest.mark.parametrize(("dtype", "value"), [(T.int8, 128), (T.uint32, -1), (T.int32, 2**31)])
def test_numbers_that_do_not_fit_are_refused(dtype, value):
    with pytest.raises(ArgumentError, match="x does not fit"):
        interpret(scalar_kernel(dtype), value, np.zeros(1, element(str(dtype))))


def test_what_is_no_number_is_refused():
    with pytest.raises(ArgumentError, match="x is not a number"):
        interpret(scalar_kernel(T.int32), "3", np.zeros(1, np.int32))


def test_floats_are_rounded_to_the_parameter():
    y = np.zeros(1, np.float16)
    interpret(scalar_kernel(T.float16), 0.1, y)
    assert y[0] == np.float16(0.1)


def test_raw_pointers_are_refused():
    pointer = Var("p", PointerType(PrimType("float32")))
    with pytest.raises(UnsupportedError, match="parameter p is a raw pointer"):
        interpret(function([pointer], launch(Evaluate(IntImm("int32", 0)), 1)), 3)


# -- sizes -------------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(n=st.integers(0, 9), m=st.integers(1, 9))
def test_sizes_are_solved_from_shapes(n, m):
    N, M = T.dynamic("n"), T.dynamic("m")

    @T.prim_func
    def kernel(
        A: T.Tensor((N * 4 + 3,), "float32"),
        B: T.Tensor((N + M, M * M), "float32"),
        Y: T.Tensor((2,), "int32"),
    ):
        with T.Kernel(1):
            Y[0] = N
            Y[1] = M

    y = np.zeros(2, np.int32)
    interpret(kernel, np.zeros(4 * n + 3, np.float32), np.zeros((n + m, m * m), np.float32), y)
    assert y.tolist() == [n, m]
    with pytest.raises(ArgumentError, match=r"B\.shape\[1\] is \d+"):
        interpret(kernel, np.zeros(4 * n + 3, np.float32), np.zeros((n + m, m * m + 1), np.float32), y)
    with pytest.raises(ArgumentError, match=r"A\.shape\[0\] does not fit its declaration"):
        interpret(kernel, np.zeros(4 * n + 4, np.float32), np.zeros((n + m, m * m), np.float32), y)


def test_a_size_seen_twice_must_agree():
    n = T.dynamic("n")

    @T.prim_func
    def kernel(A: T.Tensor((n, 4), "float32"), B: T.Tensor((4, n), "float32")):
        with T.Kernel(1):
            T.clear(A)

    with pytest.raises(ArgumentError, match=r"B\.shape\[1\] is 64") as caught:
        interpret(kernel, np.zeros((128, 4), np.float32), np.zeros((4, 64), np.float32))
    assert caught.value.expected == "n = 128 (n = 128 from A.shape[0])"


def test_a_scalar_parameter_may_be_a_size():
    n = Var("n", "int32")
    tensor = buffer("A", (n, 2), "int32")
    main = function([n, tensor], launch(BufferStore(tensor, n, [n - 1, 1]), 1))
    a = np.zeros((3, 2), np.int32)
    interpret(main, 3, a)
    assert a.tolist() == [[0, 0], [0, 0], [0, 3]]
    with pytest.raises(ArgumentError, match=r"A\.shape\[0\] is 3"):
        interpret(main, 4, a)


def test_a_size_that_cannot_be_solved_is_named():
    n = T.dynamic("n")

    @T.prim_func
    def kernel(A: T.Tensor((n // 2,), "float32")):
        with T.Kernel(1):
            T.clear(A)

    with pytest.raises(ArgumentError, match="the size n cannot be found") as caught:
        interpret(kernel, np.zeros(3, np.float32))
    assert "n // 2" in caught.value.found


def test_an_unknown_block_order_is_refused():
    with pytest.raises(ArgumentError, match="block_order"):
        interpret(doubling("float32"), np.zeros(6, np.float32), block_order="random")


def test_bfloat16_arrays_come_from_ml_dtypes():
    a = np.ones(6, ml_dtypes.bfloat16)
    interpret(doubling("bfloat16"), a)
    assert (a == 2).all()
