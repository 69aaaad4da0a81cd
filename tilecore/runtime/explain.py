"""``kernel.explain()``: what was chosen for each operation, why others were not, and where the time went."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilecore.runtime.artifact import Artifact


class Explanation:
    """A report on one kernel; ``str()`` of it is for reading, ``data`` for programs."""

    def __init__(self, artifact: Artifact) -> None:
        self.artifact = artifact

    @property
    def data(self) -> Mapping[str, Any]:
        return self.artifact.report

    def __str__(self) -> str:
        lines = [f"{self.artifact.name} on {self.artifact.target}, execution backend {self.artifact.adapter}"]
        for entry in self.artifact.entries:
            grid = ", ".join(str(d) for d in entry.grid)
            lines.append(f"  {entry.symbol}: grid ({grid}), {entry.shared_bytes} bytes of on-chip memory a block")
        lines += self._operations()
        lines += self._loops()
        lines += self._times()
        return "\n".join(lines)

    __repr__ = __str__

    def _operations(self) -> list[str]:
        rows = self.data.get("tile_ops", ())
        lines = ["tile operations:"] if rows else []
        for row in rows:
            place = f"line {row['line']}: " if row.get("line") else ""
            lines.append(f"  {place}{row['op']}: {row['implementation']}")
            lines += [f"      not {name}: {reason}" for name, reason in row.get("declined", ())]
        return lines

    def _loops(self) -> list[str]:
        rows = self.data.get("not_vectorized", ())
        lines = ["loops that stayed scalar:"] if rows else []
        for row in rows:
            place = f"line {row['line']}: " if row.get("line") else ""
            lines.append(f"  {place}{row['reason']}")
        return lines

    def _times(self) -> list[str]:
        steps = self.data.get("steps", {})
        if not steps:
            return []
        return ["compile time: " + ", ".join(f"{name} {ms:.1f} ms" for name, ms in steps.items())]
