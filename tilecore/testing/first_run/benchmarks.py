"""Speed beside other libraries: each benchmark tries a few configurations, checks all results, keeps the fastest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tilecore.testing.first_run import kernels
from tilecore.testing.first_run.machine import Machine, largest_error


@dataclass(frozen=True)
class Peer:
    """Another library that does the same work. run: does it. result: what run returns as a tensor of torch.
    milliseconds: the time of a call of run; None: as the machine measures."""

    name: str
    run: Callable[[], Any]
    result: Callable[[Any], Any] = lambda value: value
    milliseconds: Callable[[Callable[[], Any]], float] | None = None


@dataclass(frozen=True)
class Benchmark:
    """One piece of work. amount: the operations ("TFLOP/s"), the bytes ("TB/s") or 0 ("us") that it stands for. ours:
    factories of a kernel by configuration. args: of the kernel, its output last. expected: the right output, a tensor
    of torch. tolerance: the largest error, as a part of the largest expected value."""

    name: str
    unit: str
    amount: float
    ours: dict[str, Callable[[], Any]]
    args: tuple[Any, ...]
    expected: Callable[[], Any]
    tolerance: float
    peers: Sequence[Peer] = ()


def measure(machine: Machine, benchmark: Benchmark) -> dict[str, Any]:
    """The record of a benchmark: milliseconds and speed of tilecore's fastest configuration ("tilecore", absent where
    none is right) and of each peer ("peers"). The times of the simulated device say nothing of speed, and are compared
    with no peer's ("is_simulated")."""
    expected = benchmark.expected()
    record: dict[str, Any] = {"name": benchmark.name, "unit": benchmark.unit, "configurations": {}, "peers": {}}
    if machine.is_simulated:
        record["is_simulated"] = True
    fastest: dict[str, Any] | None = None
    for name, make in benchmark.ours.items():
        try:
            result = _of_configuration(machine, benchmark, make, expected)
        except Exception as failure:
            result = f"{type(failure).__name__}: {failure}"[:500]
        if isinstance(result, str):
            record["configurations"][name] = result
            continue
        record["configurations"][name] = result["milliseconds"]
        if fastest is None or result["milliseconds"] < fastest["milliseconds"]:
            fastest = {"configuration": name, **result}
    if fastest is not None:
        record["tilecore"] = fastest
    for peer in benchmark.peers:
        try:
            figures = _of_peer(machine, benchmark, peer, expected)
            if fastest is not None and not machine.is_simulated:
                figures["ratio"] = figures["milliseconds"] / fastest["milliseconds"]
        except Exception as failure:
            figures = {"why": f"{type(failure).__name__}: {failure}"[:500]}
        record["peers"][peer.name] = figures
    return record


def _of_configuration(
    machine: Machine, benchmark: Benchmark, make: Callable[[], Any], expected: Any
) -> dict[str, Any] | str:
    """The figures of a kernel, or how its result is wrong."""
    kernel = machine.compile(make())
    run = partial(kernel, *benchmark.args)
    benchmark.args[-1].zero_()
    run()
    machine.synchronize()
    error = largest_error(benchmark.args[-1], expected)
    if not error <= benchmark.tolerance:
        return f"wrong: the largest error is {error:.3g} of the largest value"
    milliseconds = machine.milliseconds(run)
    figures = {"milliseconds": milliseconds, "speed": _speed(benchmark, milliseconds), "error": error}
    by_device = machine.device_milliseconds(run)
    if by_device is not None:
        figures |= {"device_milliseconds": by_device, "device_speed": _speed(benchmark, by_device)}
    return figures


def _of_peer(machine: Machine, benchmark: Benchmark, peer: Peer, expected: Any) -> dict[str, Any]:
    """The figures of another library. A wrong result is measured all the same, and said."""
    error = largest_error(peer.result(peer.run()), expected)
    milliseconds = (peer.milliseconds or machine.milliseconds)(peer.run)
    figures: dict[str, Any] = {"milliseconds": milliseconds, "speed": _speed(benchmark, milliseconds), "error": error}
    if not error <= benchmark.tolerance:
        figures["why"] = f"wrong: the largest error is {error:.3g} of the largest value"
    return figures


def _speed(benchmark: Benchmark, milliseconds: float) -> float:
    """In the benchmark's unit: 1e12 operations or bytes in a second, or microseconds."""
    return benchmark.amount / milliseconds / 1e9 if benchmark.amount else milliseconds * 1e3


def launch(machine: Machine, peers: Sequence[Peer] = (), threads: int = 256) -> Benchmark:
    """The time of a launch: an addition of 1024 numbers; its first peer is torch."""
    a, b, c = machine.random(1024), machine.random(1024), machine.zeros(1024)
    ours: dict[str, Callable[[], Any]] = {f"{threads} threads": partial(kernels.add, threads)}
    add = partial(machine.torch.add, a, b)
    peers = (Peer("torch", add), *peers)
    return Benchmark("launch of a small addition", "us", 0, ours, (a, b, c), add, 1e-6, peers)
