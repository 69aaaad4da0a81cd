"""What a backend says of its first run."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tilecore.errors import ArgumentError
from tilecore.testing.first_run.benchmarks import Benchmark
from tilecore.testing.first_run.machine import Machine

SIMULATED = "sim"
STEPS = {
    "checks": "launching: results, shared memory, prints, assertions, errors, and what is particular to the device",
    "kit": "the conformance kit of tilecore on the device (needs pytest and hypothesis: pip install 'tilecore[test]')",
    "examples": "each file of examples/ of a checkout of tilecore",
    "benchmarks": "speed beside other libraries",
    "fuzz": "random kernels, each compared with the interpreter",
}

Check = Callable[[Machine], None]


@dataclass(frozen=True)
class FirstRun:
    """A backend's first run.

    place: "module:name" of this object, by which the processes of the steps find it. package: the distribution's name.
    target, simulated_target: what is compiled for on the device and for the rehearsal, unless ``--target`` says.
    execution_backends: those of the device; "sim" is offered besides. usual: those of them that run unless
    ``--execution-backend`` says. steps: their names, in order, with a line for ``--help`` (see STEPS). examples: the
    end of ``--help``. facts: of (target, execution backends): what the machine has. heading: the first lines of the
    summary, from the facts. problem: why no device can be used, from the facts; "" if one can. machine: of (target,
    execution backend). benchmarks: of (machine, whether it is a quick run): the name and the maker of each, the
    important ones first. install: what to do where a package that the steps need is missing."""

    place: str
    package: str
    description: str
    examples: str
    target: str
    simulated_target: str
    execution_backends: tuple[str, ...]
    usual: tuple[str, ...]
    steps: dict[str, str]
    facts: Callable[[str, tuple[str, ...]], dict[str, Any]]
    heading: Callable[[dict[str, Any]], list[str]]
    problem: Callable[[dict[str, Any]], str]
    machine: Callable[[str, str], Machine]
    checks: tuple[Check, ...]
    benchmarks: Callable[[Machine, bool], list[tuple[str, Callable[[], Benchmark]]]]
    install: str = "pip install 'tilecore[torch,test]'"

    def __post_init__(self) -> None:
        unknown = [name for name in self.steps if name not in STEPS]
        if unknown:
            raise ArgumentError(
                f"the first run of {self.package} has a step that is unknown",
                found=repr(unknown[0]),
                expected=", ".join(STEPS),
            )


def first_run_at(place: str) -> FirstRun:
    """The FirstRun named "module:name"."""
    module, _, name = place.partition(":")
    plan = getattr(importlib.import_module(module), name)
    if not isinstance(plan, FirstRun):
        raise ArgumentError(f"{place} is no first run", found=type(plan).__name__, expected="a FirstRun")
    return plan
