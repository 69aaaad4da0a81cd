"""Hides TVM's module of distributed sessions (``tvm.runtime.disco``) from TVM while TVM is imported.

TVM imports it where its library has the C++ part, and sets ``tvm.runtime.disco`` to None where not. The wheel from
PyPI has that part in a library that TVM does not load, so the import ends in an error of TVM's C++ code, which is slow
(``checked_lookups.py``). Hidden, ``tvm.runtime.disco`` is None just as well, and a later ``import tvm.runtime.disco``
has the same outcome as before.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator

from tilecore.ir.without_torch import HiddenModule

DISCO = "tvm.runtime.disco"


@contextlib.contextmanager
def without_disco() -> Iterator[None]:
    """Imports of ``tvm.runtime.disco`` by this thread fail in the block, unless TVM has been imported already."""
    if "tvm" in sys.modules:
        yield
        return
    hidden = HiddenModule(DISCO, threading.get_ident())
    sys.meta_path.insert(0, hidden)
    try:
        yield
    finally:
        sys.meta_path.remove(hidden)
