"""What the torch of this process is built for. torch is not imported for this.

On ROCm torch calls its devices "cuda", and the functions of its streams too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable


def is_built_for_rocm() -> bool | None:
    """Whether the imported torch is built for ROCm; None where torch is not imported."""
    torch = sys.modules.get("torch")
    return None if torch is None else getattr(getattr(torch, "version", None), "hip", None) is not None


def build_problem() -> str:
    """Why the imported torch has no tensors on AMD GPUs; "" where it can have some, or is not imported."""
    if is_built_for_rocm() is not False:
        return ""
    torch = sys.modules["torch"]
    cuda = getattr(torch.version, "cuda", None)
    kind = f"for CUDA {cuda}" if cuda else "for processors only"
    return f"torch {torch.__version__} is built {kind}, not for ROCm"


def current_stream_function() -> Callable[[int], int] | None:
    """The function that returns torch's current stream of a device; None where torch is not imported.

    It returns 0, the default stream, where torch is not built for ROCm.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    if not is_built_for_rocm():
        return lambda index: 0
    raw = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)
    if raw is not None:
        return raw
    return lambda index: torch.cuda.current_stream(index).cuda_stream
