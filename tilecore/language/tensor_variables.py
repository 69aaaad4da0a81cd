"""Buffer variables of declared tensors: a kernel's parameters, and T.make_tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilecore.errors import LanguageError
from tilecore.ir.nodes import Var, tirx
from tilecore.language.conversions import ir_dtype
from tilecore.language.symbols import ConstDim
from tilecore.language.values import as_expr

if TYPE_CHECKING:
    from tilecore.language.annotations import TensorType


def tensor_var(name: str, kind: TensorType) -> Var:
    """A buffer variable for a tensor type."""
    shape = [_size(s) for s in kind.shape]
    strides = None if kind.strides is None else [_size(s) for s in kind.strides]
    return tirx.decl_buffer(shape, ir_dtype(kind.dtype), name, strides=strides, scope=kind.scope, layout=None)


def _size(size: Any) -> Any:
    if isinstance(size, ConstDim):
        size = size.value
    value = as_expr(size)
    if not str(value.ty.dtype).startswith(("int", "uint")):
        raise LanguageError("a size is not an integer", found=f"{value} of {value.ty.dtype}")
    return value
