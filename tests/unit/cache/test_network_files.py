"""The cache on a network file system that two hosts use: never a wrong or half entry, never an error."""

from __future__ import annotations

import errno
import os
import tempfile
import warnings

import pytest
from cache_kit import artifact_of, key_of, recorded
from hypothesis import given, settings
from hypothesis import strategies as st
from network_files import Host, Share, no_lock, on

from tilecore.cache import DiskCache
from tilecore.compilation_cache import eviction, layout, publish
from tilecore.compilation_cache.layout import Layout

KEYS = [key_of(number) for number in range(3)]
ACTIONS = ("get", "put", "resolve", "link", "note", "keep_note", "look", "evict", "discard", "binary", "keep_binary")


class Pair:
    """Two hosts with a cache each in one directory; faults: how often a call of theirs fails."""

    def __init__(self, folder: str, faults: float = 0.0) -> None:
        share = Share(os.path.join(folder, "cache"), os.path.join(folder, "attic"))
        self.hosts = [Host(share, seed, faults) for seed in (1, 2)]
        self.caches = [DiskCache(share.root) for _ in self.hosts]

    def act(self, number: int, action: str, which: int) -> object:
        """Do one thing on one of the hosts; what is read must be right, or missing."""
        host, cache, key = self.hosts[number], self.caches[number], KEYS[which]
        if action == "look":
            host.look()
            return None
        with on(host):
            if action == "get":
                found = cache.get(key)
                assert found is None or found == artifact_of(key)
                return found
            if action == "resolve":
                linked = cache.resolve(key)
                assert linked in (None, key_of(key))
                return linked
            if action == "note":
                text = cache.note("results", key)
                assert text in (None, f"of {key}")
                return text
            if action == "binary":
                path = cache.binary(key)
                if path is not None and path not in host.old and os.path.exists(path):
                    with open(path, "rb") as file:
                        assert file.read() == bytes.fromhex(key)
                return path
            if action == "evict":
                return eviction.collect(Layout(str(cache.path)), 4096 * which, None)
            return {
                "put": lambda: cache.put(key, artifact_of(key)),
                "link": lambda: cache.link(key, key_of(key)),
                "keep_note": lambda: cache.keep_note("results", key, f"of {key}"),
                "keep_binary": lambda: cache.keep_binary(key, bytes.fromhex(key)),
                "discard": lambda: cache.discard(key, "for a test"),
            }[action]()


STEPS = st.lists(
    st.tuples(st.integers(0, 1), st.sampled_from(ACTIONS), st.integers(0, len(KEYS) - 1)), min_size=1, max_size=40
)


@settings(max_examples=60, deadline=None)
@given(steps=STEPS)
def test_delayed_visibility(steps):
    """Without faults of the server nothing is damaged, so no warning is given but of what was discarded."""
    with tempfile.TemporaryDirectory() as folder:
        pair = Pair(folder)
        with recorded() as texts:
            for step in steps:
                pair.act(*step)
            for number, host in enumerate(pair.hosts):
                host.look()
                for which in range(len(KEYS)):
                    assert pair.act(number, "put", which)
                    assert pair.act(number, "get", which) is not None
        assert [text for text in texts if "makes no kernel" not in text] == []


