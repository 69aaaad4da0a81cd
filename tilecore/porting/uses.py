"""Finds what a program uses of TileLang and of TVM: imports, names, and the keywords of calls, each with its place."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tilecore.porting.scopes import (
    COMPREHENSIONS,
    FUNCTIONS,
    Names,
    names_in,
    names_in_comprehension,
    names_in_function,
    path_of_module,
)
from tilecore.porting.source import Places, Source

IMPORTERS = frozenset(("import_module", "__import__", "importorskip", "find_spec"))  # functions of a module's name
_FORGIVING = frozenset(("importorskip", "find_spec"))


@dataclass(frozen=True)
class Import:
    """One imported module or name. module: dotted, as written. name: "" for a whole module, "*" for all of its
    names. is_optional: the program goes on where it is missing."""

    module: str
    name: str
    line: int
    column: int
    is_optional: bool = False


@dataclass(frozen=True)
class Use:
    """An expression that names something of the package. path: ("language", "gemm"), without the package's name; that
    of a name of TVM begins with "tvm".

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
    """What a file uses. imports: those of all packages."""

    source: Source
    tree: ast.Module
    places: Places
    imports: list[Import]
    uses: list[Use]
    pass_configs: list[PassConfig]

    def imports_of_package(self) -> list[Import]:
        """The imports of TileLang, of tilecore and of TVM."""
        return [imported for imported in self.imports if path_of_module(imported.module) is not None]


def read_program(source: Source | str, file: str) -> Program:
    """What the program uses. Raises SyntaxError for what is no Python."""
    if isinstance(source, str):
        source = Source(source)
    tree = ast.parse(source.text, file)
    places = Places(source)
    reader = _Reader(places)
    reader.read(tree, names_in(tree.body, {}))
    return Program(source, tree, places, list(_imports(tree, places)), reader.uses, list(_pass_configs(tree, places)))


# -- imports ----------------------------------------------------------------------------------------------------------


def _imports(tree: ast.AST, places: Places) -> Iterator[Import]:
    optional = nodes_that_may_fail(tree)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            place = node.lineno, places.column(node.lineno, node.col_offset), id(node) in optional
            if isinstance(node, ast.Import):
                yield from (Import(alias.name, "", *place) for alias in node.names)
            elif not node.level:
                yield from (Import(str(node.module), alias.name, *place) for alias in node.names)
        elif isinstance(node, ast.Call) and (literal := imported_by_call(node)) is not None:
            may_fail = id(node) in optional or last_word(node.func) in _FORGIVING
            yield Import(str(literal.value), "", node.lineno, places.column(node.lineno, node.col_offset), may_fail)


def imported_by_call(call: ast.Call) -> ast.Constant | None:
    """The literal name of the module that ``importlib.import_module("...")`` and the like import."""
    if last_word(call.func) not in IMPORTERS or not call.args:
        return None
    module = call.args[0]
    return module if isinstance(module, ast.Constant) and isinstance(module.value, str) else None


def nodes_that_may_fail(tree: ast.AST) -> set[int]:
    """The ids of the nodes whose ImportError the program catches."""
    return {id(node) for guarded in ast.walk(tree) for node in _with_caught_import_errors(guarded)}


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
            if isinstance(call, ast.Call) and last_word(call.func) == "suppress"
            for word in call.args
        ]
    kinds = [kind for one in caught for kind in (one.elts if isinstance(one, ast.Tuple) else [one])]
    if any(kind is None or last_word(kind) in _CAUGHT for kind in kinds):
        for statement in node.body:  # type: ignore[attr-defined]
            yield from ast.walk(statement)


def last_word(node: ast.expr) -> str:
    """The last word of a dotted name."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


# -- names ------------------------------------------------------------------------------------------------------------


def dotted(node: ast.expr) -> tuple[str, ...]:
    """The words of ``tilelang.language.gemm``; none for an expression that does not begin with a name."""
    words: list[str] = []
    while isinstance(node, ast.Attribute):
        words.append(node.attr)
        node = node.value
    return (node.id, *reversed(words)) if isinstance(node, ast.Name) else ()


class _Reader:
    """Collects the uses of a syntax tree."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.uses: list[Use] = []

    def read(self, node: ast.AST, here: Names, around: Names | None = None) -> None:
        """here: what names stand for at the node. around: what they stand for in functions there, where that differs:
        they do not see the names of a class body."""
        around = here if around is None else around
        if isinstance(node, FUNCTIONS):
            self._function(node, here, names_in_function(node, around))
        elif isinstance(node, ast.ClassDef):
            self._all((*node.decorator_list, *node.bases, *node.keywords), here, around)
            self._all(node.body, names_in(node.body, around), around)
        elif isinstance(node, COMPREHENSIONS):
            self._all(ast.iter_child_nodes(node), names_in_comprehension(node, here), around)
        elif isinstance(node, ast.Call) and self._use(node.func, here, node.keywords):
            self._all((*node.args, *node.keywords), here, around)
        elif not (isinstance(node, (ast.Attribute, ast.Name)) and self._use(node, here)):
            self._all(ast.iter_child_nodes(node), here, around)

    def _function(self, node: ast.AST, here: Names, inside: Names) -> None:
        body = node.body if isinstance(node.body, list) else [node.body]  # type: ignore[attr-defined]
        within = {id(statement) for statement in body}
        for child in ast.iter_child_nodes(node):
            self.read(child, inside if id(child) in within else here)

    def _all(self, nodes: Iterable[ast.AST], here: Names, around: Names) -> None:
        for node in nodes:
            self.read(node, here, around)

    def _use(self, node: ast.expr, here: Names, keywords: Sequence[ast.keyword] | None = None) -> bool:
        """Whether the expression names something of the package, which is a use then."""
        words = dotted(node)
        if not words or words[0] not in here or not isinstance(getattr(node, "ctx", None), ast.Load):
            return False
        path = (*here[words[0]], *words[1:])
        if path:
            names = None if keywords is None else tuple(word.arg for word in keywords if word.arg is not None)
            column = self.places.column(node.lineno, node.col_offset)
            self.uses.append(Use(path, node.lineno, column, ".".join(words), names, tuple(_texts(keywords or ()))))
        return bool(path)


def _texts(keywords: Iterable[ast.keyword]) -> Iterator[tuple[str, str]]:
    for word in keywords:
        if word.arg and isinstance(word.value, ast.Constant) and isinstance(word.value.value, str):
            yield word.arg, word.value.value


def _pass_configs(tree: ast.AST, places: Places) -> Iterator[PassConfig]:
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
                    yield PassConfig(key.value, key.lineno, places.column(key.lineno, key.col_offset))
