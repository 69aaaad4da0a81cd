"""Programs that expect Python's own exceptions, as TileLang raises them, catch tilecore's."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore import errors


def wrong_rank(A):
    A[0, 0, 0] = 1.0


def wrong_index(A):
    A[0, 99] = 1.0


def buffer_as_value(A):
    A[0, 0] = T.exp(A)


def float_predicate(A):
    A[0, 0] = T.any_sync(A[0, 1])


def view_of_another_size(A):
    T.view(A, (3, 3))


def wrong_rounding(A):
    A[0, 0] = T.ieee_add(A[0, 1], A[0, 2], "nearest")


def too_large(A):
    A[0, 0] = T.alloc_var("float32", init=1e300)


def negative_threads(A):
    T.Kernel(1, threads=-1)


def sliced_with_steps(A):
    T.copy(A[0, 0:8:2], A[1, 0:8:2])


@pytest.mark.parametrize(
    ("use", "kinds"),
    [
        (wrong_rank, (IndexError, ValueError)),
        (wrong_index, (IndexError, ValueError)),
        (buffer_as_value, (TypeError, ValueError)),
        (float_predicate, (TypeError,)),
        (view_of_another_size, (AssertionError,)),
        (wrong_rounding, (ValueError,)),
        (too_large, (ValueError,)),
        (negative_threads, (ValueError,)),
        (sliced_with_steps, (RuntimeError,)),
    ],
)
def test_the_class_of_an_error(use, kinds):
    body = T.macro(use)
    for kind in kinds:
        with pytest.raises(kind) as caught:

            @T.prim_func
            def kernel(A: T.Tensor((8, 8), "float32")):
                with T.Kernel(1, threads=32):
                    body(A)

        assert isinstance(caught.value, errors.TilecoreError)
        assert caught.value.location is not None


def test_errors_travel_between_processes():
    error = errors.WrongIndexError("m", found="f", expected="e", hint="h", location=errors.Location("a", 1))
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is errors.WrongIndexError
    assert str(copy) == str(error)


def test_a_kernel_may_catch_what_python_would_raise():
    """An iteration by index must not take the error for the end of a sequence."""
    with pytest.raises(errors.LanguageError, match="cannot be iterated"):

        @T.prim_func
        def kernel(A: T.Tensor((8,), "float32")):
            with T.Kernel(1):
                A[0] = sum(list(A))

    @T.prim_func
    def helped(A: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            try:
                A[8] = 1.0
            except IndexError:
                A[7] = 2.0

    a = np.zeros(8, np.float32)
    tilecore.compile(helped, target="cpu")(a)
    assert a.tolist() == [0.0] * 7 + [2.0]
