"""Many processes on one cache: killed writers, races, eviction under readers. Never garbage, never an error."""

from __future__ import annotations

import os
import random
import signal
import time

import pytest
from cache_kit import artifact_of, exit_status, key_of, recorded, spawn

from tilecore.cache import DiskCache
from tilecore.compilation_cache.layout import Layout
from tilecore.compilation_cache.publish import remove_abandoned

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def check_every_key(path, keys, size=3000):
    """Every key is whole or missing, without a single warning; returns how many are there."""
    cache = DiskCache(path)
    hits = 0
    with recorded() as texts:
        for key in keys:
            artifact = cache.get(key)
            if artifact is not None:
                assert artifact == artifact_of(key, size)
                hits += 1
            assert cache.resolve(key) in (None, key)
    assert texts == []
    return hits


def test_writers_killed_at_any_moment_leave_whole_entries_or_none(tmp_path):
    path = str(tmp_path / "cache")
    began = time.monotonic()
    DiskCache(path).put(key_of("first"), artifact_of(key_of("first"), 300_000))
    longest = max(0.04, 4 * (time.monotonic() - began))  # disks differ in how long a durable write takes
    keys = [key_of(number) for number in range(12)]
    dice = random.Random(20)
    leftovers = 0

    def write_for_ever():
        cache = DiskCache(path)
        mine = random.Random(os.getpid())
        while True:
            key = mine.choice(keys)
            cache.put(key, artifact_of(key, 300_000))
            cache.link(key, key)

    for round_number in range(40):
        children = [spawn(write_for_ever) for _ in range(2)]
        time.sleep(dice.uniform(0.001, longest))
        for child in children:
            os.kill(child, signal.SIGKILL)
        for child in children:
            assert os.WIFSIGNALED(exit_status(child))
        leftovers = max(leftovers, len(os.listdir(Layout(path).staging)))
        if round_number % 10 == 9:
            check_every_key(path, keys, 300_000)
    assert check_every_key(path, keys, 300_000) > 0
    assert leftovers > 0, "no writer was killed at work, so nothing was tested"
    assert os.listdir(Layout(path).quarantine) == []
    cleaned = len(os.listdir(Layout(path).staging))
    assert remove_abandoned(Layout(path).staging, young=0) == cleaned
    assert os.listdir(Layout(path).staging) == []


def test_the_files_of_living_writers_are_left_alone(tmp_path):
    path = str(tmp_path / "cache")
    DiskCache(path).put(key_of(0), artifact_of(key_of(0)))
    staging = Layout(path).staging
    ready, go = os.pipe(), os.pipe()

    def write_slowly():
        real = os.fsync

        def wait(handle):
            if not os.path.isdir(f"/proc/self/fd/{handle}"):
                os.write(ready[1], b"x")
                os.read(go[0], 1)
            real(handle)

        os.fsync = wait
        assert DiskCache(path).put(key_of(1), artifact_of(key_of(1)))

    child = spawn(write_slowly)
    os.read(ready[0], 1)
    (name,) = os.listdir(staging)
    assert remove_abandoned(staging, young=0) == 0
    assert os.listdir(staging) == [name]
    os.write(go[1], b"xx")
    assert exit_status(child) == 0
    assert DiskCache(path).get(key_of(1)) == artifact_of(key_of(1))
    for end in (*ready, *go):
        os.close(end)


def test_old_leftovers_go_with_the_first_put_of_a_process_and_young_ones_stay(tmp_path):
    path = str(tmp_path / "cache")
    DiskCache(path).put(key_of(0), artifact_of(key_of(0)))
    staging = Layout(path).staging
    old, young = os.path.join(staging, "1-old"), os.path.join(staging, "1-young")
    for name in (old, young):
        with open(name, "wb") as stream:
            stream.write(b"half")
    os.utime(old, (time.time() - 120, time.time() - 120))
    DiskCache(path).put(key_of(1), artifact_of(key_of(1)))
    assert os.listdir(staging) == ["1-young"]


@pytest.mark.parametrize("shared", [True, False])
def test_eight_processes_at_once(tmp_path, shared):
    path = str(tmp_path / "cache")
    start = os.pipe()

    def work():
        os.close(start[1])
        os.read(start[0], 1)  # until the parent closes its end
        cache = DiskCache(path)
        for number in range(6):
            key = key_of(number if shared else f"{os.getpid()} {number}")
            artifact = cache.get(key)
            if artifact is None:
                assert cache.put(key, artifact_of(key, 50_000))
                assert cache.link(key, key)
                artifact = cache.get(key)
            assert artifact == artifact_of(key, 50_000)
            assert cache.resolve(key) == key or shared

    children = [spawn(work) for _ in range(8)]
    os.close(start[1])
    assert [exit_status(child) for child in children] == [0] * 8
    os.close(start[0])
    keys = [key_of(n) for n in range(6)] if shared else [key_of(f"{c} {n}") for c in children for n in range(6)]
    assert check_every_key(path, keys, 50_000) == len(keys)
    assert os.listdir(Layout(path).staging) == []
    assert os.listdir(Layout(path).quarantine) == []


def test_eviction_and_clearing_under_readers(tmp_path):
    path = str(tmp_path / "cache")
    keys = [key_of(number) for number in range(30)]
    limit = 400_000
    began = time.monotonic()
    DiskCache(path, limit).put(keys[0], artifact_of(keys[0], 20_000))
    began, taken = time.monotonic(), time.monotonic() - began
    deadline = began + max(1.5, 60 * taken)  # disks differ in how long a durable write takes

    def churn():
        cache = DiskCache(path, limit)
        mine = random.Random(os.getpid())
        while time.monotonic() < deadline:
            key = mine.choice(keys)
            assert cache.put(key, artifact_of(key, 20_000))
            cache.link(key, key)

    def read():
        cache = DiskCache(path, limit)
        mine = random.Random(os.getpid())
        hits = 0
        while time.monotonic() < deadline:
            key = mine.choice(keys)
            assert cache.resolve(key) in (None, key)
            artifact = cache.get(key)
            assert artifact is None or artifact == artifact_of(key, 20_000)
            hits += artifact is not None
        assert hits > 0

    children = [spawn(churn), spawn(churn), spawn(read), spawn(read)]
    assert [exit_status(child) for child in children] == [0] * 4
    check_every_key(path, keys, 20_000)
    assert os.listdir(Layout(path).quarantine) == []
    total = sum(os.path.getsize(os.path.join(where, name)) for where, _, names in os.walk(path) for name in names)
    assert total < limit * 1.5
