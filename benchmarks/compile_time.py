"""Times the first compilation of a process: tilecore's own part, and beside it the vendor's compiler.

    python benchmarks/compile_time.py [--rounds 7] [--out compile_time.json]

Each round is a fresh process with an empty cache. "import" is the import of tilecore, the language and TVM, "first" the
compilation of the first kernel after that, of which "compiler" is the time in the target's toolchain (nvcc, or LLVM for
cpu), and "second" that of another kernel of the same function. "own" is first without compiler, and "own processor
time" what this process computed meanwhile, which is about the same on a machine without other work. For cuda torch is
imported before, as programs do. Milliseconds; the least of the rounds and the median. ``TILECORE_DEBUG=2`` prints where
the time of one compilation goes.
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
from typing import Any

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
GPU = 'target="cuda -arch=sm_90a", execution_backend="cython", out_idx=-1'
# imports, the function, and the arguments of the two kernels
CASES = {
    "gemm, sm_90a": (
        "import torch\nfrom gemm import gemm",
        f"tilecore.jit(gemm, {GPU})",
        "(4096, 4096, 4096)",
        "(2048, 4096, 4096)",
    ),
    "attention, sm_90a": (
        "import torch\nfrom attention import attention",
        f"tilecore.jit(attention, {GPU})",
        "(4, 32, 8, 4096, 128, True)",
        "(2, 32, 8, 4096, 128, True)",
    ),
    "matmul, cpu": (
        "from tilecore.demo import kernels",
        'tilecore.jit(kernels.matmul.func, target="cpu")',
        "(1024, 1024, 1024)",
        "(512, 1024, 1024)",
    ),
}
PROGRAM = """
import json, sys, time
{torch}
start = time.perf_counter()
import tilecore
import tilecore.language as T
import tilecore.ir.nodes
imported = time.perf_counter()
{imports}
function = {function}
row = {{"import": imported - start}}
for name, arguments in (("first", {first}), ("second", {second})):
    start, processor = time.perf_counter(), time.process_time()
    kernel = function(*arguments)
    row[name], processor = time.perf_counter() - start, time.process_time() - processor
    if name == "first":
        row["compiler"] = kernel.artifact.report["steps"]["build"] / 1e3
        row["own"] = row["first"] - row["compiler"]
        row["own processor time"] = processor - (row["compiler"] if kernel.target.kind == "cpu" else 0)
print(json.dumps({{name: seconds * 1e3 for name, seconds in row.items()}}))
"""


def run(case: str) -> dict[str, float]:
    imports, function, first, second = CASES[case]
    torch = "import torch" if "import torch" in imports else ""
    code = PROGRAM.format(torch=torch, imports=imports, function=function, first=first, second=second)
    with tempfile.TemporaryDirectory() as room:
        path = os.pathsep.join(filter(None, [os.fspath(EXAMPLES), os.environ.get("PYTHONPATH", "")]))
        environment = {**os.environ, "PYTHONPATH": path, "TILECORE_CACHE_DIR": room}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, cwd=room)
    if done.returncode:
        raise SystemExit(done.stderr)
    row: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--cases", default=";".join(CASES), help="separated by semicolons")
    parser.add_argument("--out")
    options = parser.parse_args()
    results: dict[str, Any] = {}
    for case in options.cases.split(";"):
        rows = [run(case) for _ in range(options.rounds + 1)][1:]  # the first one may write byte code
        results[case] = {
            name: {"least": round(min(row[name] for row in rows), 1),
                   "median": round(statistics.median(row[name] for row in rows), 1)}
            for name in rows[0]
        }  # fmt: skip
        words = (f"{name} {times['least']:.0f} ({times['median']:.0f})" for name, times in results[case].items())
        print(f"{case}: {', '.join(words)} ms, least (median)", flush=True)
    if options.out:
        machine = {"processor": platform.processor() or platform.machine(), "python": platform.python_version()}
        Path(options.out).write_text(json.dumps({"machine": machine, "ms": results}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
