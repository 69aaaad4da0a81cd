"""Variants of softmax and RMSNorm of long rows on one H200: a row in one block, or over the blocks of a cluster.

    python benchmarks/h200_row_variants.py OUT --compile      (anywhere, without a GPU)
    python benchmarks/h200_row_variants.py OUT [--match TEXT] [--rounds 9] [--seconds 60]

OUT is a folder: the compiled kernels (a run compiles what is not there, in as many processes as there are processors)
and row-variants.json. Every variant is checked against torch before it is timed: single launches, other data in the L2
cache before each, rounds in random order, medians. A line: the case, the variant, microseconds, TB/s (one read and one
write of the tensor), and the ratio of torch's time to it. "torch copy" is the bound. Cases that would begin after
--seconds are left out, and named. "resident" blocks fit on a multiprocessor; "own type", "float32" and "shared memory"
are where they keep their part of the row; without "MiB ahead" prefetches are what the compiler chooses.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import importlib
import json
import statistics
import sys
import time
from datetime import date
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from h200_row_cases import CASES, Case, Variant
from h200_variant_files import build_all, right_calls

TARGET = "cuda -arch=sm_90a"
TOLERANCE = {"float16": 2e-3, "bfloat16": 1e-2, "float32": 1e-5}


def function_of(case: Case, variant: Variant) -> Any:
    """The kernel's T.prim_func."""
    from h200_measure import example

    is_here = variant.file.startswith("h200_")
    module = importlib.import_module(variant.file) if is_here else example(variant.file)
    return getattr(module, variant.function)(case.rows, case.columns, **variant.arguments)


def file_of(case: Case, variant: Variant) -> str:
    text = f"{case.name} {variant.function} {sorted(variant.arguments.items())} {variant.ahead}"
    return hashlib.sha256(text.encode()).hexdigest()[:16] + ".tck"


def build(job: tuple[Case, Variant, str, str]) -> str:
    """Compiles a variant into a file, unless it is there; returns why it does not compile, or nothing."""
    import tilecore

    case, variant, path, backend = job
    if Path(path).exists():
        return ""
    key = tilecore.PassConfigKey
    passes: dict[Any, Any] = {key.TL_ENABLE_FAST_MATH: True} if case.work == "softmax" else {}
    if variant.ahead is not None:
        passes[key.TL_BLOCK_PREFETCH] = variant.ahead
    try:
        func = function_of(case, variant)
        kernel = tilecore.compile(func, target=TARGET, execution_backend=backend, out_idx=-1, pass_configs=passes)
        kernel.export(path)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def measured(case: Case, folder: Path, rounds: int) -> list[dict[str, Any]]:
    from h200_measure import interleaved

    inputs, peers, expected = case.tensors()
    files = {variant.name: folder / file_of(case, variant) for variant in case.variants()}
    works = peers | right_calls(case.name, files, inputs, expected, TOLERANCE[case.dtype])
    del expected
    times = {n: statistics.median(t) for n, t in interleaved(works, rounds, "cold", 1).items()}
    rows = []
    for name in sorted(times, key=lambda n: times[n]):
        speed, ratio = case.bytes / times[name] / 1e9, times["torch"] / times[name]
        row = {"case": case.name, "clock": "cold", "who": name, "us": times[name] * 1e3, "TB/s": speed}
        rows.append({**row, "of torch": ratio})
        print(f"{case.name:30} {name:62} {times[name] * 1e3:8.1f} us {speed:7.3f} TB/s {ratio:.3f}", flush=True)
    return rows


def main() -> int:
    begun = time.perf_counter()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--match", default="", help="only cases that have this in their name")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=60, help="no case begins later")
    parser.add_argument("--backend", default="nvrtc", choices=["nvrtc", "nvcc"], help="what compiles")
    parser.add_argument("--compile", action="store_true", help="only compile")
    options = parser.parse_args()
    cases = [case for case in CASES if options.match in case.name]
    options.out.mkdir(parents=True, exist_ok=True)
    jobs = [
        (f"{case.name}, {variant.name}", (case, variant, str(options.out / file_of(case, variant)), options.backend))
        for case in cases
        for variant in case.variants()
    ]
    failures = build_all(build, jobs)
    if options.compile:
        return 1 if failures else 0
    import torch

    import tilecore

    facts = {
        "date": str(date.today()), "device": torch.cuda.get_device_name(), "torch": torch.__version__,
        "cuda": torch.version.cuda, "tilecore": tilecore.__version__, "rounds": options.rounds,
    }  # fmt: skip
    rows: list[dict[str, Any]] = []
    for case in cases:
        if time.perf_counter() - begun > options.seconds:
            print(f"left out, after {options.seconds:.0f} s: {case.name}", flush=True)
            continue
        rows += measured(case, options.out, options.rounds)
        gc.collect()
        torch.cuda.empty_cache()
        (options.out / "row-variants.json").write_text(json.dumps({"facts": facts, "rows": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
