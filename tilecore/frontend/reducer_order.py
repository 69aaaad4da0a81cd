"""Checks the order of what a kernel does with a T.alloc_reducer, and gives results that it changes memory of their own.

A reducer is initialised, accumulated into and finalized, in this order. In between, its memory holds partial results of
the threads: they are not read, and nothing else is stored. After T.finalize_reducer the reducer is an ordinary
fragment, until it is initialised again. Partial results are not laid out as other fragments are; a result that the
kernel stores to is therefore copied to another fragment, which takes the reducer's place.
"""

from __future__ import annotations

from typing import Any

from tilecore.errors import LanguageError
from tilecore.ir.attributes import CallAttr
from tilecore.ir.build import dtype_of, seq
from tilecore.ir.nodes import (
    AllocBuffer,
    AttrStmt,
    Bind,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    SeqStmt,
    Stmt,
    TensorLoad,
    TensorRegion,
    Var,
    While,
    structural_map,
    structural_mutate,
    tirx,
)
from tilecore.ir.reducers import accumulated
from tilecore.ir.regions import whole_region
from tilecore.ir.spans import location_of_span
from tilecore.ir.tile_ops import TileCall, as_tile_call, reducers_of, tile_statement
from tilecore.ir.visit import collect, substitute, variables

FRESH, OPEN, FINAL = "fresh", "open", "final"
Path = tuple[tuple[int, Any], ...]  # of the enclosing loops and branches: a number, and the loop


def order_reducers(body: Stmt) -> Stmt:
    """The body, in which results of reducers that the kernel changes are fragments of their own.

    Raises LanguageError where a reducer is not initialised, accumulated into and finalized in this order.
    """
    kinds = reducers_of(body)
    if not kinds:
        return body
    order = _Order(kinds)
    order.check(body)
    for var, statement in order.updated.items():
        if var not in order.finalized:
            raise _error(
                statement,
                f"the reducer {var.name} is never finalized",
                "T.finalize_reducer after the loops that accumulate into it",
            )
    return _with_results(body, order) if order.changed else body


def _error(statement: Any, message: str, expected: str, hint: str | None = None) -> LanguageError:
    return LanguageError(message, location=location_of_span(statement.span), expected=expected, hint=hint)


