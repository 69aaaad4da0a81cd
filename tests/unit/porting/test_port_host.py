"""Notes on host code: packages that are not installed, and tensors on the device of another target."""

from __future__ import annotations

import json
from textwrap import dedent

import pytest

from tilecore import cli
from tilecore.porting import host
from tilecore.porting.judge import judge_file
from tilecore.porting.targets import ChosenTarget


@pytest.fixture
def target(monkeypatch):
    """The target cpu beside one whose tensors are on torch's device "acme"."""
    monkeypatch.setattr(ChosenTarget, "torch_devices", frozenset({"cpu", "acme"}))
    return ChosenTarget("cpu")


def notes(tmp_path, text, target=None):
    path = tmp_path / "program.py"
    path.write_text(dedent(text))
    return judge_file(path, target).notes


def test_devices_of_another_target(tmp_path, target):
    text = """\
        import tilelang, torch
        a = torch.zeros(8, device="acme")
        b = torch.zeros(8).acme()
        c = b.to("acme:1")
        d = torch.device("acme")
        device = "acme"
        def f(x, device="acme", *, other="acme"): pass
        def g(x, *, device="acme"): pass
        torch.acme.synchronize()
    """
    device_notes = notes(tmp_path, text, target)
    assert [(note.line, note.name) for note in device_notes] == [
        (2, 'device="acme"'),
        (3, ".acme()"),
        (4, '.to("acme:1")'),
        (5, 'torch.device("acme")'),
        (6, 'device = "acme"'),
        (7, 'device="acme"'),
        (8, 'device="acme"'),
        (9, "torch.acme.synchronize"),
    ]
    assert {note.problem for note in device_notes[:-1]} == {"tensors are put on torch's device 'acme'"}
    assert {note.instead for note in device_notes[:-1]} == {'on target cpu write device="cpu"'}
    assert device_notes[-1].problem == "torch.acme works on torch's device 'acme'"


def test_what_is_no_device_of_another_target(tmp_path, target):
    text = """\
        import tilelang, torch
        a = torch.zeros(8, device="cpu").cpu()
        b = a.to("cpu"), a.to("float16"), a.to(torch.float16), a.contiguous()
        c = a.acme(1), f(target="acme"), torch.acme.is_available()
        d = torch.zeros(8, device=device), torch.zeros(8, device="meta")
    """
    assert notes(tmp_path, text, target) == []


def test_without_a_target_devices_are_not_looked_at(tmp_path, target):
    assert notes(tmp_path, 'import tilelang\nx.to("acme")\n') == []


def test_the_device_of_the_target_itself(tmp_path, target):
    target.torch_device = "acme"
    assert notes(tmp_path, 'import tilelang\nx.to("acme")\nx.to("cpu")\n', target)[0].line == 3


def test_the_devices_of_installed_targets():
    pytest.importorskip("tile_cuda")
    assert {"cpu", "cuda"} <= ChosenTarget("cpu").torch_devices


def test_packages_that_are_not_installed(tmp_path):
    (tmp_path / "beside.py").touch()
    (tmp_path / "folder").mkdir()
    text = """\
        import tilelang, os, pytest, beside, folder.part
        import no_such_package.part
        from no_such_package import x
        from .relative import y
        try:
            import another_package
        except ImportError:
            pass
    """
    package_notes = notes(tmp_path, text)
    assert [(note.line, note.name) for note in package_notes] == [(2, "no_such_package"), (3, "no_such_package")]
    assert package_notes[0].problem == host._NOT_HERE.format("no_such_package")


def test_notes_are_printed_and_do_not_count(tmp_path, capsys):
    path = tmp_path / "program.py"
    path.write_text("import tilecore\nimport no_such_package\n")
    with pytest.raises(SystemExit) as ended:
        cli.main(["port", str(path)])
    assert ended.value.code == 0
    assert capsys.readouterr().out == (
        f"{path}:2:1: note: the package no_such_package is neither installed nor beside the program\n"
        f"{path}: nothing stands in the way\n"
    )
    with pytest.raises(SystemExit):
        cli.main(["port", str(path), "--json"])
    data = json.loads(capsys.readouterr().out)
    assert data["would_run"] is True
    assert data["files"][0]["notes"][0]["name"] == "no_such_package"
