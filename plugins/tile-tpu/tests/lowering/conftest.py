"""The tests of the lowering share the modules in this folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, os.fspath(Path(__file__).parent))
