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
        lines += [f"blocks run {row['order']}" for row in self.data.get("blocks", ())]
        lines += self._operations()
        lines += self._layouts()
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

    def _layouts(self) -> list[str]:
        rows = self.data.get("layouts", ())
        return [*(["layouts:"] if rows else []), *(f"  {row['buffer']}: {row['layout']}" for row in rows)]

    def _loops(self) -> list[str]:
        vectors = [(row, f"{row['lanes']} lanes along {row['axis']}") for row in self.data.get("vectorized", ())]
        scalars = [(row, row["reason"]) for row in self.data.get("not_vectorized", ())]
        return _listed("loops as vectors:", vectors) + _listed("loops that stayed scalar:", scalars)

    def _times(self) -> list[str]:
        steps = self.data.get("steps", {})
        if not steps:
            return []
        return ["compile time: " + ", ".join(f"{name} {ms:.1f} ms" for name, ms in steps.items())]


def _listed(title: str, rows: list[tuple[Mapping[str, Any], str]]) -> list[str]:
    """The texts under a title, each with its line in the user's file; what is the same is told once."""
    lines = [f"  line {row['line']}: {text}" if row.get("line") else f"  {text}" for row, text in rows]
    return [title, *dict.fromkeys(lines)] if lines else []
