"""versions_for_key: versions from metadata alone, and a digest where the files themselves may change."""

from __future__ import annotations

import importlib.metadata

import pytest
from fresh_processes import output_of

from tilecore.cache import versions_for_key
from tilecore.compilation_cache import versions


def test_the_versions_are_those_of_the_metadata():
    version_by_package = versions_for_key("tile-acme", "1.2.3")
    assert version_by_package["tile-acme"] == "1.2.3"
    for name in ("apache-tvm", "apache-tvm-ffi"):
        assert version_by_package[name] == importlib.metadata.version(name)
    assert version_by_package["tilecore"]
    assert versions_for_key("tilecore", "whatever") == {k: v for k, v in version_by_package.items() if k != "tile-acme"}
    assert versions.installed_version("surely-not-installed-anywhere") == "absent"
    assert versions.installed_version("pytest") == importlib.metadata.version("pytest")


@pytest.fixture
def package(tmp_path):
    """A backend package that is imported from a checkout."""
    folder = tmp_path / "checkout" / "tile_acme"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "plugin.py").write_text("x = 1")
    (folder / "kernels").mkdir()
    (folder / "kernels" / "header.h").write_text("// one")
    return folder


VERSION = """
import sys
sys.path.insert(0, {path!r})
import tile_acme.plugin
from tilecore.cache import versions_for_key
print(versions_for_key("tile-acme", "1.0", "tile_acme.plugin")["tile-acme"])
"""


def version_of(package):
    return output_of(VERSION.format(path=str(package.parent))).strip()


def test_a_checkouts_files_are_part_of_its_version(package):
    first = version_of(package)
    assert first.startswith("1.0+source.")
    (package / "launcher.so").write_text("made from the rest")
    assert version_of(package) == first  # nor do the .pyc files count that have been written meanwhile
    (package / "kernels" / "header.h").write_text("// two")
    second = version_of(package)
    assert second != first
    (package / "kernels" / "header.h").write_text("// one")
    assert version_of(package) == first


def test_an_installed_wheels_version_is_enough(package):
    (package.parent / "tile_acme-1.0.dist-info").mkdir()
    assert version_of(package) == "1.0"


def test_a_module_that_is_not_loaded_adds_nothing():
    assert versions_for_key("tile-other", "2.0", "tile_other.plugin")["tile-other"] == "2.0"
