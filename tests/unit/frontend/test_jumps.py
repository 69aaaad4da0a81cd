"""What leaves a block of a kernel before its end: `break` and `continue`, exceptions that are caught, `yield`."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

from tilecore.errors import LanguageError
from tilecore.interpreter import interpret

HEAD = """
import contextlib
import tilecore.language as T

TABLE = {0: 10, 1: 20}

@contextlib.contextmanager
def counted(Y, i):
    Y[i] += 1
    yield
    Y[i + 1] += 1

@T.macro
def first_that_fails(X, Y):
    if X[0] > 0:
        raise ValueError("x")

@T.prim_func
def kernel(X: T.Tensor((8,), "int32"), Y: T.Tensor((8,), "int32")):
    with T.Kernel(1):
"""
X = np.array([5, -7, 3, 2, 0, 11, -1, 8], np.int32)

LOST = "an exception that left a block of the kernel"
REFUSED = {
    "finally": ("for i in T.serial(8):\n try:\n  if X[i] < 0: continue\n finally:\n  Y[0] += 1", "a `finally`"),
    "finally and break": ("for i in T.serial(8):\n try:\n  if X[i] < 0: break\n finally:\n  Y[0] += 1", "a `finally`"),
    "while": ("while Y[0] < 8:\n try:\n  if X[0] < 0: continue\n finally:\n  Y[0] += 1", "a `finally`"),
    "while True": ("while True:\n try:\n  if X[0] < 0: break\n finally:\n  Y[0] += 1", "a `finally`"),
    "handler": (
        "for i in T.serial(8):\n try:\n  raise ValueError\n except ValueError:\n  if X[i] < 0: continue\n"
        " finally:\n  Y[0] += 1",
        "a `finally`",
    ),
    "manager": ("for i in T.serial(8):\n with counted(Y, 0):\n  if X[i] < 0: continue", "the end of a `with`"),
    "stack": (
        "for i in T.serial(8):\n with contextlib.ExitStack() as s:\n  s.callback(print)\n  if X[i] < 0: break",
        "the end of a `with`",
    ),
    "entered": ("for j in [0, 1]:\n with T.serial(8) as i:\n  if j == 1: continue\n  Y[i] += 1", "entered by `with`"),
    "entered and break": ("for j in T.serial(2):\n with T.serial(8) as i:\n  if X[i] < 0: break", "entered by `with`"),
    "if": ("try:\n if X[0] > 0:\n  Y[0] = TABLE[2]\nexcept KeyError:\n Y[1] = 1", LOST),
    "else": ("try:\n if X[0] > 0:\n  Y[0] = 1\n else:\n  Y[0] = TABLE[2]\nexcept KeyError:\n Y[1] = 1", LOST),
    "loop": ("try:\n for i in T.serial(8):\n  Y[i] = TABLE[2]\nexcept KeyError:\n Y[1] = 1", LOST),
    "while and raise": ("try:\n while Y[0] < 3:\n  Y[0] += TABLE[2]\nexcept KeyError:\n Y[1] = 1", LOST),
    "parallel": ("try:\n for i in T.Parallel(8):\n  Y[i] = TABLE[2]\nexcept KeyError:\n pass", LOST),
    "suppressed": ("with contextlib.suppress(KeyError):\n if X[0] > 0:\n  Y[0] = TABLE[2]\nY[1] = 1", LOST),
    "suppressed in a loop": (
        "for i in T.serial(8):\n with contextlib.suppress(KeyError):\n  if X[i] > 0:\n   Y[0] = TABLE[2]\nY[1] = 1",
        LOST,
    ),
    "macro": ("try:\n first_that_fails(X, Y)\nexcept ValueError:\n Y[1] = 1", LOST),
    "yield": ("Y[0] = 1\nyield", "is a generator"),
    "return": ("Y[0] = 1\nreturn Y[0] + 5", "returns a value"),
}
MEANT = {
    "no block left": ("try:\n Y[0] = 1\n Y[1] = TABLE[2]\nexcept KeyError:\n Y[2] = 3", [1, 0, 3]),
    "within one block": (
        "for i in T.serial(8):\n try:\n  Y[0] += 1\n  Y[1] += TABLE[2]\n except KeyError:\n  Y[2] += 1\n"
        " else:\n  Y[3] = 1",
        [8, 0, 8],
    ),
    "nothing raised": (
        "try:\n if X[0] > 0:\n  Y[0] = TABLE[1]\nexcept KeyError:\n Y[1] = 1\nfinally:\n Y[2] = 2",
        [20, 0, 2],
    ),
    "Python's jump": ("for i in [0, 1, 2]:\n try:\n  if i == 1: continue\n  Y[0] += 1\n finally:\n  Y[1] += 1", [2, 3]),
    "Python's jump in a while": (
        "i = 0\nwhile i < 3:\n try:\n  i += 1\n  if i == 2: break\n finally:\n  Y[1] += 1",
        [0, 2],
    ),
    "a loop within": (
        "try:\n for i in T.serial(8):\n  if X[i] < 0: continue\n  Y[0] += 1\nfinally:\n Y[1] += 1",
        [6, 1],
    ),
    "a loop in the finally": (
        "for j in T.serial(2):\n try:\n  Y[1] += 1\n finally:\n  for i in T.serial(8):\n"
        "   if X[i] < 0: break\n   Y[0] += 1",
        [2, 2],
    ),
    "a jump in the finally": (
        "for i in T.serial(8):\n try:\n  Y[0] += 1\n finally:\n  if X[i] < 0: break\n Y[1] += 1",
        [2, 1],
    ),
    "a manager around": (
        "with counted(Y, 1):\n for i in T.serial(8):\n  if X[i] < 0: continue\n  Y[0] += 1",
        [6, 1, 1],
    ),
    "what a manager gives": ("with contextlib.nullcontext(3) as three:\n Y[0] = three", [3]),
    "suppressed": ("with contextlib.suppress(KeyError):\n Y[0] = 1\n Y[1] = TABLE[2]\nY[2] = 1", [1, 0, 1]),
}


def text(body: str) -> str:
    return HEAD + textwrap.indent(body, "        ") + "\n"


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_be_lost_is_refused(name, load_module):
    body, message = REFUSED[name]
    with pytest.raises(LanguageError) as caught:
        _ = load_module(text(body)).kernel.ir
    assert message in str(caught.value)
    assert caught.value.location is not None


@pytest.mark.parametrize("name", MEANT)
def test_what_is_kept_means_what_it_means_in_python(name, load_module):
    body, expected = MEANT[name]
    y = np.zeros(8, np.int32)
    interpret(load_module(text(body)).kernel.ir, X, y)
    assert y.tolist() == expected + [0] * (8 - len(expected))


@pytest.mark.parametrize("body", ["try:\n Y[0] = 1\n {}\nfinally:\n Y[2] = 1", "with counted(Y, 2):\n {}"])
def test_the_place_is_the_statement_in_the_try(body, load_module):
    with pytest.raises(LanguageError) as caught:
        _ = load_module(text(body.format("Y[1] = X[0, 0]"))).kernel.ir
    assert "Y[1] = X[0, 0]" in str(caught.value)
