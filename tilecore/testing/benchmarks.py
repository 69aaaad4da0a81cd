"""Timing functions for regression tests of speed: a file of ``regression_*`` functions that call ``process_func``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tilecore.errors import ArgumentError


@dataclass(frozen=True)
class Timing:
    """What a benchmark said. latency: milliseconds."""

    name: str
    latency: float


_recorded: list[Timing] = []


def process_func(func: Callable[..., Any], name: str | None = None, /, **kwargs: Any) -> float:
    """Call a benchmark, ``func(**kwargs)``, which returns milliseconds, and record them for :func:`regression`.

    name: what the report calls it; module and name of the function when not given. Raises ArgumentError when it
    returns no positive number.
    """
    label = name or _label(func)
    latency = func(**kwargs)
    if isinstance(latency, bool) or not isinstance(latency, (int, float)) or not latency > 0:
        raise ArgumentError(f"the benchmark {label} returned {latency!r}", expected="its latency in milliseconds")
    _recorded.append(Timing(label, float(latency)))
    return float(latency)


def regression(prefixes: Iterable[str] = ("regression_",), verbose: bool = True) -> list[Timing]:
    """Run every function of the calling file whose name begins with one of ``prefixes``, in order.

    Returns what :func:`process_func` recorded meanwhile, and prints it when verbose.
    """
    names = sys._getframe(1).f_globals
    name_prefixes = tuple(prefixes)
    functions = [value for name, value in names.items() if name.startswith(name_prefixes) and callable(value)]
    before = len(_recorded)
    for function in functions:
        function()
    results = _recorded[before:]
    del _recorded[before:]
    if verbose:
        width = max([len(timing.name) for timing in results], default=0)
        for timing in results:
            print(f"{timing.name:<{width}}  {timing.latency:10.4f} ms")
    return results


def _label(func: Callable[..., Any]) -> str:
    module = getattr(func, "__module__", "__main__")
    name = getattr(func, "__qualname__", repr(func))
    return name if module == "__main__" else f"{module}.{name}"
