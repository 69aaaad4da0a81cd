"""ptxas is asked again, at level 1, where it gave up the allocation of registers."""

from __future__ import annotations

import pytest
from hopper.kernels import matmul
from tile_cuda import cubin, nvcc
from tile_cuda.register_allocation import RETRY_OPTIONS, allocation_failed, compiled

import tilecore
from tilecore.errors import ToolchainError

GIVEN_UP = {"registers": 32, "stack_bytes": 4320}


def outcome(monkeypatch, first, again, options=()):
    """(the kernel that is kept, the options of each compilation). first, again: what the two cubins say."""
    binaries = {b"first": {"k": first}, b"again": {"k": again}}
    monkeypatch.setattr(cubin, "describe", lambda binary: binaries[binary])
    asked = []

    def compile_with(options):
        asked.append(list(options))
        return (b"first", "one") if len(asked) == 1 else (b"again", "two")

    binary, said = compiled(compile_with, options)
    assert (binary, said) in ((b"first", "one"), (b"again", "two"))
    return binary, asked


def test_the_second_cubin_is_kept_where_it_has_registers(monkeypatch):
    binary, asked = outcome(monkeypatch, GIVEN_UP, {"registers": 255, "stack_bytes": 344}, ["-O3"])
    assert (binary, asked) == (b"again", [["-O3"], ["-O3", *RETRY_OPTIONS]])


def test_an_array_that_is_indexed_by_a_variable_stays(monkeypatch):
    """Level 1 does not help it."""
    assert outcome(monkeypatch, GIVEN_UP, {"registers": 40, "stack_bytes": 4300})[0] == b"first"


@pytest.mark.parametrize(
    "kernel",
    [{"registers": 255, "stack_bytes": 4000}, {"registers": 32, "stack_bytes": 64}, {"registers": 32}, {}],
)
def test_other_kernels_are_compiled_once(monkeypatch, kernel):
    binary, asked = outcome(monkeypatch, kernel, GIVEN_UP)
    assert (binary, len(asked)) == (b"first", 1)


@pytest.mark.parametrize("flag", ["--ptxas-options=-O2", "-Xptxas=-O3 --ptxas-options=-v"])
def test_the_users_own_options_of_ptxas_stand(monkeypatch, flag):
    assert len(outcome(monkeypatch, GIVEN_UP, {"registers": 255}, [flag])[1]) == 1


def test_what_is_refused_is_not_tried_again():
    calls = []
    assert compiled(lambda options: calls.append(options) or (None, "error"), []) == (None, "error")
    assert len(calls) == 1


def test_a_product_that_fills_the_registers():
    try:
        nvcc.load()
    except ToolchainError as error:
        pytest.skip(error.message)

    kernel = matmul(72, 96, 51, tile=(72, 96, 17), kinds=("float64",) * 3, threads=96)
    made = tilecore.compile(kernel, target="cuda -arch=sm_90a", execution_backend="cython")
    assert not allocation_failed(made.artifact.binary)
    (facts,) = cubin.describe(made.artifact.binary).values()
    assert facts["registers"] > 200
