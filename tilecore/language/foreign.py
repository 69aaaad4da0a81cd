"""Names of the wider language that the core does not have: an error that says where they live instead."""

from __future__ import annotations

import difflib

# Stems of names that act on one chip's instructions; plugins offer them in their own dialects.
_CHIP = (
    "alloc_barrier alloc_cluster_barrier alloc_tmem barrier_ mbarrier_ tma_ wgmma wait_wgmma warpgroup_ ptx_ cp_async "
    "tcgen05_ cluster_ clc_ pdl_ fence_ ws WS shuffle_elect gemm_sp copy_cluster set_max ClusterKernel "
    "CUDASourceCodeKernel elect_ ldmatrix stmatrix"
).split()


def missing(name: str, known: list[str]) -> AttributeError:
    """The error for ``T.<name>``."""
    if any(name.startswith(stem) for stem in _CHIP):
        return AttributeError(
            f"T.{name} is one chip's instruction and not part of tilecore.language; "
            "import it from the dialect of that chip's plugin package"
        )
    close = difflib.get_close_matches(name, known, n=1)
    return AttributeError(f"tilecore.language has no {name!r}" + (f"; did you mean T.{close[0]}?" if close else ""))
