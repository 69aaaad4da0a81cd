"""TVM's nodes under the names that tilecore uses: the one module that imports TVM's classes.

They move with every TVM release, so nothing else in the core imports ``tvm`` itself. Never star-import from
``tvm.tirx``: it shadows builtins.
"""

# ruff: noqa: F401
from __future__ import annotations

import functools
import gc
import os
import sys
from collections.abc import Callable
from typing import Any

from tilecore.interrupts import held_back
from tilecore.ir import expression_classes


def _import_tvm() -> None:
    """Imports TVM, without what it does to the process and without what slows it down."""
    from tilecore.ir.checked_lookups import checked_lookups
    from tilecore.ir.without_disco import without_disco
    from tilecore.ir.without_torch import without_torch
    from tilecore.stage_times import stage

    hook = sys.excepthook
    is_homeless = "XDG_CACHE_HOME" not in os.environ and os.path.expanduser("~").startswith("~")
    if is_homeless:
        os.environ["XDG_CACHE_HOME"] = os.devnull  # tvm names a folder there while it is imported, or raises without
    was_collecting = gc.isenabled()
    gc.disable()  # scanning torch's objects doubles the time of this import
    try:
        # its types can be registered once in a process
        with stage("import of TVM"), held_back(), without_torch(), without_disco(), checked_lookups():
            import tvm
            import tvm_ffi
    finally:
        if was_collecting:
            gc.enable()
        if is_homeless:
            del os.environ["XDG_CACHE_HOME"]
        sys.excepthook = hook  # tvm replaces it with one that kills multiprocessing children


_import_tvm()

import tvm  # noqa: E402
import tvm_ffi  # noqa: E402
from tvm import ir, tirx  # noqa: E402
from tvm.ir import (  # noqa: E402
    Call,
    IRModule,
    Op,
    PointerType,
    PrimType,
    Range,
    SourceName,
    Span,
    StringImm,
    TensorLoad,
    TensorRegion,
    Var,
    is_prim_expr,
)
from tvm.ir import Expr as Expr  # noqa: E402
from tvm.ir._overload_prim_expr import ExprOp as ExprOperator  # noqa: E402
from tvm.ir.expr import ExprOperand  # noqa: E402
from tvm.ir.op import register_op_attr  # noqa: E402
from tvm.sym import Analyzer  # noqa: E402
from tvm.sym.analyzer import ConstIntBound  # noqa: E402
from tvm.tirx import (  # noqa: E402
    Add,
    AllocBuffer,
    And,
    AttrStmt,
    Bind,
    Break,
    Broadcast,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Cast,
    Continue,
    DeclBuffer,
    Div,
    Evaluate,
    FloatImm,
    FloorDiv,
    FloorMod,
    For,
    ForKind,
    IfThenElse,
    IndexMap,
    IntImm,
    IterVar,
    LetStmt,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    PrimFunc,
    Ramp,
    Return,
    Select,
    SeqStmt,
    Shuffle,
    Stmt,
    Sub,
    While,
    is_buffer_var,
)
from tvm.tirx.expr import EQ, GE, GT, LE, LT, NE, CallEffectKind  # noqa: E402
from tvm_ffi import Object, structural_equal, structural_hash  # noqa: E402

# Programs written for TileLang take these names from ``tvm.tirx``, as the TVM that comes with TileLang has them there.
expression_classes.PrimExpr.register(Expr)
expression_classes.BufferLoad.register(TensorLoad)
for _name, _class in (("PrimExpr", expression_classes.PrimExpr), ("Call", Call), ("StringImm", StringImm)):
    if not hasattr(tirx, _name):
        setattr(tirx, _name, _class)


def _keeping_errors(run: Callable[..., Any], wrap: Callable[..., Any]) -> Callable[..., Any]:
    """``run`` (one of tvm_ffi's walks), with an error of a callback raised as it is: TVM makes it a RuntimeError."""

    @functools.wraps(run)
    def call(root: Any, callbacks: Any = (), **options: Any) -> Any:
        errors: list[Exception] = []

        def entry(argument: Any) -> Any:
            return (argument[0], wrap(argument[1], errors)) if isinstance(argument, tuple) else wrap(argument, errors)

        entries = [entry(e) for e in callbacks] if isinstance(callbacks, list) else entry(callbacks)
        try:
            with held_back():  # of a KeyboardInterrupt that passes through it TVM makes a RuntimeError, too
                return run(root, entries, **options)
        except Exception:
            if errors:
                raise errors[0] from None
            raise

    return call


def _of_value(callback: Callable[[Any], Any], errors: list[Exception]) -> Callable[[Any], Any]:
    def invoke(value: Any) -> Any:
        try:
            return callback(value)
        except Exception as error:
            errors.append(error)
            raise

    return invoke


def _of_value_and_mutator(callback: Callable[[Any, Any], Any], errors: list[Exception]) -> Callable[[Any, Any], Any]:
    def invoke(value: Any, mutator: Any) -> Any:
        try:
            return callback(value, mutator)
        except Exception as error:
            errors.append(error)
            raise

    return invoke


structural_walk = _keeping_errors(tvm_ffi.structural_walk, _of_value)
structural_map = _keeping_errors(tvm_ffi.structural_map, _of_value)
structural_mutate = _keeping_errors(tvm_ffi.structural_mutate, _of_value_and_mutator)


def nodes_of(root: Any, kinds: tuple[type, ...]) -> list[Any]:
    """All nodes of these types inside ``root`` (itself included), outermost first.

    A lowering asks thousands of times, mostly of small expressions: for these structural_walk takes ten times as long
    as the walk itself, to translate the types, which is done once here. No Python code runs during the walk, so that
    neither an error nor an interrupt can pass through it."""
    nodes: list[Any] = []
    if _WALK is None:
        structural_walk(root, (kinds, nodes.append), order="pre")
    else:
        _WALK(root, tuple([(_type_index(kind), nodes.append) for kind in kinds]), (), _PREORDER)
    return nodes


try:
    from tvm_ffi.structural import WalkOrder, _callback_type_to_type_index
    from tvm_ffi.structural import _ffi_api as _structural_api

    _WALK: Any = _structural_api.StructuralWalk
    _PREORDER = int(WalkOrder.PREORDER)
except (ImportError, AttributeError):  # not tvm_ffi's public names
    _WALK = None


@functools.cache
def _type_index(kind: type) -> int:
    return int(_callback_type_to_type_index(kind, api_name="nodes_of"))


_OWN = ("annotations", "functools", "gc", "sys", "Any", "Callable")
__all__ = [name for name in dir() if not name.startswith("_") and name not in _OWN]
