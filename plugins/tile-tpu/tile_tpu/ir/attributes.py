"""The keys that this backend attaches to IR. Those of the core are in ``tilecore.ir.attributes``."""

from __future__ import annotations


class TpuFunctionAttr:
    """Attributes of a PrimFunc."""

    LOCAL_ADDRESSES = "tpu.local"  # {name of a buffer in local memory: its address in a lane, in bytes}
    CORES = "tpu.cores"  # over how many cores the blocks of the kernel are partitioned
