"""The vendor's CModel, in a process of its own: an assertion of it ends the process that it runs in.

``FRAMES`` is C that is built into kernels for it, and tells where they crash.
"""

from __future__ import annotations

from pathlib import Path

FRAMES = Path(__file__).parent / "frames.c"
