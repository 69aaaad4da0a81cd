"""Names and attributes that are not there: the error has the line with carets and the name that was meant."""

from __future__ import annotations

import sys
import textwrap

import pytest

from tilecore.errors import LanguageError

HEAD = """
import math

import tilecore
import tilecore.language as T

rows = 64

def helper(value):
    return value + offset_of_helpr

@T.macro
def clear_first(tile):
    tile[0] = zero_of_macro

"""
KERNEL = """
def make(block_M=16):
    @T.prim_func
    def kernel(X: T.Tensor((64,), "float32"), s: T.int32):
        with T.Kernel(1) as bx:
            tile = T.alloc_fragment((64,), "float32")
{body}
    return kernel

kernel = make()
kernel.ir
"""
# name: (body, the class of Python, the text that is marked, message, help)
NAMES = {
    "of the module": ("X[0] = X[1] * rws", NameError, "rws", "name 'rws' is not defined", "did you mean 'rows'?"),
    "of the body": ("T.copy(X, tiel)", NameError, "tiel", "name 'tiel' is not defined", "did you mean 'tile'?"),
    "of the function around it": ("T.alloc_shared((blokc_M,), 'int8')", NameError, "blokc_M", "blokc_M", "'block_M'"),
    "of Python": ("for i in rnage(3): X[i] = 0", NameError, "rnage", "name 'rnage' is not defined", "'range'"),
    "of the language": ("T.copy(alloc_shared((8,)), X)", NameError, "alloc_shared", "alloc_shared", "T.alloc_shared"),
    "nearly of the language": ("X[0] = T.cast(s, flaot32)", NameError, "flaot32", "flaot32", "did you mean T.float32?"),
    "like no other": ("X[0] = qqqqqqqq", NameError, "qqqqqqqq", "name 'qqqqqqqq' is not defined", None),
    "of a helper function": ("X[0] = helper(1)", NameError, "offset_of_helpr", "offset_of_helpr", None),
    "of a macro": ("clear_first(X)", NameError, "zero_of_macro", "zero_of_macro", None),
    "in a comprehension": ("X[0] = sum([xx for x in (1, 2)])", NameError, "xx", "name 'xx' is not defined", "'x'"),
    "assigned below": ("X[0] = later; later = 3", UnboundLocalError, "later", "later", "assign 'later' before"),
    "assigned in no branch": (
        "if rows > 100: big = 1\nX[0] = big", UnboundLocalError, "big", "big", "assign 'big' before this line"
    ),
    "deleted": ("n = 1; del n; X[0] = n", UnboundLocalError, "n", "n", "assign 'n' before this line"),
    "of a module": ("X[0] = math.sqtr(4)", AttributeError, "math.sqtr", "no attribute 'sqtr'", "did you mean 'sqrt'?"),
}  # fmt: skip


def error_of(load_module, body):
    with pytest.raises(LanguageError) as caught:
        load_module(HEAD + KERNEL.format(body=textwrap.indent(body, " " * 12)))
    return caught.value


@pytest.mark.parametrize("name", NAMES)
def test_names_without_a_value(load_module, name):
    body, kind, marked, message, hint = NAMES[name]
    error = error_of(load_module, body)
    assert isinstance(error, kind)
    assert message in error.message
    assert (error.hint is None) if hint is None else (hint in error.hint)
    source, carets = (line.partition("| ")[2] for line in str(error).splitlines()[3:5])
    assert marked in source
    assert error.location.excerpt()
    if sys.version_info >= (3, 11):  # before, the whole line
        assert "".join(c for c, mark in zip(source, carets.ljust(len(source)), strict=False) if mark == "^") == marked


def test_exceptions_that_the_user_raises_stay(load_module):
    for body, kind in (
        ("raise NameError('a name of mine')", NameError),
        ("raise AttributeError('an attribute of mine')", AttributeError),
    ):
        with pytest.raises(kind, match="of mine") as caught:
            load_module(HEAD + KERNEL.format(body=" " * 12 + body))
        assert not isinstance(caught.value, LanguageError)


def test_a_size_that_no_name_was_given(load_module):
    """In the type of a tensor the help says where sizes come from."""
    eager = """
import numpy as np

@tilecore.jit(target="cpu")
def first(X):
    X: T.Tensor((count,), "float32")
    with T.Kernel(1):
        X[0] = 1.0

first(np.zeros(4, np.float32))
"""
    with pytest.raises(NameError) as caught:
        load_module(HEAD + eager)
    assert 'count = T.const("count")' in caught.value.hint
    lazy = """
@T.prim_func
def first(X):
    X: T.Tensor((count,), "float32")
    with T.Kernel(1):
        X[0] = 1.0

first.ir
"""
    with pytest.raises(NameError) as caught:
        load_module(HEAD + lazy)
    assert 'count = T.dynamic("count")' in caught.value.hint
