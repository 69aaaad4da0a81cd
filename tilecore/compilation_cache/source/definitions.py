"""Analyses a function's definition: a digest of its source and code, and the names that it reads.

It follows from the text and the bytecode alone, so it is worked out once per code object, and kept in the cache on
disk: parsing is most of what the source key of a kernel costs in a fresh process.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Literal, Protocol

from tilecore.compilation_cache.source.reads import Walk
from tilecore.compilation_cache.source.scopes import Read
from tilecore.compilation_cache.source.text import (
    NotUnderstoodError,
    code_facts,
    definition_texts,
    parse_definition,
    parse_lambda,
    source_lines,
)
from tilecore.compilation_cache.versions import versions_for_key

if TYPE_CHECKING:
    from tilecore.compilation_cache.source import text as source

MOST_REMEMBERED = 4096


class Notes(Protocol):
    """Where what is known of definitions is kept between processes: the cache on disk."""

    def note(self, store: Literal["definitions"], key: str) -> str | None: ...

    def keep_note(self, store: Literal["definitions"], key: str, text: str) -> object: ...


@dataclass(frozen=True)
class Definition:
    """What a definition says, whatever the values of what it reads.

    digest: sha256 of text and bytecode. body: what it reads from outside when it is called, apart from arguments and
    defaults. signature: what its own annotations read. decorators: the decorators themselves.
    constant_decorators: no decorator has arguments other than constants. tells_places: compiled code may name lines of
    it, in assertions of the kernel.
    """

    digest: bytes
    body: tuple[Read, ...]
    signature: tuple[Read, ...]
    decorators: tuple[Read, ...]
    constant_decorators: bool
    tells_places: bool = False


# By the code object's identity: comparing code objects costs more, and equal ones may stand in different text.
_remembered: dict[int, tuple[CodeType, Definition | NotUnderstoodError]] = {}


def analyse(function: FunctionType, notes: Callable[[], Notes]) -> Definition:
    """The definition of ``function``, from memory, from the notes or from its text.

    Raises NotUnderstoodError, the same again for the same code.
    """
    code = function.__code__
    remembered = _remembered.get(id(code))
    if remembered is None:
        if len(_remembered) >= MOST_REMEMBERED:
            _remembered.clear()
        try:
            outcome: Definition | NotUnderstoodError = _analyse(function, notes())
        except NotUnderstoodError as error:
            outcome = NotUnderstoodError(*error.args)
        remembered = _remembered[id(code)] = (code, outcome)
    if isinstance(remembered[1], NotUnderstoodError):
        raise NotUnderstoodError(*remembered[1].args)
    return remembered[1]


def _analyse(function: FunctionType, notes: Notes) -> Definition:
    code = function.__code__
    lines = source_lines(function)
    if code.co_name == "<lambda>":
        parsed = parse_lambda(lines, code)
        if parsed is not None:
            return _study(parsed[1], _digest(parsed[0], code), code.co_name)  # a lambda asserts nothing
    else:
        for text in definition_texts(lines, code):
            digest = _digest(text, code)
            tells_places = "assert" in text
            definition = _recall(digest, notes)
            if definition is not None:
                return replace(definition, tells_places=tells_places)
            node = parse_definition(text, code)
            if node is not None:
                definition = _study(node, digest, code.co_name)
                _record(definition, notes)
                return replace(definition, tells_places=tells_places)
    raise NotUnderstoodError(f"the source of {code.co_name} is missing")


def _digest(text: str, code: CodeType) -> bytes:
    return sha256(repr((text, code_facts(code))).encode("utf-8", "surrogatepass")).digest()


def _study(node: source.Definition, digest: bytes, name: str) -> Definition:
    walk = Walk()
    try:
        body, signature, decorators = _walk(walk, node)
    except RecursionError:
        raise NotUnderstoodError(f"{name}: its expressions are nested too deeply") from None
    if walk.problem is not None:
        raise NotUnderstoodError(f"{name}: {walk.problem}")
    return Definition(digest, body, signature, decorators, _has_constant_decorators(node))


def _note_key(digest: bytes) -> str:
    # what is made of the text depends on Python's grammar and on this package
    return sha256(repr((digest, sys.version_info[:2], versions_for_key("", ""))).encode()).hexdigest()


def _record(definition: Definition, notes: Notes) -> None:
    reads = (definition.body, definition.signature, definition.decorators)
    lists = [[[r.name, r.attributes, r.order_free, r.module] for r in part] for part in reads]
    notes.keep_note("definitions", _note_key(definition.digest), json.dumps([*lists, definition.constant_decorators]))


def _recall(digest: bytes, notes: Notes) -> Definition | None:
    text = notes.note("definitions", _note_key(digest))
    if text is None:
        return None
    *lists, constant = json.loads(text)
    body, signature, decorators = (tuple(Read(n, tuple(a), o, m) for n, a, o, m in part) for part in lists)
    return Definition(digest, body, signature, decorators, constant)


def _walk(walk: Walk, node: source.Definition) -> tuple[tuple[Read, ...], tuple[Read, ...], tuple[Read, ...]]:
    """The reads of the body, of the signature and of the decorators."""
    walk.body(node, None)
    body = walk.result()
    first = len(walk.scopes)
    walk.signature(node, walk.scope("function", None))
    signature = walk.result(first)
    first = len(walk.scopes)
    decorators = getattr(node, "decorator_list", [])
    walk.visit_all([d.func if isinstance(d, ast.Call) else d for d in decorators], walk.scope("function", None))
    return tuple(body), tuple(signature), tuple(walk.result(first))


def _has_constant_decorators(node: source.Definition) -> bool:
    calls = [d for d in getattr(node, "decorator_list", []) if isinstance(d, ast.Call)]
    arguments = [argument for call in calls for argument in (*call.args, *call.keywords)]
    return not any(isinstance(inner, ast.Name) for argument in arguments for inner in ast.walk(argument))
