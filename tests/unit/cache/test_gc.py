"""Garbage collection of the cache by size and by age."""

from __future__ import annotations

import os
import time

import pytest
from cache_kit import artifact_of, key_of, recorded

from tilecore import cache as public
from tilecore.cache import DiskCache
from tilecore.cli import main
from tilecore.compilation_cache import eviction
from tilecore.compilation_cache.layout import Layout
from tilecore.errors import CacheError

DAY = 86400.0


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path / "cache"))
    return DiskCache(tmp_path / "cache")


def filled(cache, ages):
    """Entries that were last used so many days ago."""
    for number, age in enumerate(ages):
        assert cache.put(key_of(number), artifact_of(key_of(number), 9000))
        when = time.time() - age * DAY
        os.utime(Layout(cache.path).entry(key_of(number)), (when, when))


def left(cache, count):
    return [number for number in range(count) if os.path.exists(Layout(cache.path).entry(key_of(number)))]


def test_by_age(cache):
    filled(cache, [40, 1, 31, 29, 0])
    removed = public.gc(max_age=30 * DAY)
    assert (removed.files, removed.files_left) == (2, 3)
    assert removed.bytes == 2 * removed.bytes_left // 3
    assert left(cache, 5) == [1, 3, 4]


def test_by_size_the_least_recently_used_go_first(cache):
    filled(cache, [4, 1, 3, 2])
    size = public.stats().bytes // 4
    removed = public.gc(max_bytes=2 * size)
    assert (removed.files, removed.bytes_left) == (2, 2 * size)
    assert left(cache, 4) == [1, 3]
    assert public.gc(max_bytes=2 * size).files == 0


def test_by_both(cache):
    filled(cache, [50, 3, 2, 1])
    size = public.stats().bytes // 4
    assert public.gc(2 * size, 10 * DAY).files == 2
    assert left(cache, 4) == [2, 3]


def test_the_settings_are_the_defaults(cache, monkeypatch):
    filled(cache, [4, 3, 2])
    assert public.gc().files == 0
    monkeypatch.setenv("TILECORE_CACHE_AGE", "60h")
    assert public.gc().files == 2
    monkeypatch.setenv("TILECORE_CACHE_SIZE", "1K")
    assert public.gc().files == 1


def test_what_was_used_stays(cache):
    filled(cache, [40, 40])
    assert cache.get(key_of(1)) is not None
    assert public.gc(max_age=30 * DAY).files == 1
    assert left(cache, 2) == [1]


def test_a_collected_entry_is_a_miss_and_nothing_is_told(cache):
    filled(cache, [40])
    with recorded() as texts:
        public.gc(max_age=DAY)
        assert cache.get(key_of(0)) is None
        assert cache.put(key_of(0), artifact_of(key_of(0)))
    assert texts == []


def test_unfinished_files_go(cache):
    filled(cache, [0])
    path = os.path.join(Layout(cache.path).staging, "1-abc")
    with open(path, "w"):
        pass
    os.utime(path, (1, 1))
    assert public.gc().unfinished == 1


def test_a_cache_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path / "none"))
    assert public.gc(1, 1.0).files == 0
    assert not (tmp_path / "none").exists()
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path / "open"))
    with pytest.raises(CacheError, match="written to by others"):
        public.gc()


def test_old_files_go_by_themselves(tmp_path):
    """A process that writes looks for them, and then nobody does for a while."""
    cache = DiskCache(tmp_path / "cache", age=30 * DAY)
    filled(cache, [40, 1])
    assert left(cache, 2) == [0, 1]  # it looked before they were old
    os.utime(Layout(cache.path).searched, (1, 1))
    again = DiskCache(tmp_path / "cache", age=30 * DAY)
    again.put(key_of(5), artifact_of(key_of(5)))
    assert left(cache, 2) == [1]
    assert not eviction.is_due_by_age(Layout(cache.path), 30 * DAY)
    assert not eviction.is_due_by_age(Layout(cache.path), 900.0)
    os.utime(Layout(cache.path).searched, (time.time() - 200,) * 2)
    assert eviction.is_due_by_age(Layout(cache.path), 900.0)


def run(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        main(["cache", *words])
    return ended.value.code, *capsys.readouterr()


def test_the_command(cache, capsys):
    filled(cache, [40, 1])
    code, printed, _ = run(capsys, "gc", "--max-size", "1G", "--max-age", "30d")
    assert code == 0
    assert printed.startswith("removed 1 files, 12.0 KiB; 1 files, 12.0 KiB are left in ")
    code, printed, _ = run(capsys, "gc", "--max-size", "1", "--json")
    assert '"files": 1' in printed
    for words, text in (
        (("gc", "--max-age", "soon"), "a number of seconds, or one with s, m, h, d or w"),
        (("gc", "--max-size", "-1"), "a number of bytes, or one with K, M, G or T"),
        (("clear", "--max-age", "1d"), "are for tilecore cache gc"),
    ):
        code, _, told = run(capsys, *words)
        assert code in (1, 2)
        assert text in told
