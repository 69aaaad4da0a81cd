"""torch: whether it can run Metal kernels, and the lock around its calls. Importing this module imports no torch."""

from __future__ import annotations

import importlib.metadata
import sys
import threading
from typing import Any

# torch.mps is not safe where several threads of the host call it at once
LOCK = threading.RLock()
OLDEST = (2, 7)
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
        return f"torch cannot be imported ({error}): {_INSTALL}"
    backend = getattr(getattr(torch, "backends", None), "mps", None)
    if not hasattr(getattr(torch, "mps", None), "compile_shader"):
        return f"torch {torch.__version__} has no torch.mps.compile_shader: {_INSTALL}"
    if backend is None or not backend.is_built():
        return f"torch {torch.__version__} is built without MPS: {_INSTALL} from the wheels for macOS on arm64"
    if not backend.is_available():
        return "torch.backends.mps.is_available() is False: run as a user who is logged in on the Mac"
    return ""


def installed() -> tuple[str, str]:
    """(the version of torch, "" without one; why it cannot run kernels here, with what to do, or "").

    A torch that the program has not imported is not imported for this, so of that one the version alone is checked."""
    if sys.modules.get("torch") is not None:
        return str(sys.modules["torch"].__version__), torch_problem()
    try:
        version = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return "", f"torch is not installed: {_INSTALL}"
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    return version, "" if numbers >= OLDEST else f"torch {version} has no torch.mps.compile_shader: {_INSTALL}"


def torch_in_use() -> Any:
    """The torch that the program has imported already, if it has the device "mps"; else None."""
    torch = sys.modules.get("torch")
    backend = getattr(getattr(torch, "backends", None), "mps", None)
    return torch if backend is not None and backend.is_available() else None
