"""Results as arrays of the caller's library, by the array API standard, with a library of our own."""

from __future__ import annotations

import types

import numpy as np
import pytest
from fresh_processes import imported_by

import tilecore
import tilecore.language as T
from tilecore.tensors.libraries import importer, namespace_of


class Array:
    """An array of a library that has the array API's ways to name itself and to take tensors."""

    def __init__(self, memory):
        self.memory = memory

    def __dlpack__(self, **keywords):
        return self.memory.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.memory.__dlpack_device__()

    def __array_namespace__(self, api_version=None):
        return library


class OtherArray(Array):
    def __array_namespace__(self, api_version=None):
        return types.SimpleNamespace(from_dlpack=None)


class Nameless(Array):
    __array_namespace__ = None


library = types.SimpleNamespace(
    from_dlpack=lambda tensor: Array(np.from_dlpack(tensor)), asarray=lambda tensor: Array(np.array(tensor))
)


@T.prim_func
def add(A: T.Tensor((8,), "float32"), B: T.Tensor((8,), "float32"), C: T.Tensor((8,), "float32")):
    with T.Kernel(1, threads=32):
        for i in T.Parallel(8):
            C[i] = A[i] + B[i]


def ones():
    return np.ones(8, np.float32)


def test_results_are_of_the_caller_s_library():
    kernel = tilecore.compile(add, target="cpu", out_idx=2)
    result = kernel(Array(ones()), Array(ones()))
    assert type(result) is Array
    np.testing.assert_array_equal(result.memory, 2 * ones())
    assert type(kernel(Array(ones()), OtherArray(ones()))) is not Array
    assert type(kernel(Array(ones()), ones())) is not Array
    assert type(kernel(ones(), ones())) is np.ndarray


def test_arrays_of_several_namespaces_have_none():
    assert namespace_of([]) is None
    assert namespace_of([Array(ones()), Array(ones())]) is library
    assert namespace_of([Array(ones()), OtherArray(ones())]) is None
    assert namespace_of([Nameless(ones())]) is None


def test_what_dlpack_does_not_carry_is_copied():
    def refuses(tensor):
        raise BufferError("no such element type")

    strict = types.SimpleNamespace(from_dlpack=refuses, asarray=library.asarray)
    assert type(importer(strict)(ones())) is Array


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_other_failures_pass(error):
    def fails(tensor):
        raise error

    with pytest.raises(error):
        importer(types.SimpleNamespace(from_dlpack=fails, asarray=library.asarray))(ones())


@pytest.mark.parametrize("named", [True, False])
def test_a_library_without_the_array_api(monkeypatch, named):
    """Its package calls the type ``ndarray``; a type of another name may be anything."""

    class Cells(Nameless):
        pass

    package = types.ModuleType("cells")
    package.from_dlpack = lambda tensor: Cells(np.from_dlpack(tensor))
    package.asarray = lambda tensor: Cells(np.array(tensor))
    setattr(package, "ndarray" if named else "cells", Cells)
    Cells.__module__ = "cells.core"
    monkeypatch.setitem(__import__("sys").modules, "cells", package)
    assert namespace_of([Cells(ones()), Cells(ones())]) is (package if named else None)
    result = tilecore.compile(add, target="cpu", out_idx=2)(Cells(ones()), Cells(ones()))
    assert (type(result) is Cells) is named


@pytest.mark.parametrize("module", [None, 5, "", "no.such.package"])
def test_a_type_that_names_no_package(module):
    kind = type("Cells", (Nameless,), {"__module__": module})
    result = tilecore.compile(add, target="cpu", out_idx=2)(kind(ones()), kind(ones()))
    np.testing.assert_array_equal(np.from_dlpack(result), 2 * ones())


def test_libraries_that_fail_when_they_are_asked(monkeypatch):
    class Lazy(types.ModuleType):
        def __getattr__(self, name):
            raise ImportError(f"{name} needs an extra package")

    class Cells(Nameless):
        __module__ = "lazy_cells"

    class Refuses(Array):
        def __array_namespace__(self, api_version=None):
            raise ValueError("only version 1999")

    monkeypatch.setitem(__import__("sys").modules, "lazy_cells", Lazy("lazy_cells"))
    for kind in (Cells, Refuses):
        result = tilecore.compile(add, target="cpu", out_idx=2)(kind(ones()), kind(ones()))
        np.testing.assert_array_equal(np.from_dlpack(result), 2 * ones())


def test_an_array_of_a_derived_type(monkeypatch):
    class Cells(Nameless):
        __module__ = "cells"

    class Derived(Cells):
        __module__ = "elsewhere"

    package = types.ModuleType("cells")
    package.from_dlpack, package.asarray = lambda tensor: Cells(np.from_dlpack(tensor)), None
    package.ndarray = Cells
    monkeypatch.setitem(__import__("sys").modules, "cells", package)
    assert type(tilecore.compile(add, target="cpu", out_idx=2)(Derived(ones()), Derived(ones()))) is Cells


def test_workspaces_of_the_host_import_no_torch():
    """Its import takes a second and more than 100 MB, and a kernel that is called with arrays needs none of it."""
    code = """
import numpy
import tilecore
from tilecore.demo import kernels

kernel = tilecore.jit(kernels.matmul.func, target="cpu")(160, 256, 64)
assert kernel.artifact.workspaces, "the test needs a kernel that has some"
out = numpy.empty((160, 256), "float32")
kernel(numpy.ones((160, 64), "float32"), numpy.ones((64, 256), "float32"), out)
assert (out == 64).all()
"""
    assert imported_by(code, ["torch"]) == []
