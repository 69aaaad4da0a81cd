"""T.print, T.device_assert, assert, T.assume."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.contract.adapter import SIMULATED
from tilecore.errors import (
    DeviceAssertError,
    InterpreterError,
    LanguageError,
    LaunchError,
    TilecoreError,
)
from tilecore.interpreter import interpret

from .kit import check, compiled, element, lacking, needs_a_launch, needs_the_host, rerun, runs_kernels, sample, zeros

LINE_OF_ASSERTION = 'T.device_assert(X[i] < 90, "too large")'


def test_print(target, capfd):
    @T.prim_func
    def kernel(X: T.Tensor((4,), "float32"), Y: T.Tensor((2,), "int32")):
        with T.Kernel(1):
            var = T.alloc_var("int32", init=-7)
            T.print(var, msg="var")
            T.print("X[1]", X[1])
            T.print(msg="100% text")
            T.print(T.cast(X[2], "float16"), msg="half")
            T.print(T.cast(X[3], "uint8"), msg="byte")
            T.print(T.cast(2**40, "int64"), msg="long")
            T.print(X[0] > 0, msg="flag")
            for i in T.serial(2):
                T.print(i, msg="i")
            if X[0] > 100:
                T.print(msg="never")
            Y[0] = var

    expected = ["var: -7", "X[1]: 2.5", "100% text", "half: -0.25", "byte: 200", "long: 1099511627776", "flag: 1"]
    x = np.array([1.0, 2.5, -0.25, 200], np.float32)
    compiled(kernel, target)(x, zeros("int32", 2))
    assert capfd.readouterr().out.splitlines() == [*expected, "i: 0", "i: 1"]


def test_print_of_every_iteration_and_of_buffers(target, capfd):
    @T.prim_func
    def kernel(X: T.Tensor((6,), "int32")):
        with T.Kernel(1):
            tile = T.alloc_shared((2, 3), "int32")
            for i, j in T.Parallel(2, 3):
                tile[i, j] = X[i * 3 + j]
            for i in T.Parallel(6):
                if X[i] % 2 == 0:
                    T.print(X[i], msg="even")
            T.print(tile)
            T.print(tile[1, :], msg="row")

    compiled(kernel, target)(np.array([10, 21, 30, 43, 50, 61], np.int32))
    lines = capfd.readouterr().out.splitlines()
    assert sorted(lines[:3]) == ["even: 10", "even: 30", "even: 50"]
    numbers = ["10", "21", "30", "43", "50", "61"]
    whole, row = lines[3:9], lines[9:]
    assert whole == [f"tile[{k // 3}, {k % 3}]: {number}" for k, number in enumerate(numbers)]
    assert row == [f"row[1, {k}]: {number}" for k, number in enumerate(numbers[3:])]


def test_the_interpreter_prints_the_same(target, capfd):
    """Numbers of all kinds, tiles at their place, and parts of them outside of the bounds."""

    @T.prim_func
    def kernel(
        X: T.Tensor((3, 2), "float32"), F: T.Tensor((2,), "bool"), B: T.Tensor((2,), "bfloat16"), n: T.int32
    ):  # fmt: skip
        with T.Kernel(2) as b:
            T.print(X[b, 0], msg="x")
            T.print(X[b : b + 2, 1], msg="column")
            T.print(X[n, :], msg="row")
            T.print(F)
            T.print(B[1])
            T.print(X[0, 0] * 1e-9)
            T.print(T.infinity("float32"))
            T.print(n > 1, msg="100%")
            for i in T.serial(2):
                T.print(X[i, i], msg="diagonal")

    x = np.array([[1.0, 0.1], [-2.5e10, 3.14159265], [np.inf, 7]], np.float32)
    args = (x, np.array([True, False]), np.array([0.3, -3], element("bfloat16")), 2)
    compiled(kernel, target)(*args)
    printed = capfd.readouterr().out.splitlines()
    lines = []
    interpret(kernel.ir, *args, print_hook=lines.append)
    assert sorted(printed) == sorted(lines)
    assert "x: -2.5e+10" in lines
    assert "100%: 1" in lines


def assertions():
    @T.prim_func
    def kernel(X: T.Tensor((64,), "int32"), Y: T.Tensor((64,), "int32")):
        with T.Kernel(8) as b:
            assert X[b] > -50, f"block starts with {50}"
            for i in T.Parallel(64):
                if i // 8 == b:
                    T.device_assert(X[i] < 90, "too large")
                    Y[i] = X[i] + 1

    return kernel


def test_assertions(target):
    """The launch fails with the message and the line; the next one is right again."""
    needs_the_host(target, "a failed assertion ends the work of its process on a device")
    kernel = assertions()
    built = compiled(kernel, target)
    x, y = np.arange(64, dtype=np.int32), zeros("int32", 64)
    built(x, y)
    assert (y == x + 1).all()
    x[37] = 95
    with pytest.raises(LaunchError, match="too large") as caught:
        built(x, y)
    lines = Path(__file__).read_text().splitlines()
    line = next(n for n, text in enumerate(lines, 1) if text.strip() == LINE_OF_ASSERTION)
    assert f"{Path(__file__).name}:{line}" in str(caught.value)
    with pytest.raises(DeviceAssertError, match="too large"):
        interpret(kernel.ir, x, y)
    x[37], x[3] = 0, -60
    for _ in range(3):
        with pytest.raises(LaunchError, match="block starts with 50"):
            built(x, y)
        built(np.arange(64, dtype=np.int32), y)


def test_an_assertion_of_a_later_kernel(target):
    needs_the_host(target, "a failed assertion ends the work of its process on a device")

    @T.prim_func
    def kernel(X: T.Tensor((4,), "int32"), Y: T.Tensor((4,), "int32")):
        with T.Kernel(4) as b:
            T.device_assert(X[b] >= 0, "first")
            Y[b] = X[b]
        with T.Kernel(1):
            T.device_assert(Y[0] + Y[1] + Y[2] + Y[3] == 10, "second")

    built = compiled(kernel, target)
    built(np.array([1, 2, 3, 4], np.int32), zeros("int32", 4))
    with pytest.raises(LaunchError, match="second"):
        built(np.array([1, 2, 3, 5], np.int32), zeros("int32", 4))
    with pytest.raises(LaunchError, match="first"):
        built(np.array([1, 2, -3, 5], np.int32), zeros("int32", 4))


def test_assertions_that_are_decided_when_compiling(target):
    def make(size):
        @T.prim_func
        def kernel(Y: T.Tensor((size,), "int32")):
            with T.Kernel(1):
                assert size % 4 == 0, f"size {size} is no multiple of 4"
                T.device_assert(size > 0, "empty")
                Y[0] = 1

        return kernel

    check(make(8), target, zeros("int32", 8))
    with pytest.raises(LanguageError, match="size 6 is no multiple of 4"):
        make(6)


def test_assumptions(target):
    """Promises change nothing where they hold; the interpreter sees where they do not."""

    @T.prim_func
    def kernel(X: T.Tensor((32,), "int32"), n: T.int32):
        with T.Kernel(1):
            T.assume(n % 8 == 0)
            T.assume(n <= 32)
            for i in T.Parallel(n):
                T.assume(X[i] >= 0)
                X[i] = X[i] // 2

    check(kernel, target, np.abs(sample("int32", 32)), 16)
    with pytest.raises(InterpreterError, match="assumption"):
        interpret(kernel.ir, sample("int32", 32), 12)


def test_assumptions_on_sizes_are_checked_by_the_launch(target):
    """They are those of sizes and integers of the call, in no loop and no ``if``."""
    runs_kernels()
    needs_a_launch(target)
    N = T.dynamic("N")

    @T.prim_func
    def kernel(X: T.Tensor((N,), "int32"), k: T.int32):
        quarter = N // 4
        with T.Kernel(1):
            T.assume(N % 4 == 0 and k > 2)
            T.assume(quarter != 3)
            for i in T.serial(N):
                T.assume(i < k)
                X[i] = k
            if k > 90:
                T.assume(N == 4)
                X[0] = 1

    launch = compiled(kernel, target)
    (x,) = rerun(launch, kernel, zeros("int32", 8), 9)[:1]
    assert (x == 9).all()
    for size, k, text, values in (
        (6, 9, "N % 4 == 0 and k > 2", "N = 6 from X.shape[0], k = 9 from k"),
        (8, 2, "N % 4 == 0 and k > 2", "N = 8 from X.shape[0], k = 2 from k"),
        (12, 99, "quarter != 3", "N = 12 from X.shape[0]"),
    ):
        untouched = zeros("int32", size)
        with pytest.raises(LaunchError, match=re.escape(f"Assume: {text}")) as error:
            launch(untouched, k)
        assert error.value.found == values
        assert isinstance(error.value, RuntimeError)
        assert not untouched.any()


def test_output_of_a_process_that_ends_at_once_is_not_lost(target, tmp_path):
    runs_kernels()
    needs_the_host(target, "what a device prints comes when the process waits for it")

    @T.prim_func
    def prints(X: T.Tensor((1,), "int32")):
        with T.Kernel(1):
            T.print(X[0], msg="value")

    lacking(prints, target)
    script = tmp_path / "prints.py"
    script.write_text(
        "import os, numpy as np, tilecore, tilecore.language as T\n"
        "@T.prim_func\n"
        "def kernel(X: T.Tensor((1,), 'int32')):\n"
        "    with T.Kernel(1):\n"
        "        T.print(X[0], msg='value')\n"
        f"tilecore.compile(kernel, target={target!r})(np.array([5], np.int32))\n"
        "os._exit(0)\n"
    )
    ended = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert ended.stdout == "value: 5\n", ended.stderr


def test_compile_flags_are_not_dropped_by_cpu_without_a_word():
    """There is no compiler to give them to; kernels that give them to one elsewhere run all the same."""

    @T.prim_func
    def kernel(X: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            X[0] = 1

    @T.prim_func
    def annotated(X: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            T.annotate_compile_flags("--fast")
            X[0] = 1

    for func, flags in ((kernel, ["-O3"]), (annotated, None)):
        x = np.zeros(4, np.int32)
        with pytest.warns(UserWarning, match="compile flags change nothing on target cpu"):
            tilecore.compile(func, target="cpu", compile_flags=flags)(x)
        assert x[0] == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiled(kernel, "cpu", compile_flags=[])


def test_compile_flags_reach_the_compiler(target):
    """One that no compiler has is refused, by the compiler or by the backend; a backend without compiler says in a
    warning that it passes over flags."""
    adapter = target.adapter()
    if adapter is None or adapter.name == SIMULATED or not adapter.binary_formats():
        pytest.skip("nothing is compiled that flags would be for")

    @T.prim_func
    def flagged(X: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=4):
            X[0] = 1

    lacking(flagged, target)
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        try:
            tilecore.compile(flagged, target=target, compile_flags=["--no-such-flag-of-any-compiler"])
        except TilecoreError:
            return
    assert any("compile flags" in str(warning.message) for warning in raised)
