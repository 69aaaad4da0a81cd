"""Level 1: what cannot be compiled is refused by an error of tilecore's own: where, what, what would do."""

from __future__ import annotations

import linecache
import sys
from dataclasses import replace
from types import ModuleType

import pytest

import tilecore
import tilecore.language as T
from tilecore.contract.hookspecs import hookimpl
from tilecore.dtypes import FACTS
from tilecore.errors import LanguageError, LimitError, TargetError, TilecoreError, UnsupportedError
from tilecore.ir.names import TILE_OP_NAMES
from tilecore.ir.nodes import IntImm
from tilecore.ir.register_call import register_call
from tilecore.language.dialects import emit_call
from tilecore.plugins import manager
from tilecore.testing import null_backend

from .kit import lacking

LEVEL = 1


def refused(attempt, kind, *words, line=None):
    """The error of an attempt: one of tilecore's, with these words, at the line of this file that begins so."""
    with pytest.raises(Exception) as caught:
        attempt()
    error = caught.value
    assert isinstance(error, TilecoreError), f"not an error of tilecore's: {type(error).__name__}: {error}"
    assert isinstance(error, kind), f"{type(error).__name__}, not {kind.__name__}: {error}"
    missing = [word for word in words if str(word) not in str(error)]
    assert not missing, f"nothing is said of {missing}:\n{error}"
    assert error.expected or error.hint, f"nothing is said of what would do:\n{error}"
    if line is not None:
        assert error.location is not None, f"there is no line:\n{error}"
        assert error.location.file == __file__
        assert linecache.getline(__file__, error.location.line).strip().startswith(line)
    return error


def declared_by(target):
    backend, resolved = manager.resolve(str(target))
    return backend.target.capabilities(resolved)


def compiling(func, target, **options):
    return lambda: tilecore.compile(func, target=str(target), **options)


# -- what the target does not declare --------------------------------------------------------------------------------


def moved(dtype):
    @T.prim_func
    def moved(X: T.Tensor((8,), dtype), Y: T.Tensor((8,), dtype)):
        with T.Kernel(1, threads=32):
            T.copy(X, Y)

    return moved


def test_element_types(target):
    declared = declared_by(target).dtypes
    others = sorted(set(FACTS) - declared - {"tfloat32"})  # float32 to the compiler
    if not others:
        pytest.skip("every element type is declared")
    for dtype in others:
        error = refused(compiling(moved(dtype), target), UnsupportedError, "X has elements", dtype, line="def moved(")
        assert error.found == dtype
        assert all(name in error.expected for name in declared)


def in_scope(make):
    @T.prim_func
    def kernel(X: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=32):
            tile = make((8,), "float32")
            for i in T.Parallel(8):
                tile[i] = X[i]
                X[i] = tile[i] + 1

    return kernel


def test_memory_scopes(target):
    declared = declared_by(target).scopes
    makers = {"shared": T.alloc_shared, "local.fragment": T.alloc_fragment, "local": T.alloc_local}
    others = [scope for scope in makers if declared and not declared & {scope, f"{scope}.dyn"}]
    if not others:
        pytest.skip("every memory scope is declared")
    for scope in others:
        kernel = in_scope(makers[scope])
        error = refused(compiling(kernel, target), UnsupportedError, "tile is in memory", line="tile = make(")
        assert error.found.removesuffix(".dyn") == scope


OPERATIONS = {  # what a kernel does with a tile of 16 x 16, a vector of 16 and the tensor that they come from
    "copy": lambda tile, row, X: T.copy(X, tile),
    "transpose": lambda tile, row, X: T.transpose(tile, X),
    "gemm": lambda tile, row, X: T.gemm(tile, tile, X),
    "fill": lambda tile, row, X: T.fill(tile, 1.0),
    "reduce": lambda tile, row, X: T.reduce_sum(tile, row, dim=1),
    "scan": lambda tile, row, X: T.cumsum(tile, dim=0),
    "atomic": lambda tile, row, X: T.atomic_add(X, tile),
    "atomic_element": lambda tile, row, X: T.atomic_add(X[0, 0], 1.0),
    "sync_threads": lambda tile, row, X: T.sync_threads(),
    "print": lambda tile, row, X: T.print(X[0, 0]),
    "device_assert": lambda tile, row, X: T.device_assert(X[0, 0] < 1),
}


def doing(operation):
    @T.prim_func
    def kernel(X: T.Tensor((16, 16), "float32")):
        with T.Kernel(1, threads=32):
            tile, row = T.alloc_shared((16, 16), "float32"), T.alloc_fragment((16,), "float32")
            operation(tile, row, X)

    return kernel


def test_tile_operations(target):
    declared = declared_by(target)
    assert set(OPERATIONS) <= set(TILE_OP_NAMES)
    others = [op for op in OPERATIONS if declared.tile_ops and op not in declared.tile_ops]
    if not others:
        pytest.skip("every tile operation is declared")
    if declared.scopes and not {"shared", "local.fragment"} <= declared.scopes:
        pytest.skip("not declared: shared memory and fragments")
    for op in others:
        error = refused(
            compiling(doing(OPERATIONS[op]), target), UnsupportedError, "among the tile operations", line="operation("
        )
        assert error.found == op
        assert all(name in error.expected for name in declared.tile_ops)


# -- what is too much ------------------------------------------------------------------------------------------------


