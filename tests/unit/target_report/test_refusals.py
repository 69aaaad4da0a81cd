"""All that a target refuses of a kernel, where, and the nearest legal change."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from tilecore.compiler import CompileOptions, emit, lower
from tilecore.errors import TilecoreError
from tilecore.plugins import manager
from tilecore.target_report.kernels import Kernel, kernels_of
from tilecore.target_report.refusals import compile_whole

from .conftest import SAMPLE

CODE = SAMPLE.read_text().splitlines()


def code_of(error: TilecoreError) -> str:
    assert error.location is not None, error.message
    return CODE[error.location.line - 1].strip()


def test_every_line_that_a_target_refuses(report_on):
    (verdict,) = report_on("demanding", "tiny").verdicts
    assert verdict.state == "refused"
    assert verdict.whole
    refusal_by_code = {code_of(error): error for error in verdict.refusals}
    assert len(refusal_by_code) == len(verdict.refusals) == 7
    types = refusal_by_code['def demanding(A: T.Tensor((64, 64), "float64"), B: T.Tensor((64, 64), "float32")):']
    assert (types.found, types.expected) == ("float64", "one of float16, float32, int32")
    assert "the nearest: float32, float16" in types.hint
    column = types.location.column
    assert CODE[types.location.line - 1][column : types.location.end_column] == 'A: T.Tensor((64, 64), "float64")'
    assert "float16, float32" in refusal_by_code['tile = T.alloc_shared((64, 64), "bfloat16")'].hint
    threads = refusal_by_code["with T.Kernel(1, threads=512):"]
    assert (threads.found, threads.expected) == ("512", "at most 256 on tiny")
    assert "threads=256" in threads.hint
    assert "T.cumsum is not among the tile operations" in refusal_by_code["T.cumsum(row, dim=1)"].message
    assert "T.atomic_add" in refusal_by_code["T.atomic_add(B[i, j], row[i, j])"].message
    assert "T.print" in refusal_by_code["T.print(row[0, 0])"].message
    memory = refusal_by_code['row = T.alloc_fragment((64, 64), "float32")']
    assert "at most 16384 bytes on tiny: 8192 less" in memory.expected
    assert all(error.found and error.expected and error.hint for error in verdict.refusals)


def test_what_comes_behind_an_error_of_the_code_generator(report_on):
    """The code generator raises at the first; the second stands behind it."""
    (verdict,) = report_on("foreign", "cpu").verdicts
    assert verdict.whole
    assert [code_of(error) for error in verdict.refusals] == [
        'B[i] = T.call_extern("float32", "first_function", A[i])',
        'B[i] = T.call_extern("float32", "second_function", A[i])',
    ]


@pytest.mark.parametrize("target", ["cpu", "tiny", "loopy"])
def test_a_report_says_what_compiling_says(small_targets, sample, target):
    backend, resolved = manager.resolve(target)
    for kernel in kernels_of(sample, None, ["without_sizes(50)"]):
        assert isinstance(kernel, Kernel)
        outcome = compile_whole(kernel.make({}), backend, resolved, CompileOptions())
        raised = nullcontext() if not outcome.refusals else pytest.raises(TilecoreError)
        with raised as caught:
            emit(lower(kernel.make({}), backend, resolved, CompileOptions())[0], backend, resolved)
        if caught is not None:
            refusals = [(error.message, error.location) for error in outcome.refusals]
            assert (caught.value.message, caught.value.location) in refusals


def test_changes_that_are_offered_compile(report_on, small_targets, sample):
    (verdict,) = report_on("matmul", "tiny").verdicts
    assert [error.message for error in verdict.refusals] == ["the kernel needs 26112 bytes of shared memory"]
    assert "num_stages=1 needs 8704 bytes" in verdict.refusals[0].hint
    assert {"num_stages=1", "block_K=16", "block_N=8"} <= set(verdict.changes)
    assert not any(change.startswith(("M=", "dtype=")) for change in verdict.changes)
    backend, target = manager.resolve("tiny")
    (kernel,) = kernels_of(sample, "matmul", ())
    for change in verdict.changes:
        name, _, value = change.partition("=")
        lower(kernel.make({name: eval(value)}), backend, target, CompileOptions())
    for not_enough in ({"num_stages": 2}, {"block_N": 32}):
        with pytest.raises(TilecoreError, match="bytes of shared memory"):
            lower(kernel.make(not_enough), backend, target, CompileOptions())


@pytest.mark.parametrize(
    ("call", "change"),
    [
        ("matmul(threads=512, num_stages=1)", "threads=256"),
        ("matmul(dtype='bfloat16', num_stages=1)", "dtype='float16'"),
    ],
)
def test_the_nearest_legal_value(report_on, call, change):
    (verdict,) = report_on("matmul", "tiny", call).verdicts
    assert verdict.changes == (change,)


def test_several_arguments_together(report_on, sample):
    call = "matmul(block_M=256, block_N=512, block_K=256, dtype='float32')"
    (verdict,) = report_on("matmul", "tiny", call).verdicts
    (together,) = verdict.changes
    changes = dict(change.split("=") for change in together.split(", "))
    assert set(changes) == {"block_M", "block_N", "block_K"}  # not the sizes of the problem, which nothing depends on
    (kernel,) = kernels_of(sample, "matmul", [call])
    backend, target = manager.resolve("tiny")
    lower(kernel.make({name: int(value) for name, value in changes.items()}), backend, target, CompileOptions())


def test_sizes_of_the_problem_are_no_changes(report_on):
    (verdict,) = report_on("matmul", "tiny", "matmul(M=4096)").verdicts
    assert verdict.state == "refused"
    assert "num_stages=1" in verdict.changes


def test_a_kernel_that_is_none_is_left_out(report_on):
    report = report_on("matmul", "cpu;tiny", "matmul(block_M='wide')", "matmul(dtype='float12')")
    assert not report.verdicts
    assert not report.compiles
    assert ["unknown dtype 'float12'" in left_out.reason for left_out in report.left_out] == [False, True]


def test_a_compiler_that_fails_is_not_a_kernel_that_is_refused(report_on, monkeypatch):
    def crash(module, target):
        raise ZeroDivisionError("planted")

    monkeypatch.setattr("tilecore.target_report.refusals.emit", lambda module, backend, target: _blamed(backend, crash))
    (verdict,) = report_on("scaled", "tiny").verdicts
    assert verdict.state == "failed"
    assert "planted" in verdict.refusals[0].message


def _blamed(backend, crash):
    from tilecore.plugins.guard import calling

    with calling(backend, "the code generator"):
        crash(None, "")
