"""The environment variables: read when used, typed, and a wrong one is named."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from fresh_processes import imported_by

from tilecore import settings
from tilecore.settings import SETTINGS, SettingError

ACCESSORS = {name: getattr(settings, name.removeprefix("TILECORE_").lower()) for name in SETTINGS}


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch):
    for name in list(os.environ):
        if name.startswith("TILECORE_"):
            monkeypatch.delenv(name)


def test_every_setting_has_an_accessor_and_a_meaning():
    for name, accessor in ACCESSORS.items():
        assert callable(accessor), name
        assert len(SETTINGS[name].doc) > 10
        assert SETTINGS[name].name == name


# not what sets a variable for other processes, and not the tests' own
READS = re.compile(r"os\.(environ\.get|environ\[|getenv)[^\n]*TILECORE_(?!TEST_)[A-Z_]*[\"'](?!\] = )")


def test_nothing_else_reads_the_environment_for_tilecore():
    root = Path(settings.__file__).parent
    for path in root.rglob("*.py"):
        if path.name != "settings.py":
            assert not READS.search(path.read_text()), path


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("TILECORE_TARGET", "acme -arch=x", "acme -arch=x"),
        ("TILECORE_EXECUTION_BACKEND", " host ", "host"),
        ("TILECORE_VERBOSE", "1", True),
        ("TILECORE_VERBOSE", "off", False),
        ("TILECORE_DISABLE_CACHE", "TRUE", True),
        ("TILECORE_CHECK", "yes", True),
        ("TILECORE_SIMULATE", "0", False),
        ("TILECORE_SIMULATE_SEED", "7", 7),
        ("TILECORE_PRINT_ON_COMPILATION", "on", True),
        ("TILECORE_AUTO_TUNING_DISABLE_CACHE", "No", False),
        ("TILECORE_DEBUG", "6", 6),
        ("TILECORE_NUM_THREADS", "12", 12),
        ("TILECORE_CACHE_SIZE", "1000", 1000),
        ("TILECORE_CACHE_SIZE", "500M", 500 * 2**20),
        ("TILECORE_CACHE_SIZE", "1.5 GiB", 3 * 2**29),
        ("TILECORE_CACHE_SIZE", "2gb", 2 * 2**30),
        ("TILECORE_CACHE_DIR", "/a/../b", "/b"),
        ("TILECORE_DATA_DIR", "/a/../b", "/b"),
        ("TILECORE_DUMP", "out", os.path.abspath("out")),
        ("TILECORE_SIMULATE_TIMEOUT", "7", 7),
    ],
)
def test_values_are_read_at_use(monkeypatch, name, text, value):
    default = ACCESSORS[name]()
    monkeypatch.setenv(name, text)
    current = ACCESSORS[name]()
    assert current == value
    assert type(current) is type(value)
    monkeypatch.setenv(name, "  ")  # empty counts as not set
    assert ACCESSORS[name]() == default


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("TILECORE_DEBUG", "abc"),
        ("TILECORE_DEBUG", "7"),
        ("TILECORE_DEBUG", "-1"),
        ("TILECORE_DEBUG", "1.5"),
        ("TILECORE_VERBOSE", "maybe"),
        ("TILECORE_SIMULATE_TIMEOUT", "0"),
        ("TILECORE_NUM_THREADS", "0"),
        ("TILECORE_CACHE_SIZE", "lots"),
        ("TILECORE_CACHE_SIZE", "-1"),
        ("TILECORE_CACHE_SIZE", "nan"),
        ("TILECORE_CACHE_SIZE", "inf"),
        ("TILECORE_CACHE_SIZE", "0"),
    ],
)
def test_a_wrong_value_is_an_error_that_names_the_variable(monkeypatch, name, text):
    monkeypatch.setenv(name, text)
    with pytest.raises(SettingError) as caught:
        ACCESSORS[name]()
    report = str(caught.value)
    assert f"{name}={text}" in report
    assert SETTINGS[name].expected in report
    assert isinstance(caught.value, ValueError)


def test_the_defaults():
    settings_by_name = {name: accessor() for name, accessor in ACCESSORS.items()}
    assert settings_by_name.pop("TILECORE_CACHE_DIR").endswith("tilecore")
    assert settings_by_name.pop("TILECORE_DATA_DIR").endswith("tilecore")
    assert settings_by_name == {name: SETTINGS[name].default for name in settings_by_name}
    assert settings.debug() == 0
    assert settings.target() == "auto"
    assert settings.num_threads() is None
    assert settings.cache_size() == 4 * 2**30


@pytest.mark.parametrize("xdg", [None, "", "/x/cache", "relative"])
@pytest.mark.parametrize("home", [None, "/h", "/h/"])
@pytest.mark.parametrize(
    ("variable", "folder", "of_platformdirs", "default"),
    [
        ("XDG_CACHE_HOME", settings.cache_dir, "user_cache_dir", "~/.cache/tilecore"),
        ("XDG_DATA_HOME", settings.data_dir, "user_data_dir", "~/.local/share/tilecore"),
    ],
)
def test_the_default_directories_are_those_of_platformdirs(
    monkeypatch, xdg, home, variable, folder, of_platformdirs, default
):
    platformdirs = pytest.importorskip("platformdirs")
    for name, value in ((variable, xdg), ("HOME", home)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    if xdg == "relative":  # the specification says that such a path is ignored
        assert folder() == os.path.abspath(os.path.expanduser(default))
    else:
        expected = getattr(platformdirs, of_platformdirs)("tilecore", appauthor=False)
        assert folder() == os.path.abspath(expected)


def test_an_unknown_home_gives_no_directory_rather_than_one_named_tilde(monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert settings.cache_dir() is None
    monkeypatch.setenv("TILECORE_CACHE_DIR", "~/kernels")
    assert settings.cache_dir() is None
    monkeypatch.setenv("TILECORE_CACHE_DIR", "kernels")
    assert settings.cache_dir() == os.path.abspath("kernels")


def test_misspelt_variables_are_found(monkeypatch):
    assert settings.unknown() == []
    monkeypatch.setenv("TILECORE_DEBUGG", "1")
    monkeypatch.setenv("TILECORE_DEBUG", "1")
    assert settings.unknown() == ["TILECORE_DEBUGG"]


def test_importing_it_is_light():
    assert imported_by("import tilecore.settings", ("platformdirs", "json", "tvm")) == []
