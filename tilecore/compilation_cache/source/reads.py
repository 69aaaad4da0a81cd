"""Collects the outside names that a function reads: walks its syntax tree and resolves Python's scopes.

A read is a name with the attributes that follow it (``cfg.BLOCK`` is ``("cfg", ("BLOCK",))``). Names bound inside the
function, by whatever means, are left out. What cannot be followed statically is a problem, and a function with a
problem has no source key.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tilecore.compilation_cache.source.scopes import Read, Scope

if TYPE_CHECKING:
    from tilecore.compilation_cache.source.text import Definition

# Calls that do not show the order of a set that they are given (sorted: unless a key makes ties).
_ORDER_FREE = frozenset({"sorted", "len", "set", "frozenset"})
_PLAIN_DUNDERS = frozenset({"__name__", "__init__", "__len__", "__new__", "__post_init__", "__doc__", "__eq__"})
_FRAMES = frozenset(
    {"gi_frame", "gi_code", "cr_frame", "ag_frame", "f_back", "f_globals", "f_locals", "f_builtins", "tb_frame"}
)


class Walk:
    """Collects the scopes of one definition; :meth:`result` then resolves every load."""

    def __init__(self) -> None:
        self.scopes: list[Scope] = []
        self.problem: str | None = None  # the first thing that cannot be followed

    def scope(self, kind: str, parent: Scope | None) -> Scope:
        scope = Scope(kind, parent)
        self.scopes.append(scope)
        return scope

    def visit(self, node: ast.AST, scope: Scope) -> None:
        handler = _HANDLERS.get(type(node))
        if handler is not None:
            handler(self, node, scope)
            return
        for child in vars(node).values():
            if type(child) is list:
                for item in child:
                    if isinstance(item, ast.AST):
                        self.visit(item, scope)
            elif isinstance(child, ast.AST):
                self.visit(child, scope)

    def visit_all(self, nodes: list, scope: Scope) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node, scope)

    def fail(self, problem: str) -> None:
        self.problem = self.problem or problem

    # -- names

    def name(self, node: ast.Name, scope: Scope, order_free: bool = False) -> None:
        if type(node.ctx) is ast.Load:
            scope.loads.add((node.id, (), order_free))
            if node.id in ("getattr", "hasattr"):
                self.fail(f"{node.id} is used as a value")
        else:
            scope.bound.add(node.id)

    def attribute(self, node: ast.Attribute, scope: Scope, order_free: bool = False) -> None:
        chain: list[str] = []
        root: ast.expr = node
        while type(root) is ast.Attribute:
            self._check_attribute(root.attr)
            chain.append(root.attr)
            root = root.value
        chain.reverse()
        if type(root) is not ast.Name:
            self.visit(root, scope)
            return
        if type(node.ctx) is not ast.Load:
            chain.pop()  # what is stored to is read only up to its owner
        scope.loads.add((root.id, tuple(chain), order_free))

    def _check_attribute(self, name: str) -> None:
        if (name.startswith("__") and name.endswith("__") and name not in _PLAIN_DUNDERS) or name in _FRAMES:
            self.fail(f"attribute {name} may lead anywhere")

    def unordered(self, node: ast.expr, scope: Scope) -> None:
        """An expression in a place where the order of a set does not matter."""
        kind = type(node)
        if kind is ast.Name:
            self.name(node, scope, order_free=True)  # type: ignore[arg-type]
        elif kind is ast.Attribute:
            self.attribute(node, scope, order_free=True)  # type: ignore[arg-type]
        elif kind is ast.Set:
            self.visit_all(node.elts, scope)  # type: ignore[attr-defined]
        elif kind is ast.SetComp:
            self.comprehension(node, scope)
        elif isinstance(node, ast.Call) and _called_name(node) in ("set", "frozenset"):
            self.call(node, scope, order_free=True)
        else:
            self.visit(node, scope)

    def set_display(self, node: ast.AST, scope: Scope) -> None:
        self.fail("the order of a set differs between processes")

    def compare(self, node: ast.Compare, scope: Scope) -> None:
        self.visit(node.left, scope)
        for operator, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(operator, (ast.In, ast.NotIn)):
                self.unordered(right, scope)
            else:
                self.visit(right, scope)

    def call(self, node: ast.Call, scope: Scope, order_free: bool = False) -> None:
        called = _called_name(node)
        if called in ("getattr", "hasattr"):
            self._getattr(node, scope)
            return
        if called in ("set", "frozenset") and node.args and not order_free:
            self.fail("the order of a set differs between processes")
        self.visit(node.func, scope)
        if called in _ORDER_FREE and len(node.args) == 1 and not node.keywords:
            self.unordered(node.args[0], scope)
        else:
            self.visit_all(node.args, scope)
        for keyword in node.keywords:
            self.visit(keyword.value, scope)

    def _getattr(self, node: ast.Call, scope: Scope) -> None:
        """Allowed with a constant name, and on a bare name: a module there must be one that is trusted whole."""
        name = node.args[1] if len(node.args) > 1 else None
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            self._check_attribute(name.value)
        elif not node.args or type(node.args[0]) is not ast.Name:
            self.fail("getattr with a computed name")
        scope.loads.add((node.func.id, (), False))  # type: ignore[attr-defined]
        self.visit_all(node.args, scope)
        self.visit_all(node.keywords, scope)

    # -- what binds names

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> None:
        scope.bound.add(node.name)
        if getattr(node, "type_params", None):
            self.fail("type parameters")
        self.visit_all(node.decorator_list, scope)
        self._defaults(node.args, scope)
        self.signature(node, scope)
        self.body(node, scope)

    def body(self, node: Definition, scope: Scope | None) -> None:
        """Parameters and body of a function, in a scope of their own."""
        inner = self.scope("function", scope)
        for argument in _arguments(node.args):
            inner.bound.add(argument.arg)
        if isinstance(node, ast.Lambda):
            self.visit(node.body, inner)
        else:
            self.visit_all(node.body, inner)

    def signature(self, node: Definition, scope: Scope) -> None:
        for argument in _arguments(node.args):
            if argument.annotation is not None:
                self.annotation(argument.annotation, scope)
        returns = getattr(node, "returns", None)
        if returns is not None:
            self.annotation(returns, scope)

    def _defaults(self, arguments: ast.arguments, scope: Scope) -> None:
        self.visit_all(arguments.defaults, scope)
        self.visit_all(arguments.kw_defaults, scope)

    def lambda_(self, node: ast.Lambda, scope: Scope) -> None:
        self._defaults(node.args, scope)
        self.body(node, scope)

    def class_(self, node: ast.ClassDef, scope: Scope) -> None:
        scope.bound.add(node.name)
        if getattr(node, "type_params", None):
            self.fail("type parameters")
        self.visit_all(node.decorator_list, scope)
        self.visit_all(node.bases, scope)
        self.visit_all([keyword.value for keyword in node.keywords], scope)
        self.visit_all(node.body, self.scope("class", scope))

    def comprehension(self, node: ast.AST, scope: Scope) -> None:
        inner = self.scope("comprehension", scope)
        for index, generator in enumerate(node.generators):  # type: ignore[attr-defined]
            self.visit(generator.iter, inner if index else scope)
            self.visit(generator.target, inner)
            self.visit_all(generator.ifs, inner)
        for name in ("elt", "key", "value"):
            child = getattr(node, name, None)
            if child is not None:
                self.visit(child, inner)

    def walrus(self, node: ast.NamedExpr, scope: Scope) -> None:
        self.visit(node.value, scope)
        while scope.kind == "comprehension" and scope.parent is not None:
            scope = scope.parent
        self.visit(node.target, scope)

    def augmented(self, node: ast.AugAssign, scope: Scope) -> None:
        if type(node.target) is ast.Name:  # read as well as bound
            scope.loads.add((node.target.id, (), False))
        self.visit(node.target, scope)
        self.visit(node.value, scope)

    def annotated(self, node: ast.AnnAssign, scope: Scope) -> None:
        self.annotation(node.annotation, scope)
        self.visit(node.target, scope)
        if node.value is not None:
            self.visit(node.value, scope)

    def annotation(self, node: ast.expr, scope: Scope) -> None:
        """An annotation; one that is quoted is the expression in the quotes. Strings within one are plain values."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                node = ast.parse(node.value, mode="eval").body
            except SyntaxError:
                return
        self.visit(node, scope)

    def handler(self, node: ast.ExceptHandler, scope: Scope) -> None:
        if node.name:
            scope.bound.add(node.name)
        self.visit_all([node.type, *node.body], scope)

    def pattern(self, node: ast.AST, scope: Scope) -> None:
        name = getattr(node, "name", None) or getattr(node, "rest", None)
        if name:
            scope.bound.add(name)
        self.visit_all(getattr(node, "keys", []), scope)
        self.visit_all([getattr(node, "pattern", None), *getattr(node, "patterns", [])], scope)

    def global_(self, node: ast.Global, scope: Scope) -> None:
        scope.globals.update(node.names)

    def nonlocal_(self, node: ast.Nonlocal, scope: Scope) -> None:
        scope.nonlocals.update(node.names)

    def import_(self, node: ast.Import, scope: Scope) -> None:
        for alias in node.names:
            if alias.asname:
                scope.import_name(alias.asname, alias.name, ())
            else:
                scope.import_name(alias.name.partition(".")[0], alias.name.partition(".")[0], ())

    def import_from(self, node: ast.ImportFrom, scope: Scope) -> None:
        if node.level:
            self.fail("a relative import inside the function")
        for alias in node.names:
            scope.import_name(alias.asname or alias.name, node.module or "", (alias.name,))

    def result(self, first: int = 0) -> list[Read]:
        """The reads of the scopes from number ``first`` on, in order."""
        reads = {read for scope in self.scopes[first:] for read in scope.outside()}
        self.problem = self.problem or next((scope.problem for scope in self.scopes if scope.problem), None)
        return sorted(reads, key=lambda read: (read.name, read.attributes, read.order_free, read.module or ""))


