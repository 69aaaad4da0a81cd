"""Kernels are compiled again at level 1 where the register allocation of ptxas has failed."""

from __future__ import annotations

import pytest
from hopper.kernels import matmul
from tile_cuda import cubin, nvcc
from tile_cuda.register_allocation import RETRY_OPTIONS, allocation_failed, compiled

import tilecore
from tilecore.errors import ToolchainError

GIVEN_UP = {"registers": 32, "stack_bytes": 4320}


def outcome(monkeypatch, first, again, options=()):
    """(the chosen cubin, the options of each compilation). first, again: the resources of the two cubins."""
    binaries = {b"first": {"k": first}, b"again": {"k": again}}
    monkeypatch.setattr(cubin, "describe", lambda binary: binaries[binary])
    compilations = []

    def compile_with(options):
        compilations.append(list(options))
        return (b"first", "one") if len(compilations) == 1 else (b"again", "two")

    binary, messages = compiled(compile_with, options)
    assert (binary, messages) in ((b"first", "one"), (b"again", "two"))
    return binary, compilations


def test_the_second_cubin_is_used_where_it_has_registers(monkeypatch):
    binary, compilations = outcome(monkeypatch, GIVEN_UP, {"registers": 255, "stack_bytes": 344}, ["-O3"])
    assert (binary, compilations) == (b"again", [["-O3"], ["-O3", *RETRY_OPTIONS]])


def test_an_array_with_variable_indices_keeps_the_first_cubin(monkeypatch):
    """A compilation at level 1 does not reduce its stack."""
    assert outcome(monkeypatch, GIVEN_UP, {"registers": 40, "stack_bytes": 4300})[0] == b"first"


@pytest.mark.parametrize(
    "kernel",
    [{"registers": 255, "stack_bytes": 4000}, {"registers": 32, "stack_bytes": 64}, {"registers": 32}, {}],
)
def test_other_kernels_are_compiled_once(monkeypatch, kernel):
    binary, compilations = outcome(monkeypatch, kernel, GIVEN_UP)
    assert (binary, len(compilations)) == (b"first", 1)


@pytest.mark.parametrize("flag", ["--ptxas-options=-O2", "-Xptxas=-O3 --ptxas-options=-v"])
def test_options_for_ptxas_prevent_a_second_compilation(monkeypatch, flag):
    assert len(outcome(monkeypatch, GIVEN_UP, {"registers": 255}, [flag])[1]) == 1


def test_refused_source_is_compiled_once():
    calls = []
    assert compiled(lambda options: calls.append(options) or (None, "error"), []) == (None, "error")
    assert len(calls) == 1


def test_a_gemm_whose_register_allocation_fails():
    try:
        nvcc.load()
    except ToolchainError as error:
        pytest.skip(error.message)

    kernel = matmul(72, 96, 51, tile=(72, 96, 17), kinds=("float64",) * 3, threads=96)
    compiled_kernel = tilecore.compile(kernel, target="cuda -arch=sm_90a", execution_backend="cython")
    assert not allocation_failed(compiled_kernel.artifact.binary)
    (facts,) = cubin.describe(compiled_kernel.artifact.binary).values()
    assert facts["registers"] > 200
