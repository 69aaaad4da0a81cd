"""A first run with two execution backends, one of which ends its process: for test_first_run.py and its workers."""

import os
from types import SimpleNamespace

from tilecore.testing.first_run.machine import Machine, Skipped
from tilecore.testing.first_run.plan import FirstRun


class NoTensors(Machine):
    torch = SimpleNamespace()

    def device(self, index=0):
        return "cpu"

    def synchronize(self):
        pass


def is_right(machine):
    pass


def crashes_on_bad(machine):
    if machine.execution_backend == "bad":
        os.abort()


def is_skipped(machine):
    raise Skipped("there is one device")


FIRST_RUN = FirstRun(
    place="first_run_of_two_backends:FIRST_RUN",
    package="tile-none",
    description="A test.\n",
    examples="",
    target="none",
    simulated_target="none -simulated",
    execution_backends=("good", "bad"),
    usual=("good", "bad"),
    steps={"checks": "some checks", "kit": "the kit"},
    facts=lambda target, backends: {"target": target, "backends": list(backends)},
    heading=lambda facts: [f"{facts['target']} with {' and '.join(facts['backends'])}"],
    problem=lambda facts: "it is switched off" if "off" in facts["target"] else "",
    machine=NoTensors,
    checks=(is_right, crashes_on_bad, is_skipped),
    benchmarks=lambda machine, quick: [],
)
