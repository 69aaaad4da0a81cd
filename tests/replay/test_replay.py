"""The recorded sources are what the backends emit: a change of the core shows what it means for each of them."""

from __future__ import annotations

import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from . import replay


@pytest.mark.parametrize("kernel", replay.KERNELS)
@pytest.mark.parametrize("place", replay.TARGETS)
def test_what_is_emitted_is_as_recorded(place, kernel):
    with replay.sample() if place == replay.SAMPLE else nullcontext():
        if not replay.installed(place):
            pytest.skip(f"the package of {place} is not installed")
        difference = replay.replayed(kernel, place).diff()
    assert not difference, f"{difference}\nif that is meant: nox -s replay -- --update, and look at it in the commit"


def test_nothing_else_is_recorded():
    kept = {path.relative_to(replay.RECORDED) for path in replay.RECORDED.rglob("*.txt")}
    assert kept == {Path(place, f"{kernel}.txt") for place in replay.TARGETS for kernel in replay.KERNELS}


def test_a_change_is_shown(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(replay, "RECORDED", tmp_path)
    monkeypatch.setattr(replay, "KERNELS", {"vector_add": (4096, 1024, 128)})
    monkeypatch.setattr(sys, "argv", ["replay.py", "--targets", "cpu", "--update"])
    assert replay.main() == 0
    assert "+define" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["replay.py", "--targets", "cpu"])
    assert replay.main() == 0
    monkeypatch.setattr(replay, "KERNELS", {"vector_add": (4097, 1024, 128)})
    assert replay.main() == 1
    out, err = capsys.readouterr()
    assert "--- cpu/vector_add, recorded" in out
    assert "1 sources are other than recorded" in err


def test_as_a_script():
    ended = subprocess.run(
        [sys.executable, replay.__file__, "--targets", "nothing"], capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 2
    assert "'nothing' is none of cpu" in ended.stderr
