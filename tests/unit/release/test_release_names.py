"""Which files a release has: tags of Pythons and of systems."""

from __future__ import annotations

from pathlib import Path

import pytest

from release.names import expected_files, extension_ending, platform_tag, problems_of_names, project_of, python_of

SYSTEMS = "manylinux2014_x86_64.manylinux_2_17_x86_64"
PYTHONS = ["3.10", "3.14"]


def files_of_release() -> list[Path]:
    names = []
    for name in ("tilecore_runtime", "tile_cuda"):
        names += [f"{name}-1.0-{tag}-{tag}-{SYSTEMS}.whl" for tag in ("cp310", "cp314")] + [f"{name}-1.0.tar.gz"]
    for name in ("tilecore", "tile_hip", "tile_metal", "tile_tpu"):
        names += [f"{name}-1.0-py3-none-any.whl", f"{name}-1.0.tar.gz"]
    return [Path("dist") / name for name in names]


def problems(files: list[Path], version: str = "1.0", machine: str = "x86_64") -> list[str]:
    return list(problems_of_names(files, version, PYTHONS, machine))


def test_a_whole_release():
    assert problems(files_of_release()) == []
    assert len(list(expected_files("1.0", PYTHONS, "x86_64"))) == len(files_of_release())


def test_every_missing_file_is_named():
    for file in files_of_release():
        (problem,) = problems([other for other in files_of_release() if other != file])
        assert problem.endswith(" is missing")
        assert file.name.partition("-")[0].replace("_", "-") in problem


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (SYSTEMS, "linux_x86_64", "the wheel 1.0 cp310-cp310-linux_x86_64 does not belong"),
        (SYSTEMS, "manylinux_2_34_x86_64", "manylinux_2_34_x86_64 does not belong"),
        (SYSTEMS, "manylinux_2_17_aarch64", "manylinux_2_17_aarch64 does not belong"),
        ("cp310-cp310", "cp310-abi3", "cp310-abi3-manylinux_2_17_x86_64 does not belong"),
        ("cp314-cp314", "cp314-cp314t", "cp314-cp314t-manylinux_2_17_x86_64 does not belong"),
        ("-1.0", "-1.1", "does not belong to the release 1.0"),
        ("-cp310-cp310-" + SYSTEMS, "", "Invalid wheel filename"),
    ],
)
def test_a_wrong_name(old, new, expected):
    files = [Path(str(file).replace(old, new)) for file in files_of_release()]
    assert any(expected in problem for problem in problems(files))


def test_an_older_file_is_a_stranger():
    problem = "tilecore: tilecore-0.9.tar.gz does not belong to the release 1.0"
    assert problems([*files_of_release(), Path("dist/tilecore-0.9.tar.gz")]) == [problem]


def test_what_names_say():
    binary, pure = files_of_release()[0], Path("tilecore-1.0-py3-none-any.whl")
    assert (python_of(binary), python_of(pure)) == ("3.10", "")
    assert (project_of(binary).name, project_of(pure).name) == ("tilecore-runtime", "tilecore")
    assert platform_tag("aarch64") == "manylinux_2_17_aarch64"
    assert extension_ending("3.10", "aarch64") == ".cpython-310-aarch64-linux-gnu.so"
