"""Names that a function's statements assign."""

from __future__ import annotations

import ast


def target_names(target: ast.expr) -> tuple[str, ...]:
    """The names in the target of a loop or a ``with``; ``v`` for what is not a name, ``*`` for ``*rest``."""
    if isinstance(target, ast.Name):
        return (target.id,)
    if isinstance(target, (ast.Tuple, ast.List)):
        return tuple(
            e.id if isinstance(e, ast.Name) else "*" if isinstance(e, ast.Starred) else "v" for e in target.elts
        )
    return ("v",)


def names_bound_twice(definition: ast.FunctionDef) -> set[str]:
    """Names that the function may assign when they already have a value."""
    arguments = definition.args
    seen = {a.arg for a in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]}
    twice: set[str] = set()
    loops = 0

    def visit(node: ast.AST) -> None:
        nonlocal loops
        if isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef)) and node is not definition:
            return
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            if node.id in seen or loops:
                twice.add(node.id)
            seen.add(node.id)
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            twice.update(node.names)
        inside = isinstance(node, (ast.For, ast.While))
        loops += inside
        for child in ast.iter_child_nodes(node):
            visit(child)
        loops -= inside

    visit(definition)
    return twice
