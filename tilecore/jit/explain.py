"""Formats the report of ``kernel.explain()``: chosen implementations, reasons, layouts, memory and compile times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tilecore.artifact.bounded_sizes import size_and_limit

if TYPE_CHECKING:
    from tilecore.artifact.records import Artifact, Entry

Row = Mapping[str, Any]


class Explanation:
    """A report on one kernel: ``str()`` gives text, ``data`` plain data.

    describe, remarks: those of the backend's Toolchain, for facts about the binary. ``functions``: numbers by kernel
    and name, of the code generator and of the binary.
    """

    def __init__(
        self,
        artifact: Artifact,
        describe: Callable[[bytes], Mapping[str, Mapping[str, int]]] | None = None,
        remarks: Callable[[Artifact], Iterable[str]] | None = None,
    ) -> None:
        self.artifact = artifact
        self.remarks = list(remarks(artifact)) if remarks is not None and artifact.binary else []
        self.functions: dict[str, Mapping[str, int]] = {
            row["kernel"]: row["figures"] for row in artifact.report.get("figures", ())
        }
        if describe is not None and artifact.binary:
            for name, figures in describe(artifact.binary).items():
                self.functions[name] = {**self.functions.get(name, {}), **figures}

    @property
    def data(self) -> Mapping[str, Any]:
        return self.artifact.report

    def __str__(self) -> str:
        lines = [f"{self.artifact.name} on {self.artifact.target}, execution backend {self.artifact.adapter}"]
        lines += self._entries()
        sections = (
            self._operations, self._copies, self._layouts, self._memory, self._pipelines, self._roles, self._overlaps,
            self._moves, self._loops, self._notes, self._times,
        )  # fmt: skip
        for section in sections:
            lines += section()
        return "\n".join(lines)

    __repr__ = __str__

    def _rows(self, topic: str) -> Iterable[Row]:
        return self.data.get(topic, ())

    def _entries(self) -> list[str]:
        lines = []
        for entry in self.artifact.entries:
            grid = ", ".join(str(d) for d in entry.grid)
            threads = "" if tuple(entry.threads) == (1, 1, 1) else f", threads {tuple(entry.threads)}"
            lines.append(
                f"  {entry.symbol}: grid ({grid}){threads}, {_shared_text(entry)} bytes of on-chip memory per block"
            )
            resources = self.functions.get(entry.symbol, {})
            if resources:
                lines.append(
                    "      " + ", ".join(f"{value} {name.replace('_', ' ')}" for name, value in resources.items())
                )
            launch_attributes = {k: v for k, v in entry.attributes.items() if k != "assertions"}
            if launch_attributes:
                lines.append(
                    "      launch: " + ", ".join(f"{name} {value}" for name, value in launch_attributes.items())
                )
        return lines

    def _operations(self) -> list[str]:
        lines = []
        for row in self._rows("tile_ops"):
            text = f"  {_place(row)}{row['op']}: {row['implementation']}"
            lines.append("\n".join([text, *(f"      not {n}: {reason}" for n, reason in row.get("declined", ()))]))
        return _titled("tile operations:", dict.fromkeys(lines))

    def _layouts(self) -> list[str]:
        lines = []
        for row in self._rows("layouts"):
            if "thread" not in row:
                lines.append(f"  {row['buffer']}: {row['layout']}")
                continue
            copies = f", each element {row['copies']} times" if row["copies"] > 1 else ""
            size = "x".join(map(str, row["shape"])) or "one element"
            lines.append(
                f"  {row['buffer']}: {size} over {row['threads']} threads, {row['registers']} registers each{copies}\n"
                f"      thread = {row['thread']}\n      register = {row['register']}"
            )
        return _titled("layouts:", dict.fromkeys(lines))

    def _memory(self) -> list[str]:
        lines = []
        for row in self._rows("shared_memory"):
            for name, (start, size) in sorted(row["buffers"].items(), key=lambda item: item[1]):
                first, last = row.get("lines", {}).get(name, (0, 0))
                used = f", used on {_lines(first, last)}" if first else ""
                lines.append(f"  {start:>7} to {start + size:<7} {name}{used}")
        return _titled("on-chip memory of a block, in bytes:", lines)

    def _pipelines(self) -> list[str]:
        lines = []
        for row in self._rows("pipelines"):
            filled = f", filled {row['filled']}" if "filled" in row else ""
            lines.append(f"  {row['tiles']}: {row['stages']} stages{filled}")
        for row in self._rows("fewer_stages"):
            lines.append(
                f"  {row['tiles']}: {row['fewer']} stages instead of {row['stages']}: more do not fit into shared"
                " memory beside what the compiler adds"
            )
        section = _titled("pipelines:", lines)
        barriers = sum(row["inserted"] for row in self._rows("barriers"))
        if barriers:
            section.append(f"barriers inserted: {barriers}")
        return section

    def _roles(self) -> list[str]:
        lines = []
        for row in self._rows("warp_roles"):
            if "declined" in row:
                lines.append(f"  {row['tile']}: {row['declined']}" if "tile" in row else f"  none: {row['declined']}")
                continue
            shares = f"; registers: {row['registers']}" if "registers" in row else ""
            lines.append(f"  producers: {row['producer']}, consumers: {row['consumers']}{shares}")
        return _titled("warp specialization:", dict.fromkeys(lines))

    def _copies(self) -> list[str]:
        rows = (f"  {_place(row)}{row['text']}" for row in self._rows("copies"))
        return _titled("copies that were moved or left out:", dict.fromkeys(rows))

    def _overlaps(self) -> list[str]:
        lines = []
        for row in self._rows("overlaps"):
            overlapped = f"{row['products']} products" if row.get("products") else "releases"
            late = (
                f"no: {row['declined']}" if "declined" in row else f"{overlapped} of an iteration run in the next one"
            )
            lines.append(f"  {row['loop']}: {late}")
        return _titled("loop iterations that overlap:", dict.fromkeys(lines))

    def _moves(self) -> list[str]:
        lines = []
        for row in self._rows("moves"):
            widths: dict[int, list[str]] = {}
            for name, size in row["bytes"].items():
                widths.setdefault(size, []).append(name)
            for size, names in widths.items():
                lines.append(f"  {_place(row)}{', '.join(names)} by {size} bytes")
        return _titled("width of a thread's memory accesses:", dict.fromkeys(lines))

    def _loops(self) -> list[str]:
        vectors = [f"  {_place(row)}{row['lanes']} lanes along {row['axis']}" for row in self._rows("vectorized")]
        scalars = [f"  {_place(row)}{row['reason']}" for row in self._rows("not_vectorized")]
        return [
            *_titled("vectorized loops:", dict.fromkeys(vectors)),
            *_titled("scalar loops:", dict.fromkeys(scalars)),
        ]

    def _notes(self) -> list[str]:
        lines = [f"  blocks run {row['order']}" for row in self._rows("blocks")]
        lines += [f"  blocks form no clusters: {row['declined']}" for row in self._rows("block_pairs")]
        lines += [f"  blocks share no loop: {row['declined']}" for row in self._rows("split_k")]
        lines += [f"  {'slow: ' if row.get('slow') else ''}{row['text']}" for row in self._rows("notes")]
        lines += [f"  {remark}" for remark in self.remarks]
        return _titled("notes:", dict.fromkeys(lines))

    def _times(self) -> list[str]:
        steps = self.data.get("steps", {})
        if not steps:
            return []
        return ["compile time: " + ", ".join(f"{name} {ms:.1f} ms" for name, ms in steps.items())]


def _place(row: Row) -> str:
    return f"line {row['line']}: " if row.get("line") else ""


def _lines(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first} to {last}"


def _titled(title: str, lines: Iterable[str]) -> list[str]:
    """The lines under a title; an empty list if there are no lines."""
    listed = list(lines)
    return [title, *listed] if listed else []


def _shared_text(entry: Entry) -> str:
    """The on-chip memory of a block, without the limit of a size that the call gives."""
    bounded = size_and_limit(entry.shared_bytes)
    return str(entry.shared_bytes if bounded is None else bounded[0])
