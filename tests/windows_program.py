"""What users do, step by step, for test_as_on_windows.py: python windows_program.py FOLDER."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore import settings
from tilecore.cli import main
from tilecore.demo import kernels

A, B = np.random.default_rng(0).random((2, 64, 64), dtype=np.float32)
TO_COMPILE = """
import tilecore, tilecore.language as T

@tilecore.jit
def scale(n: int):
    @T.prim_func
    def scale_kernel(X: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, 64), threads=64) as b:
            for i in T.Parallel(64):
                X[b * 64 + i] = X[b * 64 + i] * 2.0
    return scale_kernel

def tilecore_kernels():
    yield scale, (128,)
"""


@T.prim_func
def positive(X: T.Tensor((4,), "float32")):
    with T.Kernel(1, threads=1):
        T.print(X[0])
        T.device_assert(X[0] > 0, "not positive")


def product_is_right(kernel) -> None:
    c = np.zeros((64, 64), np.float32)
    kernel(A, B, c)
    assert abs(c - A @ B).max() < 1e-3


def command(*words: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    assert not ended.value.code


def compile_and_call(folder: Path) -> None:
    kernel = tilecore.compile(kernels.matmul.func(64, 64, 64), target="cpu")
    assert "-system=windows" in kernel.artifact.target
    product_is_right(kernel)


def interpret(folder: Path) -> None:
    os.environ["TILECORE_INTERPRET"] = "1"
    try:
        assert settings.interpret()
        product_is_right(tilecore.compile(kernels.matmul.func(64, 64, 64), target="cpu"))
    finally:
        del os.environ["TILECORE_INTERPRET"]


def find_in_the_cache(folder: Path) -> None:
    from tilecore.compilation_cache import admin

    assert admin.stats().entries


def export_and_load(folder: Path) -> None:
    tilecore.compile(kernels.matmul.func(64, 64, 64), target="cpu").export(folder / "k.tck")
    product_is_right(tilecore.load_kernel(folder / "k.tck"))


def compile_several(folder: Path) -> None:
    assert len(tilecore.par_compile([kernels.matmul.func(64, 64, n) for n in (32, 96)], target="cpu")) == 2


def use_threads(folder: Path) -> None:
    from tilecore.backends.cpu import pool

    pool.set_num_threads(2)
    a = np.random.default_rng(1).random((512, 512), dtype=np.float32)
    c = np.zeros_like(a)
    tilecore.compile(kernels.matmul.func(512, 512, 512), target="cpu")(a, a, c)
    assert abs(c - a @ a).max() < 1e-2


def fail_in_a_kernel(folder: Path) -> None:
    with pytest.raises(tilecore.errors.LaunchError, match="not positive"):
        tilecore.compile(positive, target="cpu")(-np.ones(4, np.float32))


def bundle(folder: Path) -> None:
    (folder / "kernels.py").write_text(TO_COMPILE)
    command("compile", str(folder / "kernels.py"), "--target", "cpu", "-o", str(folder / "b.tcb"))
    x = np.ones(128, np.float32)
    tilecore.load_bundle(folder / "b.tcb")["scale(128)"](x)
    assert (x == 2).all()


def look_around(folder: Path) -> None:
    for words in (["targets"], ["cache", "stats"]):
        command(*words)


STEPS = [
    compile_and_call, interpret, find_in_the_cache, export_and_load, compile_several, use_threads, fail_in_a_kernel,
    bundle, look_around,
]  # fmt: skip

if __name__ == "__main__":
    for step in STEPS:
        try:
            step(Path(sys.argv[1]))
        except BaseException:
            traceback.print_exc()
            print(f"{step.__name__}: wrong", flush=True)
        else:
            print(f"{step.__name__}: right", flush=True)
