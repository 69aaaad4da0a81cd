"""``tilecore.metal.target``: which chip a target is. Each function takes what ``tilecore.compile(target=...)``
takes."""

from __future__ import annotations

from typing import Any

from tile_metal.runtime.machine import machine
from tile_metal.target import msl_of
from tilecore.plugins import manager
from tilecore.target import Target

_MSL_4 = 400


def check_metal_availability() -> bool:
    """Whether this machine is a Mac with a GPU that kernels run on."""
    return machine() is not None


def check_metal4_availability() -> bool:
    """Whether this machine's macOS has Metal 4 (MSL 4.0)."""
    return machine() is not None and target_metal_supports_metal4("metal")


def normalize_metal_target(target: Any) -> Target | None:
    """The target with all attributes, where it is of this kind; else None."""
    _, resolved = manager.resolve(target)
    return resolved if resolved.kind == "metal" else None


def target_is_metal(target: Any) -> bool:
    return normalize_metal_target(target) is not None


def target_metal_supports_metal4(target: Any) -> bool:
    """Whether kernels for the target may use MSL 4.0."""
    resolved = normalize_metal_target(target)
    return resolved is not None and msl_of(resolved) >= _MSL_4
