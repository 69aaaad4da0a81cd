"""Times fresh processes that load the kernels of a bundle for the target cpu: by tilecore.load_bundle, and by functions
under tilecore.jit that find them through TILECORE_CACHE_PATH, with an empty cache of their own.

    python benchmarks/bundles.py [--kernels 64] [--rounds 7] [--out results.json]

Medians in milliseconds, of the wall clock and of the processor. "modules" is the import of what a first kernel needs,
"kernels" is loading all of them; neither TVM nor torch is imported, which is checked. Run it with tilecore installed:
from a checkout without byte code, every import compiles.
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
from pathlib import Path

KERNELS = """
import tilecore
import tilecore.language as T


@tilecore.jit(out_idx=-1, target="cpu")
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
DECLARED = (
    "\n\ndef tilecore_kernels():\n    for count in range(1, {count} + 1):\n        yield matmul, (64 * count, 64, 32)\n"
)
START = """
import json, sys, time
import numpy as np
import tilecore
def now(): return time.perf_counter(), time.process_time()
def between(a, b): return [1e3 * (y - x) for x, y in zip(a, b)]
"""
END = """
a, b = np.ones((64, 32), "float32"), np.ones((32, 64), "float32")
assert (first(a, b) == 32).all() and not {"tvm", "tvm_ffi", "torch"} & {*sys.modules}
print(json.dumps(measured))
"""
BY_NAME = f"""{START}
start = now()
import tilecore.jit.bundle, tilecore.backends.cpu.pool, tilecore.backends.cpu.elf
imported = now()
bundle = tilecore.load_bundle(sys.argv[1])
loaded = bundle.load_all()
end = now()
first = next(iter(loaded.values()))
measured = {{"modules": between(start, imported), "kernels": between(imported, end)}}
assert len(loaded) == int(sys.argv[2])
{END}"""
BY_FUNCTION = f"""{START}
import bundled_matmul
start = now()
first = bundled_matmul.matmul(64, 64, 32)
one = now()
kernels = [bundled_matmul.matmul(64 * count, 64, 32) for count in range(2, int(sys.argv[2]) + 1)]
end = now()
measured = {{"first kernel, with modules": between(start, one), "other kernels": between(one, end)}}
assert all(kernel.from_cache for kernel in [first, *kernels])
{END}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    results: dict[str, object] = {"machine": platform.processor() or platform.machine(), "kernels": arguments.kernels}
    with tempfile.TemporaryDirectory() as folder:
        bundle = written(Path(folder), arguments.kernels)
        results["bytes"] = bundle.stat().st_size
        for name, code in (("load_bundle", BY_NAME), ("tilecore.jit", BY_FUNCTION)):
            results[name] = medians(code, bundle, arguments.kernels, arguments.rounds)
    print(json.dumps(results, indent=2))
    if arguments.out:
        arguments.out.write_text(json.dumps(results, indent=2) + "\n")


def written(folder: Path, count: int) -> Path:
    """A bundle with ``count`` kernels."""
    (folder / "bundled_matmul.py").write_text(KERNELS + DECLARED.format(count=count))
    words = ["compile", "bundled_matmul.py", "--target", "cpu", "-o", "kernels.tcb"]
    environment = {**os.environ, "TILECORE_CACHE_DIR": str(folder / "cache")}
    subprocess.run([sys.executable, "-m", "tilecore", *words], cwd=folder, env=environment, check=True, stdout=2)
    return folder / "kernels.tcb"


def medians(code: str, bundle: Path, count: int, rounds: int) -> dict[str, dict[str, float]]:
    """For each measured step the medians of the wall clock and of the processor's time, in milliseconds."""
    runs = []
    for number in range(rounds + 1):  # the first one fills the system's caches
        environment = {
            **os.environ,
            "TILECORE_CACHE_PATH": str(bundle),
            "TILECORE_CACHE_DIR": str(bundle.parent / f"empty{number}"),
        }
        command = [sys.executable, "-c", code, str(bundle), str(count)]
        ended = subprocess.run(
            command, cwd=bundle.parent, env=environment, check=True, capture_output=True, text=True
        )  # fmt: skip
        runs.append(json.loads(ended.stdout))
    return {
        step: {
            "wall_ms": round(statistics.median(run[step][0] for run in runs[1:]), 1),
            "processor_ms": round(statistics.median(run[step][1] for run in runs[1:]), 1),
        }
        for step in runs[0]
    }


if __name__ == "__main__":
    main()
