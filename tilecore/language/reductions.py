"""Reductions and scans of tiles."""

from __future__ import annotations

from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.errors import LanguageError, WrongIndexError, WrongTypeError
from tilecore.ir.nodes import TensorRegion
from tilecore.ir.reductions import KINDS, accumulator, has_meaning
from tilecore.language.buffers import BufferHandle
from tilecore.language.copies import emit
from tilecore.language.integers import whole_number
from tilecore.language.known_elsewhere import written_here
from tilecore.language.memory import allocate
from tilecore.language.reducers import check_batch
from tilecore.language.regions import describe, extents, kind_of, region_of, same_size
from tilecore.nearest import nearest
from tilecore.tracing.current import current


def reduce(
    buffer: Any, out: Any, reduce_type: str, dim: Any = -1, clear: bool = True, batch: int = 1,
    nan_propagate: bool = False, annotations: dict[str, Any] | None = None,
) -> BufferHandle | None:  # fmt: skip
    """Reduce axis ``dim`` of a tile, or several axes (a tuple), into ``out``, whose shape is the tile's without them
    (or with extent 1). Without ``out`` (None) the result is a new fragment, which is returned.

    reduce_type: sum, prod, max, min, abssum, absmax, bitand, bitor, bitxor. clear: overwrite ``out``; else combine the
    result with its old elements. nan_propagate: max and min of a NaN are NaN; else NaN is ignored. batch: how many
    elements of the result threads may reduce at once, a hint.
    """
    if reduce_type not in KINDS:
        raise LanguageError(
            f"T.reduce: {reduce_type!r} is not a kind of reduction",
            expected=", ".join(map(repr, KINDS)),
            hint=_similar_kind_hint(reduce_type),
        )
    subject = f"T.reduce_{reduce_type}"
    check_batch(batch, subject)
    source = region_of(buffer, subject)
    axes = _axes(dim, source, subject)
    sizes = extents(source)
    remaining_sizes = [size for axis, size in enumerate(sizes) if axis not in axes]
    result = _result(source, remaining_sizes, reduce_type, clear, subject) if out is None else None
    target = region_of(out if result is None else result, subject)
    keepdim_shape = [1 if axis in axes else size for axis, size in enumerate(sizes)]
    output_shape = extents(target)
    if not (
        _same_shape(remaining_sizes, output_shape)
        or _same_shape(keepdim_shape, output_shape)
        or (not remaining_sizes and output_shape == [1])
    ):
        raise LanguageError(
            f"{subject}: the shape of the output does not fit",
            found=f"{describe(source)} along dim {dim} into {describe(target)}",
            expected=f"shape {tuple(remaining_sizes) or (1,)} or {tuple(keepdim_shape)}",
        )
    _check_meaning(reduce_type, source, target, subject)
    for axis in axes[:-1]:  # the last axis of the tile first, so that the indices of the others stay valid
        del sizes[axis]
        source = _reduce_one_axis(source, sizes, kind_of(target), reduce_type, axis, nan_propagate, annotations)
    emit("reduce", [source, target, reduce_type, axes[-1], bool(clear), bool(nan_propagate)], annotations)
    return result


def _axes(dim: Any, source: TensorRegion, subject: str) -> list[int]:
    """The axes to reduce as indices from 0 on, the last axis first."""
    rank = len(source.region)
    requested = list(dim) if isinstance(dim, (tuple, list)) else [dim]
    if not requested:
        raise WrongTypeError(
            f"{subject}: dim is not an int or a tuple of ints",
            found=f"dim={dim!r}",
            expected="an int, or a tuple of ints",
        )
    axes = []
    for number in requested:
        axis = whole_number(number, f"{subject}(dim=...)")
        axis += rank if axis < 0 else 0
        if not 0 <= axis < rank:
            raise WrongIndexError(
                f"{subject}: dim {number} is out of range for a tile with {rank} axes", found=describe(source)
            )
        axes.append(axis)
    if len(set(axes)) < len(axes):
        raise LanguageError(f"{subject}: dim names an axis twice", found=f"dim={dim!r}", expected="each axis once")
    return sorted(axes, reverse=True)


def _result(source: TensorRegion, remaining_sizes: list[Any], kind: str, clear: bool, subject: str) -> BufferHandle:
    """A fragment for the result of a reduction without ``out``. It has the tile's element type; sums and products of
    bool and of integers of less than 32 bits are int32 or uint32."""
    if not clear:
        raise LanguageError(
            f"{subject}(clear=False) is called without an output to accumulate into", expected="out=..."
        )
    facts = DType(kind_of(source)).facts
    dtype = kind_of(source)
    if kind in _SUMS and facts.kind != "float" and facts.bits < 32:
        dtype = "uint32" if facts.kind == "uint" else "int32"
    return _fragment(f"{source.source.name}_{kind}", remaining_sizes or [1], dtype, subject)


