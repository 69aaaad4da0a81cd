"""The wheels of this checkout, and what an index says of them; `.ci/run` has built them anyway (built_wheels.py)."""

from __future__ import annotations

import importlib.util
import sys
import sysconfig
import zipfile

import pytest
from built_wheels import python, wheels_of

from release.contents import problems_in_wheel
from release.projects import PROJECTS


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    return wheels_of(tmp_path_factory.mktemp("wheels"))


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)
def test_a_wheel_has_what_it_must_have(wheels, project):
    wheel = wheels[project.name]
    # without a C compiler there are no extensions, which is no mistake outside of a release
    has_extensions = any(name.endswith(".so") for name in zipfile.ZipFile(wheel).namelist())
    assert project.has_extensions or not has_extensions
    ending = sysconfig.get_config_var("EXT_SUFFIX") if has_extensions else ""
    assert list(problems_in_wheel(wheel, project, ending)) == []


def test_an_index_takes_the_wheels(wheels, tmp_path):
    if importlib.util.find_spec("twine") is None:
        pytest.skip("twine is not installed")
    files = [str(wheels[project.name]) for project in PROJECTS]
    printed = python(sys.executable, "-m", "twine", "check", "--strict", *files, folder=tmp_path)
    assert printed.count("PASSED") == len(PROJECTS)
