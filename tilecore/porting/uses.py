"""Finds what a program uses of TileLang: imports, names, and the keywords of calls, each with its line."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

PACKAGES = ("tilelang", "tilecore")


@dataclass(frozen=True)
class Import:
    """One imported module or name. module: dotted, as written. name: "" for a whole module, "*" for all of its
    names. is_optional: the program catches the error where it is missing."""

    module: str
    name: str
    line: int
    column: int
    text: str
    is_optional: bool = False


@dataclass(frozen=True)
class Use:
    """An expression that names something of the package. path: ("language", "gemm"), without the package's name.

    keywords: the names of a call's keywords, None where nothing is called; texts: those whose values are literal texts.
    """

    path: tuple[str, ...]
    line: int
    column: int
    written: str
    keywords: tuple[str, ...] | None = None
    texts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class PassConfig:
    """A literal key of a dict ``pass_configs``."""

    key: str
    line: int
    column: int


@dataclass
class Program:
    """What a file uses, in the order of its lines."""

    imports: list[Import]
    uses: list[Use]
    pass_configs: list[PassConfig]


def read_program(text: str, file: str) -> Program:
    """What the program uses. Raises SyntaxError for what is no Python."""
    tree = ast.parse(text, file)
    imports = list(_imports(tree, text))
    names = _names(tree)
    uses: list[Use] = []
    _visit(tree, names, text, uses)
    return Program(imports, uses, list(_pass_configs(tree)))


def _is_ours(module: str | None) -> bool:
    return bool(module) and str(module).partition(".")[0] in PACKAGES


def _imports(tree: ast.AST, text: str) -> Iterator[Import]:
    optional = {id(node) for guarded in ast.walk(tree) for node in _with_caught_import_errors(guarded)}
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        place = (node.lineno, node.col_offset, ast.get_source_segment(text, node) or "", id(node) in optional)
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, "", *place) for alias in node.names if _is_ours(alias.name))
        elif not node.level and _is_ours(node.module):
            yield from (Import(str(node.module), alias.name, *place) for alias in node.names)


_CAUGHT = frozenset(("ImportError", "ModuleNotFoundError", "Exception", "BaseException"))


def _with_caught_import_errors(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes inside ``try: ... except ImportError:``, and inside ``with contextlib.suppress(ImportError):``."""
    caught: list[ast.expr | None] = []
    if isinstance(node, ast.Try):
        caught = [handler.type for handler in node.handlers]
    elif isinstance(node, ast.With):
        calls = [item.context_expr for item in node.items]
        caught = [
            word
            for call in calls
            if isinstance(call, ast.Call) and _last(call.func) == "suppress"
            for word in call.args
        ]
    kinds = [kind for one in caught for kind in (one.elts if isinstance(one, ast.Tuple) else [one])]
    if any(kind is None or _last(kind) in _CAUGHT for kind in kinds):
        for statement in node.body:  # type: ignore[attr-defined]
            yield from ast.walk(statement)


def _last(node: ast.expr) -> str:
    """The last word of a dotted name."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _names(tree: ast.AST) -> dict[str, tuple[str, ...]]:
    """The names of the file that stand for modules and names of the package, with their paths."""
    names: dict[str, tuple[str, ...]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if _is_ours(alias.name):
                    path = tuple(alias.name.split("."))[1:]
                    names[alias.asname or alias.name.partition(".")[0]] = path if alias.asname else ()
        elif isinstance(node, ast.ImportFrom) and not node.level and _is_ours(node.module):
            for alias in node.names:
                if alias.name != "*":
                    names[alias.asname or alias.name] = (*str(node.module).split(".")[1:], alias.name)
    bound = set(_bound_otherwise(tree))
    return {name: path for name, path in names.items() if name not in bound}


def _bound_otherwise(tree: ast.AST) -> Iterator[str]:
    """Names that a definition, a parameter, an assignment or another import binds: they may be something else."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Import):
            yield from (
                alias.asname or alias.name.partition(".")[0] for alias in node.names if not _is_ours(alias.name)
            )
        elif isinstance(node, ast.ImportFrom) and not _is_ours(node.module):
            yield from (alias.asname or alias.name for alias in node.names)


def _path(node: ast.expr, names: dict[str, tuple[str, ...]]) -> tuple[str, ...] | None:
    """The path of ``tilelang.language.gemm`` or ``T.gemm``; None for an expression that does not begin with a name."""
    words: list[str] = []
    while isinstance(node, ast.Attribute):
        words.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name) and node.id in names:
        return (*names[node.id], *reversed(words))
    return None


def _visit(node: ast.AST, names: dict[str, tuple[str, ...]], text: str, uses: list[Use]) -> None:
    if isinstance(node, ast.Call):
        path = _path(node.func, names)
        if path:
            keywords = tuple(word.arg for word in node.keywords if word.arg is not None)
            texts = tuple(
                (word.arg, word.value.value)
                for word in node.keywords
                if word.arg and isinstance(word.value, ast.Constant) and isinstance(word.value.value, str)
            )
            written = ast.get_source_segment(text, node.func) or ".".join(path)
            uses.append(Use(path, node.func.lineno, node.func.col_offset, written, keywords, texts))
            for child in (*node.args, *node.keywords):
                _visit(child, names, text, uses)
            return
    if isinstance(node, (ast.Attribute, ast.Name)):
        path = _path(node, names)
        if path and isinstance(node.ctx, ast.Load):
            written = ast.get_source_segment(text, node) or ".".join(path)
            uses.append(Use(path, node.lineno, node.col_offset, written))
            return
    for child in ast.iter_child_nodes(node):
        _visit(child, names, text, uses)


def _pass_configs(tree: ast.AST) -> Iterator[PassConfig]:
    """The literal keys of every dict that is given, or assigned, as ``pass_configs``."""
    for node in ast.walk(tree):
        values: list[ast.expr | None] = []
        if (isinstance(node, ast.keyword) and node.arg == "pass_configs") or (
            isinstance(node, ast.Assign) and any(getattr(t, "id", "") == "pass_configs" for t in node.targets)
        ):
            values = [node.value]
        for value in values:
            for key in value.keys if isinstance(value, ast.Dict) else ():
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield PassConfig(key.value, key.lineno, key.col_offset)
