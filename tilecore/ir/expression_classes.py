"""Classes of expressions for ``isinstance``, which TileLang's TVM has and the stock one does not.

A value of a kernel is an object of TVM's or one of the language's that stands for such an object (an element that was
read, a T.alloc_var). Both are instances: ``nodes.py`` registers TVM's classes here, the language registers its own.
"""

from __future__ import annotations

from abc import ABC
from typing import Any


class PrimExpr(ABC):  # noqa: B024
    """Any value of a kernel that is one number: an expression, a variable, an element. Tensors and tiles are none."""


class BufferLoad(ABC):  # noqa: B024
    """An element of memory that is read; ``BufferLoad(buffer, indices)`` reads one, as in TVM."""

    def __new__(cls, buffer: Any, indices: Any, *args: Any, **kwargs: Any) -> Any:
        from tilecore.ir.nodes import BufferLoad as load

        return load(getattr(buffer, "buffer", buffer), indices, *args, **kwargs)
