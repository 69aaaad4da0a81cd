"""Compares the cycles of kernels on tile-tpu's simulator with the bounds of the chip, and times their compilation.

    python benchmarks/tpu.py [--only matmul,attention] [--quick] [--out FILE]

Cycles are estimates from public figures (plugins/tile-tpu/tile_tpu/simulate/README.md). "ratio" is the cycles of a
kernel over the larger of two bounds: what its DMA takes alone, and what its products take alone; of a call that
launches several kernels, over the sum of theirs. "tensor" is what the tensor unit takes alone: products, vector
instructions and waits for banks. Every kernel is compiled with default settings, checked against numpy, and compiled
once more with T.Pipelined off ("no pipeline") and with local memory planned without a view to banks ("any bank").
"compile" is in seconds of a processor, so that others on the machine do not count, without the C compiler: "C" is that.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from tpu_cases import Case, cases

import tilecore

ANY_BANK = {"tl.disable_bank_aware_allocation": True}
COMPILE_BAR = 1.0  # seconds


@dataclass(frozen=True)
class Row:
    """Cycles, and seconds. no_pipeline, any_bank: cycles without that help."""

    kernel: str
    cycles: float
    dma_bound: float
    matrix_bound: float
    tensor_bound: float
    ratio: float
    bar: float | None
    met: bool
    bank_conflicts: int
    conflict_cycles: float
    no_pipeline: float | None
    any_bank: float
    any_bank_conflicts: int
    any_bank_conflict_cycles: float
    compile_s: float
    c_compiler_s: float
    error: float


class CCompiler:
    """Seconds that the simulator's C compiler takes, by the clock."""

    def __init__(self) -> None:
        from tile_tpu.simulate import build

        self.seconds = 0.0
        self._compile = build.compile_kernel
        build.compile_kernel = self._timed

    def _timed(self, *args: Any, **options: Any) -> Any:
        start = time.perf_counter()
        try:
            return self._compile(*args, **options)
        finally:
            self.seconds += time.perf_counter() - start


@dataclass(frozen=True)
class Run:
    reports: list[Any]
    compile_s: float
    c_compiler_s: float
    error: float

    def total(self, counter: str) -> float:
        return sum(getattr(report, counter) for report in self.reports)

    def of_cores(self, counter: str) -> float:
        return sum(getattr(core, counter) for report in self.reports for core in report.cores)

    @property
    def bound(self) -> float:
        return sum(max(report.dma_bound, report.matrix_bound) for report in self.reports)


def run(case: Case, compiler: CCompiler, stages: int, configs: dict[str, Any]) -> Run:
    """Compiles and calls a kernel once. The seconds include the function that builds the kernel."""
    c_seconds, start = compiler.seconds, time.process_time()
    kernel = tilecore.compile(case.make(stages), target="tpu", execution_backend="sim", pass_configs=configs)
    seconds = time.process_time() - start
    c_seconds = compiler.seconds - c_seconds
    arrays = [array.copy() for array in case.arrays]
    kernel(*arrays)
    apart = np.abs(arrays[-1].astype(np.float64) - case.want)
    error = float((apart / (1 + np.abs(case.want))).max())
    if not error <= case.tolerance:
        raise SystemExit(f"{case.name}: wrong by {error}, at most {case.tolerance} is right")
    return Run(list(kernel.loaded.owner.reports), seconds, c_seconds, error)


def measured(case: Case, compiler: CCompiler) -> Row:
    plain = run(case, compiler, 2, {})
    serial = run(case, compiler, 0, {}) if case.pipelined else None
    any_bank = run(case, compiler, 2, ANY_BANK)
    ratio = plain.total("total_cycles") / plain.bound
    return Row(
        case.name, plain.total("total_cycles"), plain.total("dma_bound"), plain.total("matrix_bound"),
        plain.total("tensor_bound"), ratio, case.bar,
        (case.bar is None or ratio <= case.bar) and plain.compile_s <= COMPILE_BAR,
        int(plain.of_cores("bank_conflicts")), plain.of_cores("conflict_cycles"),
        serial.total("total_cycles") if serial else None, any_bank.total("total_cycles"),
        int(any_bank.of_cores("bank_conflicts")), any_bank.of_cores("conflict_cycles"), plain.compile_s,
        plain.c_compiler_s, plain.error,
    )  # fmt: skip


def table(rows: list[Row]) -> Any:
    from rich.table import Table

    result = Table("kernel", title="tile-tpu on its simulator, bm1690: cycles of the slowest core, settings by default")
    heads = ["cycles", "DMA", "matrix", "tensor", "ratio", "bar", "no pipeline", "any bank", "conflicts", "of any bank"]
    for head in [*heads, "compile", "C"]:
        result.add_column(head, justify="right", no_wrap=True)
    for row in rows:
        bar = "" if row.bar is None else f"{row.bar:g}"
        slow = row.compile_s > COMPILE_BAR
        word = "met" if row.met else f"[bold red]{'compile ' * slow}not met[/]"
        serial = "" if row.no_pipeline is None else f"{row.no_pipeline:,.0f}"
        result.add_row(
            row.kernel, f"{row.cycles:,.0f}", f"{row.dma_bound:,.0f}", f"{row.matrix_bound:,.0f}",
            f"{row.tensor_bound:,.0f}", f"{row.ratio:.2f}", f"{bar} {word}".strip(), serial, f"{row.any_bank:,.0f}",
            f"{row.bank_conflicts:,}", f"{row.any_bank_conflicts:,}", f"{row.compile_s:.2f} s",
            f"{row.c_compiler_s:.2f} s",
        )  # fmt: skip
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="WORDS", help="kernels whose names contain one of these words")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, a minute in all")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write what was measured as JSON")
    options = parser.parse_args()
    from rich.console import Console

    console = Console()
    words = [word for word in options.only.split(",") if word]
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TILECORE_CACHE_DIR"] = cache  # nothing that was compiled before
        compiler = CCompiler()
        with console.status("building the simulator"):  # and what is imported at the first compile
            first = next(cases(quick=True))
            tilecore.compile(first.make(0), target="tpu", execution_backend="sim")
        for case in cases(options.quick):
            if words and not any(word in case.name for word in words):
                continue
            with console.status(case.name):
                rows.append(measured(case, compiler))
    Console(width=max(console.width, 190)).print(table(rows))
    if options.out:
        command = f"python benchmarks/tpu.py{' --quick' * options.quick}"
        facts = {"date": str(date.today()), "chip": "bm1690, simulated: cycles are estimates", "command": command}
        options.out.write_text(json.dumps({"facts": facts, "rows": [asdict(row) for row in rows]}, indent=1) + "\n")
    sys.exit(any(not row.met for row in rows))


if __name__ == "__main__":
    main()
