"""Measures the memory that a process keeps for each kernel that it has compiled or loaded.

    python benchmarks/kernel_memory.py [--kernels 1000] [--targets cpu,"cuda -arch=sm_90a"] [--out kernel_memory.json]

A process compiles KERNELS different matrix products by par_compile, BATCH at a time; they are kept, as a program keeps
them. A second one loads them from the cache on disk, and on cpu calls each once. For simulated targets ("cuda
-arch=sm_90a" on a machine without a GPU) TILECORE_SIMULATE is set. The numbers are kilobytes for each kernel, after the
first quarter of them: of private memory (resident, without pages of files) and of pages of files and code that the
loader mapped. "collectable": what a collection of Python's garbage at the end gives back. "called": the private memory
that the calls add.
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
target, count, batch = json.loads(sys.argv[1])
import numpy, tilecore
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
shapes = [(64 + 8 * (number % 100), 64 + 8 * (number // 100), 64) for number in range(count)]
for first in range(0, count, batch or 1):
    if "first" not in marks and first >= count // 4:
        gc.collect()
        marks["first"], counted = memory(), count - first
    if batch:
        kept += factory.par_compile(shapes[first : first + batch], progress=False)
    else:
        kept.append(factory(*shapes[first]))
marks["last"] = memory()
gc.collect()
marks["collected"], marks["number"] = memory(), counted
marks["from_cache"] = sum(kernel.from_cache for kernel in kept)
if target == "cpu" and not batch:
    for number, (kernel, (rows, columns, depth)) in enumerate(zip(kept, shapes)):
        if number == count // 4:
            gc.collect()
            marks["called_first"] = memory()
        out = numpy.empty((rows, columns), "float32")
        kernel(numpy.ones((rows, depth), "float32"), numpy.ones((depth, columns), "float32"), out)
        assert (out == depth).all()
    gc.collect()
    marks["called"] = memory()
print(json.dumps(marks))
"""


def run(target: str, count: int, batch: int, room: str, simulate: bool) -> dict[str, Any]:
    """Kilobytes for each kernel. batch: how many par_compile gets at a time, 0 for kernels from the cache."""
    environment = {**os.environ, "TILECORE_CACHE_DIR": room, **({"TILECORE_SIMULATE": "1"} if simulate else {})}
    words = json.dumps([target, count, batch])
    done = subprocess.run(
        [sys.executable, "-c", WORKER, words], env=environment, capture_output=True, text=True, cwd=room
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    marks = json.loads(done.stdout.splitlines()[-1])
    number = marks["number"]
    private, files = ((marks["collected"][i] - marks["first"][i]) / number for i in (0, 1))
    garbage = (marks["last"][0] - marks["collected"][0]) / number
    called = {}
    if "called" in marks:
        called["called_kb"] = round((marks["called"][0] - marks["called_first"][0]) / number, 2)
    return {
        "kernels": count,
        "from the cache": marks["from_cache"],
        "private_kb": round(private, 2),
        "files_kb": round(files, 2),
        "collectable_kb": round(garbage, 2),
        **called,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=int, default=1000)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--targets", default="cpu,cuda -arch=sm_90a")
    parser.add_argument("--out")
    options = parser.parse_args()
    results: dict[str, Any] = {}
    for target in options.targets.split(","):
        with tempfile.TemporaryDirectory() as room:
            simulate = target != "cpu" and not os.path.exists("/dev/nvidiactl")
            for name, batch in (("compiled", options.batch), ("loaded", 0)):
                results.setdefault(target, {})[name] = run(target, options.kernels, batch, room, simulate)
                print(f"{target}, {name}: {results[target][name]}", flush=True)
    if options.out:
        machine = {"processor": platform.processor() or platform.machine(), "python": platform.python_version()}
        Path(options.out).write_text(json.dumps({"machine": machine, "results": results}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
