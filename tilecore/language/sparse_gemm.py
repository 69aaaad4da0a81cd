"""T.gemm_sp: multiply a matrix of 2:4 structured sparsity, given by its nonzero elements and their places.

The kernel writes A with its zeros to shared memory and multiplies it by T.gemm. The places are in the natural order of
the rows: each group of four elements of a row has a field of four bits, the first group in the lowest bits. Its two low
bits are the index of the group's first element, the two high bits that of the second. Groups of 32-bit types have two
elements, of which one is kept: its field is 0b0100 for the first and 0b1110 for the second, their halves of 16 bits.
"""

from __future__ import annotations

from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.errors import LanguageError
from tilecore.ir.build import cast, const, load, nest, seq, store
from tilecore.ir.nodes import EQ, Bind, Stmt, TensorRegion, Var, tirx
from tilecore.ir.regions import element_indices
from tilecore.language.conditions import select
from tilecore.language.conversions import convert
from tilecore.language.copies import require_block
from tilecore.language.gemm import GemmWarpPolicy, gemm
from tilecore.language.kernel import open_kernel
from tilecore.language.memory import alloc_shared
from tilecore.language.regions import describe, extents, kind_of, region_of
from tilecore.tracing.current import current

FIELD = 4  # bits of a group's places
SUBJECT = "T.gemm_sp"


def gemm_sp(
    A_sparse: Any,
    E: Any,
    B: Any,
    C: Any,
    transpose_A: bool = False,
    transpose_E: bool = False,
    transpose_B: bool = False,
    policy: GemmWarpPolicy = GemmWarpPolicy.Square,
    clear_accum: Any = False,
    k_pack: int = 1,
    wg_wait: int = 0,
    annotations: dict[str, Any] | None = None,
) -> None:
    """``C += A @ B``, where two of each four neighbours along K of A are zero (one of two for 32-bit types).

    A_sparse: [M, K / 2], the elements that are kept ([K / 2, M] with transpose_A). E: [M, K / e], integers with the
    places of e elements of A each ([K / e, M] with transpose_E); e is the bits of E's type, of 32-bit types half of it.
    B: [K, N] ([N, K] with transpose_B). C: [M, N]. The other keywords are as of T.gemm. Raises LanguageError for sizes
    and types that do not go together.
    """
    open_kernel(SUBJECT)
    require_block("gemm_sp")
    kept, places = region_of(A_sparse, SUBJECT), region_of(E, SUBJECT)
    rows, group = _check(kept, places, bool(transpose_A), bool(transpose_E))
    columns = 2 * _sizes(kept, bool(transpose_A))[1]
    tile = alloc_shared((rows, columns), kind_of(kept))
    span = current(SUBJECT).span

    def body(variables: list[Any]) -> Stmt:
        row, index = variables
        field = _field(places, row, index, bool(transpose_E))
        elements = [_element(kept, row, index, n, group, bool(transpose_A)) for n in range(group // 2)]
        return _group(tile.buffer, row, index, field, elements, span)

    current(SUBJECT).emit(nest([const(rows, "int32"), const(columns // group, "int32")], body, span=span))
    gemm(tile, B, C, False, transpose_B, policy, clear_accum, None, annotations, k_pack=k_pack)


def _sizes(region: TensorRegion, transposed: bool) -> tuple[int, int]:
    """The sizes along M and K of a tile."""
    sizes = extents(region)
    if len(sizes) < 2 or not all(isinstance(size, int) for size in sizes) or any(size != 1 for size in sizes[:-2]):
        raise LanguageError(
            f"{SUBJECT}: {region.source.name} is not a matrix",
            found=describe(region),
            expected="two axes of constant size, and leading axes of extent 1 only",
        )
    rows, columns = sizes[-2:]
    return (columns, rows) if transposed else (rows, columns)


def _check(kept: TensorRegion, places: TensorRegion, transpose_a: bool, transpose_e: bool) -> tuple[int, int]:
    """The number of rows, and how many elements of a row a group has."""
    (rows, half), (rows_of_places, words) = _sizes(kept, transpose_a), _sizes(places, transpose_e)
    kind, word = DType(kind_of(kept)), DType(kind_of(places))
    if word.is_float or word.bits not in (8, 16, 32):
        raise LanguageError(f"{SUBJECT}: E holds {word}", expected="int8, int16 or int32, signed or unsigned")
    if kind.bits not in (8, 16, 32):
        raise LanguageError(f"{SUBJECT}: A_sparse holds {kind}", expected="elements of 8, 16 or 32 bits")
    group = 2 if kind.bits == 32 else 4
    per_word = word.bits // FIELD * group
    if rows != rows_of_places or 2 * half != words * per_word:
        raise LanguageError(
            f"{SUBJECT}: E has not the places of A_sparse",
            found=f"A_sparse {describe(kept)} of {kind}, E {describe(places)} of {word}",
            expected=f"[M, K / 2] and [M, K / {per_word}]",
        )
    return rows, group


def _field(places: TensorRegion, row: Any, index: Any, transposed: bool) -> Any:
    """The four bits of a group, as int32."""
    bits = DType(kind_of(places)).bits
    per_word = const(bits // FIELD, "int32")
    word_index = tirx.floordiv(index, per_word)
    where = element_indices(places, *((word_index, row) if transposed else (row, word_index)))
    word = convert(load(places.source, where), "int32")
    shift = tirx.floormod(index, per_word) * const(FIELD, "int32")
    return tirx.bitwise_and(tirx.shift_right(word, shift), const(2**FIELD - 1, "int32"))


def _element(kept: TensorRegion, row: Any, index: Any, number: int, group: int, transposed: bool) -> Any:
    """Element ``number`` of those that are kept of a group."""
    column = index * const(group // 2, "int32") + const(number, "int32")
    return load(kept.source, element_indices(kept, *((column, row) if transposed else (row, column))))


def _group(tile: Var, row: Any, index: Any, field: Any, elements: list[Any], span: Any) -> Stmt:
    """Writes a group of a row with its zeros."""
    group, kind = 2 * len(elements), str(tile.dtype)
    bound, low = Var("field", "int32"), Var("first", "int32")
    binds: list[Stmt] = [Bind(bound, field, span=span)]
    values = [Var(f"kept_{n}", element.ty) for n, element in enumerate(elements)]
    binds += [Bind(value, element, span=span) for value, element in zip(values, elements, strict=True)]
    first = tirx.bitwise_and(bound, const(3, "int32"))
    second = tirx.shift_right(bound, const(2, "int32"))
    places = [first, second] if group == 4 else [tirx.shift_right(first, const(1, "int32"))]
    binds.append(Bind(low, places[0], span=span))
    places[0] = low
    stores = []
    for n in range(group):
        value: Any = cast(const(0, "float32"), kind) if DType(kind).is_float else const(0, kind)
        for place, element in reversed(list(zip(places, values, strict=True))):
            value = select(EQ(place, const(n, "int32")), element, value)
        column = index * const(group, "int32") + const(n, "int32")
        stores.append(store(tile, value, [row, column], span))
    return seq([*binds, *stores])
