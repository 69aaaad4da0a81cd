"""The recorded sources are what the backends emit: a change of the core shows what it means for each of them."""

from __future__ import annotations

import re
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
    recorded_files = [path.relative_to(replay.RECORDED) for path in replay.RECORDED.rglob("*") if path.is_file()]
    expected = [Path(place, kernel) for place in replay.TARGETS for kernel in replay.KERNELS]
    assert sorted(path.with_suffix("") for path in recorded_files) == sorted(expected)  # one file each


def test_sources_have_the_suffix_of_their_language():
    """The suffix is the code generator's, TEXT where there is no source."""
    suffixes = {"cpu": "ll", "cuda-sm_80": "cu", "cuda-sm_90a": "cu", "tpu": "c", "opencl": "cl", "acme": "c"}
    assert suffixes.keys() == replay.TARGETS.keys()
    for path in replay.RECORDED.rglob("*.*"):
        is_source = re.match(r"\w+Error: |\d+ lines, too many to keep$", path.read_text()) is None
        assert path.suffix == f".{suffixes[path.parent.name] if is_source else replay.TEXT}", path


@pytest.fixture
def vector_add_alone(monkeypatch, tmp_path):
    """A function that runs the script for one kernel on cpu, with records of its own."""
    monkeypatch.setattr(replay, "RECORDED", tmp_path)
    monkeypatch.setattr(replay, "KERNELS", {"vector_add": (4096, 1024, 128)})

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["replay.py", "--targets", "cpu", *words])
        return replay.main()

    return run


def test_files_that_belong_to_no_kernel_are_found(vector_add_alone, tmp_path, capsys):
    assert vector_add_alone("--update") == 0
    for name in ("cpu/softmax.ll", "cpu/vector_add.txt", "vax/vector_add.s", "cuda-sm_80/vector_add.cu"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("left over\n")
    capsys.readouterr()
    assert vector_add_alone() == 1
    out, err = capsys.readouterr()
    assert "3 sources are other than recorded" in err
    assert out.count("-left over") == 3
    assert vector_add_alone("--update") == 0
    files = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())
    assert files == ["cpu/vector_add.ll", "cuda-sm_80/vector_add.cu"]  # the other target was not asked for
    assert vector_add_alone() == 0


def test_a_kernel_without_a_record_is_found(vector_add_alone, tmp_path, capsys):
    assert vector_add_alone() == 1
    assert "+++ cpu/vector_add.ll" in capsys.readouterr().out


def test_a_source_in_place_of_a_refusal_is_another_file(vector_add_alone, monkeypatch, tmp_path):
    monkeypatch.setattr(replay, "emitted", lambda kernel, target: ("LimitError: no\n", replay.TEXT))
    assert vector_add_alone("--update") == 0
    assert [path.name for path in (tmp_path / "cpu").iterdir()] == ["vector_add.txt"]
    monkeypatch.setattr(replay, "emitted", lambda kernel, target: ("source\n", "ll"))
    assert vector_add_alone() == 1
    assert vector_add_alone("--update") == 0
    assert [path.name for path in (tmp_path / "cpu").iterdir()] == ["vector_add.ll"]


def test_a_change_is_shown(vector_add_alone, monkeypatch, capsys):
    assert vector_add_alone("--update") == 0
    assert "+define" in capsys.readouterr().out
    assert vector_add_alone() == 0
    monkeypatch.setattr(replay, "KERNELS", {"vector_add": (4097, 1024, 128)})
    assert vector_add_alone() == 1
    out, err = capsys.readouterr()
    assert "--- cpu/vector_add.ll, recorded" in out
    assert "1 sources are other than recorded" in err


def test_as_a_script():
    ended = subprocess.run(
        [sys.executable, replay.__file__, "--targets", "nothing"], capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 2
    assert "'nothing' is none of cpu" in ended.stderr
