"""The toolchain in ``tilecore doctor``: all tools, and how to install those that are missing."""

from __future__ import annotations

import os

import pytest
from fake_vendor import release
from tile_tpu.chips import CHIPS
from tile_tpu.toolchain import report
from tile_tpu.toolchain.record import TOOLCHAIN

from tilecore.contract.records import BuildRequest
from tilecore.target import Target

pytestmark = pytest.mark.usefixtures("no_sdk")


def by_name():
    return {tool.name: tool for tool in report.find()}


def test_without_an_sdk():
    tools = by_name()
    assert tools["code generator"].present
    assert not tools["SDK"].present
    assert all(not tools[f"CModel of {name}"].present for name in CHIPS)
    assert all(item.present or item.fix for item in tools.values())
    assert "tilecore toolchain install tpu" in tools["CModel of bm1690"].fix
    assert {word for item in tools.values() for word in item.allows.split(", ")} == {
        "emit", "simulate", "compile", "compile for a card", "run",
    }  # fmt: skip


def test_with_one(monkeypatch, tmp_path):
    monkeypatch.setenv("PPL_PROJECT_ROOT", os.fspath(release(tmp_path / "sdk", "bm1690", libraries=True)))
    tools = by_name()
    assert tools["SDK (PPL_PROJECT_ROOT)"].version == "9.9.1-gabc"
    assert tools["CModel of bm1690"].present
    assert not tools["CModel of bm1688"].present


def test_a_chip_that_we_do_not_know_and_a_script_that_fails(monkeypatch, tmp_path):
    (tmp_path / "envsetup.sh").write_text("echo broken; exit 1")
    monkeypatch.setenv("SOPHGO_TPU_ROOT", os.fspath(tmp_path))
    monkeypatch.setenv("CHIP", "bm9999")
    tools = by_name()
    assert "bm9999" in tools["CHIP"].where
    assert "broken" in tools["SDK environment"].where


def test_versions_tell_sdks_apart(monkeypatch, tmp_path):
    target = Target("tpu", {"chip": "bm1690"})
    without = TOOLCHAIN.version(target)
    assert without == TOOLCHAIN.version(target)
    assert "no SDK" in without
    monkeypatch.setenv("PPL_PROJECT_ROOT", os.fspath(release(tmp_path / "sdk", "bm1690", libraries=True)))
    assert "SDK 9.9.1-gabc" in TOOLCHAIN.version(target)


@pytest.mark.parametrize(
    ("adapter", "format"), [("cmodel", "cmodel"), ("tpurt", "firmware"), ("torch_tpu", "firmware")]
)
def test_the_execution_backend_decides_what_is_built(monkeypatch, adapter, format):
    from tile_tpu.toolchain import record

    calls = []
    for name in ("for_cmodel", "for_card"):
        monkeypatch.setattr(record, name, lambda *args, name=name: calls.append((name, args)) or b"made")
    target = Target("tpu", {"chip": "sg2260e"})
    binary = TOOLCHAIN.build(BuildRequest("k", "source", ("k_kernel",), target, ("-g",), False, adapter))
    assert binary == (b"made", format)
    name, args = calls[0]
    assert name == ("for_cmodel" if format == "cmodel" else "for_card")
    assert args == ("source", CHIPS["sg2260e"], "k", ("k_kernel",), ("-g",))
