"""Unwritten reads, bounds, views, and what is one per block, per call or per thread."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilecore.language as T
from tilecore.errors import LanguageError, LimitError, OutOfBoundsError, UninitialisedReadError, UnsupportedError
from tilecore.interpreter import interpret
from tilecore.ir.nodes import AllocBuffer, BufferLoad, BufferStore, DeclBuffer, For, ForKind, IntImm, Var, tirx

from .kit import block, buffer, function, launch, sample


@settings(max_examples=40, deadline=None)
@given(
    written=st.sets(st.integers(0, 9)),
    read=st.sets(st.integers(0, 9), min_size=1),
    scope=st.sampled_from(["shared.dyn", "local.fragment", "local"]),
)
def test_only_unwritten_elements_that_are_read_are_reported(written, read, scope):
    written_flags, read_flags = (np.int32([k in chosen for k in range(10)]) for chosen in (written, read))

    @T.prim_func
    def kernel(W: T.Tensor((10,), "int32"), R: T.Tensor((10,), "int32"), Y: T.Tensor((10,), "int32")):
        with T.Kernel(1):
            s = T.alloc_buffer((10,), "int32", scope)
            for i in T.Parallel(10):
                if W[i] == 1:
                    s[i] = i
            for i in T.Parallel(10):
                if R[i] == 1:
                    Y[i] = s[i]

    y = np.zeros(10, np.int32)
    missing = sorted(read - written)
    if missing:
        with pytest.raises(UninitialisedReadError, match=rf"s\[{missing[0]}\] is read .*\(i_1 = {missing[0]}"):
            interpret(kernel, written_flags, read_flags, y)
    else:
        interpret(kernel, written_flags, read_flags, y)
        assert y.tolist() == [k if k in read else 0 for k in range(10)]
    interpret(kernel, written_flags, read_flags, y, check=False)


def test_memory_is_fresh_each_time_it_is_reached():
    s, y, k = buffer("s", (1,), "int32", "shared.dyn"), buffer("Y", (3,), "int32"), Var("k", "int32")
    first = BufferStore(s, IntImm("int32", 4), [0])
    body = block(AllocBuffer(s), tirx.IfThenElse(k < 2, first, None), BufferStore(y, BufferLoad(s, [0]), [k]))
    main = function([y], launch(For(k, 0, 3, ForKind.SERIAL, body), 1))
    with pytest.raises(UninitialisedReadError, match=r"s\[0\].*k = 2"):
        interpret(main, np.zeros(3, np.int32))


def test_shared_memory_is_of_one_block():
    @T.prim_func
    def kernel(Y: T.Tensor((4,), "int32")):
        with T.Kernel(4) as b:
            s = T.alloc_shared((1,), "int32")
            if b == 0:
                s[0] = 9
            Y[b] = s[0]

    with pytest.raises(UninitialisedReadError, match=r"block \(1,\)"):
        interpret(kernel, np.zeros(4, np.int32))


def test_workspace_is_of_one_call_and_tracked():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "int32"), Y: T.Tensor((8,), "int32"), half: T.int32):
        w = T.alloc_global((8,), "int32")
        with T.Kernel(8) as b:
            if b < half:
                w[b] = A[b] * 2
        with T.Kernel(8) as b:
            Y[b] = w[7 - b]

    a, y = sample("int32", 8), np.zeros(8, np.int32)
    interpret(kernel, a, y, 8)
    assert y.tolist() == (a[::-1] * 2).tolist()
    with pytest.raises(UninitialisedReadError, match=r"w\[7\]"):
        interpret(kernel, a, y, 7)


def test_arguments_count_as_written():
    @T.prim_func
    def kernel(Y: T.Tensor((4,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(4):
                Y[i] += 1

    y = np.arange(4, dtype=np.float32)
    interpret(kernel, y)
    assert y.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(("index", "message"), [(-1, r"A\[0, -1\]"), (7, r"A\[0, 7\]")])
def test_serial_code_is_not_masked(index, message):
    @T.prim_func
    def kernel(A: T.Tensor((3, 7), "float32"), at: T.int32):
        with T.Kernel(2) as b:
            A[b, at] = 1.0

    with pytest.raises(OutOfBoundsError, match=message) as caught:
        interpret(kernel, np.zeros((3, 7), np.float32), index)
    assert caught.value.found == f"index {index} on axis 1"
    assert caught.value.expected == "0 to 6; A has shape (3, 7)"
    assert "block (0,)" in caught.value.message


def test_bounds_are_checked_without_checks_too():
    @T.prim_func
    def kernel(A: T.Tensor((3,), "float32")):
        with T.Kernel(1):
            A[2] = 0.0
            for k in T.serial(4):
                A[k] = 1.0

    with pytest.raises(OutOfBoundsError, match=r"A\[3\].*k = 3"):
        interpret(kernel, np.zeros(3, np.float32), check=False)


# -- views -------------------------------------------------------------------------------------------------------


def test_a_view_has_another_shape():
    @T.prim_func
    def kernel(A: T.Tensor((4, 6), "float32"), Y: T.Tensor((3, 8), "float32")):
        with T.Kernel(1):
            s = T.alloc_shared((4, 6), "float32")
            T.copy(A, s)
            t = T.reshape(s, (3, 8))
            T.copy(t, Y)

    a, y = sample("float32", (4, 6)), np.zeros((3, 8), np.float32)
    interpret(kernel, a, y)
    np.testing.assert_array_equal(y, a.reshape(3, 8))


@pytest.mark.parametrize(("wide", "narrow"), [("float32", "uint16"), ("float64", "float32"), ("uint32", "float16")])
def test_a_view_has_another_element_type(wide, narrow):
    ratio = np.dtype(wide).itemsize // np.dtype(narrow).itemsize

    @T.prim_func
    def kernel(A: T.Tensor((6,), wide), Y: T.Tensor((6 * ratio,), narrow), Z: T.Tensor((6,), wide)):
        with T.Kernel(1):
            s = T.alloc_shared((6,), wide)
            T.copy(A, s)
            t = T.view(s, (6 * ratio,), narrow)
            T.copy(t, Y)
            u = T.alloc_shared((6 * ratio,), narrow)
            T.copy(Y, u)
            T.copy(T.view(u, (6,), wide), Z)

    a = np.abs(sample(wide, 6))
    y, z = np.zeros(6 * ratio, narrow), np.zeros(6, wide)
    interpret(kernel, a, y, z)
    np.testing.assert_array_equal(y.view(np.uint8), a.view(np.uint8))
    np.testing.assert_array_equal(z, a)


def test_half_an_element_written_through_a_view_is_unwritten():
    @T.prim_func
    def kernel(Y: T.Tensor((2,), "uint32"), count: T.int32):
        with T.Kernel(1):
            words = T.alloc_shared((2,), "uint32")
            halves = T.view(words, (4,), "uint16")
            for k in T.serial(count):
                halves[k] = k
            T.copy(words, Y)

    y = np.zeros(2, np.uint32)
    interpret(kernel, y, 4)
    assert y.tolist() == [1 << 16, (3 << 16) + 2]
    with pytest.raises(UninitialisedReadError, match=r"words\[1\]"):
        interpret(kernel, y, 3)


def test_a_view_of_an_argument():
    @T.prim_func
    def kernel(A: T.Tensor((4,), "float32")):
        with T.Kernel(1):
            bits = T.view(A, (4,), "uint32")
            for i in T.Parallel(4):
                bits[i] = bits[i] ^ T.uint32(0x80000000)

    a = sample("float32", 4)
    expected = -a
    interpret(kernel, a)
    np.testing.assert_array_equal(a, expected)


def test_a_view_of_another_size_is_refused():
    s, t = buffer("s", (4,), scope="shared.dyn"), buffer("t", (3,), scope="shared.dyn")
    main = function([], launch(block(AllocBuffer(s), DeclBuffer(t, data=tirx.buffer_data(s))), 1))
    with pytest.raises(LanguageError, match="another size") as caught:
        interpret(main)
    assert "12 bytes" in caught.value.found


def test_a_view_of_packed_elements_is_refused():
    s, t = buffer("s", (4,), "int4", "shared.dyn"), buffer("t", (2,), "int8", "shared.dyn")
    main = function([], launch(block(AllocBuffer(s), DeclBuffer(t, data=tirx.buffer_data(s))), 1))
    with pytest.raises(UnsupportedError, match="packed 4-bit"):
        interpret(main)


def test_an_unknown_scope_is_refused():
    s = buffer("s", (4,), scope="warp")
    with pytest.raises(UnsupportedError, match="'warp'"):
        interpret(function([], launch(AllocBuffer(s), 1)))


def test_workspace_allocated_inside_a_kernel_is_of_the_call_too():
    w, y, b = buffer("w", (4,), "int32"), buffer("Y", (4,), "int32"), Var("b", "int32")
    first = launch(block(AllocBuffer(w), BufferStore(w, b * 3, [b])), 4, block_vars=(b,))
    c = Var("c", "int32")
    second = launch(BufferStore(y, BufferLoad(w, [IntImm("int32", 3) - c]), [c]), 4, block_vars=(c,))
    out = np.zeros(4, np.int32)
    interpret(function([y], first, second), out)
    assert out.tolist() == [9, 6, 3, 0]


def test_tiles_for_which_there_is_no_memory():
    @T.prim_func
    def huge(A: T.Tensor((4,), "int8")):
        with T.Kernel(1, threads=1):
            tile = T.alloc_shared((2**40, 2**20), "int8")
            tile[0, 0] = A[0]

    with pytest.raises(LimitError, match="the interpreter has no memory for tile") as caught:
        interpret(huge.ir, np.zeros(4, np.int8))
    assert caught.value.found == f"{2**60} bytes"
    assert caught.value.location.file == __file__
