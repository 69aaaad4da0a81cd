"""T.gemm: multiply two tiles and accumulate."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

from tilecore.dtypes import dtype as DType
from tilecore.errors import LanguageError
from tilecore.ir.attributes import CallAttr
from tilecore.language.conditions import as_condition
from tilecore.language.copies import emit
from tilecore.language.regions import describe, extents, kind_of, region_of, same_size
from tilecore.language.values import is_kernel_value

if TYPE_CHECKING:
    from tilecore.ir.nodes import TensorRegion


class GemmWarpPolicy(IntEnum):
    """How the warps of a block share the tile of C: in a square, along its rows, or along its columns."""

    Square = 0
    FullRow = 1
    FullCol = 2

    def is_square(self) -> bool:
        return self is GemmWarpPolicy.Square

    def is_full_row(self) -> bool:
        return self is GemmWarpPolicy.FullRow

    def is_full_col(self) -> bool:
        return self is GemmWarpPolicy.FullCol

    def compute_warp_partition(self, M: int, N: int, num_warps: int) -> tuple[int, int]:
        """How many warps TileLang's policy puts along the rows and along the columns of a tile of C, where a warp has
        at least 16 rows and 8 columns. Targets may divide the tile in another way."""
        most_rows, most_columns = max(M // 16, 1), max(N // 8, 1)
        if self is GemmWarpPolicy.FullRow:
            even = M % (16 * num_warps) == 0
            return (num_warps, 1) if even else (most_rows, max(num_warps // most_rows, 1))
        if self is GemmWarpPolicy.FullCol:
            even = N % (8 * num_warps) == 0
            return (1, num_warps) if even else (max(num_warps // most_columns, 1), most_columns)
        divisors = [rows for rows in range(1, min(M // 16, num_warps) + 1) if num_warps % rows == 0]
        partitions = [(rows, num_warps // rows) for rows in divisors if num_warps // rows <= N // 8]

        def distance(partition: tuple[int, int]) -> float:
            """How far the shape of a warp's part, in blocks of 16 rows and 8 columns, is from that of the tile."""
            rows, columns = partition
            return abs((M / (rows * 16)) / (N / (columns * 8)) - M / N)

        return min(partitions, key=distance, default=(1, 1))

    @classmethod
    def from_warp_partition(cls, m_warp: int, n_warp: int) -> GemmWarpPolicy:
        """The policy that puts so many warps along the rows and along the columns."""
        if (m_warp > 1) == (n_warp > 1):
            return cls.Square
        return cls.FullRow if m_warp > 1 else cls.FullCol


def gemm(
    A: Any,
    B: Any,
    C: Any,
    transpose_A: bool = False,
    transpose_B: bool = False,
    policy: GemmWarpPolicy = GemmWarpPolicy.Square,
    clear_accum: Any = False,
    mbar: Any = None,
    annotations: dict[str, Any] | None = None,
    *,
    k_pack: int = 1,
    wg_wait: int = 0,
) -> None:
    """``C += A @ B`` on tiles; accumulates in C's element type.

    A: [M, K] ([K, M] with transpose_A). B: [K, N] ([N, K] with transpose_B). C: [M, N]. Tiles are buffers or slices
    whose leading axes have extent 1. clear_accum: start from 0 rather than C; may be known only in the kernel.
    policy, k_pack: hints.
    """
    if mbar is not None:
        raise LanguageError(
            "T.gemm(mbar=...) is an option of one chip", hint="remove it: the statements that follow see C complete"
        )
    operands = product_operands("T.gemm", A, B, C, transpose_A, transpose_B, clear_accum, policy)
    hints = {CallAttr.K_PACK: k_pack if k_pack != 1 else None, **(annotations or {})}
    emit("gemm", operands, hints)


def product_operands(
    subject: str, A: Any, B: Any, C: Any, transpose_A: bool, transpose_B: bool, clear_accum: Any, policy: int
) -> list[Any]:
    """The operands of an operation that multiplies two tiles, in the order of the tile operation "gemm". Raises
    LanguageError where they do not go together."""
    a, b, c = (region_of(x, subject) for x in (A, B, C))
    m, k = _matrix(a, "A", transpose_A, subject)
    kb, n = _matrix(b, "B", transpose_B, subject)
    mc, nc = _matrix(c, "C", False, subject)
    for size, other, text in (
        (k, kb, "K of A ({}) does not match K of B ({})"),
        (m, mc, "M of A ({}) does not match M of C ({})"),
        (n, nc, "N of B ({}) does not match N of C ({})"),
    ):
        if not same_size(size, other):
            raise LanguageError(
                f"{subject}: " + text.format(size, other),
                found=f"A {describe(a)}, B {describe(b)}, C {describe(c)}"
                + f", transpose_A={bool(transpose_A)}, transpose_B={bool(transpose_B)}",
                expected="A [M, K] @ B [K, N] into C [M, N]",
            )
    if (kind_of(a).startswith("float64")) != (kind_of(b).startswith("float64")):
        raise LanguageError(
            f"{subject}: the element types of A and B do not match", found=f"{kind_of(a)} @ {kind_of(b)}"
        )
    if not _is_float(c) and (_is_float(a) or _is_float(b)):
        raise LanguageError(
            f"{subject} accumulates products of floats into an integer",
            found=f"{kind_of(a)} @ {kind_of(b)} into {kind_of(c)}",
            expected="a float accumulator",
        )
    clear = as_condition(clear_accum) if is_kernel_value(clear_accum) else bool(clear_accum)
    return [a, b, c, bool(transpose_A), bool(transpose_B), clear, _policy(policy, subject)]


def _policy(policy: Any, subject: str) -> int:
    try:
        return int(GemmWarpPolicy(policy))
    except ValueError:
        names = ", ".join(f"T.GemmWarpPolicy.{known.name}" for known in GemmWarpPolicy)
        raise LanguageError(f"{subject}: policy is {policy!r}", expected=f"one of {names}") from None


def _is_float(region: TensorRegion) -> bool:
    return DType(kind_of(region)).is_float


def _matrix(region: TensorRegion, name: str, transposed: bool, subject: str) -> tuple[Any, Any]:
    sizes = extents(region)
    if len(sizes) < 2 or any(not (isinstance(s, int) and s == 1) for s in sizes[:-2]):
        raise LanguageError(
            f"{subject}: {name} is not a matrix",
            found=describe(region),
            expected="two axes, and leading axes of extent 1 only",
        )
    rows, columns = sizes[-2:]
    return (columns, rows) if transposed else (rows, columns)
