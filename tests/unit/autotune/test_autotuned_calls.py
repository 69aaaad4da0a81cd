"""Calls of autotuned functions: which are the same, and which are wrong."""

from __future__ import annotations

import functools
import threading

import numpy as np
import pytest
import torch
from tunable_kernels import factory, plus_one

import tilecore.language as T
from tilecore.autotuner import AutoTuner, autotune
from tilecore.errors import ArgumentError, LanguageError, TilecoreError, WrongTypeError
from tilecore.jit.impl import jit

QUICK = {"warmup": 1, "rep": 2, "timeout": 30, "progress": False}
ONES = np.ones(64, np.float32)


def lazy(n, factor, block=None):
    @T.prim_func
    def kernel(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(n // block) as bx:
            for i in T.Parallel(block):
                B[bx * block + i] = A[bx * block + i] * factor

    return kernel


def scaled(n, factor, block=None):
    return lazy(n, float(factor), block)


def scale():
    return autotune(configs={"block": [8, 16]}, **QUICK)(jit(scaled, target="cpu", out_idx=-1))


def scaled_rows(A, factor, block=8):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), T.float32)
    B = T.empty((M, N), T.float32)
    with T.Kernel(M // block) as bx:
        for i, j in T.Parallel(block, N):
            B[bx * block + i, j] = A[bx * block + i, j] * factor
    return B


def strided_rows(A, block=8):
    M, N = T.const("M, N")
    R, C = T.const("R, C")
    A: T.StridedTensor((M, N), (R, C), T.float32)
    B = T.empty((M, N), T.float32)
    with T.Kernel(M // block) as bx:
        for i, j in T.Parallel(block, N):
            B[bx * block + i, j] = A[bx * block + i, j] * 2
    return B


def eager(function=scaled_rows):
    return autotune(configs={"block": [8, 16]}, **QUICK)(jit(function, target="cpu"))


# -- which calls are the same ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [np.float32, np.float64, np.int32, np.array, torch.tensor])
def test_a_function_that_returns_its_kernel_depends_on_values(searches, make):
    """Numbers of numpy have a shape and an element type, but are values; and it may read the elements of a tensor."""
    tuned = scale()
    assert [tuned(64, make(factor))(ONES)[5] for factor in (2, 3, 2)] == [2, 3, 2]
    assert len(searches) == 2
    assert tuned(64, make(3)) is tuned(64, make(3))
    assert [scale()(64, make(factor))(ONES)[5] for factor in (2, 3)] == [2, 3]
    assert len(searches) == 2, "both results are kept on disk"


def test_classes_with_a_shape_and_an_element_type_are_values(searches):
    def sized(n, kind, block=None):
        return scaled(n, {"float16": 2.0, "float32": 4.0, "float64": 8.0}[str(T.dtype(kind))], block)

    tuned = autotune(configs={"block": [8, 16]}, **QUICK)(jit(sized, target="cpu", out_idx=-1))
    kinds = (np.float16, np.float32, np.dtype("float64"))
    assert [tuned(64, kind)(ONES)[5] for kind in kinds] == [2, 4, 8]
    assert len(searches) == 3


def test_an_eager_function_depends_on_types_of_tensors_and_on_values_of_numbers(searches):
    a, tuned = torch.ones(32, 8), eager()
    results = [tuned(a, factor)[3, 4].item() for factor in (np.float32(2), np.float32(3), 2.0, np.float64(3))]
    assert results == [2, 3, 2, 3]
    assert len(searches) == 2
    assert [tuned.compile(a, np.float32(factor))(a)[3, 4].item() for factor in (2, 3)] == [2, 3]
    assert tuned(a + 1, 2.0)[3, 4].item() == 4
    assert len(searches) == 2


def test_strides_of_an_eager_functions_tensors_are_of_their_types(searches):
    a, tuned = torch.arange(256.0).reshape(32, 8), eager(strided_rows)
    for tensor in (a, a.t().contiguous().t(), a):
        assert torch.equal(tuned.compile(tensor)(tensor), a * 2)
        assert torch.equal(tuned(tensor), a * 2)
    assert len(searches) == 2


def test_a_result_for_values_that_cannot_be_compared_is_not_kept():
    class Factor:
        def __init__(self, value):
            self.value = value
            self.lock = threading.Lock()

        def __float__(self):
            return self.value

    tuned = scale()
    assert [tuned(64, Factor(value))(ONES)[5] for value in (2.0, 3.0)] == [2, 3]
    assert not tuned._results._found


def test_tunables_of_numpy_are_integers(searches):
    add = autotune(configs={"block": [8, 16], "amount": [1]}, ref_prog=plus_one, **QUICK)(factory("cpu"))
    config = add(64, block=np.int64(16)).config
    assert config == {"block": 16, "amount": 1}
    assert type(config["block"]) is int
    assert searches == [[config]]


# -- wrong calls -----------------------------------------------------------------------------------------------------


def without_defaults(block, n, factor):
    return scaled(n, factor, block)


@pytest.mark.parametrize("configs", [{"block": [8, 16]}, lambda n: [{"block": 8}], lambda args, kwargs: [{"block": 8}]])
@pytest.mark.parametrize(
    ("args", "kwargs", "words"),
    [
        ((), {}, "missing: n"),
        ((64,), {}, "an argument is missing: factor"),
        ((64,), {"block": 8}, "an argument is missing: factor"),
        ((64, 2.0), {"blok": 8}, "unexpected keyword argument 'blok'"),
        ((64, 2.0, 8, 1), {}, "too many positional arguments"),
        ((64, 2.0), {"n": 3}, "multiple values for argument 'n'"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_as_by_the_function(searches, configs, args, kwargs, words):
    plain = jit(lazy, target="cpu", out_idx=-1)
    tuned = autotune(configs=configs, **QUICK)(plain)
    with pytest.raises(ArgumentError) as own:
        plain(*args, **kwargs)
    for call in (tuned, tuned.compile, tuned.tune):
        with pytest.raises(ArgumentError) as caught:
            call(*args, **kwargs)
        assert words in caught.value.message
        assert caught.value.expected == own.value.expected == "lazy(n, factor, block=None)"
        assert caught.value.found.startswith(own.value.found[:-1])
        assert caught.value.hint == own.value.hint
    assert searches == []


@pytest.mark.parametrize(
    ("args", "kwargs", "words"),
    [
        ((64,), {}, "an argument is missing: factor"),
        ((64, 2.0), {"blok": 8}, "unexpected keyword argument 'blok'"),
        ((64, 2.0, 8, 1), {}, "too many positional arguments"),
    ],
)
def test_arguments_that_a_partial_has_bound(searches, args, kwargs, words):
    for function in (lazy, jit(lazy, target="cpu", out_idx=-1)):
        partial = functools.partial(function, *args, **kwargs)
        with pytest.raises(ArgumentError, match=rf"lazy\(\): .*{words}"):
            AutoTuner(partial, {"block": [8, 16]}).set_profile_args(**QUICK).run()
    assert searches == []


def test_tunables_without_a_default_may_be_left_out():
    tuned = autotune(configs={"block": [8, 16]}, **QUICK)(jit(without_defaults, target="cpu", out_idx=-1))
    assert tuned(n=64, factor=3.0)(ONES)[5] == 3
    with pytest.raises(ArgumentError, match="an argument is missing: factor") as caught:
        tuned(n=64)
    assert caught.value.found == "without_defaults(n=64, block=left out)"


def test_missing_arguments_of_proposals():
    @jit(target="cpu", out_idx=-1)
    def product(M, N, K, dtype, block_M, block_N=None):
        raise AssertionError

    for tries in (1, 2):
        with pytest.raises(ArgumentError, match=r"product\(\): arguments are missing: K, dtype"):
            autotune(configs="auto", tries=tries)(product)(64, 64)


@pytest.mark.parametrize(
    ("args", "kwargs", "kind"),
    [
        ((), {}, ArgumentError),
        ((2.0, torch.ones(32, 8)), {}, ArgumentError),
        ((torch.ones(32, 8).double(), 2.0), {}, ArgumentError),
        ((torch.ones(32, 8), 2.0), {"blok": 3}, ArgumentError),
        ((torch.ones(32, 8), 2.0), {"blok": "u"}, ArgumentError),
        ((torch.ones(32, 8), 2.0, 8, 4), {}, ArgumentError),
        ((torch.ones(32, 8), 2.0), {"A": 3}, ArgumentError),
        ((np.array([[object()]]), 2.0), {}, LanguageError),
        ((torch.ones(32, 8), None), {}, WrongTypeError),
    ],
)
def test_wrong_calls_of_eager_functions_are_refused_as_by_the_function(args, kwargs, kind):
    tuned = eager()
    for call, own_call in ((tuned, tuned.jit_impl), (tuned.compile, tuned.jit_impl.compile)):
        with pytest.raises(TilecoreError) as own:
            own_call(*args, **kwargs)
        with pytest.raises(kind) as caught:
            call(*args, **kwargs)
        own, caught = own.value, caught.value
        assert type(caught) is type(own)
        assert (caught.message, caught.found, caught.expected) == (own.message, own.found, own.expected)


def test_tensors_for_a_function_that_returns_its_kernel_are_refused_as_by_the_function():
    tuned = autotune(configs={"block": [8, 16]}, **QUICK)(jit(lazy, target="cpu", out_idx=-1))
    with pytest.raises(TilecoreError, match="a Tensor stands where a value of the kernel") as caught:
        tuned(torch.ones(3), 2.0)
    assert isinstance(caught.value, WrongTypeError)
    assert "lazy returns a kernel, which takes the tensors: lazy(n, factor, block)" in caught.value.hint
