"""What the cpu target's passes note of a kernel, and whether they do what they note."""

from __future__ import annotations

from typing import Any

import numpy as np

import tilecore
from tilecore.contract.passes import PassEnv
from tilecore.lowering.pipeline import lower
from tilecore.lowering.tile_ops.registry import implementations_of
from tilecore.plugins import manager


def copies(func: Any, what: str, target: str = "cpu") -> list[str]:
    """The names of the tensors or buffers whose copies became ``what``, by the compiler's report."""
    backend, resolved = manager.resolve(target)
    env = PassEnv(resolved, backend.target.capabilities(resolved), implementations_of(backend))
    lower(func.ir, backend, env)
    return sorted(row["name"] for row in env.report.get("copies", ()) if row["what"] == what)


def whole_numbers(rng: np.random.Generator, shape: Any, kind: str) -> np.ndarray:
    """Small whole numbers of an element type: products of them are exact."""
    return rng.integers(-4, 5, shape).astype(tilecore.dtype(kind).as_numpy())