_SUMS = ("sum", "prod", "abssum")


def _reduce_one_axis(
    source: TensorRegion,
    sizes: list[Any],
    dtype: str,
    kind: str,
    axis: int,
    nan_propagate: bool,
    annotations: Any,
) -> TensorRegion:
    """Reduces the tile along one of several axes, into a new fragment of the type in which the others are reduced."""
    result = _fragment(f"{source.source.name}_{kind}", sizes, accumulator(dtype), f"T.reduce_{kind}")
    target = region_of(result, f"T.reduce_{kind}")
    emit("reduce", [source, target, kind, axis, True, bool(nan_propagate)], annotations)
    return target


def _fragment(name: str, shape: list[Any], dtype: str, subject: str) -> BufferHandle:
    buffer = allocate(shape, dtype, "local.fragment", subject)
    buffer.name_once(current(subject), name)
    return buffer


def _similar_kind_hint(kind: Any) -> str | None:
    """A hint for a kind that the language does not have: what it calls a kind of that or a similar name."""
    names = {"add": "sum", "mul": "prod", "product": "prod", "amax": "max", "amin": "min", "xor": "bitxor"}
    names |= {"or": "bitor", "and": "bitand", "any": "bitor", "all": "bitand", "maximum": "max", "minimum": "min"}
    close = nearest(kind, [*KINDS, *names])
    return f"did you mean {names.get(close, close)!r}?" if close else written_here(f"reduce_{kind}")


def _check_meaning(kind: str, source: TensorRegion, target: TensorRegion, subject: str) -> None:
    """Checks that the reduction is defined for the target's type, in which elements are combined; for bitwise kinds
    also for the source's type."""
    bitwise = kind.startswith("bit")
    computed_kinds = [kind_of(source), kind_of(target)] if bitwise else [kind_of(target)]
    wrong = [name for name in computed_kinds if not has_meaning(kind, name)]
    if wrong:
        raise LanguageError(
            f"{subject} is not defined for {wrong[0]} values",
            found=f"{kind_of(source)} into {kind_of(target)}",
            expected="integers or bool" if bitwise else "an output of integers or floats",
            hint=None if bitwise else "use T.int32 to count; T.reduce_bitor tells whether any value is true",
        )


def _same_shape(expected: list[Any], actual: list[Any]) -> bool:
    return len(expected) == len(actual) and all(map(same_size, expected, actual))


def _plain(kind: str) -> Any:
    def op(
        buffer: Any, out: Any = None, dim: Any = -1, clear: bool = True, batch: int = 1,
        annotations: dict[str, Any] | None = None,
    ) -> BufferHandle | None:  # fmt: skip
        return reduce(buffer, out, kind, dim, clear, batch, False, annotations)

    op.__name__ = op.__qualname__ = f"reduce_{kind}"
    op.__doc__ = f"T.reduce with reduce_type={kind!r}; without ``out`` it returns a fragment."
    return op


def _extreme(kind: str) -> Any:
    def op(
        buffer: Any, out: Any = None, dim: Any = -1, clear: bool = True, batch: int = 1, nan_propagate: bool = False,
        annotations: dict[str, Any] | None = None,
    ) -> BufferHandle | None:  # fmt: skip
        return reduce(buffer, out, kind, dim, clear, batch, nan_propagate, annotations)

    op.__name__ = op.__qualname__ = f"reduce_{kind}"
    op.__doc__ = f"T.reduce with reduce_type={kind!r}; without ``out`` it returns a fragment."
    return op


reduce_sum = _plain("sum")
reduce_prod = _plain("prod")
reduce_max = _extreme("max")
reduce_min = _extreme("min")
reduce_absmax = _extreme("absmax")
reduce_bitand = _plain("bitand")
reduce_bitor = _plain("bitor")
reduce_bitxor = _plain("bitxor")


def reduce_abssum(
    buffer: Any, out: Any = None, dim: Any = -1, batch: int = 1, annotations: dict[str, Any] | None = None,
    clear: bool = True,
) -> BufferHandle | None:  # fmt: skip
    """T.reduce with reduce_type="abssum": the sum of absolute values."""
    return reduce(buffer, out, "abssum", dim, clear, batch, False, annotations)


def _scan(kind: str, src: Any, dst: Any, dim: int, reverse: bool, annotations: dict[str, Any] | None) -> None:
    subject = f"T.cum{kind}"
    source = region_of(src, subject)
    target = source if dst is None else region_of(dst, subject)
    sizes = extents(source)
    (axis,) = _axes(whole_number(dim, f"{subject}(dim=...)"), source, subject)
    if not _same_shape(sizes, extents(target)):
        raise LanguageError(f"{subject}: the shapes differ", found=f"{describe(source)} and {describe(target)}")
    _check_meaning(kind, source, target, subject)
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
