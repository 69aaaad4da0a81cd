"""``tilecore.cuda.target``: which chip a target is. Each function takes what ``tilecore.compile(target=...)`` takes."""

from __future__ import annotations

from typing import Any

from tile_cuda.architectures import Architecture
from tile_cuda.cutedsl.names import LANGUAGE
from tile_cuda.target import architecture_of, detect
from tilecore.plugins import manager
from tilecore.target import Target


def _architecture(target: Any) -> Architecture | None:
    """The architecture of a target of kind ``cuda``; None for another kind."""
    _, resolved = manager.resolve(target)
    return architecture_of(resolved) if resolved.kind == "cuda" else None


def _capability(target: Any) -> int:
    """The compute capability, 90 for sm_90; 0 for another kind of target."""
    architecture = _architecture(target)
    return architecture.capability if architecture else 0


def _has(target: Any, feature: str) -> bool:
    architecture = _architecture(target)
    return architecture is not None and feature in architecture.features()


def check_cuda_availability() -> bool:
    """Whether an NVIDIA GPU is here. Kernels can be compiled without one: `tilecore doctor` tells of the compilers."""
    return detect().present


def normalize_cuda_target(target: Any) -> Target | None:
    """The target with its architecture, where it is of this kind; else None."""
    _, resolved = manager.resolve(target)
    return resolved if resolved.kind == "cuda" else None


def normalize_cutedsl_target(target: Any) -> Target | None:
    """The target with its architecture, where its kernels are for the execution backend cutedsl; else None."""
    _, resolved = manager.resolve(target)
    return resolved if resolved.get("language") == LANGUAGE else None


def target_is_cuda(target: Any) -> bool:
    return _architecture(target) is not None


def target_is_volta(target: Any) -> bool:
    return 70 <= _capability(target) < 75


def target_is_turing(target: Any) -> bool:
    return 75 <= _capability(target) < 80


def target_is_ampere(target: Any) -> bool:
    """sm_80 to sm_89."""
    return 80 <= _capability(target) < 90


def target_is_hopper(target: Any) -> bool:
    return 90 <= _capability(target) < 100


def target_is_sm120(target: Any) -> bool:
    return 120 <= _capability(target) < 130


def target_has_async_copy(target: Any) -> bool:
    return _has(target, "copy_async")


def target_has_ldmatrix(target: Any) -> bool:
    return _has(target, "ldmatrix")


def target_has_stmatrix(target: Any, is_m16n8: bool = False) -> bool:
    """is_m16n8: by matrices of 16 x 8 bytes, which sm_100 has first (PTX ISA, "stmatrix")."""
    return _has(target, "stmatrix") and (not is_m16n8 or _capability(target) >= 100)


def target_has_bulk_copy(target: Any) -> bool:
    return _has(target, "bulk_copy")
