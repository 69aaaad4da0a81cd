"""Times the startup of fresh processes: imports, commands, a cached kernel, a cold compilation.

    python benchmarks/startup.py [--rounds 7] [--out results.json]

Medians in milliseconds. Run it with tilecore installed: from a checkout without byte code, every import compiles.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

KERNEL = """
import tilecore
import tilecore.language as T


@tilecore.jit
def matmul(M, N, K, block_M=64, block_N=64, block_K=32, dtype="float32"):
    @T.prim_func
    def kernel(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), dtype)
            B_shared = T.alloc_shared((block_K, block_N), dtype)
            C_local = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
                T.copy(A[by * block_M, k * block_K], A_shared)
                T.copy(B[k * block_K, bx * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * block_M, bx * block_N])

    return kernel
"""

# prints milliseconds
IMPORT = "import time; start = time.perf_counter(); import tilecore; print((time.perf_counter() - start) * 1e3)"
CALL = """
import sys, time
import torch
import tilecore
from benchmark_kernel import matmul
a, b, c = (torch.ones(256, 256) for _ in range(3))
start = time.perf_counter()
matmul(256, 256, 256)(a, b, c)
print((time.perf_counter() - start) * 1e3)
assert "tvm" not in sys.modules and c[0, 0] == 256
"""
COLD = """
import time
import tvm, torch
import tilecore
from benchmark_kernel import matmul
tilecore.compile(matmul.get_tir(64, 64, 64, 16, 16, 16))
start = time.perf_counter()
matmul(1024, 1024, 1024, 256, 128, 512)
print((time.perf_counter() - start) * 1e3)
"""
ROWS = (("import tilecore", IMPORT, 60.0), ("cached kernel, first call", CALL, 10.0), ("cold compile", COLD, 150.0))


def run(code: str, environment: dict[str, str]) -> float:
    """In the folder of the cache: a checkout that is the current folder would be imported in the place of what is
    installed."""
    folder = os.path.dirname(environment["TILECORE_CACHE_DIR"])
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, cwd=folder)
    if done.returncode:
        raise SystemExit(done.stderr)
    return float(done.stdout.split()[-1])


def targets(environment: dict[str, str]) -> float:
    folder = os.path.dirname(environment["TILECORE_CACHE_DIR"])
    command = [sys.executable, "-m", "tilecore", "targets"]
    start = time.perf_counter()
    subprocess.run(command, env=environment, capture_output=True, check=True, cwd=folder)
    return (time.perf_counter() - start) * 1e3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as room:
        with open(os.path.join(room, "benchmark_kernel.py"), "w", encoding="utf-8") as file:
            file.write(KERNEL)
        path = os.pathsep.join(filter(None, [room, os.environ.get("PYTHONPATH", "")]))
        environment = {**os.environ, "PYTHONPATH": path, "TILECORE_CACHE_DIR": os.path.join(room, "cache")}
        run(CALL.replace("assert", "#"), environment)
        cold = {**environment, "TILECORE_DISABLE_CACHE": "1"}
        measures = [(name, lambda c=code: run(c, cold if c is COLD else environment), bar) for name, code, bar in ROWS]
        measures.append(("tilecore targets", lambda: targets(environment), 200.0))
        print(f"{'what':28} {'median ms':>10} {'least':>8} {'bar':>6}")
        for name, measure, bar in measures:
            times = [measure() for _ in range(options.rounds)]
            middle = statistics.median(times)
            rows.append({"name": name, "median_ms": middle, "least_ms": min(times), "bar_ms": bar})
            print(
                f"{name:28} {middle:10.1f} {min(times):8.1f} {bar:6.0f}{'' if middle <= bar else '  above'}", flush=True
            )
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump({"facts": {"python": platform.python_version()}, "rows": rows}, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
