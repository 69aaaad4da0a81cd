"""Compiles kernels for Apple GPUs and records what their emitted programs tell. No Mac is needed; clang is.

    python benchmarks/metal_programs.py [--match TEXT] [--out FILE]
    python benchmarks/metal_programs.py --compare [--match TEXT]

For each kernel of ``SUITE`` and each GPU family: threads, threadgroup memory, an estimate of registers, the
instructions of the main loop by kind as clang counts them, and a model of its time
(plugins/tile-metal/tile_metal/figures/). It is a model, and Apple's compiler was not asked: nothing is measured. A
kernel that is refused is recorded with the reason. --compare compiles again and exits with 1 if something is worse than
the record: it names the kernel, the figure, the old and the new value. Without --compare the record is written; with
--match only those rows of it change.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "benchmarks" / "results" / "metal-programs.json"
COMMAND = "benchmarks/metal_programs.py"
FAMILIES = ("apple7", "apple9")
# by example: calls with MLX's tiles (mlx/backend/metal/matmul.cpp, steel attention), and with those of the example
SUITE = {
    "gemm": [
        "gemm(4096, 4096, 4096, block_M=64, block_N=64, block_K=16, stages=2, threads=128)",
        "gemm(4096, 4096, 4096, block_M=64, block_N=64, block_K=32, stages=2, threads=128)",
        "gemm(4096, 4096, 4096, block_M=64, block_N=64, block_K=32, stages=1, threads=128)",
        "gemm(4096, 4096, 4096, layout='NT', block_M=64, block_N=32, block_K=32, stages=2, threads=128)",
        "gemm(4096, 4096, 4096, layout='TN', block_M=64, block_N=64, block_K=32, stages=2, threads=128)",
        "gemm(4096, 4096, 4096, 'bfloat16', block_M=64, block_N=64, block_K=32, stages=2, threads=128)",
        "gemm(4096, 4096, 4096, 'float32', block_M=64, block_N=64, block_K=16, stages=2, threads=128)",
        "gemm(4096, 4096, 4096, 'float32', layout='NT', block_M=32, block_N=64, block_K=16, stages=2, threads=64)",
        "gemm(4096, 4096, 4096, 'int8', layout='NT', block_M=64, block_N=64, block_K=64, stages=2, threads=128)",
        "gemm(4096, 4096, 4096)",
        "gemm(4096, 4096, 4096, block_K=32, threads=256)",
    ],
    "attention": [
        "attention(4, 32, 32, 4096, 64, block_M=32, block_N=32, stages=1, threads=128)",
        "attention(4, 32, 32, 4096, 64, block_M=64, block_N=32, stages=1, threads=128)",
        "attention(4, 32, 32, 4096, 64, True, block_M=32, block_N=32, stages=1, threads=128)",
        "attention(4, 32, 32, 4096, 128, block_M=32, block_N=16, stages=1, threads=128)",
        "attention(4, 32, 32, 4096, 64, dtype='bfloat16', block_M=32, block_N=32, stages=1, threads=128)",
    ],
    "softmax": [
        "softmax_of_rows(16384, 4096, 1, 256, 'float16')",
        "softmax_in_pieces(4096, 12000, 1024, 'float16')",
    ],
}


def row_of(example: str, call: str, family: str) -> dict[str, Any]:
    """By kernel symbol the analysis of what one call compiles to; {"refused": reason} where it is refused."""
    from tile_metal.figures.analysis import analysis

    from tilecore.codegen.kernel_symbols import plain_name
    from tilecore.compiler import CompileOptions, build_artifact
    from tilecore.errors import TilecoreError
    from tilecore.plugins import manager
    from tilecore.target_report.files import module_of
    from tilecore.target_report.kernels import Kernel, kernels_of

    backend, target = manager.resolve(f"metal -family={family} -msl=3.2")
    (kernel,) = kernels_of(module_of(ROOT / "examples" / f"{example}.py"), call.partition("(")[0], [call])
    assert isinstance(kernel, Kernel), kernel
    try:
        artifact = build_artifact(kernel.make({}), backend, target, "torch", CompileOptions())
    except TilecoreError as error:
        return {"refused": error.message}
    kernels = analysis(artifact)
    return {plain_name(symbol, len(kernels) == 1): kernel.as_data() for symbol, kernel in kernels.items()}


def rows(match: str) -> dict[str, dict[str, Any]]:
    """{"example: call": {family: row}} of the calls that have ``match`` in their name."""
    named = {f"{example}: {call}": (example, call) for example, calls in SUITE.items() for call in calls}
    return {
        name: {family: row_of(*pair, family) for family in FAMILIES} for name, pair in named.items() if match in name
    }


def worse(old: Mapping[str, Any], now: Mapping[str, Any], same_compiler: bool) -> list[str]:
    """One line for each figure that is worse: "kernel on family: figure was X, is Y".

    same_compiler: one version of clang made both; else only what the emitted text tells is compared.
    """
    lines = []
    for name, families in now.items():
        for family, row in families.items():
            before = old.get(name, {}).get(family)
            if before is None:
                lines.append(
                    f"{name} on {family}: is not in the record; python benchmarks/metal_programs.py records it"
                )
            else:
                lines += [f"{name} on {family}: {text}" for text in _worse_row(before, row, same_compiler)]
    return lines


def _worse_row(before: Mapping[str, Any], row: Mapping[str, Any], same: bool) -> Iterator[str]:
    if "refused" in row:
        if "refused" not in before:
            yield f"it was compiled, and is refused: {row['refused']}"
        return
    for symbol, kernel in row.items():
        old = before.get(symbol)
        if old is not None:
            yield from (f"{symbol}: {text}" for text in _worse_kernel(old, kernel, same))


def _worse_kernel(old: Mapping[str, Any], kernel: Mapping[str, Any], same: bool) -> Iterator[str]:
    for figure in ("threadgroup_bytes", "registers_of_arrays"):
        was, now = old["figures"][figure], kernel["figures"][figure]
        if now > was:
            yield f"{figure} was {was}, is {now}"
    was, now = (part.get("main_loop", {}).get("matrix", 0) for part in (old, kernel))
    if was and not now:
        yield f"matrix products of the main loop were {was}, are 0"
    if same:
        was, now = (part.get("main_loop", {}).get("thread_memory", 0) for part in (old, kernel))
        if now > was:
            yield f"accesses of arrays that are not in registers were {was}, are {now}"
        was, now = (part["model"].get("issue_share", 0) for part in (old, kernel))
        if now < was - 0.01:
            yield f"issue_share of matrix products (a model) was {was}, is {now}"
        was, now = (part["model"].get("cycles", 0) for part in (old, kernel))
        if now > 1.02 * was:
            yield f"cycles of an iteration (a model) were {was}, are {now}"


def write(path: Path, record: Mapping[str, Any], now: Mapping[str, Any], compiler: str, whole: bool) -> None:
    """Writes the record with the new rows; with ``whole`` those of other kernels go."""
    kernels = {**({} if whole else record["kernels"]), **now}
    facts = {
        "date": str(date.today()),
        "compiler": compiler,
        "note": "compiled by clang, not by Apple's compiler, and not run: cycles and shares are a model",
        "command": f"python {COMMAND}",
    }
    lines = [f" {json.dumps(name)}: {{\n{_lines(families)}\n }}" for name, families in kernels.items()]
    path.write_text(f'{{"facts": {json.dumps(facts, indent=1)},\n"kernels": {{\n' + ",\n".join(lines) + "\n}}\n")


def _lines(families: Mapping[str, Any]) -> str:
    """A line for each family: a change shows in a difference as the lines of its kernel and families."""
    return ",\n".join(f"  {json.dumps(family)}: {json.dumps(families[family])}" for family in sorted(families))


def main(words: Sequence[str] | None = None) -> int:
    from tile_metal.figures import compiled

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--match", default="", help='only kernels that have this in "example: call"')
    parser.add_argument("--compare", action="store_true", help="compare with the record instead of writing it")
    parser.add_argument("--out", type=Path, default=RECORD, help="the record")
    options = parser.parse_args(words)
    now = rows(options.match)
    if not now:
        parser.error(f"--match: no kernel has {options.match!r} in its name")
    compiler = compiled.version()
    record = json.loads(options.out.read_text()) if options.out.exists() else {"facts": {}, "kernels": {}}
    if not options.compare:
        write(options.out, record, now, compiler, whole=not options.match)
        return 0
    lines = worse(record["kernels"], now, record["facts"].get("compiler") == compiler)
    for line in lines:
        print(line)
    print(f"{len(lines)} figures are worse than the record" if lines else "nothing is worse than the record")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
