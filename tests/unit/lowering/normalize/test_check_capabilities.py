"""Types, scopes and operations that a target does not have are refused before lowering, each at its line."""

from __future__ import annotations

import linecache
import runpy

import pytest

import tilecore
import tilecore.language as T
from tilecore.contract.passes import PassEnv
from tilecore.contract.records import Capabilities
from tilecore.dtypes import nearest_types
from tilecore.errors import UnsupportedError
from tilecore.lowering.normalize.check_capabilities import check_capabilities
from tilecore.target import Target

ALL = {"dtypes": frozenset(), "scopes": frozenset(), "tile_ops": frozenset()}


def refusals(func, **changes):
    errors = []
    check_capabilities(func, PassEnv(Target("imagined"), Capabilities(**{**ALL, **changes}), refusals=errors))
    return errors


@T.prim_func
def many(A: T.Tensor((8, 8), "float32"), n: T.int32, B: T.Tensor((8,), "int64")):
    with T.Kernel(1, threads=32):
        s = T.alloc_shared((8, 8), "float16")
        f = T.alloc_fragment((8,), "float32")
        T.copy(A, s)
        T.reduce_max(s, f, dim=1)
        T.cumsum(s, dim=0)
        if T.shfl_sync(f[0], 3) > 0:
            T.clear(f)
        for i in T.Parallel(8):
            T.atomic_add(B[i], T.cast(n, "int64"))


def line_of(error) -> str:
    with open(error.location.file) as file:
        return file.read().splitlines()[error.location.line - 1].strip()


def test_nothing_is_checked_where_nothing_is_said():
    assert refusals(many.ir) == []


def test_types():
    errors = refusals(many.ir, dtypes=frozenset({"float32", "int32", "bfloat16"}))
    assert [error.found for error in errors] == ["int64", "float16"]
    of_param, of_buffer = errors
    assert "B has elements of int64, which target imagined does not have" in str(of_param)
    assert line_of(of_param).startswith("def many(")
    span = line_of(of_param)[of_param.location.column : of_param.location.end_column]
    assert span == 'B: T.Tensor((8,), "int64")'
    assert "the nearest: int32; T.copy converts" in str(of_param)
    assert line_of(of_buffer) == 's = T.alloc_shared((8, 8), "float16")'
    assert "the nearest: float32, bfloat16" in str(of_buffer)


def test_scopes():
    (shared,) = refusals(many.ir, scopes=frozenset({"global", "local", "local.fragment"}))
    assert line_of(shared) == 's = T.alloc_shared((8, 8), "float16")'
    assert "T.alloc_fragment" in shared.hint
    (fragment,) = refusals(many.ir, scopes=frozenset({"global", "shared.dyn"}))
    assert line_of(fragment) == 'f = T.alloc_fragment((8,), "float32")'


def test_operations_in_statements_and_in_expressions():
    errors = refusals(many.ir, tile_ops=frozenset({"copy", "fill"}))
    assert {line_of(error): error.message.partition(" ")[0] for error in errors} == {
        "T.reduce_max(s, f, dim=1)": "T.reduce_max",
        "T.cumsum(s, dim=0)": "T.cumsum",
        "if T.shfl_sync(f[0], 3) > 0:": "T.shfl_sync",
        'T.atomic_add(B[i], T.cast(n, "int64"))': "T.atomic_add",
    }
    assert all(error.hint for error in errors)
    assert all(error.expected == f"a target that has the tile operation {error.found!r}" for error in errors)


def test_compiling_raises_the_first():
    env = PassEnv(Target("imagined"), Capabilities(**{**ALL, "tile_ops": frozenset({"copy"})}))
    with pytest.raises(UnsupportedError, match=r"T\.reduce_max is not among"):
        check_capabilities(many.ir, env)


@T.prim_func
def extras(A: T.Tensor((T.dynamic("n"),), "float32"), B: T.Tensor((8,), "int32")):
    with T.Kernel(1, threads=32):
        T.import_source("float twice(float x);")
        B[0] = 3
        A[0] = T.call_extern("float32", "twice", A[1])
        T.print(B[0])
        T.atomic_add(B[1], 1)


def test_features():
    errors = refusals(extras.ir, features=frozenset({"atomics", "shuffles"}))
    assert {line_of(error): error.message for error in errors} == {
        'def extras(A: T.Tensor((T.dynamic("n"),), "float32"), B: T.Tensor((8,), "int32")):': (
            "A has sizes of the call, and target imagined compiles kernels of fixed sizes"
        ),
        'T.import_source("float twice(float x);")': (
            "T.import_source is for targets that compile source text, which target imagined does not"
        ),
        'A[0] = T.call_extern("float32", "twice", A[1])': (
            "T.call_extern of twice is for targets that compile source text, which target imagined does not"
        ),
        "T.print(B[0])": "T.print is not supported by target imagined",
    }
    assert all(error.hint for error in errors)
    assert all(error.expected == f"a target that has the feature {error.found!r}" for error in errors)
    assert {error.found for error in errors} == {"dynamic_shapes", "source", "print"}


@T.prim_func
def numbers(A: T.Tensor((4,), "float32"), s: T.bfloat16, n: T.int32):
    with T.Kernel(1, threads=32):
        A[0] = T.cast(s, "float32")
        A[n] = T.cast(T.cast(A[1], "float16"), "float32")


def test_types_of_numbers():
    errors = refusals(numbers.ir, dtypes=frozenset({"float32", "int32"}))
    assert {line_of(error): error.message.partition(",")[0] for error in errors} == {
        'def numbers(A: T.Tensor((4,), "float32"), s: T.bfloat16, n: T.int32):': "s is a scalar of bfloat16",
        'A[n] = T.cast(T.cast(A[1], "float16"), "float32")': "a value is converted to float16",
    }


