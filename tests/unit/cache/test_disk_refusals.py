"""Directories that cannot or must not be used: kernels still compile, and one warning says why and what to set."""

from __future__ import annotations

import os
import subprocess

import pytest
from cache_kit import artifact_of, exit_status, key_of, recorded, spawn

from tilecore import settings as kernel_settings
from tilecore.cache import DiskCache, disk_cache
from tilecore.compilation_cache import current
from tilecore.compilation_cache.layout import Layout
from tilecore.compilation_cache.publish import publish

posix_only = pytest.mark.skipif(os.name == "nt", reason="needs POSIX modes and owners")
root_only = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")


def use(cache, name="x"):
    """Use every operation twice; returns the warnings."""
    with recorded() as texts:
        for _ in range(2):
            assert cache.get(key_of(name)) is None
            assert not cache.put(key_of(name), artifact_of(key_of(name)))
            assert cache.resolve(key_of(name)) is None
            assert not cache.link(key_of(name), key_of("y"))
    return texts


@posix_only
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o722, 0o1777])
def test_a_directory_that_others_can_write_to_is_refused(tmp_path, mode):
    path = tmp_path / "shared"
    path.mkdir()
    path.chmod(mode)
    texts = use(DiskCache(path))
    assert len(texts) == 1
    assert "can be written to by others" in texts[0]
    assert "chmod go-w" in texts[0]
    assert "TILECORE_CACHE_DIR" in texts[0]
    assert os.listdir(path) == []


@posix_only
def test_an_inner_directory_that_others_can_write_to_is_refused(tmp_path):
    cache = DiskCache(tmp_path / "cache")
    cache.put(key_of(1), artifact_of(key_of(1)))
    for inner in ("base", "entries", "links", "staging"):
        path = getattr(Layout(cache.path), inner)
        os.chmod(path, 0o777)
        assert len(use(DiskCache(cache.path), 1)) == 1
        os.chmod(path, 0o700)
    assert DiskCache(cache.path).get(key_of(1)) is not None


@root_only
def test_a_directory_of_another_user_is_refused(tmp_path):
    path = tmp_path / "theirs"
    path.mkdir(mode=0o755)
    os.chown(path, 12345, 12345)
    texts = use(DiskCache(path))
    assert len(texts) == 1
    assert "belongs to another user" in texts[0]


@root_only
def test_an_entry_of_another_user_is_not_read(tmp_path):
    cache = DiskCache(tmp_path / "cache")
    cache.put(key_of(1), artifact_of(key_of(1)))
    os.chown(Layout(cache.path).entry(key_of(1)), 12345, 12345)
    with recorded() as texts:
        assert cache.get(key_of(1)) is None
    assert len(texts) == 1


def test_a_path_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below", "/proc/nothing/here", "/dev/null/x"):
        texts = use(DiskCache(path))
        assert len(texts) == 1
        assert "in memory only" in texts[0]


def become(user, **environment):
    """In a forked child: be another user, with no more of an environment than this."""
    os.environ.clear()
    os.environ.update(environment)
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)


def use_current():
    """As ``use``, with the cache that the settings ask for, opened anew."""
    current._opened.clear()
    with recorded() as texts:
        for _ in range(2):
            assert not disk_cache().put(key_of(1), artifact_of(key_of(1)))
            assert disk_cache().get(key_of(1)) is None
    assert len(texts) == 1
    return texts[0]


@root_only
def test_a_user_without_home_gets_a_warning_and_no_directory_named_tilde(tmp_path):
    folder = tmp_path / "cwd"
    folder.mkdir()
    folder.chmod(0o777)

    def work():
        os.chdir(folder)
        become(54321)  # of whom the system knows nothing
        assert "no home directory is known; set TILECORE_CACHE_DIR" in use_current()

    assert exit_status(spawn(work)) == 0
    assert os.listdir(folder) == []


@root_only
def test_a_directory_that_one_may_not_write_to_gives_one_warning():
    def work():
        become(54321, HOME="/", TILECORE_CACHE_DIR="/usr/cache_of_nobody")
        text = use_current()
        assert "Permission denied" in text
        assert "/usr/cache_of_nobody" in text

    assert exit_status(spawn(work)) == 0


