"""tilecore.env: the settings as attributes."""

from __future__ import annotations

import os

import pytest

import tilecore
from tilecore import settings
from tilecore.env import CacheState, env


@pytest.fixture(autouse=True)
def own_environment(monkeypatch):
    for name in ("TILECORE_TARGET", "TILECORE_PRINT_ON_COMPILATION", "TILECORE_CACHE_DIR", "TILECORE_DEBUG"):
        monkeypatch.setenv(name, "")


def test_names_of_both_read_the_setting_in_use(monkeypatch, tmp_path):
    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path))
    assert env.TILELANG_CACHE_DIR == env.TILECORE_CACHE_DIR == tilecore.env.TILELANG_CACHE_DIR == str(tmp_path)
    monkeypatch.setenv("TILECORE_CACHE_DIR", "")
    assert settings.cache_dir() == env.TILELANG_CACHE_DIR
    assert (env.TILELANG_DEFAULT_TARGET, env.get_default_target(), tilecore.env.get_default_target()) == ("auto",) * 3
    monkeypatch.setenv("TILECORE_TARGET", "cpu")
    assert (env.TILELANG_DEFAULT_TARGET, env.get_default_target()) == ("cpu", "cpu")
    assert (env.get_default_execution_backend(), env.get_default_verbose()) == ("auto", settings.verbose())
    assert env.is_autotune_cache_disabled() == settings.auto_tuning_disable_cache()


def test_setting_one_changes_the_variable():
    env.TILELANG_PRINT_ON_COMPILATION = True
    assert os.environ["TILECORE_PRINT_ON_COMPILATION"] == "1"
    assert env.is_print_on_compilation_enabled()
    env.TILELANG_PRINT_ON_COMPILATION = "0"
    assert not settings.print_on_compilation()
    env.TILECORE_DEBUG = 3
    assert settings.debug() == 3
    with pytest.raises(settings.SettingError, match="TILECORE_DEBUG"):
        env.TILECORE_DEBUG = "loud"
    assert settings.debug() == 3
    env.TILECORE_DEBUG = None
    assert settings.debug() == 0


def test_unknown_names():
    with pytest.raises(AttributeError, match="no setting 'TILELANG_CACHE_DUR'; did you mean 'TILELANG_CACHE_DIR'"):
        env.TILELANG_CACHE_DUR  # noqa: B018
    with pytest.raises(AttributeError):
        env.nothing = 1
    with pytest.raises(AttributeError):
        tilecore.env.__path__  # noqa: B018
    assert "TILELANG_CACHE_DIR" in dir(env)


def test_the_cache_on_and_off():
    assert CacheState.is_enabled() == env.is_cache_enabled() == tilecore.is_cache_enabled()
    before = env.is_cache_enabled()
    try:
        env.disable_cache()
        assert not CacheState.is_enabled()
        CacheState.enable()
        assert env.is_cache_enabled() != env.is_cache_globally_disabled()
        CacheState.disable()
        assert not tilecore.is_cache_enabled()
    finally:
        env.enable_cache() if before else env.disable_cache()


def test_a_variable_of_tilelang_without_a_counterpart_says_what_to_do():
    from tilecore.env import NOTES, env

    for name in NOTES:
        with pytest.raises(AttributeError, match="instead: "):
            getattr(env, name)
    with pytest.raises(AttributeError, match="TMPDIR"):
        env.TILELANG_TMP_DIR = "/tmp"


def test_the_level_of_records():
    import logging

    import tilecore

    logger = logging.getLogger("tilecore")
    before = logger.level
    try:
        tilecore.set_log_level("warning")
        assert logger.level == logging.WARNING
        tilecore.set_log_level(logging.DEBUG)
        assert logging.getLogger("tilecore.jit").getEffectiveLevel() == logging.DEBUG
        with pytest.raises(tilecore.errors.ArgumentError, match="there is no level 'loud'"):
            tilecore.set_log_level("loud")
    finally:
        logger.setLevel(before)