class _Order:
    """Goes through the statements in order. states: of each reducer, the states in which it may be."""

    def __init__(self, kinds: dict[Var, str]) -> None:
        self.kinds = kinds
        self.states: dict[Var, frozenset[str]] = {}
        self.opened: dict[Var, Stmt] = {}  # the last initialisation
        self.paths: dict[Var, Path] = {}  # where it stands
        self.updated: dict[Var, Stmt] = {}  # the last accumulation
        self.finalized: set[Var] = set()
        self.changed: set[Var] = set()  # whose results are stored to
        self.of_results: set[int] = set()  # hashes (addresses) of statements that use a result, not the reducer
        self.path: Path = ()
        self.blocks = 0

    def check(self, node: Any) -> None:
        if isinstance(node, SeqStmt):
            for statement in node.seq:
                self.check(statement)
        elif isinstance(node, (For, While)):
            self._uses(node, [node.condition] if isinstance(node, While) else [node.min, node.extent])
            self._inside(node.body, node)
        elif isinstance(node, IfThenElse):
            self._uses(node, [node.condition])
            before = dict(self.states)
            self._inside(node.then_case)
            after_then, self.states = self.states, before
            if node.else_case is not None:
                self._inside(node.else_case)
            for var, states in after_then.items():
                self.states[var] = states | self.states.get(var, frozenset())
        elif isinstance(node, AttrStmt):
            self.check(node.body)
        elif isinstance(node, AllocBuffer):
            if node.buffer in self.kinds:
                self.states[node.buffer] = frozenset([FRESH])
        else:
            self._statement(node)

    def _inside(self, body: Any, loop: For | While | None = None) -> None:
        self.blocks += 1
        outside = self.path
        self.path = (*outside, (self.blocks, loop))
        self.check(body)
        self.path = outside

    def _statement(self, node: Any) -> None:
        call = as_tile_call(node)
        if call is not None and call.op.name == "annotate":
            return
        if call is not None:
            self._tile_operation(node, call)
        elif isinstance(node, BufferStore) and node.buffer in self.kinds:
            self._store(node)
        else:
            self._uses(node, [node])

    def _tile_operation(self, node: Any, call: TileCall) -> None:
        target = call.args.get("dst")
        if call.op.name == "finalize_reducer":
            self._finalize(node, call.buffer.source)
        elif isinstance(target, TensorRegion) and self._is_initialisation(call, target.source):
            self._uses(node, [value for name, value in call.args.items() if name != "dst"])
            self._initialise(node, target.source, call.hints.get(CallAttr.CALLED) == "T.reducer_init")
        else:
            self._uses(node, [node])
            for name in call.op.writes:
                region = call.args.get(name)
                if isinstance(region, TensorRegion) and region.source in self.kinds:
                    self.changed.add(region.source)

    def _is_initialisation(self, call: TileCall, target: Var) -> bool:
        if target not in self.kinds:
            return False
        return call.op.name == "fill" or (call.op.name == "copy" and FINAL not in self.states.get(target, ()))

    def _store(self, node: BufferStore) -> None:
        var = node.buffer
        if not any(load.source.same_as(var) for load in collect(node.value, TensorLoad)):
            self._uses(node, [node.value, *node.indices])
            if OPEN in self.states.get(var, ()) or FRESH in self.states.get(var, ()):
                self._initialise(node, var, False)
            else:
                self._of_result(node, var)
                self.changed.add(var)
            return
        states = self.states.get(var, frozenset())
        if states == {FINAL}:
            self._uses(node, [node.value, *node.indices])
            self._of_result(node, var)
            self.changed.add(var)
            return
        value = accumulated(node, self.kinds[var])
        if value is None:
            raise _error(
                node,
                f"illegal read of reducer {var.name} before T.finalize_reducer",
                f"an update such as {_UPDATES[self.kinds[var]].format(name=var.name)}",
                "between T.reducer_init and T.finalize_reducer each thread has a partial result only",
            )
        self._uses(node, [value, *node.indices])
        self._update(node, var, states)

    def _initialise(self, node: Any, var: Var, by_init: bool) -> None:
        earlier = self.opened.get(var)
        if by_init and self.states.get(var) == {OPEN} and earlier is not None and self.paths[var] == self.path:
            raise _error(
                node,
                f"double T.reducer_init of {var.name}",
                "one T.reducer_init before the loops that accumulate, and T.finalize_reducer before the next one",
            )
        self.states[var] = frozenset([OPEN])
        self.opened[var], self.paths[var] = node, _without_loops_over_elements(self.path, node)

    def _update(self, node: Any, var: Var, states: frozenset[str]) -> None:
        self.updated[var] = node
        if states == {FRESH}:
            raise _error(
                node, f"{var.name} is accumulated into before T.reducer_init", "T.reducer_init before the loop"
            )
        if FINAL in states:
            raise _error(
                node,
                f"{var.name} is accumulated into after T.finalize_reducer",
                "T.reducer_init before the next accumulation, or a fragment for what is added later",
            )

    def _finalize(self, node: Any, var: Var) -> None:
        start = self.paths.get(var)
        if start is None:
            raise _error(node, f"{var.name} is finalized before T.reducer_init", "T.reducer_init and updates first")
        further = self.path[len(start) :]
        if self.path[: len(start)] != start or any(loop is not None for _, loop in further):
            raise _error(
                node,
                f"T.finalize_reducer of {var.name} is not in the scope of its T.reducer_init",
                "both in the same loop or branch, or T.finalize_reducer in a branch inside of it",
                "a result that is needed in every iteration is initialised in every iteration, too",
            )
        if FINAL in self.states[var]:
            raise _error(node, f"{var.name} is finalized twice", "one T.finalize_reducer for each T.reducer_init")
        self.states[var] = frozenset([FINAL])
        self.finalized.add(var)

    def _uses(self, node: Any, values: list[Any]) -> None:
        """The reads of reducers in ``values``, which are parts of the statement ``node``."""
        for value in values:
            for access in [*collect(value, TensorLoad), *collect(value, TensorRegion)]:
                var = access.source
                if var not in self.kinds:
                    continue
                if self.states.get(var, frozenset()) == {OPEN}:
                    raise _error(
                        node,
                        f"illegal read of reducer {var.name} before T.finalize_reducer",
                        "T.finalize_reducer before its results are read",
                        "each thread has a partial result only",
                    )
                self._of_result(node, var)

    def _of_result(self, node: Any, var: Var) -> None:
        if FINAL in self.states.get(var, ()):
            self.of_results.add(hash(node))


