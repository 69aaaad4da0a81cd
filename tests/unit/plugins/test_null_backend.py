"""The null backend: real hooks, through a manager, down to a launch that does nothing."""

from __future__ import annotations

import pytest

from tilecore.artifact.records import Artifact
from tilecore.contract.records import BuildRequest
from tilecore.plugins.manager import Manager
from tilecore.testing import null_backend


@pytest.fixture
def resolved():
    manager = Manager()
    with manager.register(null_backend, package="tilecore-null"):
        yield manager.resolve("null -variant=2")


def test_target(resolved):
    backend, target = resolved
    assert str(target) == "null -variant=2"
    assert "float32" in backend.target.capabilities(target).dtypes
    assert not backend.target.detect().present, 'so that "auto" never chooses it'


def test_launch_does_nothing_and_succeeds(resolved):
    backend, target = resolved
    adapter = backend.adapters["null"]
    assert adapter.available(target).present
    artifact = Artifact("k", str(target), backend.package, "null", (), (), (), (), (), "text", "txt", b"", "")
    assert adapter.load(artifact).launch(0, 0, 0) == 0
    assert adapter.binary_formats() == (), "the source itself is loaded: no toolchain is called"


def test_toolchain_keeps_the_source(resolved):
    backend, target = resolved
    assert backend.toolchain.build(BuildRequest("k", "text", ("k",), target)) == (b"text", "text")
    assert all(tool.present for tool in backend.toolchain.find())


def test_codegen_prints_the_module(resolved):
    from tilecore.ir.nodes import Evaluate, IRModule, PrimFunc, tvm_ffi

    backend, target = resolved
    assert backend.lowering.family == "none"
    backend.codegen.register()
    backend.codegen.register()
    module = IRModule({"k": PrimFunc([], Evaluate(7))})
    source = tvm_ffi.get_global_func(backend.codegen.function)(module, str(target))
    assert source.startswith("# target: null -variant=2\n")
    assert "def k(" in source
