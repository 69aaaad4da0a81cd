"""Calls with what does not fit: an error that names the parameter, before anything runs, and the kernel works on."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import tilecore.language as T
from tilecore.errors import ArgumentError

from .kit import compiled, element, has_feature, same, sample, zeros
from .on_device import OnDevice, bare, placed, read

M, N = T.dynamic("m"), T.dynamic("n")
X = np.arange(12, dtype=np.float32).reshape(3, 4)


@T.prim_func
def scaled(A: T.Tensor((3, 4), "float32"), B: T.Tensor((3, 4), "float32"), s: T.float32):
    with T.Kernel(3, threads=32) as b:
        for j in T.Parallel(4):
            B[b, j] = A[b, j] * s


@T.prim_func
def sized(A: T.Tensor((M, N), "float32"), B: T.Tensor((N, M), "float32"), C: T.Tensor((M + 1,), "int32")):
    with T.Kernel(M, threads=32) as b:
        for j in T.Parallel(N):
            B[j, b] = A[b, j] + 1
        C[b + 1] = b


@T.prim_func
def strided(A: T.StridedTensor((3, 4), (N, 1), "float32"), B: T.StridedTensor((3, 4), (M, 1), "float32")):
    with T.Kernel(3, threads=32) as b:
        for j in T.Parallel(4):
            B[b, j] = A[b, j] + 1


@T.prim_func
def swapped(A: T.Tensor((4,), "int32"), B: T.Tensor((4,), "int32")):
    with T.Kernel(1, threads=32):
        for i in T.Parallel(4):
            a = A[i]
            b = B[i]
            A[i] = b
            B[i] = a


KERNELS = {func.__name__: func for func in (scaled, sized, strided, swapped)}


@functools.cache
def once(name, target, backend, out_idx):
    return compiled(KERNELS[name], target, out_idx=out_idx)


def kernel_of(name, target, out_idx=None):
    """Compiled once for all cases."""
    return once(name, target, target.backend, out_idx)


def out():
    return np.full((3, 4), 7, np.float32)


def refused(kernel, match, *args, written=(), **named):
    """What the launch of these arguments is refused for; outputs among them keep their values."""
    before = [read(value).copy() for value in written]
    with pytest.raises(ArgumentError, match=match) as caught:
        bare(kernel)(*args, **named)
    for value, old in zip(written, before, strict=True):
        same(read(value), old, "the kernel ran")
    return caught.value


def works(kernel):
    """``scaled`` still does what it should."""
    b = out()
    kernel(X, b, 3.0)
    same(b, X * 3)


WRONG = {  # of A of ``scaled``: what is passed, and what is said of it
    "dtype": (lambda: X.astype(np.float16), "A has the wrong dtype"),
    "integers": (lambda: X.astype(np.int32), "A has the wrong dtype"),
    "bfloat16": (lambda: X.astype(element("bfloat16")), "A has the wrong dtype"),
    "rank": (lambda: X[0], "A has 1 axis, 2 expected"),
    "more axes": (lambda: X[None], "A has 3 axes, 2 expected"),
    "no axes": (lambda: np.array(1, np.float32), "A has 0 axes, 2 expected"),
    "shape": (lambda: np.zeros((3, 5), np.float32), r"A.shape\[1\] is 5, expected 4"),
    "transposed": (lambda: np.zeros((4, 3), np.float32), r"A.shape\[0\] is 4, expected 3"),
    "nothing": (lambda: np.zeros((0, 4), np.float32), r"A.shape\[0\] is 0, expected 3"),
    "columns first": (lambda: X.T.copy().T, "A is not contiguous"),
    "every second": (lambda: np.zeros((3, 8), np.float32)[:, ::2], "A is not contiguous"),
    "one row": (lambda: np.broadcast_to(X[:1], (3, 4)), "A is not contiguous"),
}
NO_TENSORS = [3, 1.5, None, "x", b"12", [[1.0]], np.float32(1), memoryview(X), bytearray(48), object()]


@pytest.mark.parametrize("wrong", WRONG)
def test_tensors_that_do_not_fit(target, wrong):
    kernel = kernel_of("scaled", target)
    make, message = WRONG[wrong]
    b = placed(kernel, out())
    error = refused(kernel, message, placed(kernel, make()), b, 1.0, written=[b])
    assert "scaled()" in error.message, "which kernel it was"
    assert error.found, error.expected
    works(kernel)


@pytest.mark.parametrize("value", NO_TENSORS, ids=lambda value: type(value).__name__)
def test_what_is_no_tensor(target, value):
    kernel = kernel_of("scaled", target)
    b = placed(kernel, out())
    error = refused(kernel, "A must be a tensor", value, b, 1.0, written=[b])
    assert error.expected.startswith("a float32 tensor of shape (3, 4)")
    works(kernel)


def test_arrays_that_only_numpy_has(target):
    """Backwards, in the other byte order, off by a byte, and outputs that may not be written."""
    kernel = kernel_of("scaled", target)
    if isinstance(kernel, OnDevice):
        pytest.skip("its tensors are not numpy's")
    fixed = out()
    fixed.flags.writeable = False
    b = out()
    off = np.frombuffer(bytearray(4 * 12 + 1), np.float32, 12, 1).reshape(3, 4)
    refused(kernel, "A is not contiguous", X[:, ::-1], b, 1.0, written=[b])
    refused(kernel, "A .*other order", X.astype(">f4"), b, 1.0, written=[b])
    error = refused(kernel, "the data of A is not aligned", off, b, 1.0, written=[b])
    assert "a multiple of 4" in error.expected
    refused(kernel, "the data of B is not aligned", X, off, 1.0, written=[off])
    refused(kernel, "B is written by the kernel, but it is read-only", X, fixed, 1.0, written=[fixed])
    kernel(fixed, b, 2.0)  # what is only read may be
    same(b, fixed * 2)
    works(kernel)


def test_views_that_begin_inside_of_a_tensor(target):
    """A kernel moves several elements at once. Where such a move must be aligned, a call refuses what does not begin at
    a multiple of it; a copy of the view, and a view that begins at such a place, are taken."""

    @T.prim_func
    def moved(A: T.Tensor((512,), "float16"), B: T.Tensor((512,), "float16")):
        with T.Kernel(1, threads=64):
            f = T.alloc_fragment((512,), "float16")
            T.copy(A, f)
            T.copy(f, B)

    kernel = compiled(moved, target)
    x = sample("float16", (528,))
    whole, b = placed(kernel, x), placed(kernel, zeros("float16", (512,)))
    bare(kernel)(whole[8:520], b)
    same(read(b), x[8:520])
    try:
        bare(kernel)(whole[1:513], b)
    except ArgumentError:
        assert not has_feature(target, "unaligned_moves")
        refused(kernel, r"moved\(\): the data of A is not aligned", whole[1:513], b, written=[b])
        bare(kernel)(placed(kernel, x[1:513].copy()), b)
    same(read(b), x[1:513])


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_tensors_of_torch_without_plain_memory(target):
    torch = pytest.importorskip("torch")
    kernel = kernel_of("scaled", target)
    b = placed(kernel, out())
    for value, message in (
        (torch.zeros(3, 4, device="meta"), "A .*it is on the meta device"),
        (torch.zeros(3, 4).to_sparse(), "A .*its layout is sparse_coo"),
        (torch.nested.nested_tensor([torch.zeros(3, 4)]), "A cannot be used: it is a nested tensor"),
    ):
        refused(kernel, message, value, b, 1.0, written=[b])
    works(kernel)


def test_tensors_of_another_device(target):
    kernel = kernel_of("scaled", target)
    if not isinstance(kernel, OnDevice):
        pytest.skip("its tensors are the host's")
    if kernel.adapter.host_tensors:
        pytest.skip("it takes the host's tensors, too")
    torch = pytest.importorskip("torch")
    a, b = placed(kernel, X), placed(kernel, out())
    expected = kernel.adapter.torch_device()
    for host in (X, torch.from_numpy(X)):
        error = refused(kernel, "A is on the wrong device", host, b, 1.0, written=[b])
        assert error.expected.partition(":")[0] == expected.partition(":")[0]
    host = out()
    refused(kernel, "B is on", a, host, 1.0, written=[host])
    works(kernel)


@pytest.mark.parametrize("count", [0, 1, 2, 4, 5])
def test_too_few_and_too_many(target, count):
    kernel = kernel_of("scaled", target)
    arguments = [placed(kernel, out()) for _ in range(count)]
    refused(kernel, r"scaled\(\) takes 3 arguments \(A, B, s\), \d w", *arguments, written=arguments)
    works(kernel)


def test_names_of_arguments(target):
    kernel = kernel_of("scaled", target)
    a, b = placed(kernel, X), placed(kernel, out())
    refused(kernel, r"scaled\(\) takes 3 arguments \(A, B, s\), B is missing", a, s=1.0)
    refused(kernel, r"scaled\(\) has no parameter D", a, b, D=1.0, written=[b])
    refused(kernel, r"scaled\(\) got two values for A", a, b, A=a, written=[b])
    bare(kernel)(s=2.0, B=b, A=a)
    bare(kernel).adapter.synchronize()
    same(read(b), X * 2)


@pytest.mark.parametrize("value", ["2", None, [2.0], np.zeros(1), 1e300, 2j], ids=lambda value: type(value).__name__)
def test_numbers_that_do_not_fit(target, value):
    kernel = kernel_of("scaled", target)
    b = placed(kernel, out())
    refused(kernel, "s does not take this value", placed(kernel, X), b, value, written=[b])
    works(kernel)


def test_outputs_that_the_call_allocates(target):
    kernel = kernel_of("scaled", target, 1)
    a = placed(kernel, X)
    error = refused(kernel, r"takes 2 arguments \(A, s\), 3 were given", a, a, 1.0)
    assert error.hint == "B is allocated by the call and returned (out_idx)"
    refused(kernel, "has no parameter B", a, 1.0, B=a)
    refused(kernel, "A has 1 axis", placed(kernel, X[0]), 1.0)
    same(np.asarray(kernel(X, 2.0)), X * 2)


def test_sizes_that_contradict_each_other(target):
    kernel = kernel_of("sized", target)
    shapes = (("float32", (3, 4)), ("float32", (4, 3)), ("int32", (4,)))
    a, b, c = (placed(kernel, np.full(shape, 7, dtype)) for dtype, shape in shapes)
    for wrong, message in (
        ((5, 3), r"n is 4 from A.shape\[1\] but 5 from B.shape\[0\]"),
        ((4, 5), r"m is 3 from A.shape\[0\] but 5 from B.shape\[1\]"),
    ):
        other = placed(kernel, np.full(wrong, 7, np.float32))
        refused(kernel, message, a, other, c, written=[other, c])
    for length in (0, 3, 5):
        other = placed(kernel, np.full(length, 7, np.int32))
        refused(kernel, rf"C.shape\[0\] is {length}, expected m \+ 1 = 4", a, b, other, written=[b, other])
    bare(kernel)(a, b, c)
    bare(kernel).adapter.synchronize()
    same(read(b), np.full((4, 3), 8, np.float32))
    same(read(c), np.array([7, 0, 1, 2], np.int32))


def test_tensors_of_no_elements(target):
    """Calls without blocks, and without anything to do for a block; nothing else is written."""
    kernel = kernel_of("sized", target)
    c = np.array([7], np.int32)
    kernel(np.zeros((0, 4), np.float32), np.zeros((4, 0), np.float32), c)
    same(c, np.array([7], np.int32))
    c = np.full(3, 7, np.int32)
    kernel(np.zeros((2, 0), np.float32), np.zeros((0, 2), np.float32), c)
    same(c, np.array([7, 0, 1], np.int32))


def test_strides(target):
    """Declared ones are kept to; elements of an output do not share memory."""
    kernel = kernel_of("strided", target)
    wide = placed(kernel, np.arange(30, dtype=np.float32).reshape(3, 10))
    b = placed(kernel, np.zeros((3, 8), np.float32))
    refused(kernel, r"A.stride\[1\] is 2, expected 1", wide[:, :8:2], b[:, :4], written=[b])
    alike = placed(kernel, np.broadcast_to(np.zeros(4, np.float32), (3, 4)))
    message = "B is written by the kernel, but its elements along axis 0 share memory|B .*read-only"
    refused(kernel, message, wide[:, :4], alike, written=[alike])
    bare(kernel)(wide[:, 3:7], b[:, 2:6])
    bare(kernel).adapter.synchronize()
    expected = np.zeros((3, 8), np.float32)
    expected[:, 2:6] = np.arange(30, dtype=np.float32).reshape(3, 10)[:, 3:7] + 1
    same(read(b), expected)


def test_arguments_that_share_memory(target):
    kernel = kernel_of("swapped", target)
    base = placed(kernel, np.arange(8, dtype=np.int32))
    for a, b in ((base[:4], base[:4]), (base[:4], base[2:6]), (base[1:5], base[:4])):
        refused(kernel, "A and B .*, and the kernel writes both", a, b, written=[base])
    bare(kernel)(base[:4], base[4:])
    bare(kernel).adapter.synchronize()
    same(read(base), np.array([4, 5, 6, 7, 0, 1, 2, 3], np.int32))
    kernel = kernel_of("scaled", target)
    tall = placed(kernel, np.zeros((4, 4), np.float32))
    message = "B and A share a part of their memory, and the kernel writes B"
    refused(kernel, message, tall[:3], tall[1:], 1.0, written=[tall])
    a = placed(kernel, X.copy())
    bare(kernel)(a, a, 3.0)  # in place
    bare(kernel).adapter.synchronize()
    same(read(a), X * 3)
