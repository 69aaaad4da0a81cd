"""Forms that Python, torch, numpy and Triton have and the language has not: each with a line, a caret and a way out.

What TVM or Python would say of them names classes of theirs; what users read names what they wrote.
"""

from __future__ import annotations

import re
import textwrap

import pytest

import tilecore.language as T
from tilecore.errors import LanguageError, TilecoreError

HEAD = """
import math
import numpy as np
import tilecore
import tilecore.language as T

TABLE = [1, 2, 3, 4]

@T.macro
def endless(x):
    endless(x)

@T.macro
def one(x):
    x[0, 0] = 1

@T.prim_func
def kernel(X: T.Tensor((64, 64), "float32"), Y: T.Tensor((64, 64), "float32"), P: T.Tensor((64,), "int32")):
    with T.Kernel(4, threads=128) as b:
        f, g = T.alloc_fragment((8, 16), "float32"), T.alloc_fragment((8,), "float32")
"""
INTERNAL = re.compile(
    r"<locals>|_TensorFactory|_Unnamed|TensorLoad|TensorRegion|\bVar\b|Check failed|__definition|tvm|_plain|\.op\b"
)

# statement, message, further text of the report; what follows a line break is not what is underlined
BODIES = [
    ("Y[0, 0] = T.exp(X[0, 0], X[0, 1])", "T.exp() takes 1 positional argument but 2 were given", "T.exp(x)"),
    ("Y[0, 0] = T.max()", "T.max() missing 2 required positional arguments", "T.max(a, b, *more)"),
    ("T.copy(X[0, 0], f, coalesed_width=3)", "T.copy() got an unexpected keyword", "did you mean 'coalesced_width'?"),
    ("one(xx=f)", "the macro one() got an unexpected keyword argument 'xx'", "one(x)"),
    ("T.copy(X[0, 0], f, foo=3)", "T.copy() got an unexpected keyword argument 'foo'", "T.copy(src, dst"),
    ("z = T.alloc_shared()", "T.alloc_shared() missing", "T.alloc_shared(shape, dtype='float32'"),
    ('z = T.alloc_shared((4,), scope="global")', "T.alloc_shared(scope=...) is not shared memory", "T.alloc_buffer"),
    ('z = T.alloc_fragment((4,), scope="shared")', "T.alloc_fragment(scope=...) is not local memory", "'local'"),
    ("z = T.alloc_local((4,), scope=5)", "T.alloc_local(scope=...) is not local memory", "5"),
    ("one(f, 3)", "the macro one() takes 1 positional argument but 2 were given", "one(x)"),
    ("endless(f)", "the macro endless calls itself without end", "a `while` loop"),
    ("T.reduce_sum(f, g, dim=iter([1]))", "T.reduce_sum(dim=...) is not an int", "an int that is known when compiling"),
    ("T.reduce_sum(f, g, dim=1.0)", "T.reduce_sum(dim=...) is not an int", "1.0"),
    ("T.reduce_sum(f, g, dim=(1, 1))", "dim names an axis twice", "each axis once"),
    ("T.reduce_sum(f, g, dim=())", "dim is not an int or a tuple of ints", "a tuple of ints"),
    ("T.reduce_sum(f, dim=1, clear=False)", "without an output to accumulate into", "out=..."),
    ('T.reduce(f, g, "mul", dim=1)', "'mul' is not a kind of reduction", "did you mean 'prod'?"),
    ("T.reduce(f, g, 5, dim=1)", "5 is not a kind of reduction", "'sum', 'prod', 'max'"),
    ("T.cumsum(f, dim=(0, 1))", "T.cumsum(dim=...) is not an int", "(0, 1)"),
    ("P[X[0, 0] > 0] = 1", "axis 0 of P is indexed with a bool", "T.cast(condition"),
    ("Y[0, 0] = P[X[0, 0] > 0]", "axis 0 of P is indexed with a bool", "an `if`"),
    ("T.atomic_add(P[X[0, 0] > 0], 1)", "axis 0 of P is indexed with a bool", "an integer"),
    ("P[None, 0] = 1", "P has 1 axis and is indexed with 2", "None adds no axis"),
    ("P[0, 0] = 1", "P has 1 axis and is indexed with 2", "at most 1 index,"),
    ("P[0] = X[0, 0] == None", "None stands where a value of the kernel is expected", "`is None`"),
    ("for i in T.Pipelined(4, num_stages=None):\n    T.clear(f)", "T.Pipelined(num_stages=...) is not an int", "None"),
    ("for i in T.Pipelined(4, num_stages=2.5):\n    T.clear(f)", "T.Pipelined(num_stages=...) is not an int", "2.5"),
    ("for i in T.Pipelined(4, order=[0, 0]):\n    T.clear(f)", "order=...) gives two statements one place", "[0, 0]"),
    ("for i in T.Pipelined(4, order=[0, -2]):\n    T.clear(f)", "a number of T.Pipelined(order=...)", "-2"),
    (
        "for i in T.Pipelined(4, order=[0, 1], stage=[0]):\n    T.clear(f)",
        "different numbers of statements",
        "2 in order, 1 in stage",
    ),
    ("for i in T.serial(0, 8, 1.5):\n    T.clear(f)", "the step of a loop is not an int", "1.5"),
    ("for i in T.Persistent(4, 4, b):\n    T.clear(f)", "the domain of T.Persistent is not a list", "4"),
    ("for i in T.Parallel(2.5):\n    P[i] = 1", "a loop bound is a float32", "an integer"),
    ("m = T.dynamic(5)", "5 is not a list of names", "identifiers"),
    (
        "for i in T.serial(4):\n    Y[0, i] = TABLE[i]",
        "a Python list is indexed with a value of the kernel",
        "unrolled",
    ),
    ("z = (1, 2)[b]", "a Python tuple is indexed with a value of the kernel", "known when compiling"),
    ("z = {0: 1}[b]", "a Python dict is looked up with a value of the kernel", "T.if_then_else"),
    ("z = TABLE[b:2]", "is indexed with a value of the kernel", "tensor parameter"),
    ("z = np.ones(3)[b]", "a numpy array is indexed with a value of the kernel", "tensor parameter"),
    ("Y[0, 0] = X[b][64]", "index 64 of axis 0 is outside X[b, 0:64]", "-64 to 63"),
    ("T.copy(X[b, 0:32][16:40], f)", "the slice of axis 0 of X[b, 0:32] ends outside the axis", "within 0:32"),
    ("z = T.any_of(f)", "T.any_of of the fragment f", "T.reduce_bitor"),
    ("f[0, 0] = X[b, :] * 2", "`*` is applied to a slice of X", "T.Parallel"),
    ("z = 2 - X[b, :]", "`-` is applied to a slice of X", "X[b, 0:64]"),
    ("z = X[b, :] ** 2", "`**` is applied to a slice of X", "T.Parallel"),
    ("z = X[b, :] == 0", "`==` is applied to a slice of X", "T.Parallel"),
    ("z = T.exp(X[b, :])", "a slice of a buffer stands where a value is expected", "T.Parallel loops over elements"),
    ("z = f == 0", "an operator is applied to the whole buffer f", "T.Parallel"),
    ("z = f @ f", "an operator is applied to the whole buffer f", "T.Parallel"),
    ("for x in X[b, :]:\n    T.clear(f)", "a slice of X is iterated by Python", "T.Parallel(n)"),
    ("p, q = X[0, 0]", "a value of the kernel is a scalar", "Python tuple or list"),
    ("z = X[0, 0][0]", "a value of the kernel is a scalar", "a buffer to index"),
    ("z = len(f)", "a buffer of the kernel has no len()", "buffer.shape"),
    ("f(0)", "a buffer of the kernel is not callable", "brackets index it"),
    ("z = f.sum()", "the buffer f has no attribute 'sum'", "T.reduce_sum"),
    ("T.copy(X.T, f)", "the buffer X has no attribute 'T'", "T.transpose"),
    ('z = X[0, 0].to("float16")', "a value of the kernel has no attribute 'to'", "T.cast"),
    (
        "z = math.exp(X[0, 0])",
        "float() is applied to a value of the kernel",
        "math.exp does not know values of the kernel: T.exp",
    ),
    ("z = np.exp(X[0, 0])", "a function of another library", "np.exp does not know values of the kernel: T.exp"),
    ("z = np.zeros(b)", "a function of another library", "T.clear(tile)"),
    ("z = list(range(b))", "Python cannot do this with a value of the kernel", "T.serial(n)"),
    ("z = X[0, 0] * 1e39", "1e+39 does not fit in float32", "T.float64"),
    ("z = X[0, 0] * 2**70", "does not fit in 64 bits", ""),
    ("z = T.alloc_shared((2.5,))", "the size 2.5 is not an integer", "shape (2.5,)"),
    ("z = T.alloc_shared(None)", "None stands where a value of the kernel is expected", "a number or an expression"),
    ("T.atomic_cas(X[0, 0], 1, 2)", "T.atomic_cas is not defined for float32", 'T.view(buffer, dtype="int32")'),
    ("T.atomic_cas(P, 1, 2)", "T.atomic_cas takes one element", "A[i]"),
    ("T.atomic_cas(P[0], 1, 2, 'x')", "memory_order='x'", "relaxed"),
    ("z = T.get_block_binding(3)", "grid axis 3", "0 to 0"),
    ("z = T.any_of()", "T.any_of is called without conditions", "one or more conditions"),
    ("z = T.arange(0, 8)", "has no T.arange", "T.Parallel(n)"),
    ("z = T.program_id(0)", "has no T.program_id", "T.Kernel(gx, gy)"),
    ("z = T.load(X)", "has no T.load", "T.copy(A[i, j], tile)"),
    ("z = T.dot(f, f)", "has no T.dot", "T.gemm(A, B, C)"),
    ("T.sort(f)", "has no T.sort", "T.serial"),
    ("T.cumprod(f)", "has no T.cumprod", "T.cumsum"),
]


