"""TVM's nodes under the names that tilecore uses: the one module that imports TVM's classes.

They move with every TVM release, so nothing else in the core imports ``tvm`` itself. Never star-import from
``tvm.tirx``: it shadows builtins.
"""

from __future__ import annotations

import gc
import sys

_hook = sys.excepthook
_collecting = gc.isenabled()
gc.disable()  # scanning torch's objects doubles the time of this import
try:
    import tvm
    import tvm_ffi
finally:
    if _collecting:
        gc.enable()
    sys.excepthook = _hook  # tvm replaces it with one that kills multiprocessing children

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
from tvm.ir.op import register_op_attr  # noqa: E402
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
from tvm_ffi import structural_equal, structural_hash, structural_map, structural_mutate, structural_walk  # noqa: E402

Analyzer = tvm.sym.Analyzer

__all__ = [name for name in dir() if not name.startswith("_") and name not in ("annotations", "gc", "sys")]
