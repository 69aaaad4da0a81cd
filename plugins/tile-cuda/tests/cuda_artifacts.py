"""Artifacts that are written by hand."""

from __future__ import annotations

from typing import Any

from tilecore.artifact.dims import DimExpr
from tilecore.artifact.records import Artifact, Entry, ScalarParam, TensorParam


def artifact(**changes: Any) -> Artifact:
    """An artifact of one kernel ``scale_k``: tensors A and B on the host's memory, a scalar, a symbol n."""
    from tilecore.artifact.records import Symbol

    n = changes.pop("size", 64)
    size = DimExpr(n) if isinstance(n, str) else n
    entry: dict[str, Any] = {"threads": (128, 1, 1), "shared_bytes": 0, "attributes": {}}
    entry.update(changes.pop("entry", {}))
    facts: dict[str, Any] = {
        "name": "scale",
        "target": "cuda -arch=sm_90a",
        "backend": "tile-cuda",
        "adapter": "cython",
        "params": (
            TensorParam("A", "float32", (size,), access="r", align=4),
            TensorParam("B", "float32", (size,), access="w", align=4),
            ScalarParam("s", "float32"),
        ),
        "symbols": (Symbol("n", ("shape", 0, 0)),) if isinstance(n, str) else (),
        "workspaces": (),
        "entries": (Entry("scale_k", (7, 1, 1), **entry),),
        "out_idx": (),
        "source": "",
        "source_format": "cu",
        "binary": b"\x07cubin",
        "binary_format": "cubin",
    }
    return Artifact(**{**facts, **changes})
