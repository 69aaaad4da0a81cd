"""Artifacts that are written by hand."""

from __future__ import annotations

from typing import Any

from tilecore.artifact.records import Artifact, Entry, ScalarParam, TensorParam

PRINTS = b"\x07ELF\0tc_messages\0"  # as a code object whose kernels print


def artifact(**changes: Any) -> Artifact:
    """An artifact of one kernel ``scale_k``: tensors A and B, a scalar."""
    entry: dict[str, Any] = {"threads": (128, 1, 1), "shared_bytes": 0, "attributes": {}}
    entry.update(changes.pop("entry", {}))
    facts: dict[str, Any] = {
        "name": "scale",
        "target": "hip -arch=gfx942 -wave=64",
        "backend": "tile-hip",
        "adapter": "hip",
        "params": (
            TensorParam("A", "float32", (64,), access="r", align=4),
            TensorParam("B", "float32", (64,), access="w", align=4),
            ScalarParam("s", "float32"),
        ),
        "symbols": (),
        "workspaces": (),
        "entries": (Entry("scale_k", (7, 1, 1), **entry),),
        "out_idx": (),
        "source": "",
        "source_format": "hip",
        "binary": b"\x07ELF",
        "binary_format": "hsaco",
    }
    return Artifact(**{**facts, **changes})
