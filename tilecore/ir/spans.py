"""Maps nodes of the IR to source locations, and holds the spans of the statements of a function."""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
import tokenize
from typing import TYPE_CHECKING, Any

from tilecore.errors import Location

if TYPE_CHECKING:
    from tilecore.ir.nodes import Span


def location_of_span(span: object | None) -> Location | None:
    """The source location of a span; None if it has none."""
    if span is None:
        return None
    name = getattr(getattr(span, "source_name", None), "name", None)
    if not name:
        return None
    return Location(str(name), int(span.line), int(span.column) - 1, int(span.end_line), int(span.end_column) - 1)  # type: ignore[attr-defined]


def span_at(place: Location) -> Span:
    """The TVM span of a source location."""
    from tilecore.ir.nodes import SourceName, Span

    return Span(SourceName(place.file), place.line, place.line, place.column + 1, place.column + 1)


class SpanTable:
    """The locations of the statements of one rewritten function, by index, and their TVM spans, created on demand."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.places: list[tuple[int, int, int, int]] = []
        self._spans: dict[int, object] = {}

    def add(self, node: ast.stmt | ast.expr) -> int:
        end_line = node.end_lineno or node.lineno
        end_column = node.end_col_offset or node.col_offset
        if isinstance(node, (ast.For, ast.While, ast.If, ast.With)):  # a compound statement: its first line
            end_line, end_column = node.lineno, len(linecache.getline(self.file, node.lineno).rstrip())
        self.places.append((node.lineno, node.col_offset, end_line, end_column))
        return len(self.places) - 1

    def location(self, index: int) -> Location:
        line, column, end_line, end_column = self.places[index]
        return Location(self.file, line, column, end_line, end_column)

    def span(self, index: int):
        """The TVM span of statement ``index``: lines and columns 1-based."""
        span = self._spans.get(index)
        if span is None:
            from tilecore.ir.nodes import SourceName, Span

            line, column, end_line, end_column = self.places[index]
            span = Span(SourceName(self.file), line, end_line, column + 1, end_column + 1)
            self._spans[index] = span
        return span


def place_of_parameter(span: Any, name: str) -> Location | None:
    """Where a parameter is declared: in the definition that begins at ``span``, else that definition's first line."""
    definition = location_of_span(span)
    if definition is None:
        return None
    lines = linecache.getlines(definition.file)[definition.line - 1 :]
    if not lines:  # the text is gone, or shorter by now
        return definition
    try:
        block = inspect.getblock(lines)
        tree = ast.parse(textwrap.dedent("".join(block)))
    except (SyntaxError, tokenize.TokenError):
        return definition
    if not block:  # the file is not there, or is another by now
        return definition
    ast.increment_lineno(tree, definition.line - 1)
    shift_columns(tree, len(block[0]) - len(block[0].lstrip()))
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            location = node.arg
        elif isinstance(node, ast.AnnAssign):
            location = getattr(node.target, "id", "")
        elif isinstance(node, ast.Assign):
            location = getattr(node.targets[0], "id", "")
        else:
            continue
        if location == name:
            return Location(definition.file, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
    return definition


def shift_columns(tree: ast.AST, margin: int) -> None:
    """Move every column of ``tree`` to the right by ``margin``: its text was parsed without the indentation."""
    node: Any
    for node in ast.walk(tree):
        if hasattr(node, "col_offset"):
            node.col_offset += margin
            if getattr(node, "end_col_offset", None) is not None:
                node.end_col_offset += margin
