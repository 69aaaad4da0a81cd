"""One module's process of benchmarks/as_written.py: compiles, checks and times kernels, one command a line of JSON.

    python benchmarks/as_written_worker.py MODULE             reads commands, answers each with a line
    python benchmarks/as_written_worker.py MODULE compile I N CASES  compiles every N-th kernel from the I-th on

Commands: {"do": "case", "case": number}, {"do": "load", "config": number}, {"do": "time", "config": number or "torch",
"clock": "cold" or "row", "launches": number}. Answers: {"ok": value} or {"failed": text}.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
from typing import Any

import as_written_cases as cases

FLUSHED = 256 << 20  # bytes written between launches
TOLERANCE = {"gemm": 6e-3, "attention": 1e-2, "float8": 2e-2}  # products of 8 bits are added with 14 bits (wgmma)


class Worker:
    """The current case, its tensors and its kernels by the number of their configuration."""

    def __init__(self, module: Any) -> None:
        import torch

        self.torch, self.module = torch, module
        self.cache = torch.empty(FLUSHED, dtype=torch.uint8, device="cuda")
        self.calls: dict[Any, Any] = {}

    def answer(self, command: dict[str, Any]) -> Any:
        return getattr(self, f"do_{command.pop('do')}")(**command)

    def do_case(self, case: int) -> bool:
        self.calls.clear()
        self.operands: Any = None
        self.torch.cuda.empty_cache()
        self.case = cases.CASES[case]
        self.operands = cases.Operands(self.case)
        if self.operands.peer is not None:
            self.calls["torch"] = self.operands.peer
        return self.operands.peer is not None

    def do_load(self, config: int) -> float:
        """The error of the kernel, whose output is checked against torch."""
        kernel = self.case.compiled(self.module, self.case.configs[config])
        self.operands.out.zero_()
        kernel(*self.operands.args)
        self.torch.cuda.synchronize()
        error = self.operands.error()
        if not error <= TOLERANCE.get(str(self.case.sizes.get("dtype", ""))[:6], TOLERANCE[self.case.kind]):
            raise ValueError(f"wrong values: the largest error is {error:.2e} of the largest value")
        self.calls[config] = lambda: kernel(*self.operands.args)
        return error

    def do_time(self, config: Any, clock: str, launches: int) -> float:
        """Milliseconds of a launch."""
        call, torch = self.calls[config], self.torch
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        if clock == "cold":
            self.cache.zero_()
        else:
            call()
        start.record()
        for _ in range(launches):
            call()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) / launches


def compile_share(module: Any, index: int, count: int, numbers: list[int]) -> None:
    """Compiles some of the kernels of the cases of these numbers, for the disk cache."""
    jobs = [(cases.CASES[number], config) for number in numbers for config in cases.CASES[number].configs]
    for case, config in jobs[index::count]:
        with contextlib.suppress(Exception):
            case.compiled(module, config)


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the modules print is no answer
    module = importlib.import_module(sys.argv[1])
    if sys.argv[2:3] == ["compile"]:
        compile_share(module, int(sys.argv[3]), int(sys.argv[4]), [int(number) for number in sys.argv[5].split(",")])
        return
    worker = Worker(module)
    for line in sys.stdin:
        try:
            answer = {"ok": worker.answer(json.loads(line))}
        except Exception as error:
            answer = {"failed": f"{type(error).__name__}: {error}"[:600]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
