"""Reductions and scans of tiles."""

from __future__ import annotations

from typing import Any

from tilecore.errors import LanguageError
from tilecore.ir.nodes import TensorRegion, tirx
from tilecore.ir.reductions import has_meaning, identity
from tilecore.language.buffers import BufferHandle, as_load
from tilecore.language.conversions import convert
from tilecore.language.copies import emit
from tilecore.language.kernel import open_kernel
from tilecore.language.regions import describe, extents, kind_of, region_of, same_size


def reduce(
    buffer: Any, out: Any, reduce_type: str, dim: int = -1, clear: bool = True, nan_propagate: bool = False,
    annotations: dict[str, Any] | None = None,
) -> None:  # fmt: skip
    """Reduce axis ``dim`` of a tile into ``out``, whose shape is the tile's without that axis (or with extent 1).

    reduce_type: sum, max, min, abssum, absmax, bitand, bitor, bitxor. clear: forget what ``out`` held; else join it.
    nan_propagate: max and min of a NaN are NaN; else NaN is passed over.
    """
    what = f"T.reduce_{reduce_type}"
    source, target = region_of(buffer, what), region_of(out, what)
    sizes = extents(source)
    axis = dim + len(sizes) if dim < 0 else dim
    if not 0 <= axis < len(sizes):
        raise LanguageError(f"{what}: dim {dim} of a tile with {len(sizes)} axes", found=describe(source))
    left = sizes[:axis] + sizes[axis + 1 :]
    kept = [*sizes[:axis], 1, *sizes[axis + 1 :]]
    got = extents(target)
    if not (_fits(left, got) or _fits(kept, got) or (not left and got == [1])):
        raise LanguageError(
            f"{what}: the output's shape does not fit",
            found=f"{describe(source)} along dim {axis} into {describe(target)}",
            expected=f"shape {tuple(left) or (1,)} or {tuple(kept)}",
        )
    _check_meaning(reduce_type, source, target, what)
    args = [source, target, reduce_type, axis, bool(clear), bool(nan_propagate)]
    emit("reduce", args, annotations)


def _check_meaning(kind: str, source: TensorRegion, target: TensorRegion, what: str) -> None:
    """The elements are joined in the target's type; bits are those of the source."""
    bitwise = kind.startswith("bit")
    joined = [kind_of(source), kind_of(target)] if bitwise else [kind_of(target)]
    wrong = [name for name in joined if not has_meaning(kind, name)]
    if wrong:
        raise LanguageError(
            f"{what} of {wrong[0]} values has no meaning",
            found=f"{kind_of(source)} into {kind_of(target)}",
            expected="integers or bool" if bitwise else "an output of integers or floats",
            hint=None if bitwise else "T.int32 counts; T.reduce_bitor tells whether any is true",
        )


def _fits(want: list[Any], got: list[Any]) -> bool:
    return len(want) == len(got) and all(map(same_size, want, got))


def _plain(kind: str) -> Any:
    def op(
        buffer: Any, out: Any, dim: int = -1, clear: bool = True, batch: int = 1,
        annotations: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        reduce(buffer, out, kind, dim, clear, False, annotations)

    op.__name__ = op.__qualname__ = f"reduce_{kind}"
    op.__doc__ = f"T.reduce with reduce_type={kind!r}."
    return op


def _extreme(kind: str) -> Any:
    def op(
        buffer: Any, out: Any, dim: int = -1, clear: bool = True, batch: int = 1, nan_propagate: bool = False,
        annotations: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        reduce(buffer, out, kind, dim, clear, nan_propagate, annotations)

    op.__name__ = op.__qualname__ = f"reduce_{kind}"
    op.__doc__ = f"T.reduce with reduce_type={kind!r}."
    return op


reduce_sum = _plain("sum")
reduce_max = _extreme("max")
reduce_min = _extreme("min")
reduce_absmax = _extreme("absmax")
reduce_bitand = _plain("bitand")
reduce_bitor = _plain("bitor")
reduce_bitxor = _plain("bitxor")


def reduce_abssum(
    buffer: Any, out: Any, dim: int = -1, batch: int = 1, annotations: dict[str, Any] | None = None, clear: bool = True
) -> None:
    """T.reduce with reduce_type="abssum": the sum of absolute values."""
    reduce(buffer, out, "abssum", dim, clear, False, annotations)


def _scan(kind: str, src: Any, dst: Any, dim: int, reverse: bool, annotations: dict[str, Any] | None) -> None:
    what = f"T.cum{kind}"
    source = region_of(src, what)
    target = source if dst is None else region_of(dst, what)
    sizes = extents(source)
    axis = dim + len(sizes) if dim < 0 else dim
    if not 0 <= axis < len(sizes):
        raise LanguageError(f"{what}: dim {dim} of a tile with {len(sizes)} axes", found=describe(source))
    if not _fits(sizes, extents(target)):
        raise LanguageError(f"{what}: the shapes differ", found=f"{describe(source)} and {describe(target)}")
    _check_meaning(kind, source, target, what)
    emit("scan", [source, target, kind, axis, bool(reverse)], annotations)


def cumsum(
    src: Any, dst: Any = None, dim: int = 0, reverse: bool = False, annotations: dict[str, Any] | None = None
) -> None:
    """Inclusive prefix sums along ``dim``, from the end if ``reverse``; in place without ``dst``."""
    _scan("sum", src, dst, dim, reverse, annotations)


def cummax(
    src: Any, dst: Any = None, dim: int = 0, reverse: bool = False, annotations: dict[str, Any] | None = None
) -> None:
    """Inclusive prefix maxima along ``dim``, from the end if ``reverse``; in place without ``dst``."""
    _scan("max", src, dst, dim, reverse, annotations)


def _operation(buffer: Any, what: str) -> str:
    """The operation of the T.alloc_reducer that ``buffer`` is."""
    operations = open_kernel(what).frame.facts.get("operations", {})
    if buffer not in operations:
        raise LanguageError(f"{what}: {buffer.name} is no reducer", expected="a buffer from T.alloc_reducer")
    return operations[buffer]


def reducer_init(reducer: Any, value: Any = None) -> None:
    """Start a T.alloc_reducer: from ``value``, or from what joins to nothing (0, the lowest or the highest value)."""
    target = region_of(reducer, "T.reducer_init")
    op = _operation(target.source, "T.reducer_init")
    if value is None:
        value = identity(op, kind_of(target))
    emit("fill", [target, convert(value, kind_of(target))])


def reducer_update(target: Any, value: Any) -> None:
    """Join ``value`` to element ``r[i]`` of a T.alloc_reducer, from any number of T.Parallel iterations."""
    element = as_load(target)
    if element is None:
        raise LanguageError("T.reducer_update takes an element of a reducer", found=str(target), expected="r[i]")
    op = _operation(element.source, "T.reducer_update")
    given = convert(value, str(element.source.dtype))
    joined = element + given if op == "sum" else {"max": tirx.Max, "min": tirx.Min}[op](element, given)
    BufferHandle(element.source).write(tuple(element.indices), joined)


def finalize_reducer(reducer: Any, dst: Any = None, batch: int = 1, annotations: dict[str, Any] | None = None) -> None:
    """Join what the threads accumulated in a T.alloc_reducer; afterwards it is an ordinary fragment."""
    emit("finalize_reducer", [region_of(reducer, "T.finalize_reducer")], annotations)
    if dst is not None:
        from tilecore.language.copies import copy

        copy(reducer, dst)
