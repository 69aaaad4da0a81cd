"""Layouts that kernels ask for with T.annotate_layout: swizzled, linear, or by a function of one's own.

Plain objects, made without TVM: ``layout.map_forward_index([i, j])`` gives where element (i, j) lies, for ints and for
expressions of a kernel alike. Targets whose memory has no banks pass over them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.errors import LanguageError, WrongTypeError
from tilecore.language.layouts import Fragment, Layout
from tilecore.module_names.submodules import submodules_of

__path__: list[str] = []  # a package whose modules are names of others (tilecore/module_names/table.py)
__getattr__ = submodules_of(__name__)

__all__ = [
    "Fragment",
    "Layout",
    "SwizzleMode",
    "make_full_bank_swizzled_layout",
    "make_fully_replicated_layout_fragment",
    "make_gemm_fragment_8x8",
    "make_gemm_fragment_8x8_transposed",
    "make_half_bank_swizzled_layout",
    "make_linear_layout",
    "make_quarter_bank_swizzled_layout",
    "make_swizzled_layout",
    "make_wgmma_swizzled_layout",
]

CHUNK_BYTES = 16  # what one thread reads at once, and what a swizzle moves


class SwizzleMode(Enum):
    """How many bytes of a row the chunks of 16 bytes are permuted within."""

    NONE = 0
    QUARTER = 32
    HALF = 64
    FULL = 128

    def is_none(self) -> bool:
        return self is SwizzleMode.NONE

    def is_swizzle_32b(self) -> bool:
        return self is SwizzleMode.QUARTER

    def is_swizzle_64b(self) -> bool:
        return self is SwizzleMode.HALF

    def is_swizzle_128b(self) -> bool:
        return self is SwizzleMode.FULL

    def swizzle_byte_size(self) -> int:
        return self.value or CHUNK_BYTES

    def swizzle_atom_size(self) -> int:
        """Rows after which the permutation repeats."""
        return 8


@dataclass(frozen=True)
class _Tile:
    """A tile by its sizes and the bits of its elements, in place of a buffer."""

    shape: tuple[int, int]
    bits: int


def _tile(buffer: Any, continuous: int | None, element_size: int | None) -> Any:
    """The buffer, or the tile of ``buffer`` rows of ``continuous`` elements of ``element_size`` bits."""
    return buffer if continuous is None or element_size is None else _Tile((int(buffer), continuous), element_size)


def _facts(buffer: Any, function_name: str) -> tuple[tuple[int, ...], int]:
    """Shape and bits of an element of a buffer."""
    if isinstance(buffer, _Tile):
        return buffer.shape, buffer.bits
    shape, kind = getattr(buffer, "shape", None), getattr(buffer, "dtype", None)
    if shape is None or kind is None:
        raise WrongTypeError(f"{function_name} takes a buffer", found=type(buffer).__name__)
    return tuple(int(size) for size in shape), DType(str(kind)).bits


def _swizzled(buffer: Any, mode: SwizzleMode, function_name: str) -> Layout:
    """Chunk c of row r goes to place c ^ g, g the number of the 128 bytes that r lies in, within the mode's bytes.

    The last two axes are rows and columns; a row wider than the mode's bytes is made of panels of that width.
    """
    shape, bits = _facts(buffer, function_name)
    if len(shape) < 2 or shape[-1] * bits % (mode.value * 8):
        raise LanguageError(
            f"{function_name}: rows of {shape[-1] * bits // 8} bytes",
            found=f"shape {shape} of {bits} bits",
            expected=f"two axes, and rows of a multiple of {mode.value} bytes",
        )
    chunk = CHUNK_BYTES * 8 // bits
    chunks, rows_together = mode.value // CHUNK_BYTES, SwizzleMode.FULL.value // mode.value

    def forward(*indices: Any) -> list[Any]:
        *outer, row, column = indices
        panel, within = column // (chunk * chunks), column % (chunk * chunks)
        place = (within // chunk) ^ (row // rows_together % chunks)
        return [*outer, row, panel * (chunk * chunks) + place * chunk + within % chunk]

    return Layout(shape, forward)


def make_full_bank_swizzled_layout(
    buffer: Any, continuous: int | None = None, element_size: int | None = None
) -> Layout:
    """Chunks permuted within 128 bytes: 8 rows read down a column touch all banks. Takes a buffer, or rows, elements
    of a row and the bits of an element."""
    tile = _tile(buffer, continuous, element_size)
    return _swizzled(tile, SwizzleMode.FULL, "make_full_bank_swizzled_layout")


def make_half_bank_swizzled_layout(
    buffer: Any, continuous: int | None = None, element_size: int | None = None
) -> Layout:
    """Chunks permuted within 64 bytes; arguments as for the full one."""
    tile = _tile(buffer, continuous, element_size)
    return _swizzled(tile, SwizzleMode.HALF, "make_half_bank_swizzled_layout")


def make_quarter_bank_swizzled_layout(
    buffer: Any, continuous: int | None = None, element_size: int | None = None
) -> Layout:
    """Chunks permuted within 32 bytes; arguments as for the full one."""
    tile = _tile(buffer, continuous, element_size)
    return _swizzled(tile, SwizzleMode.QUARTER, "make_quarter_bank_swizzled_layout")


def make_swizzled_layout(buffer: Any, k_major: bool = True, allow_pad: bool = True) -> Layout:
    """The widest swizzle that the buffer's rows are a multiple of; plain rows when there is none.

    k_major, allow_pad: hints.
    """
    shape, bits = _facts(buffer, "make_swizzled_layout")
    for mode in (SwizzleMode.FULL, SwizzleMode.HALF, SwizzleMode.QUARTER):
        if len(shape) >= 2 and shape[-1] * bits % (mode.value * 8) == 0:
            return _swizzled(buffer, mode, "make_swizzled_layout")
    return make_linear_layout(buffer)


def make_wgmma_swizzled_layout(buffer: Any, continuity: int | None = None, k_major: bool = True) -> Layout:
    """:func:`make_swizzled_layout`, which matrix instructions that read tiles in memory take. continuity: a hint."""
    return make_swizzled_layout(buffer, k_major)


def make_gemm_fragment_8x8() -> Fragment:
    """The tile of 8 x 8 elements that a warp of 32 threads holds, two neighbours of a row each."""
    return Fragment((8, 8), forward_thread_fn=lambda i, j: i * 4 + j // 2, forward_index_fn=lambda i, j: j % 2)


def make_gemm_fragment_8x8_transposed() -> Fragment:
    """The same, with two neighbours of a column each."""
    return Fragment((8, 8), forward_thread_fn=lambda i, j: j * 4 + i // 2, forward_index_fn=lambda i, j: i % 2)


def make_fully_replicated_layout_fragment(buffer: Any, threads: int) -> Fragment:
    """Every one of ``threads`` threads holds the whole tile, row by row. Takes a buffer or a shape."""
    place = make_linear_layout(buffer)
    return Fragment(
        place.shape,
        forward_thread_fn=lambda *indices: indices[-1],
        forward_index_fn=lambda *indices: place.map_forward_index(indices)[0],
        replicate=threads,
    )


def make_linear_layout(buffer: Any) -> Layout:
    """Row by row, as buffers lie when nothing is asked for. Takes a buffer or a shape."""
    shape = (
        tuple(int(s) for s in buffer) if isinstance(buffer, (tuple, list)) else _facts(buffer, "make_linear_layout")[0]
    )
    strides = _row_major(shape)

    def forward(*indices: Any) -> list[Any]:
        offset: Any = 0
        for index, stride in zip(indices, strides, strict=True):
            offset = offset + index * stride
        return [offset]

    return Layout(shape, forward)


def _row_major(shape: Sequence[int]) -> list[int]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return list(reversed(strides))
