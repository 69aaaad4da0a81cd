"""Configurations that need no tuning, beside cuBLAS and cuDNN: 60 products and 30 attentions on one H200.

    python benchmarks/h200_defaults.py [--rounds 15] [--match TEXT] [--kernels FOLDER] [--out results.json]
    python benchmarks/h200_defaults.py --compile FOLDER     (anywhere, with NVRTC)

For each shape of h200_defaults_shapes.py the five best proposals of tilecore.heuristics are compiled and checked.
"untuned" is the first of them. "five tries" is the one that is fastest in the first half of the rounds, by its times in
the second half, as @tilecore.autotune(configs="auto") would choose. Ratios are of medians to cuBLAS (torch.matmul,
torch._scaled_mm), or to cuDNN (where it refuses a shape: torch's flash attention, then the memory-efficient one; the
JSON names it). Clock "cold" of h200_measure.py: single launches, L2 full of other data, kernels and libraries in random
order every round.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import statistics
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from h200_defaults_kernels import MOST_WRONG, TARGET, compiled, tensors
from h200_defaults_shapes import ATTENTIONS, GEMMS, Attention, Gemm

import tilecore
from tilecore import heuristics
from tilecore.heuristics import Proposal

TRIES = 5


def proposals_of(shape: Gemm | Attention) -> list[Proposal]:
    if isinstance(shape, Gemm):
        out = "bfloat16" if "float8" in shape.dtype else shape.dtype
        return heuristics.gemm(shape.M, shape.N, shape.K, shape.dtype, out, shape.layout, target=TARGET, count=TRIES)
    sizes = shape.batch, shape.heads, shape.kv_heads, shape.queries, shape.keys, shape.dim, shape.dim_v, shape.causal
    return heuristics.attention(*sizes, shape.dtype, target=TARGET, count=TRIES)


def file_of(shape: Gemm | Attention, config: dict[str, Any]) -> str:
    return hashlib.sha256(f"{shape} {config}".encode()).hexdigest()[:16] + ".tck"


def build(job: tuple[Gemm | Attention, dict[str, Any], str]) -> str:
    """Compile a kernel into a file, unless it is there; returns why it does not compile, or nothing."""
    shape, config, path = job
    if Path(path).exists():
        return ""
    try:
        compiled(shape, config).export(path)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def build_all(shapes: list[Any], folder: Path) -> None:
    """In as many processes as there are processors."""
    jobs = [(s, p.config, str(folder / file_of(s, p.config))) for s in shapes for p in proposals_of(s)]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for job, failure in zip(jobs, pool.map(build, jobs, chunksize=1), strict=True):
            if failure:
                print(f"{job[0]} {job[1]}: {failure[:300]}", flush=True)


def measured(shape: Gemm | Attention, folder: Path, rounds: int) -> dict[str, Any]:
    from h200_measure import graphed, interleaved

    inputs, peers, expected = tensors(shape)
    works, proposals = dict(peers), proposals_of(shape)
    errors: dict[int, float] = {}
    wrong: dict[int, float] = {}
    for number, proposal in enumerate(proposals):
        path = folder / file_of(shape, proposal.config)
        if not path.exists():
            continue
        kernel = tilecore.load_kernel(path)
        errors[number] = ((kernel(*inputs).float() - expected).abs().max() / expected.abs().max()).item()
        if not errors[number] <= MOST_WRONG:
            print(f"{shape} {proposal}: WRONG, error {errors[number]:.2e}", flush=True)
            wrong[number] = errors.pop(number)
            continue
        works[str(number)] = lambda kernel=kernel: kernel(*inputs)
    graphs = {name: graphed(work) for name, work in works.items()}
    times = interleaved({name: graphs[name] or work for name, work in works.items()}, rounds, "cold", 1)
    peer = next(iter(peers))
    base, later = statistics.median(times[peer]), statistics.median(times[peer][rounds // 2 :])
    tried = min(errors, key=lambda n: statistics.median(times[str(n)][: rounds // 2]))
    first, best = statistics.median(times[str(min(errors))]), statistics.median(times[str(tried)][rounds // 2 :])
    row = {
        "shape": str(shape), "kind": type(shape).__name__, "peer": peer, "peer us": base * 1e3,
        "untuned us": first * 1e3, "untuned": base / first, "five tries us": best * 1e3, "five tries": later / best,
        "config": proposals[min(errors)].config, "config of five": proposals[tried].config,
        "expected us": proposals[min(errors)].milliseconds * 1e3,
        "called": [name for name, graph in graphs.items() if graph is None],
        "wrong": {str(number): error for number, error in wrong.items()},
        "us of each": {str(n): statistics.median(times[str(n)]) * 1e3 for n in errors},
        "other peers us": {name: statistics.median(times[name]) * 1e3 for name in peers if name != peer},
    }  # fmt: skip
    print(
        f"{shape!s:44} {peer:8} {base * 1e3:9.1f} us  untuned {first * 1e3:9.1f} {base / first:.3f}"
        f"  five {best * 1e3:9.1f} {later / best:.3f}  {list(row['config'].values())}",
        flush=True,
    )
    return row


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Geometric mean and smallest ratio of each kind."""
    by_kind: dict[str, Any] = {}
    for kind in dict.fromkeys(row["kind"] for row in rows):
        of_kind = [row for row in rows if row["kind"] == kind]
        for name in ("untuned", "five tries"):
            ratios = [row[name] for row in of_kind]
            mean = math.exp(statistics.mean(map(math.log, ratios)))
            by_kind[f"{kind}, {name}"] = {
                "shapes": len(ratios), "geometric mean": mean, "smallest": min(ratios),
                "below 0.85": sum(ratio < 0.85 for ratio in ratios),
            }  # fmt: skip
    return by_kind


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--match", default="", help="only shapes that have this in their name, such as float8")
    parser.add_argument("--kernels", type=Path, help="a folder of kernels that --compile wrote")
    parser.add_argument("--compile", type=Path, help="only compile, into this folder")
    parser.add_argument("--out")
    options = parser.parse_args()
    shapes: list[Any] = [s for s in [*GEMMS, *ATTENTIONS] if options.match in str(s)]
    if options.compile:
        options.compile.mkdir(parents=True, exist_ok=True)
        build_all(shapes, options.compile)
        return 0
    import torch

    with tempfile.TemporaryDirectory() as temporary:
        folder = options.kernels or Path(temporary)
        if options.kernels is None:
            build_all(shapes, folder)
        rows = []
        for shape in shapes:
            rows.append(measured(shape, folder, options.rounds))
            torch.cuda.empty_cache()
            facts = {
                "date": str(date.today()), "device": torch.cuda.get_device_name(), "torch": torch.__version__,
                "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(), "tilecore": tilecore.__version__,
                "rounds": options.rounds, "summary": summary(rows),
            }  # fmt: skip
            if options.out:
                Path(options.out).write_text(json.dumps({"facts": facts, "rows": rows}, indent=1) + "\n")
    print(json.dumps(summary(rows), indent=1))
    return 1 if any(row["wrong"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
