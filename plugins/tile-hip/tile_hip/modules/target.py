"""``tilecore.rocm.target``: which chip a target is. Each function takes what ``tilecore.compile(target=...)`` takes."""

from __future__ import annotations

import re
from typing import Any

from tile_hip import architectures
from tile_hip.target import architecture_of, detect, wave_of
from tilecore.errors import TargetError
from tilecore.plugins import manager
from tilecore.target import Target

_ARCH = re.compile(r"gfx[0-9a-f]+")


def _resolved(target: Any) -> Target | None:
    """The target with all attributes; None for another kind."""
    _, resolved = manager.resolve(target)
    return resolved if resolved.kind == "hip" else None


def normalize_rocm_arch(arch: str | None) -> str | None:
    """ "gfx942" for "gfx942:sramecc+:xnack-"; None for what is no name of an AMD architecture."""
    name = str(arch or "").partition(":")[0]
    return name if _ARCH.fullmatch(name) else None


def target_get_mcpu(target: Any) -> str | None:
    """The name of the architecture, such as "gfx942"; None for another kind of target."""
    resolved = _resolved(target) if target is not None else None
    return None if resolved is None else architecture_of(resolved).name


def rocm_warp_size_for_arch(arch: str | None) -> int | None:
    """The usual number of lanes of a wave: 64 of CDNA, 32 of RDNA; None for no name of an architecture."""
    name = normalize_rocm_arch(arch)
    if name is None:
        return None
    try:
        return architectures.parse(name).waves[0]
    except TargetError:  # an older or newer chip: gfx9 has waves of 64 lanes (LLVM, "User Guide for AMDGPU Backend")
        return 64 if name.startswith("gfx9") else 32


def check_hip_availability() -> bool:
    """Whether an AMD GPU is here. Kernels can be compiled without one: `tilecore doctor` tells of the compiler."""
    return detect().present


def normalize_rocm_target(target: Any) -> Target | None:
    """The target with all attributes, where it is of this kind; else None."""
    return _resolved(target)


def target_is_hip(target: Any) -> bool:
    return _resolved(target) is not None


def target_is_cdna(target: Any) -> bool:
    resolved = _resolved(target)
    return resolved is not None and architecture_of(resolved).is_cdna


def target_is_rdna(target: Any) -> bool:
    resolved = _resolved(target)
    return resolved is not None and not architecture_of(resolved).is_cdna


def target_is_gfx950(target: Any) -> bool:
    return target_get_mcpu(target) == "gfx950"


def target_get_warp_size(target: Any) -> int:
    """The lanes of a wave. Raises TargetError for another kind of target."""
    resolved = _resolved(target)
    if resolved is None:
        raise TargetError("target_get_warp_size takes a target of kind 'hip'", found=str(target))
    return wave_of(resolved)


def target_get_rdna_generation(target: Any) -> int:
    """3 of gfx11, 4 of gfx12; 0 of another chip."""
    name = target_get_mcpu(target) or ""
    return {"gfx11": 3, "gfx12": 4}.get(name[:5], 0)