def report_of(load_module, text):
    """The error of a module's text."""
    with pytest.raises(TilecoreError) as caught:
        load_module(text)._  # noqa: B018  never reached
    return caught.value


def check(error, underlined):
    report = str(error)
    lines = report.splitlines()
    source, carets = next(
        (lines[i].partition("| ")[2], lines[i + 1].partition("| ")[2])
        for i in range(len(lines))
        if re.match(r"\d+ \|", lines[i])
    )
    marked = "".join(c for c, mark in zip(source, carets.ljust(len(source)), strict=False) if mark == "^")
    assert marked.startswith(underlined), report
    assert not INTERNAL.search(report.replace(source, "")), report
    return report


@pytest.mark.parametrize(("body", "message", "further"), BODIES, ids=[body.splitlines()[0] for body, *_ in BODIES])
def test_in_a_body(load_module, body, message, further):
    error = report_of(load_module, HEAD + textwrap.indent(body, " " * 8) + "\n\nkernel.ir\n")
    statement = body.splitlines()[-1] if "TABLE[i]" in body else body.splitlines()[0]
    if "endless" in body:
        statement = "endless(x)"
    report = check(error, statement.strip())
    assert message in report, report
    assert further in report, report


OUTSIDE = [
    ('def kernel(A: T.Tensor((2**63,), "float32")): pass', 'T.Tensor((2**63,), "float32")', "is not a size"),
    ('def kernel(A: T.Tensor((4,), "flaot32")): pass', 'T.Tensor((4,), "flaot32")', "did you mean 'float32'?"),
    ('def kernel(A: T.Tensor((4,), dtyp="int8")): pass', 'T.Tensor((4,), dtyp="int8")', "does not take dtyp"),
    ("def kernel(A: T.Tensor()): pass", "T.Tensor()", "missing a required argument: 'shape'"),
    ("def kernel(A: T.Tensor(x for x in (2, 3))): pass", "T.Tensor(x for", "is not a size"),
    ('def kernel(A: T.StridedTensor((4,), 3, "int8")): pass', "T.StridedTensor(", "strides is not a list or a tuple"),
    ("def kernel(A: T.Tensr((2,))): pass", "T.Tensr", "did you mean T.Tensor?"),
    ("m = T.dynamic(5)", "T.dynamic(5)", "is not a list of names"),
    ("m = T.const(5)", "T.const(5)", "is not a list of names"),
    ("m = T.alloc_shared((3,))", "T.alloc_shared((3,))", "is used outside a kernel"),
    ("m = T.arange(3)", "T.arange", "T.Parallel(n)"),
    ("m = T.Layout(3, 4)", "T.Layout(3, 4)", "the shape is not a list or a tuple"),
    ("m = T.ceildiv(3, 0)", "T.ceildiv(3, 0)", "by zero"),
    ('m = T.max_value("abc")', 'T.max_value("abc")', "unknown dtype"),
    ("@T.prim_func(foo=1)\ndef kernel(): pass", "T.prim_func(foo=1)", "unexpected keyword argument 'foo'"),
    ("@tilecore.jit(foo=1)\ndef kernel(): pass", "tilecore.jit(foo=1)", "unexpected keyword argument 'foo'"),
    ("@tilecore.jit(out_index=1)\ndef kernel(): pass", "tilecore.jit(out_index=1)", "did you mean 'out_idx'?"),
    ("@T.macro(3)\ndef kernel(): pass", "T.macro(3)", "decorates something that is not a function"),
    ("@T.prim_func\nclass kernel: pass", "T.prim_func", "decorates something that is not a function"),
]


