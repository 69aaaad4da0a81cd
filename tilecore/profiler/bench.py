"""Measures the time of a function (``do_bench``)."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

from tilecore.caller import keywords_checked
from tilecore.errors import ArgumentError
from tilecore.profiler.clocks import Clock, clock_for
from tilecore.profiler.warning import available_clock, warn_of_simulator

if TYPE_CHECKING:
    from tilecore.jit.kernel import JITKernel

# On the host one measurement lasts at least this long (reading the clock takes 0.05 to 0.1 us).
SHORTEST_MS = 0.01
_ESTIMATES = 5

Mode = Literal["min", "max", "mean", "median"]
_MODES: dict[str, Callable[[Sequence[float]], float]] = {
    "min": min,
    "max": max,
    "mean": statistics.fmean,
    "median": statistics.median,
}


@keywords_checked
def do_bench(
    fn: Callable[[], Any],
    warmup: float = 25,
    rep: float = 100,
    _n_warmup: int = 0,
    _n_repeat: int = 0,
    quantiles: Sequence[float] | None = None,
    fast_flush: bool = True,
    backend: str = "event",
    return_mode: Mode = "mean",
    device: Any = None,
    cache_size: int | None = None,
    early_stop_baseline: float | None = None,
    *,
    kernel: JITKernel | None = None,
    max_calls: int | None = None,
) -> float | list[float]:
    """Milliseconds that one call of ``fn`` takes.

    warmup, rep: milliseconds to spend before measuring and on measuring, caches being emptied included; the first
    call and a few for an estimate come on top. _n_warmup, _n_repeat: numbers of calls instead, when not 0.
    quantiles: of the measurements (0 to 1); the result is a list of them in this order, but of a single quantile the
    number itself (as Triton's and TileLang's do_bench have it). When not given, the result is the number that
    return_mode names: "mean", "median", "min" or "max" of the measurements.
    fast_flush: empty the caches before each measurement; False leaves them alone. On the host this makes the code
    itself slow to start, by 20 to 80 us; Profiler.do_bench does without. cache_size: MiB to overwrite for
    that; on the host twice the last-level cache when not given, 256 on devices.
    backend: "event" for the device's own clock where it has one, "wall" for the host's, or another that the execution
    backend offers; TileLang's "cupti" and "cudagraph" are "event", with a ProfilerWarning.
    device: where ``fn`` works: "cpu", or a torch device, its name or index. When not given it is that of the kernel
    that ``fn`` calls (kernel, or one that it is, binds or names), else torch's accelerator if there is one, else the
    host.
    early_stop_baseline: milliseconds; when the estimate is longer than that, it is the result.
    max_calls: at most so many calls in all, for simulators. Where the kernel's execution backend is a simulator, a
    ProfilerWarning says so.

    On the host a function that takes less than 10 microseconds is called several times for one measurement; all calls
    but the first then find their data in the caches.
    """
    _check(warmup, rep, quantiles, return_mode)
    clock = clock_for(fn, device, available_clock(backend), kernel)
    if clock.simulator:
        warn_of_simulator(clock.simulator)
    flush = clock.flush(cache_size if fast_flush else 0)
    first = _measure(fn, clock, flush, 1, 1)
    if max_calls is not None and max_calls <= 1:
        return _result(first.times, quantiles, return_mode)
    enough = first.wall > rep or max_calls is not None
    estimate = first if enough else _measure(fn, clock, flush, _ESTIMATES, 1)
    one_call = statistics.median(estimate.times)
    if early_stop_baseline is not None and one_call > early_stop_baseline:
        return _result([one_call], quantiles, return_mode)
    batch = max(1, math.ceil(SHORTEST_MS / max(one_call, 1e-6))) if clock.on_host else 1
    cost = max(estimate.wall / len(estimate.times) + (batch - 1) * one_call, 1e-6)
    warmups = _n_warmup or max(1, int(warmup / max(one_call, 1e-6)))
    repeats = _n_repeat or max(1, int(rep / cost))
    if max_calls is not None:
        batch, warmups, repeats = 1, 0, min(repeats, max_calls - 1)
    for _ in range(min(warmups, 1_000_000)):
        fn()
    clock.synchronize()
    return _result(_measure(fn, clock, flush, repeats, batch).times, quantiles, return_mode)


@dataclass(frozen=True)
class _Measured:
    """times: milliseconds of a call, for each measurement. wall: milliseconds in all."""

    times: list[float]
    wall: float


def _measure(fn: Callable[[], Any], clock: Clock, flush: Callable[[], None], repeats: int, batch: int) -> _Measured:
    begin = time.perf_counter_ns()
    timers = [clock.timer() for _ in range(repeats)]
    calls = range(batch)
    for timer in timers:
        flush()
        timer.start()
        for _ in calls:
            fn()
        timer.stop()
    clock.synchronize()
    times = [timer.elapsed() / batch for timer in timers]
    return _Measured(times, (time.perf_counter_ns() - begin) / 1e6)


def _check(warmup: float, rep: float, quantiles: Sequence[float] | None, return_mode: str) -> None:
    if return_mode not in _MODES:
        raise ArgumentError(f"do_bench: return_mode={return_mode!r}", expected=", ".join(map(repr, _MODES)))
    if warmup < 0 or rep < 0:
        raise ArgumentError(f"do_bench: warmup={warmup!r}, rep={rep!r}", expected="milliseconds, 0 or more")
    if quantiles is None:
        return
    numbers = list(quantiles) if isinstance(quantiles, Iterable) else []
    if not numbers or not all(isinstance(q, Real) and 0 <= q <= 1 for q in numbers):
        raise ArgumentError(f"do_bench: quantiles={quantiles!r}", expected="a list of numbers from 0 to 1")


def _result(times: Sequence[float], quantiles: Sequence[float] | None, return_mode: str) -> float | list[float]:
    if quantiles is None:
        return _MODES[return_mode](times)
    ordered = sorted(times)
    quantile_times = [_quantile(ordered, q) for q in quantiles]
    return quantile_times[0] if len(quantile_times) == 1 else quantile_times


def _quantile(ordered: Sequence[float], q: float) -> float:
    """Linear between the two nearest measurements."""
    place = q * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
