"""The first run of tile-metal, as the core runs it."""

from __future__ import annotations

from tile_metal.first_run.benchmarks import benchmarks
from tile_metal.first_run.checks import CHECKS
from tile_metal.first_run.facts import facts, heading, problem
from tile_metal.first_run.machine import MetalMachine
from tilecore.testing.first_run.plan import FirstRun

DESCRIPTION = """\
Checks on a Mac with Apple silicon what could not be checked without one, measures beside torch (MPSGraph) and MLX where
they are installed, and writes a report to send in. It installs nothing. Its steps need torch, pytest and hypothesis:
pip install 'tile-metal[torch,test]'; MLX is measured if it is installed (pip install mlx). The examples need a checkout
of tilecore. Each step runs once for each execution backend: torch (torch.mps compiles and launches) and metal
(tile-metal's own calls of Metal).
"""
EXAMPLES = """\
examples:
  python -m tile_metal.first_run --quick                  some minutes
  python -m tile_metal.first_run                          everything, up to two hours
  python -m tile_metal.first_run --steps checks,benchmarks --execution-backend metal
  python -m tile_metal.first_run --simulated --quick      a rehearsal on the simulated device, without a Mac
"""
STEPS = {
    "checks": "the lanes of simdgroup matrices; launching: results, threadgroup memory, order, views, prints, errors",
    "kit": "the conformance kit of tilecore on this GPU",
    "examples": "each file of examples/, where tilecore is a checkout (git clone) or --examples names the folder",
    "benchmarks": "GEMM, attention, softmax, a launch; every result is compared with float64 on the CPU. Times: the\n"
    "              host's clock over batches of calls, and with the execution backend metal the GPU's own",
    "fuzz": "random kernels, each compared with the interpreter",
}

FIRST_RUN = FirstRun(
    place="tile_metal.first_run.plan:FIRST_RUN",
    package="tile-metal",
    description=DESCRIPTION,
    examples=EXAMPLES,
    target="metal",
    simulated_target="metal -family=apple7",
    execution_backends=("torch", "metal"),
    usual=("torch", "metal"),
    steps=STEPS,
    facts=facts,
    heading=heading,
    problem=problem,
    machine=MetalMachine,
    checks=CHECKS,
    benchmarks=benchmarks,
    install="pip install 'tile-metal[torch,test]', or pip install torch pytest pytest-xdist hypothesis",
)
