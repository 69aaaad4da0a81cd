"""Facts about buffers and slices that helper functions of kernels ask for: their scope, shape and element type.

Each function takes a buffer, a slice of one or an element of one (``A``, ``A[0:8, :]``, ``A[i, j]``).
"""

from __future__ import annotations

from math import prod
from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.language.regions import region_of


def _scope(buffer: Any) -> str:
    return str(region_of(buffer, "the function").source.scope())


def is_global(buffer: Any) -> bool:
    """Whether it is in global memory."""
    return _scope(buffer) in ("global", "")


def is_shared(buffer: Any, allow_dynamic: bool = True) -> bool:
    """Whether it is in shared memory. allow_dynamic: also where it is of a dynamic size ("shared.dyn")."""
    return _scope(buffer) == "shared" or (allow_dynamic and is_shared_dynamic(buffer))


def is_shared_dynamic(buffer: Any) -> bool:
    """Whether it is in shared memory of a size that the launch sets ("shared.dyn")."""
    return _scope(buffer) == "shared.dyn"


def is_local(buffer: Any) -> bool:
    """Whether it is an array of one thread (T.alloc_local)."""
    return _scope(buffer) == "local"


def is_fragment(buffer: Any) -> bool:
    """Whether it is a tile in the registers of a block (T.alloc_fragment)."""
    return _scope(buffer).startswith("local.fragment")


def is_local_var(buffer: Any) -> bool:
    """Whether it is a variable (T.alloc_var)."""
    return _scope(buffer) == "local.var"


def retrieve_shape(obj: Any) -> list[Any]:
    """The sizes of a buffer, or the extents of a slice: ints where they are known."""
    return [_plain(part.extent) for part in region_of(obj, "retrieve_shape").region]


def retrieve_stride(obj: Any) -> list[Any]:
    """The strides of the buffer in elements, row-major where it has none of its own."""
    source = region_of(obj, "retrieve_stride").source
    if len(source.strides):
        return [_plain(stride) for stride in source.strides]
    strides: list[Any] = []
    step: Any = 1
    for size in reversed(list(source.shape)):
        strides.append(step)
        step = _plain(size) * step
    return list(reversed(strides))


def retrieve_dtype(obj: Any) -> DType:
    """The element type."""
    return DType(str(region_of(obj, "retrieve_dtype").source.dtype))


def get_buffer_elems(buffer: Any) -> Any:
    """The number of elements of the whole buffer."""
    return prod(map(_plain, region_of(buffer, "get_buffer_elems").source.shape))


def array_reduce(array: list[int]) -> int:
    """The product of a list of numbers."""
    return prod(array)


def bits_product(shape: list[Any], dtype: Any) -> Any:
    """The bits of a tile of this shape and element type."""
    return prod(map(_plain, shape)) * DType(dtype).bits


def prim_expr_equal(lhs: Any, rhs: Any) -> bool:
    """Whether two sizes or indices are the same: equal numbers, or expressions that are equal whatever their variables
    are."""
    from tilecore.ir.analyzer import Analyzer
    from tilecore.language.values import as_expr

    left, right = _plain(lhs), _plain(rhs)
    if isinstance(left, int) and isinstance(right, int):
        return left == right
    return bool(Analyzer().can_prove(as_expr(left) == as_expr(right)))


def get_prim_func_name(func: Any, default: str | None = None) -> str | None:
    """The name of a T.prim_func; ``default`` where it has none."""
    attributes = getattr(func, "attrs", None)
    name = attributes.get("global_symbol") if attributes is not None else None
    return default if name is None else str(name)


def _plain(size: Any) -> Any:
    """An int for a constant of the IR."""
    return int(size) if type(size).__name__ == "IntImm" else size
