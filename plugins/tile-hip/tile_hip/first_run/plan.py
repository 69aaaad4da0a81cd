"""The first run of tile-hip, as the core runs it."""

from __future__ import annotations

from typing import Any

from tile_hip.first_run.benchmarks import benchmarks
from tile_hip.first_run.checks import CHECKS
from tile_hip.first_run.facts import facts
from tile_hip.first_run.machine import HipMachine
from tilecore.testing.first_run.plan import FirstRun

DESCRIPTION = """\
Checks on a card what could not be checked without one, measures beside torch, and writes a report to send in.
"""
EXAMPLES = """\
examples:
  python -m tile_hip.first_run --quick                  about five minutes
  python -m tile_hip.first_run                          everything, up to an hour
  python -m tile_hip.first_run --steps checks,benchmarks
  python -m tile_hip.first_run --simulated --quick      a rehearsal on the simulated device, without a GPU
"""
STEPS = {
    "checks": "launching: results, LDS, streams, graphs, several devices, prints, assertions, errors",
    "kit": "the conformance kit of tilecore on this GPU (needs pytest and hypothesis: pip install 'tilecore[test]')",
    "benchmarks": "GEMM beside torch.matmul (hipBLASLt), attention beside scaled_dot_product_attention (AOTriton),\n"
    "              softmax, and the time of a launch",
    "fuzz": "random kernels, each compared with the interpreter",
}


def heading(facts: dict[str, Any]) -> list[str]:
    """The first lines of the summary: the GPUs, HIP, torch."""
    runtime, torch = facts["runtime"], facts["torch"]
    devices = [device["name"] for device in runtime.get("devices", ())]
    return [
        "tile-hip first run, " + facts["date"] + ": " + facts["target"] + ", " + facts["execution_backend"],
        "GPUs: " + (", ".join(devices) or runtime.get("problem") or "none"),
        f"HIP {runtime.get('version', 'unknown')}, torch {torch.get('version', 'missing')}",
    ]


def problem(facts: dict[str, Any]) -> str:
    """Why no GPU can be used; "" if one can."""
    return str(facts["runtime"].get("problem") or facts["kernel_driver"]["problem"])


FIRST_RUN = FirstRun(
    place="tile_hip.first_run.plan:FIRST_RUN",
    package="tile-hip",
    description=DESCRIPTION,
    examples=EXAMPLES,
    target="hip",
    simulated_target="hip -arch=gfx942",
    execution_backends=("hip",),
    usual=("hip",),
    steps=STEPS,
    facts=facts,
    heading=heading,
    problem=problem,
    machine=HipMachine,
    checks=CHECKS,
    benchmarks=benchmarks,
    install="pip install 'tilecore[test]', and torch for ROCm by the command of https://pytorch.org",
)
