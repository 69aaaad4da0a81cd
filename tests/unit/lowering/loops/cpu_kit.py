"""What the cpu target's passes note of a kernel, and whether they do what they note."""

from __future__ import annotations

from typing import Any

import numpy as np

import tilecore
from tilecore.contract.passes import PassEnv
from tilecore.lowering.pipeline import lower
from tilecore.lowering.tile_ops.registry import implementations_of
from tilecore.plugins import manager


def notes(func: Any, topic: str, target: str = "cpu") -> list[Any]:
    """The rows of the compiler's report on ``topic``."""
    backend, resolved = manager.resolve(target)
    env = PassEnv(resolved, backend.target.capabilities(resolved), implementations_of(backend))
    lower(func.ir, backend, env)
    return list(env.report.get(topic, ()))


def whole_numbers(rng: np.random.Generator, shape: Any, kind: str) -> np.ndarray:
    """Small whole numbers of an element type: products of them are exact."""
    return rng.integers(-4, 5, shape).astype(tilecore.dtype(kind).as_numpy())