@pytest.mark.parametrize(("text", "underlined", "message"), OUTSIDE, ids=[text for text, *_ in OUTSIDE])
def test_in_annotations_decorators_and_factories(load_module, text, underlined, message):
    import sys

    decorator = "@T.prim_func\n" if text.startswith("def ") else ""  # from Python 3.14 on it is what reads annotations
    error = report_of(load_module, f"import tilecore\nimport tilecore.language as T\n\n{decorator}{text}\n")
    assert message in str(error)
    if sys.version_info >= (3, 11):
        check(error, underlined)
    assert error.location.excerpt()


PARAMETERS = [
    ("*args", "args", "*args cannot be a parameter"),
    ("**more", "more", "**more cannot be a parameter"),
    ('A: T.Tensor((4,), "int8"), *, B: T.int32', "B: T.int32", "parameter 'B' of kernel is keyword-only"),
    ("A", "A", "parameter 'A' of kernel has no annotation"),
    ("A: 5", "A: 5", "not a type of the language"),
    ("A: T.Tensor", "A: T.Tensor", "T.Tensor needs a shape"),
    ('A: "missing(3)"', 'A: "missing(3)"', "cannot be evaluated: name 'missing' is not defined"),
    ("A: \"T.Tensor((2,), 'flt')\"", "A: ", "unknown dtype 'flt'"),
]


