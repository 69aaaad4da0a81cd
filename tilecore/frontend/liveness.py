"""Which names carry a value out of, or around, a loop or a branch.

A Python name assigned in a loop that runs on the device keeps one meaning per iteration only while no later code, and
no earlier code of the next iteration, reads it. Names that are read there are *carried*: if their value was made by
the kernel, the front end refuses the assignment and points to ``T.alloc_var``.
"""

from __future__ import annotations

import ast

# what keeps the names that it assigns to itself
_SCOPES = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)


def carried_names(definition: ast.FunctionDef) -> dict[ast.stmt, tuple[str, ...]]:
    """For each loop and ``if`` of the function: the names assigned inside whose value is read after it, or, in a
    loop, by its next iteration."""
    found: dict[ast.stmt, tuple[str, ...]] = {}
    _block(definition.body, frozenset(), found, _Jumps())
    return found


class _Jumps:
    """Live sets at the targets of ``break`` and ``continue``."""

    def __init__(self, after: frozenset[str] = frozenset(), head: frozenset[str] = frozenset()) -> None:
        self.after = after
        self.head = head


def _block(body: list[ast.stmt], live: frozenset[str], found: dict, jumps: _Jumps) -> frozenset[str]:
    for statement in reversed(body):
        live = _statement(statement, live, found, jumps)
    return live


def _statement(node: ast.stmt, live: frozenset[str], found: dict, jumps: _Jumps) -> frozenset[str]:
    if isinstance(node, (ast.For, ast.While)):
        return _loop(node, live, found, jumps)
    if isinstance(node, ast.If):
        then = _block(node.body, live, found, jumps)
        orelse = _block(node.orelse, live, found, jumps)
        # the else side is built after the then side, so a name that it reads must not be changed there
        crossing = orelse & _stores_of(node.body)
        found[node] = tuple(sorted((_stores_of([*node.body, *node.orelse]) & live) | crossing))
        return then | orelse | _reads(node.test)
    if isinstance(node, ast.With):
        after, live = live, _block(node.body, live, found, jumps)
        found[node] = tuple(sorted(_stores_of(node.body) & (after | live)))  # for `with T.Parallel(n) as i:`, a loop
        for item in reversed(node.items):
            if item.optional_vars is not None:
                live = live - _stores(item.optional_vars)
            live = live | _reads(item.context_expr)
        return live
    if isinstance(node, ast.Try):
        after = _block(node.finalbody, live, found, jumps)
        handlers = frozenset().union(*(_block(h.body, after, found, jumps) for h in node.handlers))
        return _block(node.body, _block(node.orelse, after, found, jumps) | handlers, found, jumps) | handlers
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return (live - {node.name}) | _reads(node)
    if isinstance(node, ast.Break):
        return jumps.after
    if isinstance(node, ast.Continue):
        return jumps.head
    if isinstance(node, (ast.Return, ast.Raise)):
        return _reads(node)
    if isinstance(node, ast.AugAssign):
        return (live - _stores(node.target)) | _reads(node) | _target_reads(node.target)
    return (live - _stores(node)) | _reads(node)


def _loop(node: ast.For | ast.While, live: frozenset[str], found: dict, jumps: _Jumps) -> frozenset[str]:
    after = _block(node.orelse, live, found, jumps)
    test = _reads(node.test) if isinstance(node, ast.While) else frozenset()
    targets = _stores(node.target) if isinstance(node, ast.For) else frozenset()
    head = after | test
    while True:  # to the fixed point; the live sets only grow
        inner = (_block(node.body, head, found, _Jumps(after, head)) - targets) | test | after
        if inner == head:
            break
        head = inner | head
    found[node] = tuple(sorted((_stores_of(node.body) & head) | (targets & after)))
    return head | (_reads(node.iter) if isinstance(node, ast.For) else frozenset())


def _stores_of(body: list[ast.stmt]) -> frozenset[str]:
    return frozenset().union(*(_all_stores(statement) for statement in body))


def _reads(node: ast.AST) -> frozenset[str]:
    """Names whose value ``node`` may read from outside of it: not the variables of its comprehensions and lambdas."""
    if isinstance(node, ast.Name):
        return frozenset({node.id} if isinstance(node.ctx, ast.Load) else ())
    inner = frozenset().union(*(_reads(child) for child in ast.iter_child_nodes(node)))
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        own = frozenset().union(*(_target_names(part.target) for part in node.generators))
        return (inner - own) | _reads(node.generators[0].iter)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        defaults = [*arguments.defaults, *(d for d in arguments.kw_defaults if d is not None)]
        outside = [*defaults, *getattr(node, "decorator_list", [])]
        return (inner - {a.arg for a in every if a is not None}).union(*(_reads(part) for part in outside))
    return inner


def _target_names(target: ast.expr) -> frozenset[str]:
    return frozenset(n.id for n in ast.walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


def _target_reads(node: ast.expr) -> frozenset[str]:
    return frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name))


def _stores(node: ast.AST) -> frozenset[str]:
    """Names that a simple statement or target certainly assigns."""
    return _all_stores(node)


def _all_stores(node: ast.AST) -> frozenset[str]:
    """Names that a statement, compound or not, may assign; nested functions and comprehensions keep their own."""
    names: set[str] = set()
    pending = [node]
    while pending:
        current = pending.pop()
        if isinstance(current, _SCOPES):
            continue
        if isinstance(current, ast.Name) and isinstance(current.ctx, ast.Store):
            names.add(current.id)
        pending.extend(ast.iter_child_nodes(current))
    return frozenset(names)
