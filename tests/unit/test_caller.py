"""The user's line: not in tilecore's files, but for the kernels that it ships, and in files beside it; and calls whose
arguments do not fit a public function."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import pytest

import tilecore
import tilecore.language as T
from tilecore import heuristics
from tilecore.caller import is_own, keywords_checked, levels_to_user, place_of_caller, placed
from tilecore.errors import LanguageError, WrongTypeError

PACKAGE = Path(tilecore.__file__).parent


@pytest.mark.parametrize(
    ("file", "is_tilecore"),
    [
        (PACKAGE / "jit/compile.py", True),
        (PACKAGE / "caller.py", True),
        (PACKAGE / "demo/kernels.py", False),
        (PACKAGE / "testing/conformance/cases/test_math.py", False),
        (PACKAGE.parent / "user_library/kernels.py", False),  # installed beside tilecore
        (PACKAGE.with_name("tilecore_kernels") / "gemm.py", False),
        ("<frozen importlib._bootstrap>", True),
    ],
)
def test_whose_file(file, is_tilecore):
    assert is_own(str(file)) == is_tilecore


def test_a_test_is_a_user():
    assert levels_to_user() == 1
    assert place_of_caller().file == __file__


def misspelt():
    """(call, the function's name in the message, the name that is meant) of public functions with keywords."""
    kernel = tilecore.compile(scaled, target="cpu", out_idx=-1)
    profiler = kernel.get_profiler()
    tuner = tilecore.autotuner.AutoTuner(scaled, [{}])
    function = tilecore.jit(lambda n: scaled)
    return {
        "compile": (lambda: tilecore.compile(scaled, targt="cpu"), "compile", "target"),
        "JITKernel": (lambda: tilecore.JITKernel(scaled, targt="cpu"), "compile", "target"),
        "lower": (lambda: tilecore.lower(scaled, targt="cpu"), "lower", "target"),
        "par_compile": (lambda: tilecore.par_compile([scaled], num_worker=2), "par_compile", "num_workers"),
        "of a function": (lambda: function.par_compile([], ignore_errors=True), "JITImpl.par_compile", "ignore_error"),
        "jit": (lambda: tilecore.jit(out_index=-1), "jit", "out_idx"),
        "load_bundle": (lambda: tilecore.load_bundle("x", signedby="y"), "load_bundle", "signed_by"),
        "torch_op": (lambda: kernel.torch_op("a::b", setup_ctx=print), "JITKernel.torch_op", "setup_context"),
        "export": (lambda: kernel.export("x", simulaton=True), "JITKernel.export", "simulation"),
        "export_library": (lambda: kernel.export_library("x", headr="h"), "JITKernel.export_library", "header"),
        "get_profiler": (lambda: kernel.get_profiler(supply_type=1), "JITKernel.get_profiler", "tensor_supply_type"),
        "Profiler": (lambda: tilecore.Profiler(kernel, device_idx=1), "Profiler", "device_index"),
        "do_bench of a profiler": (lambda: profiler.do_bench(warmups=3), "Profiler.do_bench", "warmup"),
        "do_bench": (lambda: tilecore.profiler.do_bench(print, quantile=3), "do_bench", "quantiles"),
        "assert_allclose": (lambda: profiler.assert_allclose(print, rtoll=1), "Profiler.assert_allclose", "rtol"),
        "roofline": (lambda: profiler.roofline(backnd="wall"), "Profiler.roofline", "backend"),
        "autotune": (lambda: tilecore.autotune(configs="auto", trials=3), "autotune", "tries"),
        "options of autotune": (lambda: tilecore.autotune(configs=[{}], warmups=3), "autotune", "warmup"),
        "what autotune needs": (lambda: tilecore.autotune(config=[{}]), "autotune", "configs"),
        "set_profile_args": (lambda: tuner.set_profile_args(ref_progs=3), "AutoTuner.set_profile_args", "ref_prog"),
        "set_compile_args": (lambda: tuner.set_compile_args(targets="cpu"), "AutoTuner.set_compile_args", "target"),
        "run": (lambda: tuner.run(time_out=3), "AutoTuner.run", "timeout"),
        "heuristics": (lambda: heuristics.gemm(1, 1, 1, cout=3), "gemm", "count"),
        "interpret": (lambda: tilecore.interpreter.interpret(scaled.ir, checks=1), "interpret", "check"),
        "gc": (lambda: tilecore.cache.gc(max_byte=3), "gc", "max_bytes"),
    }  # fmt: skip


@T.prim_func
def scaled(A: T.Tensor((8,), "float32"), B: T.Tensor((8,), "float32")):
    with T.Kernel(1):
        for i in T.Parallel(8):
            B[i] = A[i] * 2.0


@pytest.mark.parametrize("name", misspelt())
def test_a_misspelt_keyword_is_named_with_those_that_there_are(name):
    call, function, meant = misspelt()[name]
    with pytest.raises(WrongTypeError) as caught:
        call()
    error = caught.value
    assert error.message.startswith(f"{function}() ")
    assert meant in error.expected
    assert "self" not in error.expected
    assert error.hint == f"did you mean {meant!r}?"
    assert error.location.file == __file__


def test_errors_inside_of_the_function_stay():
    def passed_on():
        return len(3)

    with pytest.raises(TypeError, match="has no len") as caught:
        keywords_checked(passed_on)()
    assert not isinstance(caught.value, WrongTypeError)

    def refused():
        raise LanguageError("no place is known")

    for decorator, has_place in ((keywords_checked, False), (placed, True)):
        with pytest.raises(LanguageError) as caught:
            decorator(refused)()
        assert (caught.value.location is not None) == has_place


def test_levels_through_a_library(monkeypatch, tmp_path):
    """A warning points at the user's line, also where a library of theirs calls tilecore."""
    file = tmp_path / "between" / "__init__.py"
    file.parent.mkdir()
    file.write_text("def call(function):\n    return function()\n")
    monkeypatch.syspath_prepend(tmp_path)
    between = __import__("between")
    monkeypatch.setitem(sys.modules, "between", between)
    assert between.call(levels_to_user) == 1
    assert between.call(lambda: levels_to_user(through="between")) == 1
    assert between.call(partial(levels_to_user, through="between")) == 2
    assert between.call(partial(levels_to_user, through="not_imported")) == 1
