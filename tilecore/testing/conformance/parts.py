"""A part of the kit's cases, which changes from run to run: N runs in turn have all of them.

The built-in backend has every case in each run. Every other place (a target, and the execution backend that runs it)
has one of N parts, by a checksum of the case's name. The parts of the places are shifted against one another, so that
a case that one place leaves out in a run is taken by another.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tilecore.plugins import manager

if TYPE_CHECKING:
    from tilecore.testing.conformance.places import Place

BUILT_IN = "tilecore"  # the package of backends that always have every case
ALWAYS = ("registration",)  # groups of which no case is left out


@dataclass(frozen=True)
class Part:
    """Part ``number`` (from 0) of ``of``."""

    number: int
    of: int

    @classmethod
    def parse(cls, words: str) -> Part:
        """``"1/3"``. Raises pytest.UsageError for anything else."""
        matched = re.fullmatch(r"(\d+)/(\d+)", words)
        if matched is None or int(matched[2]) < 1:
            raise pytest.UsageError(f"--conform-part {words}: expected K/N with N at least 1, such as 0/3")
        return cls(int(matched[1]) % int(matched[2]), int(matched[2]))

    def has(self, group: str, case: str, where: Place | None, places: list[str]) -> bool:
        """Whether the case runs. case: its name without the place. places: the names of all places of the session."""
        if self.of == 1 or where is None or group in ALWAYS or _is_built_in(where):
            return True
        shift = places.index(where.words) if where.words in places else 0
        return (zlib.crc32(case.encode()) + shift) % self.of == self.number


def _is_built_in(where: Place) -> bool:
    backend, _ = manager.resolve(str(where))
    return backend.package == BUILT_IN
