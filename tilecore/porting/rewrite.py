"""Writes the imports of ``tilelang`` as those of ``tilecore``; the rest of the file stays as it is, byte for byte."""

from __future__ import annotations

import ast
import difflib
import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tilecore.errors import ArgumentError
from tilecore.porting.source import Places, Source
from tilecore.porting.uses import Program, imported_by_call, nodes_that_may_fail
from tilecore.whole_files import write_whole_bytes

_OLD, _NEW = "tilelang", "tilecore"
_BOUND = f"{_NEW} as {_OLD}"  # so that the program's own uses of the name go on working
_FROM = re.compile(r"from(?:\s|\\\r?\n)+")
_QUOTE = re.compile(r"[a-zA-Z]*(?:\"\"\"|'''|\"|')")


@dataclass(frozen=True)
class Edit:
    """The text between two places of a file, in characters from 0, and the text that replaces it."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Rewrite:
    """A file and the changes of its imports."""

    source: Source
    edits: tuple[Edit, ...]

    def rewritten(self) -> Source:
        """The file with its imports changed."""
        return Source(_applied(self.source.text, self.edits, 0, len(self.source.text)), self.source.encoding)

    def changed_lines(self) -> list[tuple[int, str]]:
        """(line, what it is changed to) for each line that changes."""
        places = Places(self.source)
        lines = sorted({places.line_of(edit.start) for edit in self.edits})
        texts = []
        for line in lines:
            start = places.start_of(line)
            texts.append(_applied(self.source.text, self.edits, start, start + len(places.lines[line - 1])).strip())
        return list(zip(lines, texts, strict=True))

    def diff(self, name: str) -> str:
        """The changes as a unified diff; "" where nothing changes."""
        mark = "\ufeff" if self.source.encoding == "utf-8-sig" else ""
        texts = [_split(mark + source.text) for source in (self.source, self.rewritten())]
        lines = difflib.unified_diff(texts[0], texts[1], name, name)
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)

    def write(self, path: Path) -> None:
        """Change the file as a whole, with its permissions. Raises OSError where it may not be written, and
        ArgumentError where it cannot be written without other changes; then it stays as it is."""
        if self.source.as_bytes() != path.read_bytes():
            raise ArgumentError(
                f"{path} cannot be rewritten without other changes",
                found=f"encoding {self.source.encoding}, or a file that has changed meanwhile",
                hint="run the command again, or change the imports by hand",
            )
        if not os.access(path, os.W_OK):
            raise PermissionError(f"{path} may not be written")
        mode = stat.S_IMODE(path.stat().st_mode)
        new = self.rewritten()
        ast.parse(new.text, str(path))
        write_whole_bytes(path, new.as_bytes())
        if stat.S_IMODE(path.stat().st_mode) != mode:
            path.chmod(mode)


def rewrite_of(program: Program, is_attribute: Callable[[str], bool]) -> Rewrite:
    """The changes of a program's imports. is_attribute: whether ``tilecore.<path>`` is there once tilecore itself is
    imported."""
    edits = {*_of_statements(program, is_attribute), *_of_calls(program)}
    return Rewrite(program.source, tuple(sorted(edits, key=lambda edit: edit.start)))


def _applied(text: str, edits: tuple[Edit, ...], start: int, end: int) -> str:
    """The text between two places, with the edits that begin there."""
    parts, done = [], start
    for edit in edits:
        if start <= edit.start < end:
            parts += [text[done : edit.start], edit.text]
            done = max(edit.end, done)
    return "".join([*parts, text[done:end]])


def _of_statements(program: Program, is_attribute: Callable[[str], bool]) -> Iterator[Edit]:
    may_fail = nodes_that_may_fail(program.tree)
    for statements in _blocks(program.tree):
        is_bound = False  # whether the block has bound the name ``tilelang``
        for statement in statements:
            if isinstance(statement, ast.ImportFrom) and not statement.level and _is_old(statement.module):
                yield _of_import_from(program, statement)
            elif isinstance(statement, ast.Import):
                for alias in statement.names:
                    if not _is_old(alias.name):
                        continue
                    start, end = _span(program.places, alias)
                    if alias.asname is None and not (is_bound and alias.name != _OLD):
                        is_short = id(statement) not in may_fail and is_attribute(alias.name.partition(".")[2])
                        yield Edit(start, end, _binding(alias.name, is_short))
                        is_bound = True
                    else:
                        yield Edit(start, start + len(_OLD), _NEW)


def _binding(module: str, is_short: bool) -> str:
    """``import tilelang.layout`` binds the name ``tilelang``: so does what replaces it. Where the module is not found
    as an attribute, or the program wants to know whether it is there, it is imported as well."""
    if is_short or module == _OLD:
        return _BOUND
    return f"{_NEW}{module.removeprefix(_OLD)}, {_BOUND}"


def _of_import_from(program: Program, statement: ast.ImportFrom) -> Edit:
    start = program.places.offset(statement.lineno, statement.col_offset)
    word = _FROM.match(program.source.text, start)
    start = start if word is None else word.end()
    return Edit(start, start + len(_OLD), _NEW)


def _of_calls(program: Program) -> Iterator[Edit]:
    """``importlib.import_module("tilelang.layout")`` and the like."""
    for node in ast.walk(program.tree):
        module = imported_by_call(node) if isinstance(node, ast.Call) else None
        if module is None or not _is_old(str(module.value)):
            continue
        start, _ = _span(program.places, module)
        quote = _QUOTE.match(program.source.text, start)
        if quote is not None and program.source.text.startswith(_OLD, quote.end()):
            yield Edit(quote.end(), quote.end() + len(_OLD), _NEW)


def _split(text: str) -> list[str]:
    """The lines as diff counts them, which end in a line feed."""
    return re.findall(r"[^\n]*\n|[^\n]+\Z", text)


def _is_old(module: str | None) -> bool:
    return (module or "").partition(".")[0] == _OLD


def _span(places: Places, node: ast.alias | ast.expr) -> tuple[int, int]:
    start = places.offset(node.lineno, node.col_offset)
    return start, places.offset(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)


def _blocks(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    """Every list of statements of the program."""
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            statements = getattr(node, name, None)
            if isinstance(statements, list):
                yield statements
