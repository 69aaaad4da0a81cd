"""Which Pythons a release is built for, and what happens where some are missing."""

from __future__ import annotations

import argparse
import re
import sys
import zipfile
from pathlib import Path

import pytest

from release import __main__, interpreters
from release.build import Workshop
from release.processes import output_of
from release.projects import ReleaseError, supported_pythons
from release.trial import requirements_of

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
ANSWER = '["3.10", "cpython", "final", false, true]'


def program(folder: Path, answer: str, status: int = 0) -> str:
    """Something that answers as an interpreter does that is asked for its facts."""
    path = folder / f"python{len(list(folder.iterdir()))}"
    path.write_text(f"#!/bin/sh\necho '{answer}'\nexit {status}\n")
    path.chmod(0o755)
    return str(path)


def find(version: str, *programs: str):
    return interpreters.find([version], Path("work"), lambda version, work: iter((text, ()) for text in programs))


def test_the_first_that_fits_is_taken(tmp_path):
    programs = [program(tmp_path, ANSWER.replace("3.10", "3.9")), program(tmp_path, ANSWER), program(tmp_path, ANSWER)]
    found, missing = find("3.10", *programs)
    assert [interpreter.program for interpreter in found] == [programs[1]]
    assert not missing


@pytest.mark.parametrize(
    ("answer", "status", "reason"),
    [
        (ANSWER.replace("3.10", "3.12"), 0, "it is cpython 3.12"),
        (ANSWER.replace("cpython", "pypy"), 0, "it is pypy 3.10"),
        (ANSWER.replace("final", "candidate"), 0, "it is a pre-release (candidate)"),
        (ANSWER.replace("false", "true"), 0, "it is a free-threaded build"),
        (ANSWER.replace("true", "false"), 0, "it has no Python.h"),
        ("pyenv: python3.10: command not found", 127, "pyenv: python3.10: command not found"),
        ("Hello", 0, "Expecting value"),
    ],
)
def test_why_one_does_not_fit(tmp_path, answer, status, reason):
    path = program(tmp_path, answer, status)
    found, missing = find("3.10", path)
    assert not found
    assert missing["3.10"][0].startswith(f"{path}: {reason}")


def test_a_program_that_is_not_there():
    assert "/nowhere/python" in find("3.10", "/nowhere/python")[1]["3.10"][0].partition(": ")[2]
    assert find("3.10")[1] == {"3.10": ["there is no python3.10 on the PATH, pyenv's or uv's"]}


def test_places_where_an_interpreter_may_be(tmp_path, monkeypatch):
    for version in ("3.14.1", "3.14.10", "3.1.4", "3.140.1"):
        (tmp_path / "versions" / version).mkdir(parents=True)
    (tmp_path / "python3.14").write_text("#!/bin/sh\n")
    (tmp_path / "python3.14").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    *places, (debian, prefix) = interpreters.candidates("3.14", Path("/work"))
    assert places[0] == (str(tmp_path / "python3.14"), ())
    assert {place for place, _ in places[1:]} == {
        f"{tmp_path}/versions/{version}/bin/python" for version in ("3.14.1", "3.14.10")
    }
    assert (debian, prefix[1:]) == ("/usr/bin/python3", ("sid", "/work"))
    assert Path(prefix[0]).is_file()


def test_this_interpreter_runs_with_variables():
    interpreter = interpreters.Interpreter(HERE, sys.executable)
    code = "import os; print(os.environ['ONE'], 'TILECORE_TARGET' in os.environ)"
    assert interpreter.run("-c", code, variables={"ONE": "a b"}) == "a b False\n"


def test_the_settings_of_the_caller_reach_no_program(monkeypatch):
    for name in ("TILECORE_TARGET", "PYTHONPATH", "CC", "CFLAGS", "PIP_CONSTRAINT"):
        monkeypatch.setenv(name, "of the caller")
    assert "of the caller" not in output_of(["env"])


def given(pythons: str, allow_missing: bool = False) -> argparse.Namespace:
    return __main__.arguments(["--pythons", pythons, *["--allow-missing"] * allow_missing])


def test_a_missing_python_ends_the_release_unless_it_is_allowed(monkeypatch, tmp_path, capsys):
    fitting = interpreters.Interpreter("3.10", "python3.10")
    answers = ([fitting], {"3.14": ["no python3.14"]})
    monkeypatch.setattr(interpreters, "find", lambda versions, work: answers)
    with pytest.raises(ReleaseError, match=r"no wheels can be built for Python 3\.14: .*--allow-missing"):
        __main__.find_interpreters(given("3.10,3.14"), tmp_path)
    assert "Python 3.14 is missing:\n    no python3.14\n" in capsys.readouterr().out
    assert __main__.find_interpreters(given("3.10,3.14", allow_missing=True), tmp_path) == [fitting]
    answers = ([], {"3.14": ["no python3.14"]})
    with pytest.raises(ReleaseError, match="there is no Python"):
        __main__.find_interpreters(given("3.14", allow_missing=True), tmp_path)


def test_a_python_that_is_not_supported(tmp_path):
    with pytest.raises(ReleaseError, match=r"not supported: Python 3\.9"):
        __main__.find_interpreters(given("3.9"), tmp_path)


def test_all_supported_pythons_are_the_default(monkeypatch, tmp_path):
    monkeypatch.setattr(interpreters, "find", lambda versions, work: ([], {key: ["absent"] for key in versions}))
    with pytest.raises(ReleaseError, match=", ".join(map(re.escape, supported_pythons()))):
        __main__.find_interpreters(given(""), tmp_path)


def test_the_program_ends_with_a_status(monkeypatch, capsys):
    monkeypatch.setattr(__main__.platform, "machine", lambda: "vax")
    assert __main__.main([]) == 1
    assert "release: wheels are built on Linux" in capsys.readouterr().err


def test_only_files_of_a_release_are_replaced(tmp_path):
    workshop, out = Workshop(tmp_path / "work", "x86_64"), tmp_path / "dist"
    workshop.files.mkdir(parents=True)
    name = "tile_hip-1.0-py3-none-any.whl"
    (workshop.files / name).write_text("new")
    out.mkdir()
    (out / "tile_hip-0.9.tar.gz").write_text("old")
    (out / "thesis.txt").write_text("precious")
    with pytest.raises(ReleaseError, match=r"left alone: thesis\.txt"):
        __main__.hand_over(workshop, out)
    (out / "thesis.txt").unlink()
    __main__.hand_over(workshop, out)
    assert [path.name for path in out.iterdir()] == [name]


def test_what_a_wheel_needs_of_others(tmp_path):
    lines = ["tilecore-runtime==1.0", "numpy>=1.26", "rich; extra == 'test'", 'ml-dtypes>=0.5 ; extra == "numpy"']
    lines += ["colorama; sys_platform == 'win32'"]
    path = tmp_path / "wheel.whl"
    with zipfile.ZipFile(path, "w") as archive:
        text = "".join(f"Requires-Dist: {line}\n" for line in lines)
        archive.writestr("x.dist-info/METADATA", f"Name: x\n{text}\nRequires-Dist: of the text\n")
    assert requirements_of([path]) == ["ml-dtypes>=0.5", "numpy>=1.26"]
