"""Says which names of this target's language a target has. Imports no TVM."""

from __future__ import annotations

from tile_cuda.architectures import Architecture
from tile_cuda.cutedsl import names as cutedsl
from tile_cuda.language import NAMES
from tile_cuda.language.refused_names import REFUSED
from tilecore.ir.names import LEAVE_THE_CHOICE

_ON_ALL = frozenset({"CUDASourceCodeKernel", "named_barrier_arrive", "shuffle_elect", "ws", "WarpSpecialize"})
_BY_WGMMA = frozenset(name for name, place in NAMES.items() if ".wgmma:" in place)


def missing_names(architecture: Architecture, language: object) -> tuple[frozenset[str], str]:
    """(names that the target does not have, what has them, as text). language: the target's attribute."""
    features = architecture.features()
    if language == cutedsl.LANGUAGE:
        return frozenset(NAMES) - _ON_ALL, "CUDA C++ (-language=c++)"
    if "bulk_copy" not in features:
        return frozenset(NAMES) - _ON_ALL, "sm_90 or newer"
    return (_BY_WGMMA if "wgmma" not in features else frozenset()), "sm_90a"


def refused_names(architecture: Architecture, language: object) -> dict[str, tuple[str, str]]:
    """Names that kernels for the target cannot use, with (why, what to write instead)."""
    missing, requires = missing_names(architecture, language)
    found = f"{architecture.name} -language={language}" if language == cutedsl.LANGUAGE else architecture.name
    why = f"requires {requires}, and the target is {found}"
    return dict.fromkeys(missing, (why, LEAVE_THE_CHOICE)) | REFUSED
