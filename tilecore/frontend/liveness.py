"""Finds the names that carry a value out of a loop or a branch, or from one iteration to the next.

A Python name assigned in a loop of the kernel has one value per iteration only while no later code, and no earlier code
of the next iteration, reads it. Names that are read there are *carried*: if their value is one of the kernel, the front
end refuses the assignment and suggests ``T.alloc_var``.
"""

from __future__ import annotations

import ast

# nodes with a scope of their own: names that they assign are local
_SCOPES = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)


def carried_names(definition: ast.FunctionDef) -> dict[ast.stmt, tuple[tuple[str, ...], tuple[str, ...]]]:
    """For each loop and ``if`` of the function: the names assigned inside whose value is read after it, or, in a
    loop, by its next iteration; and those of them that are read after it."""
    loop_carried = _Carried(definition)
    _block(definition.body, frozenset(), loop_carried, _Jumps())
    return {statement: (names, loop_carried.after[statement]) for statement, names in loop_carried.names.items()}


class _Carried:
    """The carried names of each statement.

    A nested function reads names of the enclosing function when it is called: they are live where its name is live.
    """

    def __init__(self, definition: ast.FunctionDef) -> None:
        self.names: dict[ast.stmt, tuple[str, ...]] = {}
        self.after: dict[ast.stmt, tuple[str, ...]] = {}
        self.captured: dict[str, frozenset[str]] = {}
        for node in ast.walk(definition):
            if isinstance(node, ast.FunctionDef) and node is not definition:
                self.captured[node.name] = _reads_of_scope(node)
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
                for name in _all_stores(node):
                    self.captured[name] = _reads_of_scope(node.value)

    def note(
        self, statement: ast.stmt, assigned: frozenset[str], live: frozenset[str], besides: frozenset[str],
        after: frozenset[str],
    ) -> None:  # fmt: skip
        """Record the carried names: those assigned inside that are live, and ``besides``. after: names live after."""
        self.names[statement] = tuple(sorted((assigned & self._with_captured(live)) | besides))
        self.after[statement] = tuple(sorted((assigned & self._with_captured(after)) | besides))

    def _with_captured(self, live: frozenset[str]) -> frozenset[str]:
        while True:
            extended = live.union(*(self.captured[name] for name in live if name in self.captured))
            if extended == live:
                return live
            live = extended


class _Jumps:
    """Live sets at the targets of ``break`` and ``continue``."""

    def __init__(self, after: frozenset[str] = frozenset(), head: frozenset[str] = frozenset()) -> None:
        self.after = after
        self.head = head


def _block(body: list[ast.stmt], live: frozenset[str], loop_carried: _Carried, jumps: _Jumps) -> frozenset[str]:
    for statement in reversed(body):
        live = _statement(statement, live, loop_carried, jumps)
    return live


def _statement(node: ast.stmt, live: frozenset[str], loop_carried: _Carried, jumps: _Jumps) -> frozenset[str]:
    if isinstance(node, (ast.For, ast.While)):
        return _loop(node, live, loop_carried, jumps)
    if isinstance(node, ast.If):
        then = _block(node.body, live, loop_carried, jumps)
        orelse = _block(node.orelse, live, loop_carried, jumps)
        # the else side is built after the then side, so a name that it reads must not be changed there
        crossing = orelse & stores_of(node.body)
        loop_carried.note(node, stores_of([*node.body, *node.orelse]), live, crossing, live)
        return _before_test(node.test, then | orelse)
    if isinstance(node, ast.With):
        after, live = live, _block(node.body, live, loop_carried, jumps)
        loop_carried.note(
            node, stores_of(node.body), after | live, frozenset(), after
        )  # `with T.Parallel(n) as i:` is a loop
        for item in reversed(node.items):
            if item.optional_vars is not None:
                live = live - _stores(item.optional_vars)
            live = live | _reads(item.context_expr)
        return live
    if isinstance(node, ast.Match):
        cases = (_block(case.body, live, loop_carried, jumps) | _reads(case.pattern) for case in node.cases)
        guards = (_reads(case.guard) for case in node.cases if case.guard is not None)
        return live.union(_reads(node.subject), *cases, *guards)
    if isinstance(node, ast.Try):
        after = _block(node.finalbody, live, loop_carried, jumps)
        handlers = frozenset().union(*(_block(h.body, after, loop_carried, jumps) for h in node.handlers))
        return (
            _block(node.body, _block(node.orelse, after, loop_carried, jumps) | handlers, loop_carried, jumps)
            | handlers
        )
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


def _loop(node: ast.For | ast.While, live: frozenset[str], loop_carried: _Carried, jumps: _Jumps) -> frozenset[str]:
    after = _block(node.orelse, live, loop_carried, jumps)
    targets = _stores(node.target) if isinstance(node, ast.For) else frozenset()

    def at_head(inside: frozenset[str]) -> frozenset[str]:
        inside = (inside - targets) | after
        return _before_test(node.test, inside) if isinstance(node, ast.While) else inside

    head = at_head(frozenset())
    while True:  # to the fixed point; the live sets only grow
        inner = at_head(_block(node.body, head, loop_carried, _Jumps(after, head)))
        if inner == head:
            break
        head = inner | head
    inside = stores_of(node.body) | (_all_stores(node.test) if isinstance(node, ast.While) else frozenset())
    loop_carried.note(node, inside, head | after, targets & after, after)
    return head | (_reads(node.iter) if isinstance(node, ast.For) else frozenset())


