"""Memory for loaded code: written first, then executable or read-only; never both writable and executable.

``Mapping`` and ``unmap`` are those of this system: posix_memory.py or windows_memory.py.
"""

from __future__ import annotations

import mmap
import sys

from tilecore.backends.cpu.code_rights import EXECUTE, READ, WRITE

if sys.platform == "win32":
    from tilecore.backends.cpu.windows_memory import Mapping, unmap
else:
    from tilecore.backends.cpu.posix_memory import Mapping, unmap

PAGE = mmap.PAGESIZE

__all__ = ["EXECUTE", "PAGE", "READ", "WRITE", "Mapping", "unmap"]
