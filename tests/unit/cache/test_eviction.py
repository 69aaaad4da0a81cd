"""The bound on the cache's size: who goes, when it is looked at, and what it costs."""

from __future__ import annotations

import os

import pytest
from cache_kit import artifact_of, key_of

from tilecore.cache import DiskCache
from tilecore.compilation_cache import eviction
from tilecore.compilation_cache.layout import Layout


def age(path, hours):
    """Make a file look as if it had last been used so many hours ago."""
    then = os.stat(path).st_mtime - hours * 3600
    os.utime(path, (then, then))


def size_of(layout):
    return sum(file.size for file in [*eviction.stored(layout.entries), *eviction.stored(layout.links)])


def test_the_cache_stays_below_its_limit(tmp_path):
    cache = DiskCache(tmp_path / "cache", limit=500_000)
    layout = Layout(cache.path)
    for number in range(120):
        key = key_of(number)
        assert cache.put(key, artifact_of(key, 9000))
        assert cache.get(key) is not None  # what was just put is not what goes
        assert size_of(layout) <= 500_000 * 9 // 8 + 20_000
    assert size_of(layout) > 250_000  # it is a cache after all


def test_what_was_not_used_for_longest_goes_first(tmp_path):
    cache = DiskCache(tmp_path / "cache", limit=200_000)
    layout = Layout(cache.path)
    for number in range(12):
        cache.put(key_of(number), artifact_of(key_of(number), 9000))
        age(layout.entry(key_of(number)), 50 - number)
    for number in (0, 1):  # the two oldest, used now
        assert cache.get(key_of(number)) is not None
    eviction.evict(layout, 100_000)
    left = [number for number in range(12) if cache.get(key_of(number)) is not None]
    assert left == [0, 1, 9, 10, 11] or left == [0, 1, 8, 9, 10, 11]
    assert size_of(layout) <= 75_000


def test_a_use_is_noted_at_most_once_an_hour(tmp_path):
    cache = DiskCache(tmp_path / "cache")
    key = key_of(1)
    cache.put(key, artifact_of(key))
    cache.link(key, key)
    for path, use in ((Layout(cache.path).entry(key), cache.get), (Layout(cache.path).link(key), cache.resolve)):
        age(path, 0.5)
        before = os.stat(path).st_mtime
        use(key)
        assert os.stat(path).st_mtime == before
        age(path, 2)
        use(key)
        assert os.stat(path).st_mtime > before - 3600


def test_links_are_bounded_too(tmp_path):
    cache = DiskCache(tmp_path / "cache", limit=100_000)
    layout = Layout(cache.path)
    for number in range(200):
        cache.link(key_of(number), key_of("kernel"))
    assert size_of(layout) <= 120_000
    assert cache.resolve(key_of(199)) == key_of("kernel")


def test_the_files_are_looked_at_rarely(tmp_path, monkeypatch):
    looked = []
    real = eviction.evict
    monkeypatch.setattr(eviction, "evict", lambda *arguments: looked.append(1) or real(*arguments))
    for number in range(80):  # a fresh instance each time, as in short-lived processes
        DiskCache(tmp_path / "cache", limit=1_000_000).put(key_of(number), artifact_of(key_of(number), 9000))
    assert 4 <= len(looked) <= 10  # 80 puts of 12 KiB, one look per 122 KiB


@pytest.mark.parametrize("wreck", [lambda path: path.write_text(""), lambda path: path.unlink(missing_ok=True)])
def test_the_growth_file_may_be_lost(tmp_path, wreck):
    cache = DiskCache(tmp_path / "cache", limit=200_000)
    for number in range(60):
        assert cache.put(key_of(number), artifact_of(key_of(number), 9000))
        if number % 20 == 0:
            wreck(tmp_path / "cache" / "v1" / "growth")
    assert size_of(Layout(cache.path)) < 300_000


def test_foreign_files_and_folders_do_not_disturb(tmp_path):
    cache = DiskCache(tmp_path / "cache", limit=200_000)
    cache.put(key_of(1), artifact_of(key_of(1)))
    layout = Layout(cache.path)
    (tmp_path / "cache" / "v1" / "entries" / "README").write_text("hello")
    (tmp_path / "cache" / "v1" / "entries" / "zz" / "deep").mkdir(parents=True)
    assert eviction.evict(layout, 1) >= 1
    assert cache.get(key_of(1)) is None
