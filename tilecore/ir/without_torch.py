"""Hides torch from TVM while TVM is imported.

TVM imports torch wherever it is installed, so that its functions take torch's tensors and types as arguments. tilecore
passes it neither, and torch takes two thirds of the time and most of the memory of that import.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class HiddenModule(MetaPathFinder):
    """Says to one thread that there is no module of this name; other threads may import it meanwhile."""

    def __init__(self, name: str, thread: int) -> None:
        self.name = name
        self.thread = thread

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == self.name and threading.get_ident() == self.thread:
            raise ModuleNotFoundError(f"{self.name} is hidden while TVM is imported", name=self.name)
        return None


@contextlib.contextmanager
def without_torch() -> Iterator[None]:
    """Imports of torch by this thread fail in the block, unless the program has imported torch or tvm_ffi already.

    On Windows they do not: there libraries of torch and TVM get on only where torch is loaded first.
    """
    if sys.platform == "win32" or "torch" in sys.modules or "tvm_ffi" in sys.modules:
        yield
        return
    hidden = HiddenModule("torch", threading.get_ident())
    sys.meta_path.insert(0, hidden)
    try:
        yield
    finally:
        sys.meta_path.remove(hidden)
