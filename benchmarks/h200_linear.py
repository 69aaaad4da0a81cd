"""Linear attention on one H200: examples/linear_attention.py beside flash-linear-attention (Triton) and torch.

    python benchmarks/h200_linear.py OUT [--wheels FOLDER] [--rounds 15] [--match TEXT]
    python benchmarks/h200_linear.py OUT --compile [--backend nvcc]      (anywhere, without a GPU)

OUT is a folder: the compiled kernels (a run compiles what is not there) and linear.json. FOLDER has the wheels of
fla-core and einops; h200_linear_peers.py compiles the peers ahead. A peer that does not run, or is wrong, is left out
with its reason. Everything is checked against torch in float32, step by step, before it is timed: as CUDA graphs, in
random order, with the L2 full of other data ("cold") and one after the other ("row"). A line: the shape, the clock,
who, microseconds, TB/s (Q, K, V and the output once), and the ratio of the best peer's median time to it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import h200_linear_peers as peers
from h200_linear_cases import TOLERANCE, by_torch, tensors, variants_of
from h200_linear_shapes import SHAPES, Shape
from h200_measure import example, graphed, interleaved

import tilecore

TARGET = "cuda -arch=sm_90a"
CLOCKS = {"cold": 1, "row": 5}  # launches


def file_of(shape: Shape, arguments: dict[str, Any]) -> str:
    return hashlib.sha256(f"{shape} {sorted(arguments.items())}".encode()).hexdigest()[:16] + ".tck"


def build(job: tuple[Shape, dict[str, Any], str, str]) -> str:
    """Compiles a variant into a file, unless it is there; returns why it does not compile, or nothing."""
    shape, arguments, path, backend = job
    if Path(path).exists():
        return ""
    try:
        module = example("linear_attention")
        func = module.linear_attention(*shape.sizes, dtype=shape.dtype, decay=shape.decay, **arguments)
        kernel = tilecore.compile(
            func, target=TARGET, execution_backend=backend, out_idx=[-2, -1], pass_configs=module.FAST_ON_HOPPER
        )
        kernel.export(path)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def build_all(shapes: list[Shape], folder: Path, backend: str) -> int:
    """The number of variants that do not compile."""
    pairs = [(shape, name, arguments) for shape in shapes for name, arguments in variants_of(shape).items()]
    jobs = [(shape, arguments, str(folder / file_of(shape, arguments)), backend) for shape, _, arguments in pairs]
    failures, begun = 0, time.perf_counter()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for (shape, name, _), failure in zip(pairs, pool.map(build, jobs), strict=True):
            if failure:
                failures += 1
                print(f"{shape.name}, {name}: {failure[:300]}", flush=True)
    print(f"{len(jobs)} kernels in {time.perf_counter() - begun:.1f} s, {failures} failed", flush=True)
    return failures


def checked(shape: Shape, calls: dict[str, Callable[[], Any]], expected: tuple[Any, Any]) -> dict[str, Any]:
    """The calls that run and are right, as replays of CUDA graphs. A call returns the output, and maybe the state."""
    works: dict[str, Any] = {}
    for name, call in calls.items():
        try:
            results = call()
            results = results if isinstance(results, (tuple, list)) else (results,)
            pairs = zip(results, expected, strict=False)
            error = max(((r.float() - e).abs().max() / e.abs().max()).item() for r, e in pairs)
            if not error <= TOLERANCE:
                raise ValueError(f"WRONG, error {error:.2e}")
            works[name] = graphed(call) or call
        except Exception as failure:
            print(f"{shape.name}, {name}: {type(failure).__name__}: {str(failure)[:300]}", flush=True)
    return works


def ours(shape: Shape, inputs: tuple[Any, ...], folder: Path) -> dict[str, Callable[[], Any]]:
    calls = {}
    for name, arguments in variants_of(shape).items():
        path = folder / file_of(shape, arguments)
        if path.exists():
            calls[f"tilecore: {name}"] = partial(tilecore.load_kernel(path), *(x for x in inputs if x is not None))
    return calls


def measured(shape: Shape, folder: Path, lack: str, rounds: int, compiles_torch: bool) -> list[dict[str, Any]]:
    import torch

    inputs = tensors(shape)
    expected = example("linear_attention").reference(*inputs)
    calls: dict[str, Callable[[], Any]] = {"torch": partial(by_torch, *inputs)}
    if compiles_torch:
        calls["torch.compile"] = partial(torch.compile(by_torch, dynamic=False), *inputs)
    if not lack:
        try:
            calls |= peers.calls_of(*inputs)
        except Exception as failure:
            print(f"{shape.name}, flash-linear-attention: {type(failure).__name__}: {failure}", flush=True)
    others = checked(shape, calls, expected)
    works = others | checked(shape, ours(shape, inputs, folder), expected)
    rows: list[dict[str, Any]] = []
    for clock, launches in CLOCKS.items():
        samples = interleaved(works, rounds, clock, launches)
        times = {name: statistics.median(values) * 1e3 for name, values in samples.items()}
        best = min((times[name] for name in others), default=float("nan"))
        for name in sorted(times, key=lambda n: times[n]):
            speed, ratio = shape.bytes / times[name] / 1e6, best / times[name]
            row = {"case": shape.name, "clock": clock, "who": name, "us": times[name], "of the best peer": ratio}
            rows.append(row)
            print(f"{shape.name:38} {clock:5} {name:46} {times[name]:8.1f} us {speed:6.2f} TB/s {ratio:.3f}")
    sys.stdout.flush()
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--wheels", type=Path, help="a folder with the wheels of fla-core and einops")
    parser.add_argument("--match", default="", help="only shapes that have this in their name")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--torch-compile", action="store_true", help="torch.compile of the form in torch, too")
    parser.add_argument("--backend", default="nvrtc", choices=["nvrtc", "nvcc"], help="what compiles")
    parser.add_argument("--compile", action="store_true", help="only compile")
    options = parser.parse_args()
    shapes = [shape for shape in SHAPES if options.match in shape.name]
    options.out.mkdir(parents=True, exist_ok=True)
    failures = build_all(shapes, options.out, options.backend)
    if options.compile:
        return 1 if failures else 0
    lack = peers.prepare(options.wheels, options.out, shapes) if options.wheels else "no --wheels"
    if lack:
        print(f"without flash-linear-attention: {lack}", flush=True)
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    rows: list[dict[str, Any]] = []
    with torch.no_grad():
        for shape in shapes:
            begun = time.perf_counter()
            rows += measured(shape, options.out, lack, options.rounds, options.torch_compile)
            torch.cuda.empty_cache()
            print(f"{shape.name}: {time.perf_counter() - begun:.1f} s", flush=True)
            facts = {
                "date": str(date.today()), "device": torch.cuda.get_device_name(), "torch": torch.__version__,
                "cuda": torch.version.cuda, "tilecore": tilecore.__version__, "rounds": options.rounds,
                "peers": "" if lack else peers.versions(),
            }  # fmt: skip
            (options.out / "linear.json").write_text(json.dumps({"facts": facts, "rows": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
