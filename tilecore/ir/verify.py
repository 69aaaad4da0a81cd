"""Checks that IR is well formed after each pass.

Every variable is defined where it is used, accesses have the right rank, calls have the arguments that their table says
(call_arguments.py), and no pass drops parameters or attributes of a function (kernel_interface.py).
"""

from __future__ import annotations

from typing import Any

from tilecore.errors import LanguageError, LoweringError, TilecoreError
from tilecore.ir.attributes import FunctionAttr
from tilecore.ir.build import op_name
from tilecore.ir.call_arguments import wrong_call
from tilecore.ir.kernel_interface import SYMBOL, InterfaceCheck
from tilecore.ir.nodes import (
    AllocBuffer,
    AttrStmt,
    Bind,
    BufferStore,
    Call,
    DeclBuffer,
    For,
    IRModule,
    IterVar,
    Object,
    PrimFunc,
    SeqStmt,
    Stmt,
    TensorLoad,
    TensorRegion,
    Var,
    is_buffer_var,
    structural_walk,
    tirx,
)
from tilecore.ir.spans import location_of_span
from tilecore.ir.visit import children


class Verifier:
    """Verifies what the steps of one lowering make, one after another.

    Most expressions of a step are those of the step before; each is looked into once.
    origins: the step after which each call, by its name, was there first.
    """

    def __init__(self) -> None:
        self.origins: dict[str, str] = {}
        self._interfaces = InterfaceCheck()
        self._kernel = ""  # of the function that is verified
        self._hint = ""
        self._seen: dict[int, tuple[Any, list[Var]]] = {}  # by address: the expression, kept alive, and what it uses
        self._last: Any = None
        self._after = ""

    def verify(self, func: Any, after: str, package: str = "") -> None:
        """Raise where ``func`` (a PrimFunc or an IRModule) is malformed; ``after`` says which step made it so.

        package: the one whose step it is; "" for tilecore itself.
        """
        if func is self._last:
            return
        self._after = after
        self._hint = f"the pass is of package {package}; report it there" if package else "please report it"
        self._interfaces.check(func, after, self._hint)
        for each in list(func.functions.values()) if isinstance(func, IRModule) else [func]:
            if isinstance(each, PrimFunc):
                self._function(each)
        self._last = func

    def _function(self, func: PrimFunc) -> None:
        self._kernel = str((func.attrs or {}).get(SYMBOL, ""))
        defined: set[Var] = set(func.params)
        for param in func.params:
            if is_buffer_var(param):
                for size in [*param.shape, *param.strides]:
                    structural_walk(size, (Var, lambda v: defined.add(v)))
        for key in (FunctionAttr.BLOCK_VARS, FunctionAttr.THREAD_VARS, FunctionAttr.SYMBOLS):
            defined.update((func.attrs or {}).get(key) or ())
        self._statement(func.body, defined, None)

    def _statement(self, node: Stmt, defined: set[Var], span: Any) -> None:
        """Check ``node``; definitions that last to the end of the block are added to ``defined``."""
        span = getattr(node, "span", None) or span
        if isinstance(node, SeqStmt):
            inner = set(defined)
            for part in node.seq:
                self._statement(part, inner, span)
            return
        self._expressions(node, defined, span)
        if isinstance(node, (AllocBuffer, DeclBuffer)):
            defined.add(node.buffer)
        elif isinstance(node, Bind):
            defined.add(node.var)
        elif isinstance(node, For):
            self._statement(node.body, defined | {node.loop_var}, span)
        elif isinstance(node, AttrStmt) and isinstance(node.node, IterVar):
            self._statement(node.body, defined | {node.node.var}, span)
        else:
            for child in children(node):
                self._statement(child, set(defined), span)

    def _expressions(self, node: Stmt, defined: set[Var], span: Any) -> None:
        for name in ("value", "condition", "min", "extent", "indices", "data", "message"):
            part = getattr(node, name, None)
            if part is not None:
                self._expression(part, defined, span)
        if isinstance(node, BufferStore):
            self._used(node.buffer, defined, span)
            self._rank(node.buffer, len(node.indices), span)

    def _expression(self, part: Any, defined: set[Var], span: Any) -> None:
        if not isinstance(part, Object):
            return  # a text or a number of Python's
        address = part.__chandle__()
        checked = self._seen.get(address)
        if checked is None:
            checked = self._seen[address] = part, self._look_into(part, span)
        for var in checked[1]:
            self._used(var, defined, span)

    def _look_into(self, part: Any, span: Any) -> list[Var]:
        """The variables that ``part`` uses and does not define; its accesses and its calls are right."""

        def access(value: Any) -> None:
            count = len(value.indices) if isinstance(value, TensorLoad) else len(value.region)
            self._rank(value.source, count, span)

        local: set[Var] = set()
        used: dict[Var, None] = {}
        structural_walk(
            part,
            [
                ((TensorLoad, TensorRegion), access),
                (tirx.Let, lambda let: local.add(let.var)),
                (Call, lambda call: self._call(call, span)),
            ],
            order="pre",
        )
        structural_walk(part, (Var, lambda v: used.setdefault(v)))
        return [var for var in used if var not in local]

    def _call(self, call: Call, span: Any) -> None:
        """The arguments and the type of a call are those of its row, if a table has it."""
        name = op_name(call)
        self.origins.setdefault(name, self._after)
        problem = wrong_call(call)
        if problem is not None:
            raise LoweringError(
                f"after {self._after}: kernel {self._kernel!r} has a wrong call of {name}",
                location=location_of_span(getattr(call, "span", None) or span),
                found=problem.found,
                expected=problem.expected,
                hint=self._hint,
            )

    def _rank(self, buffer: Var, count: int, span: Any) -> None:
        if count != len(buffer.shape):
            raise LoweringError(
                f"after {self._after}: {buffer.name} has {len(buffer.shape)} axes and is accessed with {count} indices",
                location=location_of_span(span),
                hint=self._hint,
            )

    def _used(self, var: Var, defined: set[Var], span: Any) -> None:
        if var in defined:
            return
        kind: type[TilecoreError] = LoweringError
        step = f" (after {self._after})"
        if self._after == "the front end":
            kind = LanguageError
            step = ""
        raise kind(
            f"{var.name} is used where it is not defined{step}",
            location=location_of_span(span),
            hint="it is defined in another block, loop or branch; define it where both uses are in scope, "
            "or use T.alloc_var for a value that changes"
            if kind is LanguageError
            else self._hint,
        )