@settings(max_examples=60, deadline=None)
@given(steps=STEPS, faults=st.sampled_from([0.02, 0.1, 0.4]))
def test_a_server_that_fails(steps, faults):
    """Any call may say that its handle is stale: reading is then a miss, writing nothing, and compilation goes on."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pair = Pair(folder, faults)
        for step in steps:
            pair.act(*step)
        for host in pair.hosts:
            host.faults = 0.0
            host.look()
        again = Pair.__new__(Pair)
        again.hosts, again.caches = pair.hosts, [DiskCache(cache.path) for cache in pair.caches]
        for number in range(2):
            assert again.act(number, "put", 0)
            assert again.act(number, "get", 0) is not None
        assert [path for path in _files(Layout(str(pair.caches[0].path)).entries) if os.path.getsize(path) == 0] == []


def _files(folder):
    return [os.path.join(place, name) for place, _, names in os.walk(folder) for name in names]


def test_what_another_host_writes_is_seen_later(tmp_path):
    pair = Pair(str(tmp_path))
    assert pair.act(0, "put", 1)
    assert pair.act(0, "get", 1) is not None
    assert pair.act(1, "get", 1) is None
    pair.act(1, "look", 0)
    assert pair.act(1, "get", 1) is not None


def test_what_another_host_removes_is_a_miss(tmp_path):
    pair = Pair(str(tmp_path))
    pair.act(0, "put", 1)
    pair.act(1, "look", 0)
    assert pair.act(1, "get", 1) is not None
    assert pair.act(0, "evict", 0).files == 1
    with recorded() as texts:
        assert pair.act(1, "get", 1) is None  # its handle is stale
        assert pair.act(1, "get", 1) is None
    assert texts == []


def test_notes_are_closed_before_they_are_renamed(tmp_path):
    """Otherwise another host may see the name of a file whose data are still on this host."""
    pair = Pair(str(tmp_path))
    seen = []
    host = pair.hosts[0]
    real = host.replace

    def replace(source, target):
        seen.append(os.path.getsize(source))
        real(source, target)

    host.replace = replace
    for action in ("link", "keep_note", "put"):
        assert pair.act(0, action, 1)
    assert len(seen) >= 3
    assert all(size > 0 for size in seen)


def test_a_part_of_an_entry_is_read_again(tmp_path, monkeypatch):
    """A client of a network file system may know an earlier size of a file for a moment."""
    cache = DiskCache(tmp_path / "cache")
    cache.put(KEYS[0], artifact_of(KEYS[0]))
    real = layout._read_file
    reads = []

    def short_once(path, of_root):
        data, facts = real(path, of_root)
        reads.append(path)
        return (data[:100], facts) if len(reads) == 1 else (data, facts)

    monkeypatch.setattr(layout, "_read_file", short_once)
    with recorded() as texts:
        assert cache.get(KEYS[0]) == artifact_of(KEYS[0])
    assert texts == []
    assert len(reads) == 2


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_without_locks_age_decides(tmp_path, monkeypatch, number):
    def flock(handle, operation):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(publish.fcntl, "flock", flock)
    cache = DiskCache(tmp_path / "cache")
    assert cache.put(KEYS[0], artifact_of(KEYS[0]))
    staging = Layout(cache.path).staging
    for name, age in (("1-young", 90), ("1-old", 4000)):
        path = os.path.join(staging, name)
        with open(path, "w"):
            pass
        os.utime(path, (os.stat(path).st_mtime - age,) * 2)
    assert publish.remove_abandoned(staging) == 1
    assert os.listdir(staging) == ["1-young"]


def test_the_file_system_of_the_tests(tmp_path):
    """It does what its text says."""
    pair = Pair(str(tmp_path))
    first, second = pair.hosts
    root = first.share.root
    os.mkdir(root)
    path, other = os.path.join(root, "a"), os.path.join(root, "b")
    descriptor = first.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
    first.write(descriptor, b"new")
    first.replace(path, other)
    assert os.path.getsize(other) == 0
    first.close(descriptor)
    assert first.stat(other).st_size == 3
    with pytest.raises(FileNotFoundError):
        second.stat(other)
    second.look()
    assert second.stat(other).st_size == 3
    first.unlink(other)
    with pytest.raises(OSError, match="Stale"):
        second.open(other, os.O_RDONLY)
    with pytest.raises(FileNotFoundError):
        second.open(other, os.O_RDONLY)
    with pytest.raises(OSError, match="lock"):
        no_lock(0, 0)


class StaleOnce:
    """Makes one function of a host fail once for each path."""

    def __init__(self, host, name, part):
        self.real, self.part, self.failed = getattr(host, name), part, []
        setattr(host, name, self)

    def __call__(self, path, *arguments, **options):
        if self.part in str(path) and path not in self.failed:
            self.failed.append(path)
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), path)
        return self.real(path, *arguments, **options)


def test_a_handle_that_is_stale_once_is_opened_again(tmp_path):
    pair = Pair(str(tmp_path))
    pair.act(0, "put", 1)
    stale = StaleOnce(pair.hosts[0], "open", "entries")
    with recorded() as texts:
        assert pair.act(0, "get", 1) is not None
    assert (texts, len(stale.failed)) == ([], 1)


def test_a_cache_whose_directory_is_stale_once_is_used(tmp_path):
    pair = Pair(str(tmp_path))
    StaleOnce(pair.hosts[0], "mkdir", "entries")
    with recorded() as texts:
        assert pair.act(0, "put", 1)
    assert texts == []


def test_a_growth_that_cannot_be_counted_changes_nothing(tmp_path):
    pair = Pair(str(tmp_path))
    StaleOnce(pair.hosts[0], "open", "v1/growth")
    with recorded() as texts:
        assert pair.act(0, "put", 1)
        assert pair.act(0, "get", 1) is not None
    assert texts == []


def test_a_damaged_file_that_is_lost_meanwhile(tmp_path):
    pair = Pair(str(tmp_path))
    pair.act(0, "put", 1)
    path = Layout(str(pair.caches[0].path)).entry(KEYS[1])
    with open(path, "ab") as file:
        file.write(b"more")
    StaleOnce(pair.hosts[0], "stat", "entries")
    with recorded() as texts:
        assert pair.act(0, "get", 1) is None
    assert len(texts) == 1
    assert pair.act(0, "put", 1)
    assert pair.act(0, "get", 1) is not None
