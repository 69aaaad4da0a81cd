"""The header of emitted kernels. ``FOLDER`` is the include folder for compilers."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent
