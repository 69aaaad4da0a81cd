"""Kernels as written for TileLang, compiled by tilecore and by TileLang, in one run on one GPU.

    python benchmarks/as_written.py [--peer-python PYTHON] [--peer-path FOLDER] [--only words] [--rounds N] [--out F]
    python benchmarks/as_written.py --compile-only [--only words]     needs no GPU: what tilecore compiles them to

Each module runs in a process of its own: --peer-python is the Python that has tilelang, --peer-path a folder to search
for it first. Each configuration is checked against torch. All are timed in a few rounds, then the best three of each
module and torch in --rounds rounds, in random order; the ratio of a case is that of the medians of each module's best.
clock "cold": single launches after other data has been written to the second-level cache; "row": several in a row.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import random
import re
import select
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import Any

import as_written_cases as cases

HERE = Path(__file__).resolve().parent
COMPILERS = max(1, (os.cpu_count() or 2) // 2)  # processes of each module
FIRST_ROUNDS, BEST = 4, 3
ANSWER = 90  # seconds that a command may take; a process that takes longer hangs, and is ended
DEVICE_LOST = re.compile(
    "hangs|has ended|CUDA|illegal|launch fail"
)  # failures after which a process launches nothing more


class Process:
    """A worker process of one module."""

    def __init__(self, module: str, python: str, environment: dict[str, str]) -> None:
        self.module, self.python, self.environment = module, python, environment
        self.process: Any = None

    def compilers(self, selected: str) -> list[Any]:
        """Processes that compile the cases of these numbers, between commas."""
        command = [self.python, str(HERE / "as_written_worker.py"), self.module, "compile"]
        return [
            subprocess.Popen(
                [*command, str(n), str(COMPILERS), selected], env=self.environment, stdout=subprocess.DEVNULL
            )
            for n in range(COMPILERS)
        ]

    def start(self) -> None:
        command = [self.python, str(HERE / "as_written_worker.py"), self.module]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=self.environment)

    def ask(self, **command: Any) -> Any:
        """The answer to a command; RuntimeError where it failed."""
        try:
            print(json.dumps(command), file=self.process.stdin, flush=True)
        except BrokenPipeError:
            raise RuntimeError(f"the process of {self.module} has ended") from None
        if not select.select([self.process.stdout], [], [], ANSWER)[0]:
            self.process.kill()
            raise RuntimeError(f"the process of {self.module} hangs")
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process of {self.module} has ended")
        answer = json.loads(line)
        if "failed" in answer:
            raise RuntimeError(answer["failed"])
        return answer["ok"]

    def restarted(self, number: int, configs: list[int]) -> None:
        """A new process with these configurations of the case loaded."""
        self.process.kill()
        self.process.wait()
        self.start()
        self.ask(do="case", case=number)
        for config in configs:
            self.ask(do="load", config=config)


def measured(number: int, case: cases.Case, processes: list[Process], rounds: int) -> dict[str, Any]:
    """The case's result: times of all configurations, the best of each module, and the ratio."""
    entries: list[tuple[Process, Any]] = []
    failures: list[dict[str, Any]] = []
    for process in processes:
        has_peer = process.ask(do="case", case=number)
        for config in range(len(case.configs)):
            try:
                process.ask(do="load", config=config)
                entries.append((process, config))
            except RuntimeError as failure:
                failures.append(
                    {"module": process.module, "config": case.text(case.configs[config]), "why": str(failure)}
                )
                print(f"  {process.module} {case.text(case.configs[config])}: {failure}", flush=True)
                if DEVICE_LOST.search(str(failure)):
                    process.restarted(number, [loaded for of, loaded in entries if of is process])
        if has_peer and process is processes[0]:
            entries.append((process, "torch"))
    first = interleaved(entries, FIRST_ROUNDS, "cold", 1)
    best = [entry for entry in entries if entry[1] == "torch"]
    for process in processes:
        of_module = [entry for entry in entries if entry[0] is process and entry[1] != "torch"]
        best += sorted(of_module, key=lambda entry: statistics.median(first[entry]))[:BEST]
    result: dict[str, Any] = {"case": case.name, "failures": failures, "clocks": {}}
    if not best:
        raise RuntimeError("no configuration was right")
    for clock in ("cold", "row"):
        launches = 1 if clock == "cold" else max(2, min(20, math.ceil(5 / statistics.median(first[best[-1]]))))
        times = interleaved(best, rounds, clock, launches)
        rows = [_row(case, entry, statistics.median(samples)) for entry, samples in times.items()]
        fastest = {row["module"]: row for row in sorted(rows, key=lambda row: -row["ms"])}
        ratios = {
            name: fastest[name]["ms"] / fastest["tilecore"]["ms"]
            for name in fastest
            if name != "tilecore" and "tilecore" in fastest
        }
        result["clocks"][clock] = {"rows": rows, "best": fastest, "ratios": ratios}
    result["first"] = [_row(case, entry, statistics.median(samples)) for entry, samples in first.items()]
    return result


def _row(case: cases.Case, entry: tuple[Process, Any], ms: float) -> dict[str, Any]:
    process, config = entry
    is_torch = config == "torch"
    text = "" if is_torch else case.text(case.configs[config])
    module = "torch" if is_torch else process.module
    return {"module": module, "config": text, "ms": ms, "TFLOP/s": case.amount / ms / 1e9}