def _arguments(arguments: ast.arguments) -> list[ast.arg]:
    parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return parameters + [argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None]


def _called_name(node: ast.Call) -> str | None:
    return node.func.id if type(node.func) is ast.Name else None


def _nothing(walk: Walk, node: ast.AST, scope: Scope) -> None:
    pass


_HANDLERS: dict[type, Callable[[Walk, Any, Scope], None]] = {
    ast.Name: Walk.name,
    ast.Attribute: Walk.attribute,
    ast.Constant: _nothing,
    ast.Call: Walk.call,
    ast.Compare: Walk.compare,
    ast.Set: Walk.set_display,
    ast.SetComp: Walk.set_display,
    ast.FunctionDef: Walk.function,
    ast.AsyncFunctionDef: Walk.function,
    ast.Lambda: Walk.lambda_,
    ast.ClassDef: Walk.class_,
    ast.ListComp: Walk.comprehension,
    ast.DictComp: Walk.comprehension,
    ast.GeneratorExp: Walk.comprehension,
    ast.NamedExpr: Walk.walrus,
    ast.AugAssign: Walk.augmented,
    ast.AnnAssign: Walk.annotated,
    ast.ExceptHandler: Walk.handler,
    ast.MatchAs: Walk.pattern,
    ast.MatchStar: Walk.pattern,
    ast.MatchMapping: Walk.pattern,
    ast.Global: Walk.global_,
    ast.Nonlocal: Walk.nonlocal_,
    ast.Import: Walk.import_,
    ast.ImportFrom: Walk.import_from,
}
for _kind in (ast.Load, ast.Store, ast.Del, ast.Pass, ast.Break, ast.Continue):
    _HANDLERS[_kind] = _nothing
