"""Times the cache on disk as the number of its entries grows: lookups, stores, and the commands of ``tilecore cache``.

    python benchmarks/cache_growth.py [--entries 1000,10000,100000] [--rounds 2000] [--out cache_growth.json]

The entries are copies of one compiled kernel, each with a key, a link from a source key and a note of its own, in a
folder that is removed at the end. For each number of entries it prints the median and the 99th percentile of the
microseconds of one operation, over keys that are drawn at random: a hit (the artifact, checked and decoded), a miss, a
source key's resolution, a store (which waits for the disk), a store of a note. The commands are timed once: ``stats``,
``verify``, an eviction of a quarter of the cache, ``clear``. Pages that were just written are in the system's file
cache, as those of a machine in use are.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import tilecore
from tilecore.compilation_cache import admin, eviction
from tilecore.compilation_cache.disk import DiskCache
from tilecore.compilation_cache.layout import Layout
from tilecore.demo import kernels


def key_of(number: int, kind: str) -> str:
    return hashlib.sha256(f"{kind} {number}".encode()).hexdigest()


def fill(cache: DiskCache, artifact: Any, first: int, count: int) -> float:
    """Stores kernels ``first`` to ``count``, without waiting for the disk; the seconds that took."""
    flush, os.fsync = os.fsync, lambda handle: None
    start = time.perf_counter()
    try:
        for number in range(first, count):
            cache.put(key_of(number, "entry"), artifact)
            cache.link(key_of(number, "source"), key_of(number, "entry"))
            cache.keep_note("definitions", key_of(number, "definition"), "{}")
    finally:
        os.fsync = flush
    return time.perf_counter() - start


def timed(operation: Callable[[int], Any], numbers: list[int]) -> dict[str, float]:
    """Microseconds of the operation on each of these numbers."""
    samples = []
    for number in numbers:
        start = time.perf_counter()
        operation(number)
        samples.append((time.perf_counter() - start) * 1e6)
    samples.sort()
    return {
        "median_us": round(statistics.median(samples), 1),
        "p99_us": round(samples[len(samples) * 99 // 100], 1),
        "most_us": round(samples[-1], 1),
    }


def seconds(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return round(time.perf_counter() - start, 3)


def measured(root: str, artifact: Any, count: int, rounds: int) -> dict[str, Any]:
    """The times of a cache that holds ``count`` kernels."""
    generator = random.Random(0)
    numbers = [generator.randrange(count) for _ in range(rounds)]
    fresh = [count + 10**9 + index for index in range(rounds)]
    times: dict[str, Any] = {}

    def in_new_process(operation: Callable[[DiskCache, int], Any], chosen: list[int]) -> dict[str, float]:
        cache = DiskCache(root, 2**40)
        return timed(lambda number: operation(cache, number), chosen)

    times["hit"] = in_new_process(lambda cache, n: cache.get(key_of(n, "entry")), numbers)
    times["miss"] = in_new_process(lambda cache, n: cache.get(key_of(n, "entry")), fresh)
    times["resolve"] = in_new_process(lambda cache, n: cache.resolve(key_of(n, "source")), numbers)
    times["binary, missing"] = in_new_process(lambda cache, n: cache.binary(key_of(n, "binary")), numbers)
    some = fresh[: rounds // 10]
    times["store"] = in_new_process(lambda cache, n: cache.put(key_of(n, "entry"), artifact), some)
    times["store a note"] = in_new_process(lambda cache, n: cache.link(key_of(n, "source"), key_of(n, "entry")), some)
    times["first hit of a process"] = {"median_us": statistics.median(first_hits(root, numbers[:20]))}
    times["stats_s"] = seconds(admin.stats)
    times["verify_s"] = seconds(admin.verify)
    return times


def first_hits(root: str, numbers: list[int]) -> list[float]:
    """Microseconds of the first lookup with a new cache object, which checks the folders."""
    samples = []
    for number in numbers:
        start = time.perf_counter()
        found = DiskCache(root, 2**40).get(key_of(number, "entry"))
        samples.append((time.perf_counter() - start) * 1e6)
        assert found is not None
    return samples


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", default="1000,10000,100000")
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--out")
    options = parser.parse_args()
    counts = sorted(int(count) for count in options.entries.split(","))
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as room:
        os.environ["TILECORE_CACHE_DIR"] = os.path.join(room, "compile")
        artifact = tilecore.compile(kernels.matmul.get_tir(256, 256, 256), target="cpu").artifact
        root = os.environ["TILECORE_CACHE_DIR"] = os.path.join(room, "cache")
        cache, filled = DiskCache(root, 2**40), 0
        for count in counts:
            fill_s = fill(cache, artifact, filled, count)
            rows.append({"entries": count, "fill_us": round(fill_s / (count - filled) * 1e6, 1)})
            filled = count
            rows[-1] |= measured(root, artifact, count, options.rounds)
            print(json.dumps(rows[-1], indent=1), flush=True)
        layout = Layout(root)
        size = sum(file.size for store in layout.stores for file in eviction.stored(store))
        rows[-1]["bytes"] = size
        rows[-1]["evict_s"] = seconds(lambda: eviction.evict(layout, size))
        rows[-1]["clear_s"] = seconds(admin.clear)
        print(f"{size} bytes; eviction {rows[-1]['evict_s']} s, clear {rows[-1]['clear_s']} s", flush=True)
    if options.out:
        machine = {"processor": platform.processor() or platform.machine(), "python": platform.python_version()}
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump({"machine": machine, "rows": rows}, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
