"""Results on disk: kept, verified, and not used when they do not fit."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tilecore.autotune import store
from tilecore.autotune.store import Stored
from tilecore.cache import CacheWarning

KEY = "ab" + "0" * 62
CONFIGS = [{"block": 1}, {"block": 2}]
RESULT = Stored(1, 0.25, 1.5, "ref_prog")


def file():
    (path,) = Path(os.environ["TILECORE_CACHE_DIR"]).glob("v1/results/ab/*")
    return path


def test_what_is_saved_is_loaded():
    assert store.load(KEY, CONFIGS) is None
    store.save(KEY, CONFIGS, RESULT)
    assert store.load(KEY, CONFIGS) == RESULT
    store.save(KEY, CONFIGS, Stored(0, 0.1, None, "interpreter"))
    assert store.load(KEY, CONFIGS) == Stored(0, 0.1, None, "interpreter")
    assert file().stat().st_mode & 0o077 == 0, "its owner's only"


@pytest.mark.parametrize(
    "spoil", [lambda d: d[:-3], lambda d: d.replace(b"0.25", b"0.15"), lambda d: b"", lambda d: d[20:]]
)
def test_a_damaged_result_is_a_miss(spoil):
    store.save(KEY, CONFIGS, RESULT)
    file().write_bytes(spoil(file().read_bytes()))
    with pytest.warns(CacheWarning, match="damaged note"):
        assert store.load(KEY, CONFIGS) is None
    store.save(KEY, CONFIGS, RESULT)
    assert store.load(KEY, CONFIGS) == RESULT


def test_a_result_of_another_key_or_space_is_a_miss():
    store.save(KEY, CONFIGS, RESULT)
    with pytest.warns(CacheWarning, match="not among those to try"):
        assert store.load(KEY, CONFIGS[:1]) is None
    other = "ab" + "1" * 62
    file().rename(file().with_name(other[2:]))
    with pytest.warns(CacheWarning, match="damaged note"):
        assert store.load(other, CONFIGS) is None


@pytest.mark.parametrize("variable", ["TILECORE_AUTO_TUNING_DISABLE_CACHE", "TILECORE_DISABLE_CACHE"])
def test_the_store_can_be_left_alone(monkeypatch, variable):
    store.save(KEY, CONFIGS, RESULT)
    monkeypatch.setenv(variable, "1")
    assert store.load(KEY, CONFIGS) is None
    file().unlink()
    store.save(KEY, CONFIGS, RESULT)
    monkeypatch.delenv(variable)
    assert store.load(KEY, CONFIGS) is None


def test_a_directory_that_cannot_be_written_is_a_warning(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path / "file"))
    with pytest.warns(CacheWarning, match="kept in memory only"):
        store.save(KEY, CONFIGS, RESULT)
    assert store.load(KEY, CONFIGS) is None
