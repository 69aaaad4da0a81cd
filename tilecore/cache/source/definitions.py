"""What is known of a function's definition: a digest of source and code, and its reads. Once per code object."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from hashlib import sha256
from types import CodeType, FunctionType

from tilecore.cache.source import text as source
from tilecore.cache.source.reads import Walk
from tilecore.cache.source.scopes import Read
from tilecore.cache.source.text import NotUnderstoodError, code_facts, source_text

MOST_REMEMBERED = 4096


@dataclass(frozen=True)
class Definition:
    """What a definition says, whatever the values of what it reads.

    digest: sha256 of text and bytecode. body: what it reads from outside when it is called, apart from arguments and
    defaults. signature: what its own annotations read. decorators: the decorators themselves.
    constant_decorators: no decorator has arguments other than constants.
    """

    digest: bytes
    body: tuple[Read, ...]
    signature: tuple[Read, ...]
    decorators: tuple[Read, ...]
    constant_decorators: bool


# By the code object's identity: comparing code objects costs more, and equal ones may stand in different text.
_remembered: dict[int, tuple[CodeType, Definition | NotUnderstoodError]] = {}


def analyse(function: FunctionType) -> Definition:
    """The definition of ``function``; raises NotUnderstoodError, the same again for the same code."""
    code = function.__code__
    known = _remembered.get(id(code))
    if known is None:
        if len(_remembered) >= MOST_REMEMBERED:
            _remembered.clear()
        try:
            found: Definition | NotUnderstoodError = _analyse(function)
        except NotUnderstoodError as error:
            found = NotUnderstoodError(*error.args)
        known = _remembered[id(code)] = (code, found)
    if isinstance(known[1], NotUnderstoodError):
        raise NotUnderstoodError(*known[1].args)
    return known[1]


def _analyse(function: FunctionType) -> Definition:
    found = source_text(function)
    walk = Walk()
    try:
        parts = _walk(walk, found.node)
    except RecursionError:
        walk.fail("its expressions are nested too deeply")
    if walk.problem is not None:
        raise NotUnderstoodError(f"{function.__code__.co_name}: {walk.problem}")
    facts = repr((found.text, code_facts(function.__code__)))
    digest = sha256(facts.encode("utf-8", "surrogatepass")).digest()
    return Definition(digest, *parts, _has_constant_decorators(found.node))


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
