"""Times ``tilecore.par_compile`` of 64 different kernels against compiling them one by one.

    python benchmarks/par_compile.py [--targets cpu,"cuda -arch=sm_90a"] [--kernels 64] [--alone 16] [--workers N]
                                     [--out par_compile.json]

Each measurement runs in a process of its own, with an empty cache and with TVM imported: "one by one" compiles
ALONE of the kernels with tilecore.compile, and its time is that of all by their number; "cold" is the first
par_compile of a process, which starts the workers; "warm" a second one, of further kernels, when they run. The kernels
are matrix products whose sizes differ, written as in README, and their tile IR is there before the time begins. The
numbers are seconds, and the ratio to one by one.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from typing import Any

WORKER = """
import json, sys, time
how, target, count, alone, workers = json.loads(sys.argv[1])
import tilecore
import tilecore.ir.nodes
from tilecore.demo import kernels

def functions(count, first):
    return [kernels.matmul.get_tir(128 + 64 * (first + index), 256, 512) for index in range(count)]

tilecore.compile(functions(1, 9999)[0], target=target)  # what is imported once
if how == "one by one":
    funcs = functions(alone, 0)
    start = time.perf_counter()
    for func in funcs:
        tilecore.compile(func, target=target)
    print((time.perf_counter() - start) * count / alone)
else:
    times = []
    for first in (0, 500):
        funcs = functions(count, first)
        start = time.perf_counter()
        made = tilecore.par_compile(funcs, target=target, num_workers=workers or None)
        assert all(made)
        times.append(time.perf_counter() - start)
    print(json.dumps(times))
"""


def run(how: str, target: str, options: argparse.Namespace) -> Any:
    """The seconds that a process prints."""
    words = json.dumps([how, target, options.kernels, options.alone, options.workers])
    with tempfile.TemporaryDirectory() as room:
        environment = {**os.environ, "TILECORE_CACHE_DIR": room}
        done = subprocess.run(
            [sys.executable, "-c", WORKER, words], env=environment, capture_output=True, text=True, cwd=room
        )
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", default="cpu,cuda -arch=sm_90a")
    parser.add_argument("--kernels", type=int, default=64)
    parser.add_argument("--alone", type=int, default=16, help="kernels that are compiled one by one")
    parser.add_argument("--workers", type=int, default=0, help="default: one for each processor")
    parser.add_argument("--out")
    options = parser.parse_args()
    results: dict[str, Any] = {}
    for target in options.targets.split(","):
        alone = run("one by one", target, options)
        cold, warm = run("par_compile", target, options)
        results[target] = {"one by one": alone, "cold": cold, "warm": warm}
        print(f"{target}: one by one {alone:.2f} s, cold {cold:.2f} s ({alone / cold:.1f} times), ", end="")
        print(f"warm {warm:.2f} s ({alone / warm:.1f} times)", flush=True)
    if options.out:
        cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        machine = {"processor": platform.processor() or platform.machine(), "cpus": cpus}
        machine["python"] = platform.python_version()
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump({"machine": machine, "kernels": options.kernels, "results": results}, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
