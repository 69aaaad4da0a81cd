"""The cache with plugins that are registered as objects: each gets its own kernels, in memory and on disk."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

import tilecore
import tilecore.language as T
from tilecore.codegen.registration import register_codegen
from tilecore.contract.hookspecs import hookimpl
from tilecore.contract.records import Codegen
from tilecore.plugins import manager
from tilecore.testing import null_backend


@T.prim_func
def scale(X: T.Tensor((64,), "float32")):
    with T.Kernel(1):
        for i in T.serial(64):
            X[i] = X[i] * 2


def plugin_that_emits(source: str) -> SimpleNamespace:
    """The null backend with a code generator that emits one text."""

    @hookimpl
    def tilecore_codegen():
        function = "target.build.tilecore_null"
        return Codegen(
            function, emits="asm", register=lambda: register_codegen(function, lambda module, target: source)
        )

    return SimpleNamespace(**{**vars(null_backend), "tilecore_codegen": tilecore_codegen})


def emitted(source: str) -> str:
    with manager.register(plugin_that_emits(source), package="tile-acme"):
        return tilecore.compile(scale, target="null").get_kernel_source()


@pytest.mark.parametrize("disabled", [False, True])
def test_two_objects_with_one_package_name_in_one_process(disabled, tmp_path, monkeypatch):
    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path))
    if disabled:
        monkeypatch.setenv("TILECORE_DISABLE_CACHE", "1")
    assert [emitted("first"), emitted("second"), emitted("first")] == ["first", "second", "first"]


def test_two_objects_with_one_package_name_in_two_processes(tmp_path, monkeypatch):
    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path))
    program = f"import runpy, sys; print(runpy.run_path({__file__!r})['emitted'](sys.argv[1]))"
    for source in ("first", "second"):
        ended = subprocess.run([sys.executable, "-c", program, source], capture_output=True, text=True, check=True)
        assert ended.stdout.strip() == source
