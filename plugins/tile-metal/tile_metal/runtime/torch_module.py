"""torch: whether it can run Metal kernels, and the lock around its calls. Importing this module imports no torch."""

from __future__ import annotations

import sys
import threading
from typing import Any

# torch.mps is not safe where several threads of the host call it at once
LOCK = threading.RLock()
_INSTALL = "install torch 2.7 or newer (pip install torch)"
LATE = "earlier kernels may be the cause, as torch reports failures late; TILECORE_SIMULATE=1 finds wrong accesses"


def import_torch() -> Any:
    import torch

    return torch


def torch_problem() -> str:
    """Why torch cannot run kernels here, with what to do; "" where it can. Imports torch."""
    try:
        torch = import_torch()
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "torch":
            return f"torch is not installed: {_INSTALL}"
        return f"torch cannot be imported ({error}): {_INSTALL}"
    mps = getattr(torch, "mps", None)
    if not hasattr(mps, "compile_shader"):
        return f"torch {torch.__version__} has no torch.mps.compile_shader: {_INSTALL}"
    backend = getattr(getattr(torch, "backends", None), "mps", None)
    if backend is None or not backend.is_built():
        return f"torch {torch.__version__} is built without MPS: {_INSTALL} from the wheels for macOS on arm64"
    if not backend.is_available():
        return "torch.backends.mps.is_available() is False: run in a session of a user who is logged in on the Mac"
    return ""


def torch_in_use() -> Any:
    """The torch that the program has imported already, if it has the device "mps"; else None."""
    torch = sys.modules.get("torch")
    backend = getattr(getattr(torch, "backends", None), "mps", None)
    return torch if backend is not None and backend.is_available() else None
