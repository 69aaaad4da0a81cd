"""Times programs that load an exported kernel and call it once, in fresh processes: import, load, first call.

    python benchmarks/runtime_startup.py [--python PYTHON] [--tensors numpy] [--rounds 21] [--out results.json]

Milliseconds of wall time and of processor time, without the import of the tensors' library, which the program has for
itself. The bar is 60 ms. --python: the interpreter of an environment where tilecore-runtime is installed, alone or not
(default: this one); from a checkout without byte code, every import compiles. The kernel is compiled by this process.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile

BAR = 60.0  # milliseconds, of processor time
STAGES = ("import", "load", "first call", "all")
PROGRAM = """
import json, sys, time
if sys.argv[2] == "torch":
    import torch
    a, b = torch.ones(256, 256), torch.ones(256, 256)
else:
    import numpy
    a, b = numpy.ones((256, 256), numpy.float32), numpy.ones((256, 256), numpy.float32)
times = [(time.perf_counter(), time.process_time())]
import tilecore
times.append((time.perf_counter(), time.process_time()))
kernel = tilecore.load_kernel(sys.argv[1])
times.append((time.perf_counter(), time.process_time()))
c = kernel(a, b)
times.append((time.perf_counter(), time.process_time()))
assert c[0, 0] == 256 and "tvm" not in sys.modules
from tilecore.installation import compiler_is_installed
print(json.dumps([times, compiler_is_installed(), sys.version.split()[0], tilecore.__file__]))
"""


def export(path: str) -> None:
    """A product of 256 x 256 matrices of float32 with float32 accumulation, for this machine's processor."""
    import tilecore
    import tilecore.language as T

    matrix = T.Tensor((256, 256), "float32")

    @T.prim_func
    def product(A: matrix, B: matrix, C: matrix):
        with T.Kernel(4, 4) as (bx, by):
            a, b = T.alloc_shared((64, 64), "float32"), T.alloc_shared((64, 64), "float32")
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[by * 64, k * 64], a)
                T.copy(B[k * 64, bx * 64], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 64, bx * 64])

    tilecore.compile(product, target="cpu", out_idx=[2]).export(path)


def measure(python: str, kernel: str, tensors: str, folder: str) -> tuple[list[tuple[float, float]], list]:
    """(wall, processor) milliseconds of each stage and of all, and facts about the process."""
    command = [python, "-c", PROGRAM, kernel, tensors]
    # the current folder, and folders for this process, would be imported in the place of what is installed there
    environment = dict(os.environ)
    if python != sys.executable:
        environment.pop("PYTHONPATH", None)
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
    if done.returncode:
        raise SystemExit(done.stderr)
    times, *facts = json.loads(done.stdout)
    spans = [*itertools.pairwise(times), (times[0], times[-1])]
    return [((b[0] - a[0]) * 1e3, (b[1] - a[1]) * 1e3) for a, b in spans], facts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--tensors", choices=("numpy", "torch"), default="numpy")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--out")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kernel = os.path.join(folder, "product.tck")
        export(kernel)
        _, facts = measure(options.python, kernel, options.tensors, folder)  # byte code, the system's file cache
        rounds = [measure(options.python, kernel, options.tensors, folder)[0] for _ in range(options.rounds)]
    has_compiler, version, place = facts
    print(f"Python {version}, {os.path.dirname(place)}, {'with' if has_compiler else 'without'} the compiler")
    print(f"{'milliseconds':14} {'wall: median':>13} {'least':>7} {'processor: median':>19} {'least':>7}")
    rows = []
    for number, stage in enumerate(STAGES):
        wall, processor = ([times[number][kind] for times in rounds] for kind in (0, 1))
        middle, middle_processor = statistics.median(wall), statistics.median(processor)
        print(f"{stage:14} {middle:13.1f} {min(wall):7.1f} {middle_processor:19.1f} {min(processor):7.1f}")
        row = {"wall": middle, "least_wall": min(wall), "processor": middle_processor}
        rows.append({"stage": stage, **row, "least_processor": min(processor)})
    print(f"bar: {BAR:.0f} ms of processor time: {'below' if middle_processor <= BAR else 'above'}")
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump({"python": version, "compiler": has_compiler, "tensors": options.tensors, "rows": rows}, file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
