"""How the time of building and lowering a kernel grows with its number of statements.

    python benchmarks/lowering_growth.py [--targets cpu,"cuda -arch=sm_90a",tpu] [--kinds loops,stores,...]
                                         [--sizes 10,100,1000,10000] [--limit 60] [--out FILE]

Each kernel has SIZE statements of one kind, and is written as a file, as users write kernels:

loops       parallel loops over one buffer, one after the other: they are fused
copies      a tile of the input through shared memory and back, by T.copy
fragments   a fragment for each statement, filled, changed and stored
stores      stores of single elements by one serial loop's body
nested      loops of 8 statements inside serial loops

For each it prints the seconds of building the IR (``front``) and of lowering and emitting it (``lower``), and what the
time of a statement is against that of the smallest kernel of at least 100 statements: 1.0 is linear growth. A kind ends
at the first size that takes longer than LIMIT seconds. Nothing is compiled. The JSON has the machine, too.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tilecore

BASE = 100  # the growth is measured from the first size that is not below it


def _loops(size: int) -> list[str]:
    return [
        line
        for m in range(size)
        for line in ("for i in T.Parallel(64):", f"    A[{m % 64}, i] = A[{m % 64}, i] * 2 + {m}")
    ]


def _copies(size: int) -> list[str]:
    lines = ["tile = T.alloc_shared((64, 64), 'float32')"]
    return lines + ["T.copy(A, tile)" if m % 2 == 0 else "T.copy(tile, A)" for m in range(size)]


def _fragments(size: int) -> list[str]:
    lines = []
    for m in range(size // 4 + 1):
        lines += [f"f{m} = T.alloc_fragment((64,), 'float32')", f"T.fill(f{m}, {m})", "for i in T.Parallel(64):"]
        lines += [f"    f{m}[i] = f{m}[i] * 3 + A[{m % 64}, i]", f"T.copy(f{m}, A[{m % 64}, :])"]
    return lines


def _stores(size: int) -> list[str]:
    return ["for i in T.serial(64):", *(f"    A[{m % 64}, i] = A[{m % 64}, i] * 2 + {m}" for m in range(size))]


def _nested(size: int) -> list[str]:
    lines = []
    for m in range(size // 10 + 1):
        lines += [f"for k in T.serial({m % 7 + 2}):", "    for i in T.Parallel(64):"]
        lines += [f"        A[{(m + j) % 64}, i] = A[{(m + j) % 64}, i] * 2 + k" for j in range(8)]
    return lines


KINDS: dict[str, Callable[[int], list[str]]] = {
    "loops": _loops,
    "copies": _copies,
    "fragments": _fragments,
    "stores": _stores,
    "nested": _nested,
}


def kernel_of(kind: str, size: int, folder: Path) -> Any:
    """The kernel, from a file of its own."""
    path = folder / f"{kind}_{size}.py"
    head = ["import tilecore.language as T", "", "@T.prim_func", "def kernel(A: T.Tensor((64, 64), 'float32')):"]
    body = [f"        {line}" for line in KINDS[kind](size)]
    path.write_text("\n".join([*head, "    with T.Kernel(1, threads=64):", *body]) + "\n")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


def measured(kind: str, size: int, target: str, folder: Path) -> dict[str, Any]:
    """The seconds of one kernel."""
    start = time.perf_counter()
    function = kernel_of(kind, size, folder)
    _ = function.ir
    built = time.perf_counter()
    tilecore.lower(function, target=target)
    return {"size": size, "front": round(built - start, 3), "lower": round(time.perf_counter() - built, 3)}


def growth(rows: list[dict[str, Any]], which: str) -> float | None:
    """The time of a statement in the last row against that in the first one of at least BASE statements."""
    first = next((row for row in rows if row["size"] >= BASE), None)
    if first is None or first is rows[-1]:
        return None
    return round(float(rows[-1][which] / rows[-1]["size"] / (first[which] / first["size"])), 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", default="cpu,cuda -arch=sm_90a,tpu")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--sizes", default="10,100,1000,10000")
    parser.add_argument("--limit", type=float, default=60, help="seconds of one kernel after which a kind ends")
    parser.add_argument("--out", help="a file for the numbers as JSON")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    results: dict[str, dict[str, list[dict[str, Any]]]] = {}
    with tempfile.TemporaryDirectory() as name:
        for target in options.targets.split(","):
            measured("loops", 2, target, Path(name))  # what is imported once
            for kind in options.kinds.split(","):
                rows = results.setdefault(target, {}).setdefault(kind, [])
                for size in sizes:
                    rows.append(measured(kind, size, target, Path(name)))
                    row = {**rows[-1], "front growth": growth(rows, "front"), "lower growth": growth(rows, "lower")}
                    print(f"{target:20} {kind:10}", *(f"{key} {value}" for key, value in row.items()), flush=True)
                    if row["front"] + row["lower"] > options.limit:
                        break
    if options.out:
        machine = {"processor": platform.processor() or platform.machine(), "python": platform.python_version()}
        Path(options.out).write_text(json.dumps({"machine": machine, "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
