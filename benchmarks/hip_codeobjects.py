"""Compiles the performance suite and every example for AMD GPUs, and records what the code objects tell. No GPU needed.

    python benchmarks/hip_codeobjects.py [--arch gfx90a,gfx942,...] [--match TEXT] [--jobs 2] [--out FILE]
    python benchmarks/hip_codeobjects.py --compare [--arch ...] [--match TEXT]

For each kernel of hip_kernels.py and each chip: registers, spills, scratch, LDS, occupancy, the instructions of the
main loop by kind, and a model of its time (plugins/tile-hip/tile_hip/figures/). It is a model, nothing is measured. A
kernel that a chip refuses is recorded with the reason. --compare compiles again and exits with 1 if something is worse
than the record: it names the kernel, the figure, the old and the new value (hip_comparison.py). Without --compare the
record is written; with --arch or --match only those rows of it change. Chips that no installed compiler knows are left
out: gfx950 needs LLVM 20, such as that of ziglang.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from hip_comparison import worse
from hip_kernels import CDNA_ONLY, RDNA_ONLY, SMALLER, SUITE

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "benchmarks" / "results" / "hip-codeobjects.json"
CHIPS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")


def calls() -> list[tuple[str, str]]:
    """(example, call) of every kernel: the suite, the examples' own calls, and those with smaller tiles."""
    from tilecore.target_report.files import module_of

    several = [(name, call) for name, texts in SUITE.items() for call in texts]
    for path in sorted((ROOT / "examples").glob("*.py")):
        several += [(path.stem, call) for call in map(_first, module_of(path).EXPLAIN)]
        several += [(path.stem, call) for call in SMALLER.get(path.stem, ())]
    return list(dict.fromkeys(several))


def _first(calls: str) -> str:
    """The first of "a(64) or a(32)": SMALLER has those with smaller tiles."""
    return calls.partition(" or ")[0]


def is_for(call: str, arch: str) -> bool:
    """Whether a call's tiles are for the chip's family."""
    return call not in (RDNA_ONLY if arch.startswith("gfx9") else CDNA_ONLY)


def row_of(example: str, call: str, arch: str) -> dict[str, Any]:
    """By kernel symbol the analysis of what one call compiles to; {"refused": reason} where the chip refuses it."""
    from tile_hip.figures.analysis import analysis

    from tilecore.codegen.kernel_symbols import plain_name
    from tilecore.compiler import CompileOptions, build_artifact
    from tilecore.contract.records import BuildRequest
    from tilecore.errors import TilecoreError
    from tilecore.plugins import manager
    from tilecore.target_report.files import module_of
    from tilecore.target_report.kernels import Kernel, kernels_of

    backend, target = manager.resolve(f"hip -arch={arch}")
    name = call.partition("(")[0]
    (kernel,) = kernels_of(module_of(ROOT / "examples" / f"{example}.py"), name, [call])
    assert isinstance(kernel, Kernel), kernel
    try:
        artifact = build_artifact(kernel.make({}), backend, target, "hip", CompileOptions())
    except TilecoreError as error:
        return {"refused": error.message}
    symbols = tuple(entry.symbol for entry in artifact.entries)
    request = BuildRequest(artifact.name, artifact.source, symbols, target, adapter="hip")
    kernels = analysis(request, artifact.binary, artifact.entries)
    return {plain_name(symbol, len(kernels) == 1): kernel.as_data() for symbol, kernel in kernels.items()}


def rows(work: Sequence[tuple[str, str, str]], jobs: int) -> dict[str, dict[str, Any]]:
    """{"example: call": {chip: row}} for (example, call, chip), in processes."""
    collected: dict[str, dict[str, Any]] = {}
    with ProcessPoolExecutor(jobs) as pool:
        for (example, call, arch), row in zip(work, pool.map(row_of, *zip(*work, strict=True)), strict=True):
            collected.setdefault(f"{example}: {call}", {})[arch] = row
    return collected


def compilers_of(arches: Iterable[str]) -> dict[str, str]:
    """The version of the compiler of each chip, of those that one of this machine's compilers knows."""
    from tile_hip import compilers

    from tilecore.errors import ToolchainError

    versions = {}
    for arch in arches:
        try:
            versions[arch] = f"clang {compilers.compiler_for(arch).version}"
        except ToolchainError:
            print(f"{arch}: no compiler of this machine knows it, left out", file=sys.stderr)
    return versions


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", default=",".join(CHIPS))
    parser.add_argument("--match", default="", help='only kernels that have this in "example: call"')
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--compare", action="store_true", help="compare with the record instead of writing it")
    parser.add_argument("--out", type=Path, default=RECORD, help="the record")
    options = parser.parse_args(words)
    unknown = [arch for arch in options.arch.split(",") if arch not in CHIPS]
    if unknown:
        parser.error(f"--arch: {unknown[0]!r} is none of {', '.join(CHIPS)}")
    versions = compilers_of(options.arch.split(","))
    named = [(example, call) for example, call in calls() if options.match in f"{example}: {call}"]
    work = [(example, call, arch) for example, call in named for arch in versions if is_for(call, arch)]
    if not work:
        parser.error("no kernel and chip is left to compile")
    start = time.monotonic()
    now = rows(work, options.jobs)
    print(f"{len(work)} kernels and chips in {time.monotonic() - start:.0f} s", file=sys.stderr)
    record = json.loads(options.out.read_text()) if options.out.exists() else {"kernels": {}}
    if options.compare:
        return compared(record, now, versions)
    write(options.out, record, now, versions, whole=not options.match)
    return 0


def compared(record: dict[str, Any], now: dict[str, dict[str, Any]], versions: dict[str, str]) -> int:
    """Prints what is worse than the record; the exit status."""
    old = record.get("facts", {}).get("compilers", {})
    lines = worse(record["kernels"], now, {arch for arch in versions if versions[arch] == old.get(arch)})
    for line in lines:
        print(line)
    print(f"{len(lines)} figures are worse than the record" if lines else "nothing is worse than the record")
    return int(bool(lines))


def write(
    path: Path, record: dict[str, Any], now: dict[str, dict[str, Any]], versions: dict[str, str], whole: bool
) -> None:
    """Writes the record with the new rows; rows of other chips stay, and with ``whole`` those of unknown kernels go."""
    recorded = record["kernels"]
    if whole:
        recorded = {name: recorded.get(name, {}) for name in now}
    kernels = {name: {**recorded.get(name, {}), **now.get(name, {})} for name in dict.fromkeys([*recorded, *now])}
    facts = {
        "date": str(date.today()),
        "compilers": {**record.get("facts", {}).get("compilers", {}), **versions},
        "note": "compiled, not run: no GPU was at hand; cycles and fractions are a model, not a measurement",
        "command": "python benchmarks/hip_codeobjects.py",
    }
    rows = [f" {json.dumps(name)}: {{\n{_lines(chips)}\n }}" for name, chips in kernels.items()]
    path.write_text(f'{{"facts": {json.dumps(facts, indent=1)},\n"kernels": {{\n' + ",\n".join(rows) + "\n}}\n")


def _lines(chips: dict[str, Any]) -> str:
    """A line for each chip: a change shows in a difference as the lines of its kernel and chips."""
    return ",\n".join(f"  {json.dumps(arch)}: {json.dumps(chips[arch])}" for arch in sorted(chips))


if __name__ == "__main__":
    sys.exit(main())
