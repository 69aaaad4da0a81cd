"""The packages that the steps of a first run need besides tilecore, so that it can stop before the first of them."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

# package -> the steps that need it
_PACKAGES = {
    "torch": ("checks", "examples", "benchmarks"),
    "pytest": ("kit",),
    "hypothesis": ("kit",),
}


def missing(steps: Sequence[str]) -> str:
    """The packages that are missing, with the steps that need them, in words; "" where none is."""
    words = []
    for package, users in _PACKAGES.items():
        needing = [step for step in steps if step in users]
        if needing and importlib.util.find_spec(package) is None:
            words.append(f"{package} ({', '.join(needing)})")
    return ", ".join(words)
