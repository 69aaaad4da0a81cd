"""Runs the vendor's CModel in a separate process, as its failed assertions end the process that it runs in.

``FRAMES`` is a C file that is compiled into kernels for the CModel and reports where they crash.
"""

from __future__ import annotations

from pathlib import Path

FRAMES = Path(__file__).parent / "frames.c"
