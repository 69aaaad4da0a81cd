"""Variants of matrix products on one H200, beside cuBLAS (torch) and Triton in the same run.

    python benchmarks/h200_product_variants.py OUT [--only sgemm,few,large,pairs,scaled,grouped] [--rounds 7]
    python benchmarks/h200_product_variants.py OUT --compile      (anywhere, without a GPU)

OUT is a folder: the compiled kernels (a run compiles what is not there, in as many processes as there are processors)
and product-variants.json. Every variant is checked against torch before it is timed. A line: the case, the clock of
h200_measure.py, the variant, microseconds, TFLOP/s, and the ratio of torch's median time to it. "few" and "scaled" are
replayed as CUDA graphs with the L2 full of other data, as h200_defaults.py does; the others are rows of launches.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import statistics
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))


from h200_measure import example, graphed, interleaved
from h200_variant_cases import CASES, Case, Variant
from h200_variant_files import build_all, right_calls

import tilecore

TARGET = "cuda -arch=sm_90a"


def file_of(case: Case, variant: Variant) -> str:
    arguments = sorted((case.fixed | variant.arguments).items())
    text = f"{case.example} {case.sizes} {arguments} {sorted(variant.passes.items())}"
    return hashlib.sha256(text.encode()).hexdigest()[:16] + ".tck"


def build(job: tuple[str, tuple[int, ...], dict[str, Any], dict[str, Any], str, str]) -> str:
    """Compiles a variant into a file, unless it is there; returns why it does not compile, or nothing."""
    name, sizes, arguments, pass_values, path, backend = job
    if Path(path).exists():
        return ""
    try:
        func = getattr(example(name), name)(*sizes, **arguments)
        passes = {tilecore.PassConfigKey[key]: value for key, value in pass_values.items()}
        kernel = tilecore.compile(func, target=TARGET, execution_backend=backend, out_idx=-1, pass_configs=passes)
        kernel.export(path)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def peers_of(case: Case, peers: dict[str, Callable[[], Any]], expected: Any) -> dict[str, Callable[[], Any]]:
    """The libraries' calls that run; their errors are printed, too."""
    works: dict[str, Callable[[], Any]] = {}
    for name, work in peers.items():
        try:
            error = ((work().float() - expected).abs().max() / expected.abs().max()).item()
        except Exception as failure:
            print(f"{case.name}, {name}: {str(failure)[:300]}", flush=True)
            continue
        if error <= 2 * case.tolerance:
            works[name] = work
        else:
            print(f"{case.name}, {name}: WRONG, error {error:.2e}", flush=True)
    return works


def measured(case: Case, folder: Path, rounds: int) -> list[dict[str, Any]]:
    inputs, peers, expected = case.tensors()
    files = {variant.name: folder / file_of(case, variant) for variant in case.variants}
    works = peers_of(case, peers, expected) | right_calls(case.name, files, inputs, expected, case.tolerance)
    if not works:
        return []
    if case.clock == "cold":
        works = {name: graphed(work) or work for name, work in works.items()}
    times = {n: statistics.median(t) for n, t in interleaved(works, rounds, case.clock, case.launches).items()}
    base = times.get(next(iter(peers)), float("nan"))
    rows = []
    for name in sorted(times, key=lambda n: times[n]):
        speed, ratio = case.operations / times[name] / 1e9, base / times[name]
        rows.append({"case": case.name, "clock": case.clock, "who": name, "us": times[name] * 1e3, "of torch": ratio})
        print(f"{case.name:34} {case.clock:5} {name:44} {times[name] * 1e3:9.1f} us {speed:7.1f} TFLOP/s {ratio:.3f}")
    sys.stdout.flush()
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", default=",".join(CASES))
    parser.add_argument("--match", default="", help="only cases that have this in their name")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--backend", default="nvrtc", choices=["nvrtc", "nvcc"], help="what compiles")
    parser.add_argument("--compile", action="store_true", help="only compile")
    options = parser.parse_args()
    cases = [case for group in options.only.split(",") for case in CASES[group]() if options.match in case.name]
    options.out.mkdir(parents=True, exist_ok=True)
    jobs = [
        (
            f"{case.name}, {v.name}",
            (case.example, case.sizes, case.fixed | v.arguments, v.passes, str(options.out / file_of(case, v)),
             options.backend),
        )
        for case in cases
        for v in case.variants
    ]  # fmt: skip
    failures = build_all(build, jobs)
    if options.compile:
        return 1 if failures else 0
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    rows: list[dict[str, Any]] = []
    for case in cases:
        rows += measured(case, options.out, options.rounds)
        gc.collect()  # the graphs' memory
        torch.cuda.empty_cache()
        facts = {
            "date": str(date.today()), "device": torch.cuda.get_device_name(), "torch": torch.__version__,
            "cuda": torch.version.cuda, "tilecore": tilecore.__version__, "rounds": options.rounds,
        }  # fmt: skip
        (options.out / "product-variants.json").write_text(json.dumps({"facts": facts, "rows": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
