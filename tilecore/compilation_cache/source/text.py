"""Reads the text of a function's definition, and its bytecode as data.

A source key takes both: the text is what the front end reads (annotations that Python does not evaluate included),
the bytecode is what runs when Python calls the function. So a file that was edited after it was loaded cannot give
the key of the new text to what the old code does.
"""

from __future__ import annotations
import __future__

import ast
import linecache
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

_FUTURE_FLAGS = 0
for _name in __future__.all_feature_names:
    _FUTURE_FLAGS |= getattr(__future__, _name).compiler_flag
ANNOTATIONS_FLAG = __future__.annotations.compiler_flag

_NESTED = 0x10  # CO_NESTED
_MOST_LINES = 5000
_MOST_LAMBDA_LINES = 40


class NotUnderstoodError(Exception):
    """Something that a function reads has no canonical description; the message says what."""


def source_lines(function: FunctionType) -> list[str]:
    """The lines of the file that ``function`` comes from, as the file is now; empty when they cannot be had."""
    linecache.checkcache(function.__code__.co_filename)
    return linecache.getlines(function.__code__.co_filename, function.__globals__)


def code_facts(code: CodeType) -> tuple:
    """A code object as plain data, equal reprs for equal code: all but its file, lines and qualified name."""
    return (
        code.co_name,
        code.co_code,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags & ~_NESTED),
        getattr(code, "co_exceptiontable", b""),
        tuple(map(_constant_facts, code.co_consts)),
    )


def _constant_facts(value: Any) -> Any:
    if isinstance(value, CodeType):
        return code_facts(value)
    if isinstance(value, tuple):
        return tuple(map(_constant_facts, value))
    if isinstance(value, frozenset):
        return "frozenset", sorted(repr(_constant_facts(item)) for item in value)
    if isinstance(value, str) and ".<locals>." in value:  # the qualified name of something nested: where it stands
        return value.rpartition(".<locals>.")[2]
    return value


def definition_texts(lines: list[str], code: CodeType) -> Iterator[str]:
    """Texts that may be the definition of ``code``, the shortest first: the right one is the first that parses."""
    start = code.co_firstlineno - 1
    if 0 <= start < len(lines):
        for end in _ends(lines, start, _margin(lines[start])):
            yield "".join(lines[start:end])


def parse_definition(text: str, code: CodeType) -> Definition | None:
    """The syntax tree of a definition, or None when the text breaks off inside brackets or a string.

    Raises NotUnderstoodError when the text plainly is not that of the code.
    """
    head = "if 1:\n" if text[:1].isspace() else ""  # an indented definition needs a block to stand in
    tree = _parse(head + text, code)
    if tree is None:
        return None
    body = tree.body[0].body if head else tree.body  # type: ignore[attr-defined]
    node = body[0]
    if (
        len(body) != 1
        or not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        or node.name != code.co_name
        or not all(name in text for name in _names(code))
    ):
        raise NotUnderstoodError(f"the source of {code.co_name} is not the code that runs")
    return node


def _ends(lines: list[str], start: int, margin: int) -> Iterator[int]:
    """Line numbers where the definition that begins at ``start`` may end: before each line that is indented no more."""
    in_body = False
    last = start + 1
    for index in range(start, min(len(lines), start + _MOST_LINES)):
        line = lines[index]
        stripped = line.strip()
        if not stripped or stripped[0] == "#":
            continue
        if _margin(line) <= margin:
            if in_body:
                yield last
            elif stripped.startswith(("def ", "async def ")):
                in_body = True
        last = index + 1
    yield last


def _names(code: CodeType) -> Iterator[str]:
    """Every identifier of the code, but those that Python makes up."""
    for names in (code.co_names, code.co_varnames, code.co_freevars):
        for name in names:
            if name[:1] not in ("", ".") and not (name.startswith("__") and name.endswith("__")):
                yield name
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def parse_lambda(lines: list[str], code: CodeType) -> tuple[str, ast.Lambda] | None:
    """The lambda on ``code``'s first line that compiles to ``code``: its text and tree. Its end is found by trying."""
    if not 0 < code.co_firstlineno <= len(lines):
        return None
    facts = code_facts(code)
    text = "".join(lines[code.co_firstlineno - 1 : code.co_firstlineno - 1 + _MOST_LAMBDA_LINES])
    first_line = lines[code.co_firstlineno - 1]
    begin = first_line.find("lambda")
    while begin >= 0:
        for end in range(begin + len("lambda"), len(text) + 1):
            if end < len(text) and text[end] not in ",)]}:\n#; ":
                continue
            candidate = f"def _({', '.join(code.co_freevars)}):\n return ({text[begin:end]}\n)"
            tree = _parse(candidate, code)
            if tree is not None and _compiles_to(candidate, code, facts):
                return text[begin:end], tree.body[0].body[0].value  # type: ignore[attr-defined]
        begin = first_line.find("lambda", begin + 1)
    return None


def _parse(text: str, code: CodeType) -> ast.Module | None:
    try:
        flags = ast.PyCF_ONLY_AST | (code.co_flags & _FUTURE_FLAGS)
        return compile(text, "<source>", "exec", flags, dont_inherit=True)  # type: ignore[return-value]
    except (SyntaxError, ValueError):
        return None


def _compiles_to(text: str, code: CodeType, facts: tuple) -> bool:
    """Whether a function in ``text`` returns a lambda that is the same code."""
    module = compile(text, "<source>", "exec", code.co_flags & _FUTURE_FLAGS, dont_inherit=True)
    function = next(constant for constant in module.co_consts if isinstance(constant, CodeType))
    inner = [constant for constant in function.co_consts if isinstance(constant, CodeType)]
    return len(inner) == 1 and repr(code_facts(inner[0])) == repr(facts)


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip())
