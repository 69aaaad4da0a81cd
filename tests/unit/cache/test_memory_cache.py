"""MemoryCache: bounded, made once, never poisoned."""

from __future__ import annotations

import gc
import os
import threading
import time

import pytest
from cache_kit import exit_status, spawn

from tilecore.cache import MemoryCache
from tilecore.errors import CacheError


def test_the_least_recently_used_goes_first():
    cache = MemoryCache(3)
    for key in "abc":
        cache.put(key, key.upper())
    assert cache.get("a") == "A"
    cache.get_or_make("b", lambda: pytest.fail("it is there"))
    cache.put("d", "D")
    assert "c" not in cache
    assert [cache.get(key) for key in "abcd"] == ["A", "B", None, "D"]
    cache.put("a", "again")
    assert cache.get("a") == "again"
    assert len(cache) == 3
    cache.clear()
    assert len(cache) == 0


def test_no_room_at_all_is_refused():
    with pytest.raises(CacheError):
        MemoryCache(0)


def run_together(count, work):
    """Call ``work`` in many threads at once; returns results and exceptions in order."""
    results = [None] * count
    start = threading.Barrier(count)

    def run(index):
        start.wait()
        try:
            results[index] = work()
        except Exception as error:
            results[index] = error

    threads = [threading.Thread(target=run, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
    return results


def test_many_threads_make_one_value_once():
    cache = MemoryCache()
    values = []

    def make():
        time.sleep(0.05)
        values.append(object())
        return values[-1]

    results = run_together(8, lambda: cache.get_or_make("k", make))
    assert len(values) == 1
    assert all(result is values[0] for result in results)


def test_a_failure_goes_to_who_made_it_and_the_next_one_tries_again():
    cache = MemoryCache()
    attempts = []

    def make():
        time.sleep(0.02)
        attempts.append(1)
        if len(attempts) < 3:
            raise ValueError(len(attempts))
        return "made"

    results = run_together(5, lambda: cache.get_or_make("k", make))
    failures = [result for result in results if isinstance(result, ValueError)]
    assert sorted(error.args[0] for error in failures) == [1, 2]
    assert results.count("made") == 3
    assert len(attempts) == 3


def test_there_is_no_lock_across_keys():
    cache = MemoryCache()
    inside, release = threading.Event(), threading.Event()

    def slow():
        inside.set()
        assert release.wait(10)
        return 1

    thread = threading.Thread(target=lambda: cache.get_or_make("slow", slow))
    thread.start()
    assert inside.wait(10)
    assert cache.get_or_make("other", lambda: 2) == 2
    assert cache.get("slow") is None
    release.set()
    thread.join(10)
    assert cache.get("slow") == 1


def test_a_value_that_needs_itself_is_an_error_and_not_a_deadlock():
    cache = MemoryCache()
    with pytest.raises(CacheError, match="that same value"):
        cache.get_or_make("k", lambda: cache.get_or_make("k", lambda: 1))
    assert cache.get_or_make("k", lambda: cache.get_or_make("other", lambda: 2)) == 2


def test_a_finaliser_of_a_dropped_value_may_use_the_cache():
    cache = MemoryCache(1)

    class Value:
        def __del__(self):
            cache.get_or_make("from the finaliser", lambda: None)

    cache.put("a", Value())
    cache.put("b", 1)
    gc.collect()
    assert len(cache) == 1


def test_code_that_runs_inside_the_cache_may_use_it():
    cache = MemoryCache()
    cache.put("x", 1)

    class Key:
        def __hash__(self):  # as a finaliser would that the garbage collector runs just then
            return hash(cache.get("x"))

    worker = threading.Thread(target=lambda: cache.put(Key(), 2), daemon=True)
    worker.start()
    worker.join(5)
    assert not worker.is_alive()
    assert len(cache) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_is_not_blocked_by_what_its_parents_threads_did():
    cache = MemoryCache()
    inside, release = threading.Event(), threading.Event()

    def slow():
        inside.set()
        release.wait(10)
        return "parent"

    thread = threading.Thread(target=lambda: cache.get_or_make("k", slow))
    thread.start()
    assert inside.wait(10)

    def in_child():
        assert cache.get_or_make("k", lambda: "child") == "child"

    child = spawn(in_child)
    assert exit_status(child) == 0
    release.set()
    thread.join(10)
    assert cache.get("k") == "parent"
