"""Lowers kernels by the SIMT family for an imagined target, whole or up to a pass, and runs thread code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tilecore.contract.passes import Pass, PassEnv
from tilecore.contract.records import Capabilities
from tilecore.interpreter import interpret
from tilecore.ir.build import nothing, op_name
from tilecore.ir.nodes import Evaluate, structural_map
from tilecore.ir.thread_ranges import ThreadRange, for_threads
from tilecore.ir.visit import collect
from tilecore.lowering.simt.pipeline import IMPLEMENTATIONS, STEPS
from tilecore.lowering.simt.state import AliasedParameters
from tilecore.target import Target
from tilecore.tracing.current import current

CAPABILITIES = Capabilities(
    dtypes=frozenset(),
    scopes=frozenset(),
    tile_ops=frozenset(),
    max_threads=1024,
    warp=32,
    shared_bytes=160 << 10,
    features=frozenset({"copy_async", "atomics"}),
)


def lowered(
    func: Any, last: str = "", left_out: tuple[str, ...] = (), *, before: bool = False, **changes: Any
) -> tuple[Any, PassEnv]:
    """The function after pass ``last`` (all of them if empty), or just before it, and the environment of the passes."""
    from dataclasses import replace

    env = PassEnv(Target("imagined"), replace(CAPABILITIES, **changes), IMPLEMENTATIONS)
    if "insert_barriers" in left_out:
        env.publish(AliasedParameters())  # which describe_kernels needs
    current = func.ir
    for step in STEPS:
        if before and step.name == last:
            break
        if isinstance(step, Pass) and step.name not in left_out:
            current = step.run(current, env)
            if step.name == last:
                break
    return current, env


@contextmanager
def code_of_threads(first: int, count: int) -> Iterator[None]:
    """In a kernel: the code inside is for ``count`` threads from ``first`` on."""
    builder = current("code_of_threads")
    span = builder.span
    with builder.block("threads") as frame:
        yield
    builder.emit(for_threads(ThreadRange(first, count), frame.body(), span=span))


def thread_code(func: Any) -> Any:
    """What the interpreter can run: the code of a thread with its barriers."""
    lowered_func, _ = lowered(func, "insert_barriers", ("lower_allreduce",))

    def drop(node: Evaluate) -> Any:
        return nothing() if op_name(node.value).startswith("simt.") else node

    return lowered_func.with_body(structural_map(lowered_func.body, (Evaluate, drop)))


def same_results(func: Any, *args: Any, close: bool = False) -> list[np.ndarray]:
    """Thread code and tile code, interpreted: both must write the same."""
    got, expected = ([a.copy() if isinstance(a, np.ndarray) else a for a in args] for _ in range(2))
    interpret(thread_code(func), *got)
    interpret(func.ir, *expected)
    for mine, other in zip(got, expected, strict=True):
        if isinstance(mine, np.ndarray):
            np.testing.assert_allclose(mine, other, rtol=1e-4 if close else 0, atol=1e-4 if close else 0)
    return [g for g in got if isinstance(g, np.ndarray)]


def calls(body: Any, name: str) -> list[Any]:
    """The statements that call ``name``."""
    return [node for node in collect(body, Evaluate) if op_name(node.value) == name]