def test_an_operation_that_is_not_there_is_refused_once():
    errors = refusals(extras.ir, tile_ops=frozenset({"copy"}), features=frozenset({"source", "dynamic_shapes"}))
    assert [error.message.partition(" ")[0] for error in errors] == ["T.print", "T.atomic_add"]


@tilecore.jit
def eager(X, n: int = 4):
    M = T.const("M")
    X: T.Tensor((M,), T.float64)
    Y = T.empty((M,), T.float32)
    with T.Kernel(1):
        for i in T.Parallel(n):
            Y[i] = T.cast(X[i], "float32")
    return Y


def test_parameters_of_eager_kernels():
    func = eager.get_tir(T.Tensor((4,), T.float64))
    (error,) = refusals(func, dtypes=frozenset({"float32"}))
    assert line_of(error) == "X: T.Tensor((M,), T.float64)"
    (output,) = refusals(func, dtypes=frozenset({"float64"}))
    assert line_of(output) == "Y = T.empty((M,), T.float32)"


@pytest.mark.parametrize(
    ("name", "supported", "nearest"),
    [
        ("float16", ["bfloat16", "float32", "float64", "int16"], ["float32", "float64", "bfloat16"]),
        ("float64", ["float16", "float32"], ["float32", "float16"]),
        ("int8", ["uint8", "int32", "int16"], ["uint8", "int16", "int32"]),
        ("uint4", ["float32"], []),
        ("float8_e4m3fn", ["float8_e5m2", "float16"], ["float16", "float8_e5m2"]),
        ("bool", ["bool", "int8"], []),
    ],
)
def test_nearest_types(name, supported, nearest):
    assert nearest_types(name, supported) == nearest


def test_a_parameter_whose_text_is_gone_or_other_by_now(tmp_path):
    file = tmp_path / "kernels.py"
    file.write_text(
        "import tilecore.language as T\n@T.prim_func\ndef kernel(X: T.Tensor((4,), 'int64')):\n"
        "    with T.Kernel(1):\n        T.clear(X)\n"
    )
    func = runpy.run_path(str(file))["kernel"].ir
    for text in ("", "x = 1\n", "x = 1\n\n(\n", "x = 1\n\n'''\n", "x = 1\n\n  ?\n"):
        file.write_text(text)
        linecache.clearcache()
        (error,) = refusals(func, dtypes=frozenset({"int32"}))
        assert "X has elements of int64" in error.message
        assert error.location.file == str(file)


@T.prim_func
def ordered(A: T.Tensor((8,), "int32"), X: T.Tensor((8,), "int32")):
    with T.Kernel(1, threads=32):
        x = T.alloc_fragment((8,), "int32")
        T.copy(X, x)
        T.atomic_add(A[0], 1)
        T.atomic_add(A[1], 1, memory_order="acq_rel")
        T.atomic_max(A, x, memory_order="release")
        if T.atomic_load(A[2]) == 0:
            T.atomic_store(A[3], 1)
        T.atomic_store(A[4], 1, memory_order="relaxed")
        A[5] = T.atomic_cas(A[6], 0, 1, memory_order="seq_cst")


def test_memory_orders():
    """An order that nobody wrote counts as the one that the language documents: it is refused, not weakened."""
    errors = refusals(ordered.ir, atomic_orders=frozenset({"relaxed"}))
    assert {line_of(error): error.found for error in errors} == {
        'T.atomic_add(A[1], 1, memory_order="acq_rel")': "acq_rel",
        'T.atomic_max(A, x, memory_order="release")': "release",
        "if T.atomic_load(A[2]) == 0:": "seq_cst",
        "T.atomic_store(A[3], 1)": "seq_cst",
        'A[5] = T.atomic_cas(A[6], 0, 1, memory_order="seq_cst")': "seq_cst",
    }
    first = errors[0]
    assert first.message == (
        "T.atomic_add has the memory order 'acq_rel', which atomic operations of target imagined do not have"
    )
    assert first.expected == "one of relaxed"
    assert 'memory_order="relaxed"' in first.hint
    assert refusals(ordered.ir, atomic_orders=frozenset()) == []
    without = refusals(ordered.ir, features=frozenset({"print"}), atomic_orders=frozenset({"relaxed"}))
    assert {error.found for error in without} == {"atomics", "compare_and_swap"}, (
        "an operation that is refused is refused once"
    )


@T.prim_func
def counted(A: T.Tensor((8,), "uint64"), B: T.Tensor((8,), "int32"), C: T.Tensor((8,), "int64")):
    with T.Kernel(1, threads=32):
        T.atomic_max(A[0], 1)
        T.atomic_add(A[1], 1)
        T.atomic_add(B, 1)
        B[0] = T.atomic_load(B[1], memory_order="relaxed")
        if T.atomic_cas(C[0], 0, 1, memory_order="relaxed") == 0:
            C[1] = 1


def test_types_of_atomic_operations():
    """A type may have only some of the operations."""
    errors = refusals(counted.ir, atomic_dtypes=frozenset({"int32", "T.atomic_max of uint64"}))
    assert {line_of(error): error.found for error in errors} == {
        "T.atomic_add(A[1], 1)": "uint64",
        'if T.atomic_cas(C[0], 0, 1, memory_order="relaxed") == 0:': "int64",
    }
    assert errors[0].message == (
        "T.atomic_add changes an element of uint64, of which target imagined has no such operation"
    )
    assert "int32" in errors[0].hint
    assert refusals(counted.ir, atomic_dtypes=frozenset()) == []
    without = refusals(counted.ir, dtypes=frozenset({"int32"}), atomic_dtypes=frozenset({"int32"}))
    assert {error.found for error in without} == {"uint64", "int64"}, "a type that is refused is refused once"
