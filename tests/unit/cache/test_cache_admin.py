"""What the command line shows and does, and which cache the settings ask for."""

from __future__ import annotations

import os

import pytest
from cache_kit import artifact_of, key_of, recorded

import tilecore.cache as kernel_cache
from tilecore.compilation_cache import current
from tilecore.compilation_cache.layout import Layout
from tilecore.errors import CacheError


@pytest.fixture
def root(tmp_path, monkeypatch):
    root = tmp_path / "cache"
    monkeypatch.setenv("TILECORE_CACHE_DIR", str(root))
    return root


def fill(count):
    for number in range(count):
        key = key_of(number)
        kernel_cache.disk_cache().put(key, artifact_of(key, 5000))
        kernel_cache.disk_cache().link(key_of(f"source {number}"), key)
    kernel_cache.disk_cache().keep_note("definitions", key_of("definition"), "text")
    kernel_cache.disk_cache().keep_note("results", key_of("search"), "{}")


def test_looking_at_a_cache_that_is_not_there_makes_nothing(root):
    stats = kernel_cache.stats()
    assert (stats.path, stats.entries, stats.bytes, stats.problem, stats.enabled) == (str(root), 0, 0, None, True)
    assert kernel_cache.path() == str(root)
    assert kernel_cache.clear() == kernel_cache.CacheCleared(0, 0)
    assert kernel_cache.verify() == kernel_cache.CacheCheck(0, 0, 0, (), 0)
    assert not root.exists()


def test_stats_count_and_clear_removes(root):
    fill(4)
    stats = kernel_cache.stats()
    assert (stats.entries, stats.links, stats.results, stats.quarantined) == (4, 4, 1, 0)
    on_disk = sum(len(names) for _, _, names in os.walk(root))
    assert on_disk == 11  # and the definition, the result and the growth file
    assert 4 * 5000 < stats.bytes <= 4 * (8192 + 4096) + 2 * 4096
    assert stats.limit == 4 * 2**30
    assert kernel_cache.clear() == kernel_cache.CacheCleared(4, 1)
    assert sum(len(names) for _, _, names in os.walk(root)) == 0
    fill(1)
    assert kernel_cache.disk_cache().get(key_of(0)) is not None


def test_verify_sets_the_damaged_aside_and_drops_dangling_links(root):
    fill(5)
    layout = Layout(str(root))
    with open(layout.entry(key_of(0)), "ab") as stream:
        stream.write(b"x")
    with open(layout.link(key_of("source 1")), "r+b") as stream:
        stream.write(b"y")
    with open(layout.note("results", key_of("search")), "ab") as stream:
        stream.write(b"z")
    os.unlink(layout.entry(key_of(2)))
    with recorded() as texts:
        report = kernel_cache.verify()
    assert texts == []
    assert (report.entries, report.links, report.results) == (4, 5, 1)
    damaged = {layout.entry(key_of(0)), layout.link(key_of("source 1")), layout.note("results", key_of("search"))}
    assert set(report.damaged) == damaged
    assert report.dangling == 2  # of the damaged entry, and of the missing one
    assert kernel_cache.stats().quarantined == 3
    again = kernel_cache.verify()
    assert (again.damaged, again.dangling) == ((), 0)
    assert (again.entries, again.links) == (3, 2)


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX modes")
def test_a_cache_that_others_can_write_to_is_reported_and_left_alone(root):
    fill(1)
    root.chmod(0o777)
    assert "written to by others" in kernel_cache.stats().problem
    with pytest.raises(CacheError, match="written to by others"):
        kernel_cache.clear()
    with pytest.raises(CacheError):
        kernel_cache.verify()


def test_a_directory_that_cannot_be_made_is_reported(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert "is not a directory" in kernel_cache.stats().problem


def test_without_a_home_it_says_so(monkeypatch):
    monkeypatch.delenv("TILECORE_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert "no home" in kernel_cache.stats().problem
    with pytest.raises(CacheError, match="no home"):
        kernel_cache.clear()
    current._opened.clear()
    with recorded() as texts:
        assert kernel_cache.disk_cache().get(key_of(1)) is None
        assert kernel_cache.disk_cache().get(key_of(1)) is None
    assert len(texts) == 1
    assert not os.path.exists("~")


def test_the_settings_of_the_moment_choose_the_cache(root, tmp_path, monkeypatch):
    fill(1)
    first = kernel_cache.disk_cache()
    assert kernel_cache.disk_cache() is first
    monkeypatch.setenv("TILECORE_DISABLE_CACHE", "1")
    assert not kernel_cache.is_cache_enabled()
    assert kernel_cache.disk_cache().get(key_of(0)) is None
    assert not kernel_cache.stats().enabled
    monkeypatch.delenv("TILECORE_DISABLE_CACHE")
    assert kernel_cache.disk_cache().get(key_of(0)) is not None
    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path / "other"))
    assert kernel_cache.disk_cache().get(key_of(0)) is None
    monkeypatch.setenv("TILECORE_CACHE_SIZE", "1M")
    assert kernel_cache.disk_cache().limit == 2**20


def test_the_program_can_turn_it_off_and_on(root):
    fill(1)
    kernel_cache.disable_cache()
    try:
        assert not kernel_cache.is_cache_enabled()
        assert not kernel_cache.disk_cache().put(key_of(5), artifact_of(key_of(5)))
    finally:
        kernel_cache.enable_cache()
    assert kernel_cache.is_cache_enabled()
    assert kernel_cache.disk_cache().get(key_of(0)) is not None
    assert kernel_cache.disk_cache().get(key_of(5)) is None
