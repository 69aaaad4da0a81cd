"""Targets given as TVM's Target objects, and processors by name."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.backends.cpu.processors import PROCESSORS
from tilecore.backends.cpu.target import host_features
from tilecore.errors import TargetError
from tilecore.ir.nodes import tvm
from tilecore.plugins import manager
from tilecore.plugins.determine import determine_target


@T.prim_func
def filled(A: T.Tensor((4,), "float32")):
    with T.Kernel(1):
        T.fill(A, 1)


def of(**attributes):
    return tvm.target.Target({"kind": "llvm", **attributes})


def test_the_host_by_tvms_names():
    native = manager.resolve("cpu")
    for target in (tvm.target.Target("llvm"), tvm.target.Target("c"), of(mcpu="native")):
        assert manager.resolve(target) == native
        assert manager.get(target) is native[0]
    assert manager.resolve(of(mcpu="core-avx2")) == manager.resolve("cpu -march=core-avx2")
    assert manager.resolve(of(mattr=["+fma", "+avx2"]))[1].get("features") == "avx2,fma"
    kernel = tilecore.compile(filled, target=tvm.target.Target("llvm"), target_host=tvm.target.Target("llvm"))
    assert kernel is tilecore.compile(filled, target="cpu", target_host="llvm -mcpu=core-avx2")
    assert tilecore.jit(filled, target=of(mcpu="generic")).compile().target.get("march") == "generic"


def test_what_it_cannot_mean_is_refused():
    with pytest.raises(TargetError, match="for another machine: mtriple='sparc-linux'"):
        manager.resolve(of(mtriple="sparc-linux"))
    with pytest.raises(TargetError, match="removes the extension '-avx2'"):
        manager.resolve(of(mattr=["-avx2"]))
    with pytest.raises(TargetError, match="no attribute 'num-cores'"):
        manager.resolve(of(**{"num-cores": 3}))
    with pytest.raises(TargetError, match="is not the host"):
        tilecore.compile(filled, target="cpu", target_host=tvm.target.Target("opencl"))


@pytest.mark.parametrize("name", ["x86-64-v2", "haswell", "skylake-avx512", "sapphirerapids"])
def test_processors_by_name(name):
    _, target = manager.resolve(f"cpu -mcpu={name}")
    assert target.get("march") == target.get("model") == name
    assert target.get("features") == ",".join(sorted(PROCESSORS[name]))
    assert target.get("vector_bits") == {"x86-64-v2": 128, "haswell": 256}.get(name, 512)
    kernel, values = tilecore.compile(filled, target=target), np.zeros(4, "float32")
    if set(PROCESSORS[name]) <= {*host_features()}:
        kernel(values)
        assert (values == 1).all()
    else:
        with pytest.raises(tilecore.errors.LaunchError, match="cannot run with execution_backend='native'"):
            kernel(values)


def test_llvm_has_the_extensions_of_each_processor():
    """LLVM's own table: each name is one of its processors, with all that we say and none of ours beside."""
    ours = {feature for features in PROCESSORS.values() for feature in features}
    for name, features in PROCESSORS.items():
        if name == "generic":
            continue
        has = {str(f) for f in tvm.target.codegen.llvm_get_cpu_features(of(mcpu=name))}
        assert has & ours == set(features), name


def test_a_processor_that_is_not_known_or_said_twice():
    with pytest.raises(TargetError, match="the processor 'z80' is not known") as caught:
        manager.resolve("cpu -mcpu=z80")
    assert "haswell" in caught.value.expected
    with pytest.raises(TargetError, match="'march' of target \"cpu\" is given twice"):
        manager.resolve("cpu -march=generic -mcpu=haswell")
    assert manager.resolve("cpu -march=generic -mcpu=generic") == manager.resolve("cpu -march=generic")


def test_the_target_of_a_with_is_the_default(monkeypatch):
    monkeypatch.delenv("TILECORE_TARGET", raising=False)
    outside = tilecore.compile(filled).target
    with of(mcpu="generic"):
        assert tilecore.compile(filled).target.get("march") == "generic"
        assert tilecore.compile(filled, target="cpu").target.get("march") == "native"
        with tvm.target.Target("c"):
            assert determine_target() == str(manager.resolve("cpu")[1])
        monkeypatch.setenv("TILECORE_TARGET", "cpu -march=haswell")
        assert tilecore.compile(filled).target.get("march") == "haswell"
        monkeypatch.delenv("TILECORE_TARGET")
    assert tilecore.compile(filled).target == outside


def test_values_that_tvm_fills_in_are_not_the_users():
    """Without a GPU, TVM's Target("cuda") has arch="sm_50", which no compiler of today takes."""
    if "cuda" not in manager.kinds():
        pytest.skip("tile-cuda is not installed")
    assert manager.resolve(tvm.target.Target("cuda")) == manager.resolve("cuda")
    hopper = tvm.target.Target({"kind": "cuda", "arch": "sm_90a"})
    assert manager.resolve(hopper) == manager.resolve("cuda -arch=sm_90a")
