"""What no target does is refused where it is written, whatever the target: at its line, with what to write instead."""

from __future__ import annotations

import inspect
import textwrap
from pathlib import Path

import pytest

from tilecore.errors import LanguageError, UnsupportedError

HEAD = """
import tilecore.language as T
from tilecore.lowering.normalize.check_nests import check_nests

@T.prim_func
def kernel(
    X: T.Tensor((8, 8), "float32"), I: T.Tensor((8, 8), "int32"), F: T.Tensor((8, 8), "bool"),
    H: T.Tensor((8, 8), "int4"),
):
    with T.Kernel(1, threads=32):
        tile, row = T.alloc_shared((8, 8), "float32"), T.alloc_fragment((8,), "float32")
"""

# the statement (in T.Parallel(8) over i where it begins with "i: "), the message, the hint or what was expected
REFUSED = [
    ("T.gemm(X, X, I)", "T.gemm accumulates products of floats into an integer", "a float accumulator"),
    ("i: T.copy(X, tile)", "T.copy stands inside T.Parallel", "move it out of the loop"),
    ("i: tile[i:8, :] = X[i:8, :]", "a slice of tile is stored to inside T.Parallel", "move it out of the loop"),
    ("i: T.fill(tile, 1)", "T.fill stands inside T.Parallel", "element by element"),
    ("i: T.clear(tile)", "T.clear stands inside T.Parallel", "element by element"),
    ("i: T.gemm(X, X, tile)", "T.gemm stands inside T.Parallel", "element by element"),
    ("i: T.reduce_max(X, row, dim=1)", "T.reduce_max stands inside T.Parallel", "element by element"),
    ("i: T.cumsum(tile)", "T.cumsum stands inside T.Parallel", "element by element"),
    ("i: T.atomic_add(X, tile)", "T.atomic_add stands inside T.Parallel", "element by element"),
    ("i: X[i, 0] = T.warp_reduce_sum(X[i, 1])", "T.warp_reduce_sum stands inside T.Parallel", "element by element"),
    ('i: s = T.alloc_shared((4,), "float32")', "is allocated inside T.Parallel", "T.alloc_local or T.alloc_var"),
    ('i: s = T.alloc_fragment((4,), "float32")', "is allocated inside T.Parallel", "T.alloc_local or T.alloc_var"),
    ('T.view(H, (8, 4), "int8")', "T.view changes the element type of H", "T.uint8"),
    ('T.view(F, (8, 16), "uint4")', "T.view changes the element type of F", "T.uint8"),
    ("T.reduce_sum(F, F[:, 0], dim=1)", "T.reduce_sum is not defined for bool values", "T.int32 to count"),
    ("T.cumsum(F)", "T.cumsum is not defined for bool values", "T.int32 to count"),
    ("T.reduce_bitand(I, row, dim=1)", "T.reduce_bitand is not defined for float32", "integers or bool"),
    ("T.atomic_add(F[0, 0], True)", "T.atomic_add is not defined for bool", ""),
    ("T.atomic_xor(X[0, 0], 1)", "T.atomic_xor is not defined for float32", ""),
    ("X[0, 0] = X[0, 1] // 2", "`//` is applied to floats", "T.floor(a / b)"),
    ("X[0, 0] = 7 % X[0, 1]", "`%` is applied to floats", "T.fmod"),
    ("X[0, 0] = X[0, 1] & 3", "`&` is applied to floats", "T.reinterpret"),
    ("X[0, 0] = X[0, 1] << 3", "`<<` is applied to floats", "T.ldexp"),
    ("X[0, 0] = ~X[0, 1]", "`~` is applied to float32", "an integer or a bool"),
    ("I[0, 0] = I[0, 1] / 2", "`/` divides two integers", "`//` rounds down"),
    ("I[0, 0] = I[0, 1] // 0", "division by zero", "I[0, 1] // 0"),
    ("I[0, 0] = I[0, 1] ** I[0, 2]", "`**` is applied to integers", "1 << n"),
    ("I[0, 0] = I[0, 1] ** -1", "`**` is applied to integers", "1 << n"),
    ("I[0, 0] = int(X[0, 1])", "int() is applied to a value of the kernel", 'T.cast(x, "int32")'),
    ("I[0, 0] = float(I[0, 1])", "float() is applied to a value of the kernel", 'T.cast(x, "float32")'),
    ("X[0, 0] = round(X[0, 1], 2)", "round() of a value of the kernel takes no number of digits", "T.round"),
    ("F[0, 0] = T.any_sync(F[0, 1], 1)", "T.any_sync has a mask", "0xffffffff"),
    ("F[0, 0] = T.all_sync(F[0, 1], mask=I[0, 0])", "T.all_sync has a mask", "0xffffffff"),
    ('T.annotate_pass_configs({"tl.enable_fast_mth": True})', "unknown pass configuration", "'tl.enable_fast_math'"),
    (
        'T.annotate_pass_configs({"tl.enable_fast_math": {1, 2}})',
        "a value that cannot be stored",
        "numbers, text",
    ),
    ('T.alloc_buffer((4,), "float32")', "T.alloc_buffer in global memory stands inside T.Kernel", "T.alloc_shared"),
    ("I[0, 0] = T.popcount(X[0, 0])", "T.popcount is not defined for float32", "an integer"),
    ("I[0, 0] = T.clz(F[0, 0])", "T.clz is not defined for bool", "an integer"),
]


@pytest.mark.parametrize(("statement", "message", "more"), REFUSED, ids=[case[0] for case in REFUSED])
def test_refused(load_module, statement, message, more):
    body = f"for i in T.Parallel(8):\n    {statement[3:]}" if statement.startswith("i: ") else statement
    with pytest.raises((LanguageError, UnsupportedError)) as caught:
        load_module(HEAD + textwrap.indent(body, "        ") + "\ncheck_nests(kernel.ir)\n")
    error = caught.value
    assert message in error.message
    assert more in str(error)
    assert error.location is not None, str(error)
    source = Path(error.location.file).read_text().splitlines()
    assert source[error.location.line - 1].strip() == statement.removeprefix("i: ")


def test_what_is_not_a_number_is_a_type_error_too(load_module):
    """Helpers that try int() first, and do something else where it does not work, go on."""
    load_module(
        HEAD
        + """
        def size(x):
            try:
                return int(x)
            except TypeError:
                return 5
        I[0, 0] = size(I[0, 1])
kernel.ir
"""
    )


def test_the_whole_warp_may_be_named(load_module):
    for mask in ("None", "-1", "0xFFFFFFFF"):
        load_module(HEAD + f"        F[0, 0] = T.any_sync(F[0, 1], {mask})\n        T.sync_warp({mask})\nkernel.ir\n")


def test_the_order_of_parameters():
    """As kernels give them by position."""
    import tilecore.language as T

    def names(function):
        return list(inspect.signature(function).parameters)

    head = ["buffer", "out", "dim", "clear", "batch"]
    for function in (T.reduce_sum, T.reduce_bitand, T.reduce_bitor, T.reduce_bitxor):
        assert names(function) == [*head, "annotations"]
    for function in (T.reduce_max, T.reduce_min, T.reduce_absmax):
        assert names(function) == [*head, "nan_propagate", "annotations"]
    assert names(T.reduce_abssum)[:5] == ["buffer", "out", "dim", "batch", "annotations"]
    assert names(T.gemm)[:9] == [
        *("A", "B", "C", "transpose_A", "transpose_B", "policy", "clear_accum", "mbar", "annotations")
    ]
