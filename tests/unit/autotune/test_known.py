"""Known configurations: which entry a call gets, and files that are none."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.autotuner import KnownConfig, KnownConfigs
from tilecore.errors import AutotuneError, TargetError
from tilecore.target import Target

ENTRIES = [
    {"target": {"kind": "gpu", "arch": "a"}, "where": {"M": [1, 16], "dtype": "float16"}, "config": {"block": 16}},
    {"target": {"kind": "gpu"}, "where": {"M": [1, 4096]}, "config": {"block": 64}},
    {"target": {}, "where": {"causal": True}, "config": {"block": 1}},
]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "known.json"
    path.write_text(json.dumps(ENTRIES))
    return path


@pytest.mark.parametrize(
    ("target", "arguments", "block"),
    [
        ("gpu -arch=a", {"M": 16, "dtype": "float16"}, 16),
        ("gpu -arch=a", {"M": 17, "dtype": "float16"}, 64),
        ("gpu -arch=b", {"M": 1, "dtype": "float16"}, 64),
        ("gpu -arch=a", {"M": 1}, 64),
        ("gpu -arch=a", {"M": 5000}, None),
        ("cpu", {"M": 1}, None),
        ("cpu", {"causal": True}, 1),
        ("cpu", {"causal": 1}, None),
        ("gpu", {"M": True}, None),
        ("gpu", {"M": np.int64(7)}, 64),
        ("cpu", {"causal": np.bool_(True)}, 1),
    ],
)
def test_the_first_entry_that_fits(file, target, arguments, block):
    config = KnownConfigs.load(file).find(Target.parse(target), arguments)
    assert config == (None if block is None else {"block": block})


def test_what_is_saved_is_read(tmp_path):
    configs = KnownConfigs([KnownConfig({"kind": "cpu"}, {"n": [1, 2]}, {"a": 1}), KnownConfig({}, {}, {"a": None})])
    configs.save(tmp_path / "x.json")
    assert KnownConfigs.load(tmp_path / "x.json").entries == configs.entries


def test_a_found_configuration_is_the_callers_own(file):
    configs = KnownConfigs.load(file)
    target = Target.parse("gpu")
    configs.find(target, {"M": 1})["block"] = 0
    assert configs.find(target, {"M": 1}) == {"block": 64}


def test_a_target_by_name_is_looked_up(file):
    configs = KnownConfigs.load(file)
    assert configs.find("cpu", {"causal": True}) == configs.find({"kind": "cpu"}, {"causal": True}) == {"block": 1}
    assert configs.find("auto", {"nothing": 1}) is None
    with pytest.raises(TargetError, match="gpu"):
        configs.find("gpu", {"M": 1})


@pytest.mark.parametrize("text", ["", "{}", "[1]", '[{"target": {}, "where": []}]'])
def test_a_file_that_is_none(tmp_path, text):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(AutotuneError, match=r"x\.json"):
        KnownConfigs.load(tmp_path / "x.json")
    with pytest.raises(AutotuneError, match=r"none\.json"):
        KnownConfigs.load(tmp_path / "none.json")


def add(n, block=None):
    @T.prim_func
    def kernel(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, block)) as b:
            for i in T.Parallel(block):
                B[b * block + i] = A[b * block + i] + 1

    return kernel


def test_no_search_where_a_configuration_is_known(tmp_path, monkeypatch):
    from tilecore.autotune import decorator

    KnownConfigs([KnownConfig({"kind": "cpu"}, {"n": [1, 100]}, {"block": 32})]).save(tmp_path / "known.json")
    searched = []
    monkeypatch.setattr(decorator.Tuning, "run", lambda self: searched.append(self) or pytest.fail("it searches"))
    tuned = tilecore.autotune(configs={"block": [16, 32]}, known=tmp_path / "known.json")(
        tilecore.jit(add, target="cpu")
    )
    kernel = tuned(64)
    assert kernel.config == {"block": 32}
    assert not searched
    assert tuned(64, block=16).get_kernel_source() != kernel.get_kernel_source()  # the call's own wins
    with pytest.raises(pytest.fail.Exception, match="it searches"):
        tuned(101)
