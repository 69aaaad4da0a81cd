"""Measures a case of benchmarks/h200.py: checks the output, runs rounds in random order, has three clocks.

clock "cold": single launches after other data has been written to the L2 cache, as triton.testing.do_bench does: with
zeros that still have to be stored. "do_bench": that function itself, which gives the mean. "row": several launches one
after the other. "graph": the same, captured in a CUDA graph, so that the host's time for a call does not count.
"single": one launch after the device has been idle for 8 ms.
"""

from __future__ import annotations

import importlib.util
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

import tilecore
from tilecore.errors import TilecoreError

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
FLUSHED = 256 << 20  # bytes written between launches
IDLE = 0.008  # seconds


def example(name: str) -> Any:
    spec = importlib.util.spec_from_file_location("example_" + name.replace("/", "_"), EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclass
class Case:
    """One piece of work. amount: bytes moved, or operations. ours: factories of a T.prim_func by configuration;
    args: of the kernel, its output last. peers: calls by name, of which ``base`` is what ratios are to; want: the right
    output. tolerance: largest error over the largest value. clocks: how many launches one after the other each of the
    clocks "cold", "row", "graph", "single" takes. options: of tilecore.compile; options_of: in place of these, by
    configuration.
    without: names of peers that are left out."""

    name: str
    unit: str
    amount: float
    args: tuple[Any, ...]
    ours: dict[str, Callable[[], Any]]
    peers: dict[str, Callable[[], Any]]
    want: Any
    tolerance: float
    base: str = "torch"
    clocks: Mapping[str, int] = field(default_factory=lambda: {"cold": 1})
    options: Mapping[str, Any] = field(default_factory=dict)
    options_of: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    without: frozenset[str] = frozenset()

    @property
    def out(self) -> Any:
        return self.args[-1]

    def kernels(self) -> Iterator[tuple[str, Callable[[], Any]]]:
        for name, make in self.ours.items():
            try:
                kernel = tilecore.compile(make(), target="cuda", **self.options_of.get(name, self.options))
                self.out.fill_(float("nan"))
                kernel(*self.args)
                error = ((self.out.float() - self.want).abs().max() / self.want.abs().max()).item()
            except TilecoreError as failure:
                print(f"{self.name}, {name}: {failure}", flush=True)
                continue
            if not error <= self.tolerance:
                print(f"{self.name}, {name}: WRONG, error {error:.2e}", flush=True)
                continue
            yield name, lambda kernel=kernel: kernel(*self.args)

    def measure(self, rounds: int) -> list[dict[str, Any]]:
        works = {f"tilecore: {name}": work for name, work in self.kernels()}
        works |= {name: work for name, work in self.peers.items() if name not in self.without}
        rows = []
        for clock, launches in self.clocks.items():
            if clock == "do_bench":
                measured = by_do_bench(works)
            elif clock == "graph":
                measured = interleaved_graphs(works, rounds, launches)
            else:
                measured = interleaved(works, rounds, clock, launches)
            rows += self._rows(clock, measured)
        return rows

    def _rows(self, clock: str, times: dict[str, list[float]]) -> list[dict[str, Any]]:
        scale = self.amount / 1e9  # of milliseconds
        reached = {name: scale / statistics.median(samples) for name, samples in times.items()}
        rows = []
        for name in sorted(reached, key=lambda n: -reached[n]):
            ratio, us = reached[name] / reached[self.base], statistics.median(times[name]) * 1e3
            row = {"case": self.name, "clock": clock, "who": name, self.unit: reached[name], "us": us}
            rows.append({**row, f"of {self.base}": ratio})
            text = f"{self.name:34} {clock:6} {name:44} {reached[name]:8.3f} {self.unit}  {us:9.1f} us  {ratio:.3f}"
            print(text, flush=True)
        return rows


def by_do_bench(works: dict[str, Callable[[], Any]]) -> dict[str, list[float]]:
    """The milliseconds that triton.testing.do_bench reports, by name."""
    import triton.testing

    return {name: [triton.testing.do_bench(work)] for name, work in works.items()}


def graphed(work: Callable[[], Any], launches: int = 1) -> Callable[[], Any] | None:
    """A replay of so many calls of the work, captured in a CUDA graph; None where they cannot be captured."""
    work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            for _ in range(launches):
                work()
    except Exception as problem:
        print(f"not captured: {str(problem)[:200]}", flush=True)
        torch.cuda.synchronize()
        return None
    return graph.replay


def interleaved_graphs(works: dict[str, Callable[[], Any]], rounds: int, launches: int) -> dict[str, list[float]]:
    """``interleaved`` over CUDA graphs of so many launches; what cannot be captured is called as often."""

    def repeated(work: Callable[[], Any]) -> Callable[[], Any]:
        return lambda: [work() for _ in range(launches)]

    replays = {name: graphed(work, launches) or repeated(work) for name, work in works.items()}
    times = interleaved(replays, rounds, "row", 1)
    return {name: [time_of_all / launches for time_of_all in samples] for name, samples in times.items()}


def interleaved(works: dict[str, Callable[[], Any]], rounds: int, clock: str, launches: int) -> dict[str, list[float]]:
    """The milliseconds of a launch on the device, by name; each round has another order."""
    cache = torch.empty(FLUSHED, dtype=torch.uint8, device="cuda")
    times: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work()
    torch.cuda.synchronize()
    for _ in range(rounds):
        for name in random.sample(list(works), len(works)):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            if clock == "cold":
                cache.zero_()
            elif clock == "single":
                time.sleep(IDLE)
            else:
                works[name]()
            start.record()
            for _ in range(launches):
                works[name]()
            end.record()
            torch.cuda.synchronize()
            times[name].append(start.elapsed_time(end) / launches)
    return times
