"""The table of distributions, held to the repository; one version for all."""

from __future__ import annotations

import shutil

import pytest

from release.projects import (
    PLUGINS,
    PROJECTS,
    ROOT,
    ReleaseError,
    extras_of_backends,
    supported_pythons,
    text_of,
    version_of_release,
)


def test_every_distribution_is_in_the_table():
    folders = {path.parent.relative_to(ROOT).as_posix() for path in ROOT.glob("plugins/*/pyproject.toml")}
    assert {project.folder for project in PROJECTS} == {".", "tilecore-runtime", *folders}
    for project in PROJECTS:
        assert f'\nname = "{project.name}"\n' in text_of(project)
        assert project.has_extensions == ("cython" in text_of(project).partition("[project]")[0])


def test_the_pythons_are_those_that_the_projects_name():
    assert supported_pythons() == ["3.10", "3.11", "3.12", "3.13", "3.14"]


def test_all_have_one_version(tmp_path):
    for project in PROJECTS:
        (tmp_path / project.folder).mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / project.folder / "pyproject.toml", tmp_path / project.folder)
    version = version_of_release(tmp_path)
    assert version == version_of_release()
    file = tmp_path / "plugins" / "tile-hip" / "pyproject.toml"
    file.write_text(file.read_text().replace(f'version = "{version}"', 'version = "77.0"'))
    with pytest.raises(ReleaseError, match=r"these differ: .*tile-hip 77\.0"):
        version_of_release(tmp_path)
    for project in PROJECTS:
        file = tmp_path / project.folder / "pyproject.toml"
        file.write_text(file.read_text().replace(f'\nversion = "{version}"', '\nversion = "77.0"'))
    with pytest.raises(ReleaseError, match=r"must depend on tilecore-runtime==77\.0"):
        version_of_release(tmp_path)


def test_both_distributions_have_the_same_extras():
    tables = []
    for project in PROJECTS[:2]:
        section = text_of(project).partition("[project.optional-dependencies]\n")[2].partition("\n[")[0]
        lines = [line for line in section.splitlines() if "tile-" in line or line.startswith("all = ")]
        tables.append([line.replace(f'"{project.name}[', '"[') for line in lines])
    assert len(tables[0]) > 10
    assert tables[0] == tables[1]


def test_extras_of_backends():
    extras = extras_of_backends()
    assert extras["rocm"] == {"tile-hip"}
    assert extras["bm1690"] == {"tile-tpu"}
    assert extras["all"] == {*PLUGINS} == set().union(*extras.values())
    assert not {"torch", "test", "dev", "sign"} & extras.keys()
