"""What the metadata of each distribution says to an index: its README, its license, keywords and classifiers."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest
from fresh_processes import output_of

from tilecore.plugins import target_errors
from tilecore.scaffold.package import write_package

ROOT = Path(__file__).parents[1]
PROJECTS = {
    re.search(r'^name = "(.*)"$', file.read_text(), re.MULTILINE)[1]: file.parent  # type: ignore[index]
    for file in (
        ROOT / "pyproject.toml",
        ROOT / "tilecore-runtime" / "pyproject.toml",
        *ROOT.glob("plugins/*/pyproject.toml"),
        *ROOT.glob("examples/*/*/pyproject.toml"),
    )
}
PYTHONS = {f"Programming Language :: Python :: 3.{minor}" for minor in range(10, 15)}


def check(distribution: metadata.Distribution, name: str, readme: str) -> None:
    facts = distribution.metadata
    assert facts["Name"] == name
    assert facts["Summary"]
    assert facts["Description-Content-Type"] == "text/markdown"
    assert facts["Description"].split() == readme.split()  # indentation of the stored text differs by its version
    assert facts["License-Expression"] == "Apache-2.0"
    assert len(facts["Keywords"].split(",")) >= 5
    classifiers = facts.get_all("Classifier") or []
    assert len(classifiers) == len(set(classifiers))
    assert set(classifiers) >= PYTHONS
    assert any(text.startswith("Development Status :: ") for text in classifiers)
    # an index refuses a file that has both a license expression and a classifier of one
    assert not [text for text in classifiers if text.startswith("License :: ")]


def built_metadata(project: Path, folder: Path) -> metadata.Distribution:
    """What the project's build backend writes, from a copy of the files that say it."""
    # looked for, not imported: setuptools refuses a process in which Python's own distutils is loaded already
    if importlib.util.find_spec("setuptools") is None:
        pytest.skip("setuptools is not installed")
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        if (project / file).exists():
            shutil.copy(project / file, folder)
    code = "from setuptools import build_meta; build_meta.prepare_metadata_for_build_wheel('.')"
    output_of(code, folder=folder)
    (info,) = folder.glob("*.dist-info")
    return metadata.Distribution.at(info)


def test_the_projects_are_found():
    backends = {"tile-cuda", "tile-hip", "tile-metal", "tile-tpu", "tile-opencl"}
    assert {"tilecore", "tilecore-runtime", *backends} <= PROJECTS.keys()


@pytest.mark.parametrize("name", PROJECTS)
def test_metadata_that_a_build_writes(name, tmp_path):
    distribution = built_metadata(PROJECTS[name], tmp_path)
    check(distribution, name, (PROJECTS[name] / "README.md").read_text())
    assert distribution.metadata.get_all("License-File") == ["LICENSE"]


def test_metadata_of_a_new_backend(tmp_path):
    write_package("acme", tmp_path / "package")
    (tmp_path / "copy").mkdir()
    distribution = built_metadata(tmp_path / "package", tmp_path / "copy")
    check(distribution, "tile-acme", (tmp_path / "package" / "README.md").read_text())


@pytest.mark.parametrize("name", PROJECTS)
def test_metadata_that_is_installed(name):
    try:
        distribution = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        pytest.skip(f"{name} is not installed")
    origin = json.loads(distribution.read_text("direct_url.json") or "{}")
    if origin.get("dir_info", {}).get("editable"):
        pytest.skip(f"{name} is linked to a checkout: its metadata is of the day of the link; .ci/run installs it")
    check(distribution, name, (PROJECTS[name] / "README.md").read_text())


@pytest.mark.parametrize(
    "name", ["cuda", "nvidia", "hip", "rocm", "amd", "metal", "mps", "tpu", "bm1690", "bm1688", "all"]
)
def test_the_error_for_a_target_names_the_package_of_the_extra(name, tmp_path, monkeypatch):
    """As tilecore's own metadata has it."""
    distribution = built_metadata(ROOT, tmp_path)
    monkeypatch.setattr(
        target_errors,
        "distributions",
        lambda: [SimpleNamespace(name_and_version=lambda: ("tilecore", "1"), read_text=distribution.read_text)],
    )
    packages = {**dict.fromkeys(("cuda", "nvidia"), "tile-cuda"), **dict.fromkeys(("hip", "rocm", "amd"), "tile-hip")}
    packages |= {
        **dict.fromkeys(("metal", "mps"), "tile-metal"),
        **dict.fromkeys(("bm1690", "bm1688", "tpu"), "tile-tpu"),
    }
    hint = target_errors.unknown_target(name, ["cpu"], [], []).hint or ""
    if name == "all":  # brings four packages, and is no target
        assert "install its backend" not in hint
    else:
        assert f"install its backend: pip install {packages[name]};" in hint