def test_too_many_threads(target):
    most = declared_by(target).max_threads
    if not most:
        pytest.skip("not declared: a limit of threads")

    @T.prim_func
    def crowded(Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=2 * most):
            for i in T.Parallel(64):
                Y[i] = 1.0

    error = refused(compiling(crowded, target), LimitError, f"at most {most}", line="with T.Kernel(")
    assert str(2 * most) in error.found


def test_too_much_memory_of_a_block(target):
    most = declared_by(target).shared_bytes
    if not most:
        pytest.skip("not declared: a limit of on-chip memory")
    n = 2 * most // 4

    @T.prim_func
    def kernel(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((n,), "float32")
            T.copy(X, tile)
            T.copy(tile, Y)

    lacking(kernel, target)
    refused(compiling(kernel, target), LimitError, "memory", "at most", "tile", line="tile = T.alloc")


# -- what does not fit together --------------------------------------------------------------------------------------


def product(k, m, n):
    """Of 32 x 16 with k x 24, into m x n."""

    @T.prim_func
    def product(C: T.Tensor((m, n), "float32")):
        with T.Kernel(1, threads=32):
            a, b = T.alloc_shared((32, 16), "float32"), T.alloc_shared((k, 24), "float32")
            c = T.alloc_fragment((m, n), "float32")
            T.clear(c)
            T.gemm(a, b, c)
            T.copy(c, C)

    return product


@pytest.mark.parametrize(
    ("k", "m", "n", "words"),
    [(8, 32, 24, "K of A (16)"), (16, 16, 24, "M of A (32)"), (16, 32, 8, "N of B (24)")],
    ids=["K", "M", "N"],
)
def test_operands_of_a_product(target, k, m, n, words):
    def attempt():
        tilecore.compile(product(k, m, n), target=str(target))

    error = refused(attempt, LanguageError, words, f"b[{k}, 24]", f"c[{m}, {n}]", line="T.gemm(")
    assert "A [M, K] @ B [K, N] into C [M, N]" in error.expected


@pytest.mark.parametrize("shape", [(5, 4), (20,), (4, 5, 2)])
def test_tiles_of_a_copy(target, shape):
    def attempt():
        @T.prim_func
        def kernel(X: T.Tensor((4, 5), "float32")):
            with T.Kernel(1, threads=32):
                tile = T.alloc_shared(shape, "float32")
                T.copy(X, tile)

        tilecore.compile(kernel, target=str(target))

    extents = ", ".join(map(str, shape))
    refused(attempt, LanguageError, "shapes differ", f"tile[{extents}]", "X[4, 5]", line="T.copy(")


# -- what the caller of the compiler asks for ------------------------------------------------------------------------


def test_a_pass_configuration(target):
    attempt = compiling(moved("float32"), target, pass_configs={"tl.no_such_key": True})
    refused(attempt, TargetError, "tl.no_such_key")


def test_an_execution_backend(target):
    backend, _ = manager.resolve(str(target))
    error = refused(compiling(moved("float32"), target, execution_backend="no_such"), TargetError, "'no_such'")
    assert all(name in error.expected for name in backend.adapters)


def test_an_attribute(target):
    backend, resolved = manager.resolve(str(target))
    error = refused(
        compiling(moved("float32"), f"{resolved.kind} -no_such_attribute=1"), TargetError, "no_such_attribute"
    )
    assert all(f"-{name} " in error.expected for name in backend.target.attributes)


def test_values_of_attributes(target):
    """Of those that have few, another one; of numbers and flags, a text."""
    backend, resolved = manager.resolve(str(target))
    table = backend.target.attributes.items()
    strict = [name for name, spec in table if spec.choices or isinstance(spec.default, int)]
    if not strict:
        pytest.skip("it has no attributes whose values are few, numbers or flags")
    for name in strict:
        attempt = compiling(moved("float32"), f"{resolved.kind} -{name}=no_such_value")
        refused(attempt, TargetError, repr(name), "no_such_value")


def test_an_output_that_is_no_parameter(target):
    refused(compiling(moved("float32"), target, out_idx=[2]), TargetError, "out_idx 2", "0 X, 1 Y")


# -- names of another target -----------------------------------------------------------------------------------------

TWIRL = register_call("elsewhere.twirl")


def twirl(times):
    emit_call("elsewhere", "T.twirl", TWIRL, [IntImm("int32", times)])


class Elsewhere:
    """A target that adds a name to the language."""

    @hookimpl
    def tilecore_target(self):
        language = {"twirl": "elsewhere_language:twirl"}
        return replace(null_backend.tilecore_target(), kind="elsewhere", language=language)

    @hookimpl
    def tilecore_lowering(self):
        return null_backend.tilecore_lowering()

    @hookimpl
    def tilecore_codegen(self):
        return replace(null_backend.tilecore_codegen(), function="target.build.tilecore_elsewhere")

    @hookimpl
    def tilecore_adapters(self):
        return null_backend.tilecore_adapters()


def test_a_name_of_another_target(target, monkeypatch):
    language = ModuleType("elsewhere_language")
    language.twirl = twirl
    monkeypatch.setitem(sys.modules, "elsewhere_language", language)
    with manager.register(Elsewhere(), package="tile-elsewhere"):

        @T.prim_func
        def kernel(X: T.Tensor((8,), "float32")):
            with T.Kernel(1, threads=32):
                T.twirl(3)
                X[0] = 1.0

        lacking(kernel, target)
        error = refused(compiling(kernel, target), UnsupportedError, "T.twirl", "'elsewhere'", line="T.twirl(3)")
    assert "target='elsewhere'" in error.expected
    assert error.hint, "what runs on every target"
