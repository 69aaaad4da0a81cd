"""The first kernel on a simulator says that it builds it."""

from __future__ import annotations

import pytest

from tilecore.simulate import build
from tilecore.simulate.compilers import find_compiler
from tilecore.simulate.progress import building


def test_lines_before_and_after(capsys):
    with building("the simulator", 2, "a while") as step:
        assert "building the simulator, once for this cache folder: a while" in capsys.readouterr().err
        step()
        step()
    printed = capsys.readouterr()
    assert printed.err.startswith("[tilecore] the simulator is built, in 0 s")
    assert not printed.out


def test_a_failure_is_no_success(capsys):
    with pytest.raises(ValueError, match="broken"), building("the simulator", 1, "a while"):
        raise ValueError("broken")
    assert "is built" not in capsys.readouterr().err


def test_the_runtime_is_announced_once(monkeypatch, tmp_path, capfd):
    compiler = find_compiler()
    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("tilecore.settings.default_cache_dir", lambda: str(tmp_path / "none"))
    build.runtime_library(compiler)
    assert "[tilecore] building the simulated device" in capfd.readouterr().err
    build.runtime_library(compiler)
    assert not capfd.readouterr().err