def assigned_in(statement: ast.stmt) -> frozenset[str]:
    """The names that a statement, or one inside of it, assigns."""
    return _all_stores(statement)


def _before_test(test: ast.expr, live: frozenset[str]) -> frozenset[str]:
    """The names that are live before a condition, given those live after it."""
    assigned: set[str] = set()
    reads = _reads_after(test, assigned)
    return (live - assigned) | reads


def stores_of(body: list[ast.stmt]) -> frozenset[str]:
    """Names that a block may assign."""
    return frozenset().union(*(_all_stores(statement) for statement in body))


def _reads(node: ast.AST) -> frozenset[str]:
    """Names whose value ``node`` may read from outside of it: not the variables of its comprehensions and lambdas, nor
    what it assigns itself (``:=``) before."""
    return _reads_after(node, set())


def _reads_after(node: ast.AST, bound: set[str]) -> frozenset[str]:
    """As ``_reads``, where the names in ``bound`` are already assigned. Adds those that ``node`` certainly assigns."""
    if isinstance(node, ast.Name):
        return frozenset({node.id} - bound if isinstance(node.ctx, ast.Load) else ())
    if isinstance(node, ast.NamedExpr):
        inner = _reads_after(node.value, bound)
        bound.add(node.target.id)
        return inner
    if isinstance(node, (ast.BoolOp, ast.IfExp, ast.Compare)):  # the first part is evaluated, others perhaps
        first, *others = _operands(node)
        inner = _reads_after(first, bound)
        side = set(bound)
        return inner.union(
            *(_reads_after(other, side if isinstance(node, ast.BoolOp) else set(bound)) for other in others)
        )
    children = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.Assign):
        children = [node.value, *node.targets]
    if not isinstance(node, _SCOPES):
        return frozenset().union(*(_reads_after(child, bound) for child in children))
    return _reads_of_scope(node) - bound


def _operands(node: ast.BoolOp | ast.IfExp | ast.Compare) -> list[ast.expr]:
    if isinstance(node, ast.IfExp):
        return [node.test, node.body, node.orelse]
    return node.values if isinstance(node, ast.BoolOp) else [node.left, *node.comparators]


def _reads_of_scope(node: ast.AST) -> frozenset[str]:
    """What a nested function or a comprehension reads from outside of it."""
    inner = frozenset().union(*(_reads(child) for child in ast.iter_child_nodes(node)))
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        bound_names: frozenset[str] = frozenset().union(*(_target_names(part.target) for part in node.generators))
        return (inner - bound_names) | _reads(node.generators[0].iter)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        defaults = [*arguments.defaults, *(d for d in arguments.kw_defaults if d is not None)]
        outside = [*defaults, *getattr(node, "decorator_list", [])]
        bound_names = frozenset(a.arg for a in every if a is not None) | _local_names(node)
        return (inner - bound_names).union(*(_reads(part) for part in outside))
    return inner


def _local_names(function: ast.AST) -> frozenset[str]:
    """The names that a nested function assigns for itself."""
    body = getattr(function, "body", [])
    if not isinstance(body, list):  # of a lambda
        return frozenset()
    shared = {n for part in ast.walk(function) if isinstance(part, (ast.Nonlocal, ast.Global)) for n in part.names}
    return stores_of(body) - shared


def _target_names(target: ast.expr) -> frozenset[str]:
    return frozenset(n.id for n in ast.walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


def _target_reads(node: ast.expr) -> frozenset[str]:
    return frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name))


def _stores(node: ast.AST) -> frozenset[str]:
    """Names that a simple statement or target certainly assigns."""
    return _all_stores(node)


def _names_assigned_by(node: ast.AST) -> list[str]:
    """The names that this node itself, without its children, assigns."""
    if isinstance(node, ast.Name):
        return [node.id] if isinstance(node.ctx, (ast.Store, ast.Del)) else []
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, ast.alias):
        return [node.asname or node.name.partition(".")[0]]
    if isinstance(node, (ast.MatchAs, ast.MatchStar, ast.ExceptHandler)):
        return [node.name] if node.name else []
    return [node.rest] if isinstance(node, ast.MatchMapping) and node.rest else []


def _all_stores(node: ast.AST) -> frozenset[str]:
    """Names that a statement, compound or not, may assign; nested functions and comprehensions keep their own."""
    names: set[str] = set()
    pending = [node]
    while pending:
        current = pending.pop()
        names.update(_names_assigned_by(current))
        if isinstance(current, _SCOPES):
            continue
        pending.extend(ast.iter_child_nodes(current))
    return frozenset(names)
