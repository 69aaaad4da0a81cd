"""Forms of TVM's own script that kernels use: attributes, blocks, T.While, T.let, external functions.

Forms that only describe the code (T.reads, T.writes, T.sblock, T.func_attr) have no effect.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from tilecore import dtypes as dtypes
from tilecore.dtypes import dtype as DType
from tilecore.errors import LanguageError, UnsupportedError, WrongTypeError
from tilecore.ir.attributes import KernelHint
from tilecore.ir.build import op_name
from tilecore.ir.intrinsics import ADDRESS
from tilecore.ir.nodes import Bind, Expr, StringImm, Var, tirx
from tilecore.ir.nodes import While as IRWhile
from tilecore.language.conditions import as_condition
from tilecore.language.conversions import convert, ir_dtype
from tilecore.language.hints import annotate
from tilecore.language.keywords import also_named
from tilecore.language.threads import CommReducer, ReduceScope
from tilecore.language.values import as_expr, is_kernel_value
from tilecore.tracing.current import current

tir = tirx


class _Handle(str):
    """A pointer, where a name of an element type may stand: ``dtype="handle"``."""

    def __call__(self, *args: Any) -> Any:
        from tilecore.language.annotations import PtrType

        return PtrType(*args)

    def __repr__(self) -> str:
        return "T.handle"


handle = _Handle("handle")


class Opaque:
    """A pointer value that nothing reads, such as ``T.reinterpret(T.uint64(0), dtype="handle")``."""


def attr(node: Any, attr_key: str, value: Any) -> AbstractContextManager[None]:
    """``with T.attr(T.comm_reducer(...), "reduce_scope", ...)``: the reducer of T.tvm_thread_allreduce inside.

    Other attributes of TVM's have no meaning here and raise UnsupportedError.
    """
    if attr_key == "reduce_scope":
        if not isinstance(node, CommReducer):
            raise LanguageError(
                'the node of T.attr(node, "reduce_scope", ...) is not a reducer', expected="T.comm_reducer(...)"
            )
        return ReduceScope(node)
    raise UnsupportedError(f"T.attr: the key {attr_key!r} is not supported", expected='"reduce_scope"').at(
        current("T.attr").location
    )


def sblock(name: str = "", no_realize: bool = False) -> AbstractContextManager[None]:
    """``with T.sblock("name"):`` groups statements and has no effect. no_realize: accepted, as blocks are not kept."""
    current("T.sblock")
    return nullcontext()


def reads(*buffer_slices: Any) -> None:
    """What a T.sblock reads; no effect, as the compiler sees it by itself."""
    current("T.reads")


def writes(*buffer_slices: Any) -> None:
    """What a T.sblock writes; no effect, as the compiler sees it by itself."""
    current("T.writes")


@also_named(attributes="attrs")
def sblock_attr(attrs: Any) -> None:
    """Attributes of a T.sblock; no effect."""
    current("T.sblock_attr")


@also_named(attributes="attrs")
def func_attr(attrs: Any) -> None:
    """Attributes of the function; no effect."""
    current("T.func_attr")


class While:
    """``with T.While(condition):`` runs the body as long as ``condition`` holds, as the statement ``while`` does."""

    def __init__(self, condition: Any) -> None:
        if not is_kernel_value(condition):
            raise LanguageError("the condition of T.While is a Python value", found=repr(condition)[:60])
        self.condition = current("T.While").loop_condition(as_condition(condition))

    def __enter__(self) -> None:
        builder = current("T.While")
        self.span = builder.span
        self.block = builder.block("loop")
        self.frame = self.block.__enter__()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.block.__exit__(kind, error, trace)
        if kind is None:
            current().emit(IRWhile(self.condition, self.frame.body(), span=self.span))


class _Let:
    """Annotation of a variable that does not change: ``x: T.let[T.int32] = value``, or ``x: T.let = value``. Called
    with a variable that an element type made, ``x = T.int32()``, it gives that variable its value."""

    def __call__(self, var: Any, value: Any) -> None:
        builder = current("T.let")
        if not isinstance(var, Var):
            expected = "a variable that an element type made: x = T.int32()"
            raise LanguageError("T.let gives a value to what is no variable", found=str(var)[:60], expected=expected)
        builder.emit(Bind(var, convert(value, str(var.ty.dtype)), span=builder.span))

    def __getitem__(self, kind: Any) -> Any:
        return kind if isinstance(kind, DType) else self

    def __repr__(self) -> str:
        return "T.let"


let = _Let()


def call_extern(*args: Any, dtype: Any = None) -> Expr:
    """A call of a function of the target's own source language (T.import_source brings its text).

    ``T.call_extern(dtype, name, *operands)``, or ``T.call_extern(name, *operands, dtype=dtype)``.
    Targets without source text, and the interpreter, raise UnsupportedError.
    """
    span = current("T.call_extern").span
    if len(args) < (2 if dtype is None else 1):
        raise WrongTypeError(
            "T.call_extern is called without a result type or without a name",
            found=f"{len(args)} arguments",
            expected="T.call_extern(dtype, name, *operands)",
        )
    dtype, func_name, *values = args if dtype is None else (dtype, *args)
    kind = "void" if str(dtype) in ("handle", "void") else ir_dtype(DType(dtype))
    operands = [_operand(arg) for arg in values]
    return tirx.call_extern(kind, str(func_name), *operands, span=span)


def _operand(arg: Any) -> Expr:
    """An argument of a function: a text, an address (T.access_ptr) or a value."""
    if type(arg) is str:
        return StringImm(arg)
    return arg if op_name(arg) == ADDRESS else as_expr(arg)


def import_source(source: str | None = None) -> None:
    """Text in the target's source language to put before the kernel; other kinds of target raise UnsupportedError."""
    if source:
        annotate(KernelHint.IMPORT_SOURCE, str(source))