def test_home_unset_still_finds_the_home_that_the_system_knows(monkeypatch):
    import pwd

    for name in ("HOME", "XDG_CACHE_HOME", "TILECORE_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    assert kernel_settings.cache_dir().startswith(pwd.getpwuid(os.getuid()).pw_dir)


@pytest.fixture
def tmpfs(tmp_path):
    """A file system of 256 KiB; the test is skipped where it cannot be mounted."""
    path = tmp_path / "tmpfs"
    path.mkdir(mode=0o700)
    options = f"size=256k,mode=0700,uid={os.geteuid()}" if hasattr(os, "geteuid") else ""
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"a tmpfs cannot be mounted: {mounted.stderr.decode().strip()}")
    yield path
    subprocess.run(["umount", "-l", str(path)], check=True)


def test_a_full_disk_leaves_whole_entries_only_and_one_warning(tmpfs):
    cache = DiskCache(tmpfs / "cache")
    stored, refused = [], []
    with recorded() as texts:
        for number in range(60):
            key = key_of(number)
            (stored if cache.put(key, artifact_of(key, 9000)) else refused).append(key)
            cache.link(key, key)
    assert len(texts) == 1
    assert "No space left" in texts[0]
    assert "free some space" in texts[0]
    assert len(stored) > 5
    assert len(refused) > 5
    with recorded() as texts:
        for key in stored:
            assert cache.get(key) == artifact_of(key, 9000)
        for key in refused:
            assert cache.get(key) is None
            assert cache.resolve(key) in (None, key)
    assert texts == []
    assert os.listdir(Layout(cache.path).staging) == []
    for key in stored[:4]:  # space again: it is used again
        os.unlink(Layout(cache.path).entry(key))
    assert cache.put(stored[0], artifact_of(stored[0], 9000))
    assert cache.get(stored[0]) == artifact_of(stored[0], 9000)


def test_a_read_only_cache_is_read_and_one_warning_says_that_it_is_not_written(tmpfs):
    path = tmpfs / "cache"
    DiskCache(path).put(key_of(1), artifact_of(key_of(1)))
    DiskCache(path).link(key_of("s"), key_of(1))
    os.utime(Layout(str(path)).entry(key_of(1)), (0, 0))
    subprocess.run(["mount", "-o", "remount,ro", str(tmpfs)], check=True)
    cache = DiskCache(path)
    with recorded() as texts:
        assert cache.resolve(key_of("s")) == key_of(1)
        assert cache.get(key_of(1)) == artifact_of(key_of(1))
        for number in range(3):
            assert not cache.put(key_of(number + 5), artifact_of(key_of(1)))
            assert not cache.link(key_of(number + 5), key_of(1))
    assert len(texts) == 1
    assert "Read-only file system" in texts[0]


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_a_failure_at_any_step_of_publishing_leaves_nothing(tmp_path, monkeypatch, step):
    cache = DiskCache(tmp_path / "cache")
    old = key_of("old")
    cache.put(old, artifact_of(old))

    def fail(*args, **kwargs):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, step, fail)
    with recorded() as texts:
        assert not cache.put(key_of("new"), artifact_of(key_of("new")))
        assert not cache.put(old, artifact_of(old, 7))
    monkeypatch.undo()
    assert len(texts) == 1
    assert os.listdir(Layout(cache.path).staging) == []
    assert cache.get(key_of("new")) is None
    assert cache.get(old) == artifact_of(old)


def test_an_interrupt_while_publishing_leaves_nothing(tmp_path, monkeypatch):
    cache = DiskCache(tmp_path / "cache")
    cache.put(key_of(0), artifact_of(key_of(0)))

    def interrupt(handle):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        cache.put(key_of(1), artifact_of(key_of(1)))
    monkeypatch.undo()
    assert os.listdir(Layout(cache.path).staging) == []
    assert cache.get(key_of(1)) is None


def test_short_writes_are_continued(tmp_path, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: write(handle, bytes(data[:7])))
    publish(b"0123456789" * 10, str(tmp_path), str(tmp_path / "there"), durable=True)
    assert (tmp_path / "there").read_bytes() == b"0123456789" * 10