def _without_loops_over_elements(path: Path, node: Any) -> Path:
    """The path of the nest of loops by which a store initialises the elements of a reducer."""
    if not isinstance(node, BufferStore):
        return path
    over = {var for index in node.indices for var in variables(index)}
    while path and isinstance(path[-1][1], For):
        loop = path[-1][1]
        if loop.kind != ForKind.PARALLEL and loop.loop_var not in over:
            break
        path = path[:-1]
    return path


def _with_results(body: Stmt, order: _Order) -> Stmt:
    """The body, in which fragments of their own have the results that the kernel changes."""
    results = {var: _result_of(var) for var in order.changed}

    def allocation(node: AllocBuffer) -> Any:
        result = results.get(node.buffer)
        return node if result is None else seq([node, AllocBuffer(result, span=node.span)])

    def leaf(node: Any, mutator: Any) -> Any:
        call = as_tile_call(node)
        if call is not None and call.op.name == "finalize_reducer" and call.buffer.source in results:
            result = results[call.buffer.source]
            copied = tile_statement("copy", [call.buffer, whole_region(result)], span=node.span)
            return SeqStmt([node, copied])
        return substitute(node, results) if hash(node) in order.of_results else node

    def loop(node: For, mutator: Any) -> Any:
        rewritten = mutator.default_mutate(node)
        if hash(node) not in order.of_results:
            return rewritten
        start, extent = (substitute(bound, results) for bound in (rewritten.min, rewritten.extent))
        notes = rewritten.annotations
        return For(rewritten.loop_var, start, extent, node.kind, rewritten.body, annotations=notes, span=node.span)

    def conditional(node: Any, mutator: Any) -> Any:
        rewritten = mutator.default_mutate(node)
        if hash(node) not in order.of_results:
            return rewritten
        condition = substitute(rewritten.condition, results)
        if isinstance(node, While):
            return While(condition, rewritten.body, span=node.span)
        return IfThenElse(condition, rewritten.then_case, rewritten.else_case, span=node.span)

    leaves = [(kind, leaf) for kind in (BufferStore, Bind, Evaluate)]
    compounds = [(For, loop), (While, conditional), (IfThenElse, conditional)]
    return structural_map(structural_mutate(body, [*leaves, *compounds]), (AllocBuffer, allocation))


def _result_of(var: Var) -> Var:
    return tirx.decl_buffer(list(var.shape), dtype_of(var), f"{var.name}_result", scope="local.fragment", layout=None)


_UPDATES = {
    "sum": "`{name}[i] += x`",
    "prod": "`{name}[i] *= x`",
    "max": "`{name}[i] = T.max({name}[i], x)`",
    "min": "`{name}[i] = T.min({name}[i], x)`",
    "bitand": "`{name}[i] &= x`",
    "bitor": "`{name}[i] |= x`",
    "bitxor": "`{name}[i] ^= x`",
}
