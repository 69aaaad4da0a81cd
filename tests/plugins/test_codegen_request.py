"""A code generator that asks is told which execution backend will load what it writes."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import tilecore
import tilecore.language as T
from tilecore.contract.hookspecs import hookimpl
from tilecore.contract.records import Codegen
from tilecore.plugins import manager
from tilecore.testing import null_backend

pytestmark = pytest.mark.usefixtures("fresh_caches")

FUNCTION = "target.build.tilecore_null"


class Simulated(null_backend.NullAdapter):
    name = "simulated"


@T.prim_func
def scale(X: T.Tensor((64,), "float32")):
    with T.Kernel(1):
        for i in T.serial(64):
            X[i] = X[i] * 2


def backend(requests: list):
    def build(module, target, request):
        requests.append((str(request.target), request.adapter))
        return {"source": f"for {request.adapter}", "entries": "{}", "format": f"{request.adapter}-text"}

    def register():
        from tilecore.codegen.registration import register_codegen

        register_codegen(FUNCTION, build)

    @hookimpl
    def tilecore_codegen() -> Codegen:
        return Codegen(function=FUNCTION, emits="txt", register=register, takes_request=True)

    @hookimpl
    def tilecore_adapters():
        return [null_backend.NullAdapter(), Simulated()]

    hooks = {"tilecore_codegen": tilecore_codegen, "tilecore_adapters": tilecore_adapters}
    return SimpleNamespace(**{**vars(null_backend), **hooks})


@pytest.mark.parametrize(("asked_for", "adapter"), [("auto", "null"), ("null", "null"), ("simulated", "simulated")])
def test_the_source_is_of_the_execution_backend(asked_for, adapter):
    requests: list = []
    with manager.register(backend(requests), package="tilecore-null"):
        kernel = tilecore.compile(scale, target="null", execution_backend=asked_for)
    assert requests == [("null -variant=0", adapter)]
    assert kernel.get_kernel_source() == f"for {adapter}"
    assert kernel.artifact.adapter == adapter
    assert kernel.artifact.source_format == f"{adapter}-text"


def test_the_cache_keeps_the_execution_backends_apart():
    requests: list = []
    with manager.register(backend(requests), package="tilecore-null"):
        for name in ("null", "simulated", "null", "simulated"):
            kernel = tilecore.compile(scale, target="null", execution_backend=name)
            assert kernel.get_kernel_source() == f"for {name}"
    assert [name for _, name in requests] == ["null", "simulated"]


def test_lowering_alone_is_for_the_first_execution_backend():
    requests: list = []
    with manager.register(backend(requests), package="tilecore-null"):
        assert tilecore.lower(scale, target="null").kernel_source == "for null"