def interleaved(entries: list[Any], rounds: int, clock: str, launches: int) -> dict[Any, list[float]]:
    times: dict[Any, list[float]] = {entry: [] for entry in entries}
    for round_number in range(rounds + 1):
        for entry in random.sample(entries, len(entries)):
            ms = entry[0].ask(do="time", config=entry[1], clock=clock, launches=launches)
            if round_number:  # the first warms up
                times[entry].append(ms)
    return times


def report_compiled(selected: list[tuple[int, cases.Case]], target: str) -> None:
    """Prints what tilecore compiles each configuration to."""
    import tilecore

    for _, case in selected:
        print(case.name)
        for config in case.configs:
            try:
                kernel = case.compiled(tilecore, config, target=target, execution_backend="nvcc")
            except Exception as error:
                print(f"  {case.text(config)}: REFUSED: {str(error).splitlines()[0]}", flush=True)
                continue
            print(f"  {case.text(config)}: {described(kernel)}", flush=True)


def described(kernel: Any) -> str:
    """Registers, spills, shared bytes, the store of the result and other choices."""
    explanation, data = kernel.explain(), kernel.explain().data
    (entry,) = kernel.artifact.entries
    numbers = explanation.functions.get(entry.symbol, {})
    words = [f"{entry.shared_bytes} shared bytes", *(f"{value} {name}" for name, value in numbers.items())]
    copies = [row["implementation"] for row in data.get("tile_ops", ()) if row["op"] == "copy"]
    words.append(f"result by {copies[-1]}")
    words += [f"{row['tiles']}: {row['stages']}" for row in data.get("pipelines", ())]
    words += [f"registers {row['registers']}" for row in data.get("warp_roles", ()) if "registers" in row]
    words += [f"no roles: {row['declined']}" for row in data.get("warp_roles", ()) if list(row) == ["declined"]]
    words += [f"blocks {row['order']}" for row in data.get("blocks", ())]
    words += [f"{row['loop']} {row.get('declined') or 'overlaps'}" for row in data.get("overlaps", ())]
    words += [row["text"] for row in data.get("notes", ()) if not re.search("not allocated", row["text"])]
    return "; ".join(words)


def processes_of(options: argparse.Namespace, folder: str) -> list[Process]:
    root = HERE.parent
    ours = {**os.environ, "TILECORE_CACHE_DIR": f"{folder}/tilecore"}
    if importlib.util.find_spec("tilecore") is None:  # not installed: the checkout, whose launcher may not be built
        ours["PYTHONPATH"] = os.pathsep.join([str(root), str(root / "plugins" / "tile-cuda")])
    theirs = {**os.environ, "TILELANG_CACHE_DIR": f"{folder}/tilelang"}
    theirs.pop("PYTHONPATH", None)
    if options.peer_path:
        theirs["PYTHONPATH"] = str(Path(options.peer_path).resolve())
    peer = Process("tilelang", options.peer_python or sys.executable, theirs)
    return [Process("tilecore", sys.executable, ours), peer]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer-python")
    parser.add_argument("--peer-path")
    parser.add_argument("--only", default="", help="cases whose name contains one of these words, between commas")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--out")
    parser.add_argument("--commit", help="of the checkout, for the results")
    parser.add_argument("--compile-only", action="store_true")
    parser.add_argument("--target", default="cuda -arch=sm_90a", help="of --compile-only")
    options = parser.parse_args()
    words = [word for word in options.only.split(",") if word]
    selected = [(n, case) for n, case in enumerate(cases.CASES) if not words or any(w in case.name for w in words)]
    if options.compile_only:
        report_compiled(selected, options.target)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        processes = processes_of(options, folder)
        begun = time.perf_counter()
        numbers = ",".join(str(number) for number, _ in selected)
        for compiler in [compiler for process in processes for compiler in process.compilers(numbers)]:
            compiler.wait()
        print(f"compiled in {time.perf_counter() - begun:.0f} s", flush=True)
        for process in processes:
            process.start()
        results = []
        for number, case in selected:
            try:
                results.append(_printed(measured(number, case, processes, options.rounds)))
            except RuntimeError as failure:
                print(f"{case.name}: not measured: {failure}", flush=True)
                results.append({"case": case.name, "failures": [{"why": str(failure)}], "clocks": {}})
                for process in processes:
                    process.restarted(number, [])
            _summarize(results, options.out, options.commit)
    return 0


def _printed(result: dict[str, Any]) -> dict[str, Any]:
    for clock, facts in result["clocks"].items():
        best = ", ".join(
            f"{name} {row['ms'] * 1e3:.1f} us {row['TFLOP/s']:.0f} TFLOP/s ({row['config']})"
            for name, row in facts["best"].items()
        )
        ratios = " ".join(f"tilecore/{name} {ratio:.3f}" for name, ratio in facts["ratios"].items())
        print(f"{result['case']}, {clock}: {ratios}; {best}", flush=True)
    return result


def _summarize(results: list[dict[str, Any]], out: str | None, commit: str | None) -> None:
    import torch

    facts: dict[str, Any] = {
        "date": str(date.today()),
        "commit": commit,
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "cases": results,
    }
    for clock in ("cold", "row"):
        ratios = [r["clocks"][clock]["ratios"].get("tilelang") for r in results if r["clocks"]]
        known = [ratio for ratio in ratios if ratio]
        if known:
            facts[f"geometric mean, {clock}"] = mean = math.exp(statistics.mean(map(math.log, known)))
            print(f"tilecore/tilelang, {clock}: geometric mean {mean:.3f}, least {min(known):.3f}")
    if out:
        Path(out).write_text(json.dumps(facts, indent=1), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
