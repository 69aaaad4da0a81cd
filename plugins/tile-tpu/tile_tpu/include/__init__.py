"""The header of emitted kernels; ``FOLDER`` is where compilers look for it."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent
