"""The builder: a stack of open blocks that statements of the kernel are appended to.

:mod:`tilecore.tracing.current` gives the one that is active.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from tilecore.errors import LanguageError, Location
from tilecore.interrupts import safe_point
from tilecore.ir.effects import effect_in
from tilecore.ir.nodes import AllocBuffer, Bind, DeclBuffer, Evaluate, Expr, IntImm, SeqStmt, Stmt, Var
from tilecore.ir.scopes import PRIVATE
from tilecore.ir.views import source_of
from tilecore.tracing.held_values import Readings, reads_memory
from tilecore.tracing.vectors import copied_to_memory, find_lanes, is_index, over_lanes

if TYPE_CHECKING:
    from tilecore.ir.spans import SpanTable

OF_KERNEL = ("kernel", "loop", "branch")  # blocks that run in the kernel; the others are Python's
MOST_STATEMENTS = 250_000  # of one function; far more than a compiler can handle


class Frame:
    """One open block.

    kind: function, kernel, loop, branch, or unrolled (a Python loop: statements go to the enclosing block).
    closed: a break or continue has ended it; the statements that follow are unreachable and dropped.
    """

    def __init__(self, kind: str, **facts: Any) -> None:
        self.kind = kind
        self.facts = facts
        self.statements: list[Stmt] = []
        self.closed = False

    def body(self) -> Stmt:
        if len(self.statements) == 1:
            return self.statements[0]
        if not self.statements:
            return Evaluate(IntImm("int32", 0))
        return SeqStmt(self.statements)


class Builder:
    """Builds the IR of one function."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.frames: list[Frame] = [Frame("function")]
        self.parameters: list[Any] = []  # what the function's body has for each of its parameters, as they are declared
        self.attributes: dict[str, Any] = {}
        self.place: tuple[SpanTable, int] | None = None
        self.names: dict[str, int] = {}
        self.on_annotation: Callable[[str, Any, Any], Any] | None = None
        self.on_empty: Callable[[list[Any], Any], Any] | None = None
        self.on_const: Callable[[Any], None] | None = None
        # (place, tile operation, operands) of checks in front of a T.Kernel, and how many of them a T.Kernel has
        self.preconditions: list[tuple[Any, str, list[Any]]] = []
        self.checked_preconditions = 0
        # makes the whole function a kernel at its first statement outside of T.Kernel, where it has no T.Kernel so far;
        # a T.Kernel that follows raises the error
        self.begin_kernel: Callable[[Builder, LanguageError], None] | None = None
        self.return_depth = 0
        self.lanes: dict[int, Var] = {}  # the lane variables of vectors, by their length: tracing/vectors.py
        self.views: dict[int, Var] = {}  # T.view and T.reshape: by the hash of the view, the viewed buffer
        self.pointers: dict[str, str] = {}  # parameters that are addresses or hold some: FunctionAttr.POINTERS
        self.vector_buffers: dict[int, Any] = {}  # the types of buffers of vectors, by their hashes
        self.kept_vectors: dict[int, Expr] = {}  # in thread memory, by the hash of the variable that holds them
        self.readings = Readings()
        self.watches: list[Any] = []  # of the open loops and branches: frontend/python_state.py
        self.pending: list[Any] = []  # allocations of this statement that have no name yet
        self.writes = 0  # statements built that may write memory
        self.built = 0  # statements built
        self.loops: list[Any] = []  # the open loops of the kernel, as frontend/branches.py has them
        self.managers: list[int] = []  # of the user's open context managers: how many blocks were open around each
        self.has_lost = False  # an exception left a block of the kernel, whose statements are lost

    # -- the current place ----------------------------------------------------------------------------------------

    @property
    def span(self) -> Any:
        return self.place[0].span(self.place[1]) if self.place else None

    @property
    def location(self) -> Location | None:
        return self.place[0].location(self.place[1]) if self.place else None

    @property
    def frame(self) -> Frame:
        """The innermost open block that takes statements."""
        for frame in reversed(self.frames):
            if frame.kind != "unrolled":
                return frame
        raise AssertionError("the function's own block is always open")

    def enclosing(self, kind: str) -> Frame | None:
        return next((frame for frame in reversed(self.frames) if frame.kind == kind), None)

    def kernel_frame(self, refusal: Callable[[], LanguageError]) -> Frame:
        """The block of the kernel that is being built. A function without T.Kernel is a kernel as a whole; where it has
        one, what stands outside of it raises ``refusal()``."""
        frame = self.enclosing("kernel")
        if frame is not None:
            return frame
        error, begin_kernel = refusal().at(self.location), self.begin_kernel
        if begin_kernel is None:
            raise error
        self.begin_kernel = None
        begin_kernel(self, error)
        return self.frames[0]

    # -- statements and variables -----------------------------------------------------------------------------------

    def emit(self, statement: Stmt) -> None:
        safe_point()
        if self.begin_kernel is not None and not isinstance(statement, (Bind, AllocBuffer, DeclBuffer)):
            self.kernel_frame(
                lambda: LanguageError("a statement stands outside T.Kernel", expected="T.Kernel around it")
            )
        frame = self.frame
        source = source_of(statement) if isinstance(statement, DeclBuffer) else None
        if source is not None:
            self.views[hash(statement.buffer)] = source
        if self.lanes:
            statement = over_lanes(self, statement)
        if not isinstance(statement, Bind) or effect_in(statement.value) is not None:
            self.writes += 1
        self.built += 1
        if self.built > MOST_STATEMENTS:
            raise LanguageError(
                f"the kernel has more than {MOST_STATEMENTS:,} statements",
                hint="loops over Python's lists and `while` with a Python condition are unrolled: "
                "loop with T.serial, so that the loop runs in the kernel",
            ).at(self.location)
        if not frame.closed:
            frame.statements.append(statement)

    def hold(self, value: Expr) -> Expr:
        """The value that ``value`` has now: where it reads memory, a variable that later writes do not change. Vectors
        (T.Ramp) are handled where they are stored: tracing/vectors.py."""
        if not reads_memory(value):
            return value
        var = self.readings.new(value, self.frame, self.writes)
        if not self.frame.closed:
            self.frame.statements.append(Bind(var, value, span=self.span))
        return var

    def conditional_operand(self, value: Expr) -> Expr:
        """``value`` as an operand that is evaluated conditionally: its loads are executed only then, unless a statement
        may have written memory since Python read them."""
        frame = self.frame
        return self.readings.expanded(value, lambda r: r.frame is frame and r.time == self.writes)

    def loop_condition(self, value: Expr) -> Expr:
        """``value`` as the condition of a loop: the loads of the current statement are executed before every iteration.
        Values that earlier statements read do not change."""
        binds = takewhile(lambda s: isinstance(s, Bind), reversed(self.frame.statements))
        bound_here = {hash(bind.var) for bind in binds if bind.span is not None and bind.span.same_as(self.span)}
        return self.readings.expanded(value, lambda r: hash(r.var) in bound_here)

    def in_place(self, value: Any) -> Any:
        """``value`` with loads in place of the variables that hold them, for inspection only."""
        return self.readings.expanded(value)

    @contextmanager
    def block(self, kind: str, **facts: Any) -> Iterator[Frame]:
        """An open block; the caller makes the statement from ``frame.body()`` afterwards."""
        self.name_pending()
        frame = Frame(kind, **facts)
        self.frames.append(frame)
        try:
            yield frame
        except BaseException:
            self.leave(frame)
            raise
        self.close(frame)

    def close(self, frame: Frame) -> None:
        """Close an open block at its end."""
        depth = self.frames.index(frame)
        self.check_lost(depth + 1)
        del self.frames[depth:]

    def leave(self, frame: Frame) -> None:
        """Close a block that an exception leaves. It may be closed already, as Python ends generators late."""
        if frame in self.frames:
            del self.frames[self.frames.index(frame) :]
        self.has_lost |= frame.kind in OF_KERNEL

    def check_lost(self, depth: int, error: BaseException | None = None) -> None:
        """Raise LanguageError where ``error`` left a block of the kernel and was caught with ``depth`` blocks open."""
        if not self.has_lost and not any(frame.kind in OF_KERNEL for frame in self.frames[depth:]):
            return
        raise LanguageError(
            "an exception that left a block of the kernel (an `if`, a loop, T.Kernel) is caught",
            found=f"{type(error).__name__}: {error}" if error is not None else None,
            expected="exceptions that are raised and caught within one block of the kernel, because the statements of "
            "a block that an exception leaves are lost",
            hint="put the `try` into the block, or check before the block with values that Python knows",
        ).at(self.location)

    def name_pending(self) -> None:
        """Allocate the pending buffers that no assignment has named, in the block in which they were requested."""
        pending, self.pending = self.pending, []
        for allocation in pending:
            _ = allocation.buffer

    def unique(self, name: str) -> str:
        """``name``, or ``name_1``, ... when the function has one already."""
        count = self.names.get(name)
        self.names[name] = (count or 0) + 1
        if count is None:
            return name
        candidate = f"{name}_{count}"
        return candidate if candidate not in self.names else self.unique(name)

    def variable(self, name: str, dtype: str = "int32") -> Var:
        return Var(self.unique(name), dtype)

    def bind(self, name: str, value: Expr) -> Expr:
        """A new variable that holds ``value`` from here to the end of the block."""
        lanes = find_lanes(self, value) if self.lanes else None
        if lanes is not None:
            return value if is_index(self, value) else copied_to_memory(self, name, value, lanes)
        var = Var(self.unique(name), value.ty)
        self.emit(Bind(var, value, span=self.span))
        return var

    @property
    def in_parallel(self) -> bool:
        """Is T.Parallel open, so that statements belong to one iteration and not to the block?"""
        return any(frame.facts.get("parallel") for frame in self.frames)

    def allocate(self, buffer: Any) -> None:
        self.kernel_frame(
            lambda: LanguageError(
                "memory is allocated outside T.Kernel",
                expected="T.alloc_* inside `with T.Kernel(...)`",
                hint="T.alloc_global makes global workspace outside a kernel",
            )
        )
        scope = str(buffer.scope())
        if self.in_parallel and scope not in PRIVATE:
            raise LanguageError(
                f"{buffer.name} is allocated inside T.Parallel",
                found=f"memory of the whole block ({scope})",
                expected="T.alloc_local or T.alloc_var, which belong to one iteration",
                hint="allocate it before the loop",
            ).at(self.location)
        self.emit(AllocBuffer(buffer, span=self.span))
