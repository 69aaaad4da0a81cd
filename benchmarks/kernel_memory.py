"""Measures the memory that a process keeps for each kernel that it has compiled or loaded.

    python benchmarks/kernel_memory.py [--kernels 1000] [--targets cpu,"cuda -arch=sm_90a"] [--out kernel_memory.json]

A process compiles KERNELS different matrix products through @tilecore.jit, which are kept, as a program keeps them; a
second one loads them from the cache on disk. For simulated targets ("cuda -arch=sm_90a" on a machine without a GPU)
TILECORE_SIMULATE is set. The numbers are kilobytes for each kernel, after the first quarter of them: of private memory
(resident, without pages of files) and of pages of files and code that the loader mapped. "collectable": what a
collection of Python's garbage at the end gives back.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

WORKER = """
import gc, json, os, sys
target, count = json.loads(sys.argv[1])
import tilecore
from tilecore.demo import kernels

def memory():
    sizes = {}
    for line in open("/proc/self/smaps_rollup"):
        words = line.split()
        if len(words) == 3 and words[2] == "kB":
            sizes[words[0].rstrip(":")] = int(words[1])
    return sizes["Anonymous"], sizes["Rss"] - sizes["Anonymous"]

factory = tilecore.jit(kernels.matmul.func, target=target)
kept, marks = [], {}
for number in range(count):
    if number == count // 4:
        gc.collect()
        marks["first"] = memory()
    kept.append(factory(128 + 8 * number, 256, 512))
marks["last"] = memory()
gc.collect()
marks["collected"] = memory()
marks["from_cache"] = sum(kernel.from_cache for kernel in kept)
print(json.dumps(marks))
"""


def run(target: str, count: int, room: str, simulate: bool) -> dict[str, Any]:
    """Kilobytes for each kernel."""
    environment = {**os.environ, "TILECORE_CACHE_DIR": room, **({"TILECORE_SIMULATE": "1"} if simulate else {})}
    words = json.dumps([target, count])
    done = subprocess.run(
        [sys.executable, "-c", WORKER, words], env=environment, capture_output=True, text=True, cwd=room
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    marks = json.loads(done.stdout.splitlines()[-1])
    number = count - count // 4
    private, files = ((marks["collected"][i] - marks["first"][i]) / number for i in (0, 1))
    garbage = (marks["last"][0] - marks["collected"][0]) / number
    return {
        "kernels": count,
        "from the cache": marks["from_cache"],
        "private_kb": round(private, 2),
        "files_kb": round(files, 2),
        "collectable_kb": round(garbage, 2),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=int, default=1000)
    parser.add_argument("--targets", default="cpu,cuda -arch=sm_90a")
    parser.add_argument("--out")
    options = parser.parse_args()
    results: dict[str, Any] = {}
    for target in options.targets.split(","):
        with tempfile.TemporaryDirectory() as room:
            simulate = target != "cpu" and not os.path.exists("/dev/nvidiactl")
            for name in ("compiled", "loaded"):
                results.setdefault(target, {})[name] = run(target, options.kernels, room, simulate)
                print(f"{target}, {name}: {results[target][name]}", flush=True)
    if options.out:
        machine = {"processor": platform.processor() or platform.machine(), "python": platform.python_version()}
        Path(options.out).write_text(json.dumps({"machine": machine, "results": results}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
