"""Kernels part of the way through the passes of the loops family, and what to look for in their IR."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import tilecore
from tilecore.contract.passes import Pass, PassEnv
from tilecore.interpreter import interpret
from tilecore.ir.build import constant
from tilecore.ir.nodes import AllocBuffer, BufferStore, Evaluate, For, ForKind, TensorLoad
from tilecore.ir.tile_ops import as_tile_call
from tilecore.ir.visit import collect
from tilecore.lowering.loops.pipeline import STEPS
from tilecore.lowering.tile_ops.registry import implementations_of
from tilecore.plugins import manager

NARROW = "cpu -march=generic"  # 128-bit vectors, on any machine


def lowered(func: Any, last: str, target: str = NARROW, *, before: bool = False, **changes: Any) -> tuple[Any, PassEnv]:
    """The function after the pass ``last`` (or just before it), and what the passes noted.

    changes: fields of the target's capabilities.
    """
    backend, resolved = manager.resolve(target)
    capabilities = replace(backend.target.capabilities(resolved), **changes)
    env = PassEnv(resolved, capabilities, implementations_of(backend))
    current = func.ir
    names = [step.name for step in STEPS if isinstance(step, Pass)]
    assert last in names
    for step in STEPS:
        if isinstance(step, Pass):
            if before and step.name == last:
                break
            current = step.run(current, env)
            if step.name == last:
                break
    return current, env


def agrees(func: Any, *args: Any, target: str = NARROW, rtol: float = 0.0) -> list[np.ndarray]:
    """What the compiled kernel writes into copies of ``args``, once it was found to be what the interpreter does."""
    got, expected = ([a.copy() if isinstance(a, np.ndarray) else a for a in args] for _ in range(2))
    tilecore.compile(func, target=target)(*got)
    interpret(func.ir, *expected)
    for mine, other in zip(got, expected, strict=True):
        if isinstance(mine, np.ndarray):
            np.testing.assert_allclose(mine.astype(np.float64), other.astype(np.float64), rtol=rtol)
    return [g for g in got if isinstance(g, np.ndarray)]


def tile_ops(func: Any) -> list[str]:
    """Names of the tile operations in the IR, in order."""
    calls = [as_tile_call(node) for node in collect(func.body, Evaluate)]
    return [call.op.name for call in calls if call is not None]


def loops(func: Any, kind: int | None = None) -> list[tuple[str, int | None]]:
    """(variable, extent) of every loop, outermost first; kind: of this kind only."""
    nodes = [node for node in collect(func.body, For) if kind is None or node.kind == kind]
    return [(str(node.loop_var.name), constant(node.extent)) for node in nodes]


def parallel(func: Any) -> list[tuple[str, int | None]]:
    return loops(func, ForKind.PARALLEL)


def allocated(func: Any) -> dict[str, list[int | None]]:
    """Shapes of the buffers that the kernel allocates, by name."""
    buffers = [node.buffer for node in collect(func.body, AllocBuffer)]
    return {str(b.name): [constant(s) for s in b.shape] for b in buffers}


def accesses(func: Any, name: str) -> list[Any]:
    """Loads and stores of a buffer."""
    nodes = [*collect(func.body, TensorLoad), *collect(func.body, BufferStore)]
    return [a for a in nodes if str((a.source if isinstance(a, TensorLoad) else a.buffer).name) == name]
