"""The tests of the matrix share the modules in this folder, and run on each simulator that is installed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, os.fspath(Path(__file__).parent))
