"""Files with what the system of a device compiled: whole or not there, counted, verified, evicted and cleared."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cache_kit import key_of

import tilecore.cache as kernel_cache
from tilecore.cache import DiskCache
from tilecore.compilation_cache.eviction import evict
from tilecore.compilation_cache.layout import Layout
from tilecore.errors import CacheError

KEY = key_of("program")


def test_a_file_is_whole_or_is_not_there(cache, capfd, monkeypatch):
    assert cache.binary(KEY) is None
    assert cache.keep_binary(KEY, b"code" * 1000)
    path = cache.binary(KEY)
    assert Path(path).read_bytes() == b"code" * 1000
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert cache.keep_binary(KEY, b"other")
    assert not os.path.exists(path)
    assert Path(cache.binary(KEY)).read_bytes() == b"other"
    assert cache.binary(key_of("another")) is None
    monkeypatch.setenv("TILECORE_DEBUG", "1")
    path = Path(cache.binary(KEY))
    path.write_bytes(b"othe")
    assert cache.binary(KEY) is None
    assert not path.exists()
    assert f"{path} was set aside" in capfd.readouterr().err
    path.symlink_to("/etc/passwd")
    assert cache.binary(KEY) is None
    assert not path.is_symlink()
    cache.keep_binary(KEY, b"whole")
    cache.discard_binary(KEY)
    assert cache.binary(KEY) is None
    with pytest.raises(CacheError):
        cache.keep_binary("../escape", b"")


def test_nothing_is_said_where_nothing_can_be_written(cache, recwarn, capfd, monkeypatch):
    cache.binary(KEY)
    folder = Path(cache.path, "v1", "binaries")
    folder.rmdir()
    folder.write_text("no folder")
    assert not cache.keep_binary(KEY, b"code")
    assert cache.binary(KEY) is None
    cache.discard_binary(KEY)
    assert not DiskCache(None).keep_binary(KEY, b"code")
    assert DiskCache(None).binary(KEY) is None
    assert not recwarn.list
    assert capfd.readouterr().err == ""
    monkeypatch.setenv("TILECORE_DEBUG", "1")
    assert not cache.keep_binary(KEY, b"code")
    assert "is not written: Not a directory" in capfd.readouterr().err


def test_writers_at_once(cache):
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda number: cache.keep_binary(KEY, bytes([number]) * 5000), range(64)))
    assert cache.keep_binary(KEY, b"last")
    assert Path(cache.binary(KEY)).read_bytes() == b"last"
    assert len(list(Path(cache.path, "v1", "binaries").glob("*/*"))) == 1


def test_they_count_into_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path))
    cache = kernel_cache.disk_cache()
    for number in range(4):
        cache.keep_binary(key_of(number), bytes(5000))
        os.utime(cache.binary(key_of(number)), (number, number))
    stats = kernel_cache.stats()
    assert (stats.binaries, stats.bytes, stats.entries) == (4, 4 * 8192, 0)
    assert evict(Layout(str(tmp_path)), 24000) == 2
    assert [cache.binary(key_of(number)) is not None for number in range(4)] == [False, False, True, True]
    damaged = cache.binary(key_of(3))
    Path(damaged).write_bytes(b"")
    check = kernel_cache.verify()
    assert (check.binaries, check.damaged) == (2, (damaged,))
    assert kernel_cache.clear().binaries == 1
    assert kernel_cache.stats().binaries == 0