@pytest.mark.parametrize(("signature", "underlined", "message"), PARAMETERS, ids=[s for s, *_ in PARAMETERS])
def test_parameters(load_module, signature, underlined, message):
    text = f"@T.prim_func\ndef kernel(\n    {signature},\n):\n    with T.Kernel(1):\n        pass\n\nkernel.ir\n"
    error = report_of(load_module, f"import tilecore.language as T\n\n{text.replace('more,', 'more')}")
    assert message in check(error, underlined)


@pytest.mark.parametrize(
    ("opening", "message"),
    [
        ("T.Kernel(1) as (bx, by)", "T.Kernel has 1 grid extent and 2 names"),
        ("T.Kernel(1, 1, 1) as (bx,)", "T.Kernel has 3 grid extents and 1 name"),
        ("T.Kernel(1.5) as bx", "grid extent x of T.Kernel is a float32"),
        ("T.Kernel(2**70) as bx", "does not fit in 64 bits"),
        ("T.Kernel(1, threads=1.5) as bx", "T.Kernel(threads=...) is not an int"),
        ('T.Kernel(1, threads="a") as bx', "T.Kernel(threads=...) is not an int"),
        ("T.Kernel(1, num_warps=4) as bx", "threads=32 * num_warps"),
    ],
)
def test_kernels(load_module, opening, message):
    text = f"@T.prim_func\ndef kernel(A: T.Tensor((4,), 'int8')):\n    with {opening}:\n        A[0] = 1\n\nkernel.ir\n"
    error = report_of(load_module, f"import tilecore.language as T\n\n{text}")
    assert message in check(error, f"with {opening}")


def test_eager_kernels_take_no_lists_of_parameters(load_module):
    text = "@tilecore.jit\ndef kernel(*X):\n    with T.Kernel(1):\n        X[0][0] = 1\n"
    error = report_of(load_module, f"import tilecore\nimport tilecore.language as T\n\n{text}")
    assert "*X cannot be a parameter of the kernel" in check(error, "X")


def test_errors_of_the_users_own_stay(load_module):
    for body, kind in (
        ("raise ValueError('x')", ValueError),
        ("p, q = 1, 2, 3", ValueError),
        ("1 // 0", ZeroDivisionError),
    ):
        with pytest.raises(kind) as caught:
            load_module(HEAD + f"        {body}\n\nkernel.ir\n")
        assert not isinstance(caught.value, LanguageError)


def test_a_value_that_leaves_a_loop_by_with(load_module):
    """As in `for`."""
    body = "with T.Parallel(8) as i:\n    z = X[0, i]\nY[0, 0] = z"
    error = report_of(load_module, HEAD + textwrap.indent(body, " " * 8) + "\n\nkernel.ir\n")
    assert "`z` is assigned inside a loop that runs in the kernel" in str(error)


def test_what_other_libraries_names_lead_to_is_there():
    import tilecore.language as T
    from tilecore.language.known_elsewhere import INSTEAD

    for name, instead in INSTEAD.items():
        assert name not in T._NAMES, f"T.{name} is a name of the language"
        for word in re.findall(r"\bT\.(\w+)", instead):
            assert hasattr(T, word), (name, word)


def test_pythons_print_shows_expressions(capsys):
    with pytest.warns(UserWarning, match=r"Python's print runs once, .*T\.print\(x\)") as caught:

        @T.prim_func
        def kernel(A: T.Tensor((4,), "int32")):
            with T.Kernel(1) as bx:
                print("of block", bx, A[0] + 1, sep=";")
                print("plain")

    assert capsys.readouterr().out == "of block;bx;A[0] + 1\nplain\n"
    assert [(warning.filename, len(caught)) for warning in caught] == [(__file__, 1)]
