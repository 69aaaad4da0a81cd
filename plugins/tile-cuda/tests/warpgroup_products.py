"""All wgmma instructions of the header, and kernels that use each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

ELEMENTS = {
    "f16": "tc_half", "bf16": "tc_bfloat16", "tf32": "float", "e4m3": "tc_fp8_e4m3", "e5m2": "tc_fp8_e5m2",
    "s8": "signed char", "u8": "unsigned char", "f32": "float", "s32": "int",
}  # fmt: skip
SIZES = {"f16": 2, "bf16": 2, "tf32": 4, "e4m3": 1, "e5m2": 1, "s8": 1, "u8": 1}  # bytes of an operand's element
ALL_N = tuple(range(8, 257, 8))
INTEGER_N = (8, 16, 24, 32, *range(48, 257, 16))  # PTX ISA, "wgmma.mma_async", shapes of .s32


@dataclass(frozen=True)
class Product:
    """64 x n by k; a, b, c: types of the operands and of the sums, as in the instruction's name."""

    n: int
    a: str
    b: str
    c: str

    @property
    def k(self) -> int:
        return 32 // SIZES[self.a]

    @property
    def name(self) -> str:
        return f"n{self.n}k{self.k}_{self.a}_{self.b}_{self.c}"

    @property
    def macro(self) -> str:
        return f"TC_WGMMA({self.n}, {self.k}, {self.a}, {self.b}, {self.c})"


def types() -> Iterator[tuple[str, str, str]]:
    """(a, b, c) of every instruction."""
    yield from (("f16", "f16", "f32"), ("f16", "f16", "f16"), ("bf16", "bf16", "f32"), ("tf32", "tf32", "f32"))
    yield from ((a, b, c) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2") for c in ("f32", "f16"))
    yield from ((a, b, "s32") for a in ("s8", "u8") for b in ("s8", "u8"))


def sizes_of(c: str) -> tuple[int, ...]:
    return INTEGER_N if c == "s32" else ALL_N


def compiled_kernel(product: Product) -> str:
    """The kernel that uses both forms with every storage order that they support."""
    d, a = ELEMENTS[product.c], ELEMENTS[product.a]
    orders = ("false", "true") if SIZES[product.a] == 2 else ("false",)
    calls = [f"tc_wgmma_{product.name}<{x}, {y}>(d, A, B, add);" for x in orders for y in orders]
    calls += [f"tc_wgmma_held_{product.name}<{y}>(d, held, B, true);" for y in orders]
    body = "\n  ".join(calls)
    return f"""{product.macro}
extern "C" __global__ void __launch_bounds__(128) u_{product.name}({d}* out, const {a}* in, bool add) {{
  TC_SHARED(shared);
  alignas(16) {d} d[{product.n // 2}] = {{}};
  alignas(16) {a} held[{16 // SIZES[product.a]}];
  for (int i = 0; i < {16 // SIZES[product.a]}; ++i) held[i] = in[i + threadIdx.x];
  const tc_operand_t A = tc_operand(shared, 16, 1024, 1), B = tc_operand(shared + 8192, 16, 1024, 1);
  tc_warpgroup_begin();
  {body}
  tc_warpgroup_commit();
  tc_warpgroup_wait<0>();
  tc_warpgroup_settle<{product.n // 2}>(d);
  for (int i = 0; i < {product.n // 2}; ++i) out[i * 128 + threadIdx.x] = d[i];
}}
"""


# -- products of given numbers: tiles laid out here, by the manual's canonical layouts ---------------------------------


@dataclass(frozen=True)
class Layout:
    """The layout of an operand's tile: swizzle 0 none, 1 of 128 bytes, 2 of 64, 3 of 32; turned: m or n is innermost.

    leading, stride: bytes, as the descriptor has them. start: of the tile in its memory.
    """

    swizzle: int
    turned: bool
    leading: int
    stride: int
    start: int = 0

    @property
    def span(self) -> int:
        return {0: 16, 1: 128, 2: 64, 3: 32}[self.swizzle]

    def place(self, row: int, k: int, size: int) -> int:
        """The byte of the element; PTX ISA, "Strides", "Canonical Layouts", in units of 16 bytes."""
        per = 16 // size
        if not self.turned:
            piece = k // per
            step = self.leading * piece if self.swizzle == 0 else 16 * piece
            at = row % 8 * self.span + row // 8 * self.stride + step + k % per * size
        elif self.swizzle == 0:
            at = row % per * size + row // per * self.stride + k % 8 * 16 + k // 8 * self.leading
        else:
            wide = self.span // size
            at = row % wide * size + row // wide * self.leading + k % 8 * self.span + k // 8 * self.stride
        at += self.start
        return at ^ (at >> 3 & (self.span - 16))


def layouts(rows: int, size: int, turned: bool) -> list[Layout]:
    """Of a tile of rows by 32 bytes: dense, with room between its parts, and inside of a larger tile."""
    if turned:
        dense = [Layout(0, True, 16 * rows, 128), Layout(0, True, 128, 256)]
        for swizzle, span in ((3, 32), (2, 64), (1, 128)):
            if rows * size % span == 0:  # in groups of 8 k by a row of the swizzle
                dense += [Layout(swizzle, True, 16 * span, 8 * span)]
                dense += [Layout(swizzle, True, 8 * span, 8 * span * (rows * size // span))]
        return dense
    row_major = [Layout(0, False, 128, 256), Layout(0, False, 16 * rows + 256, 128)]
    row_major += [Layout(3, False, 16, 256), Layout(2, False, 16, 512), Layout(1, False, 16, 1024)]
    row_major += [Layout(2, False, 16, 512, 32), Layout(1, False, 16, 1024, 32), Layout(1, False, 16, 1024, 96)]
    return [*row_major, Layout(1, False, 16, 2048, 64)]


TILE_BYTES = 34 * 1024  # of memory for one operand


def value_kernel(product: Product, turned_a: bool, turned_b: bool, a_in_registers: bool) -> tuple[str, str]:
    """(symbol, source) of a kernel of 128 threads: C += A B, with tiles that come as they lie in shared memory.

    layout: leading, stride, swizzle and start of A, the same of B, and whether to add.
    """
    d, a = ELEMENTS[product.c], ELEMENTS[product.a]
    symbol = f"v_{product.name}_{turned_a:d}{turned_b:d}{a_in_registers:d}"
    words = [str(bool(x)).lower() for x in (turned_a, turned_b)]
    call = f"tc_wgmma_{product.name}<{words[0]}, {words[1]}>(d, A_tile, B_tile, layout[8] != 0);"
    if a_in_registers:
        call = f"tc_wgmma_held_{product.name}<{words[1]}>(d, held, B_tile, layout[8] != 0);"
    per, count = 4 // SIZES[product.a], 16 // SIZES[product.a]
    return (
        symbol,
        f"""{product.macro}
extern "C" __global__ void __launch_bounds__(128) {symbol}(
    const unsigned* A, const unsigned* B, const {a}* H, {d}* C, const int* layout) {{
  TC_SHARED(shared);
  unsigned* words = (unsigned*)shared;
  const int tx = threadIdx.x, w = tx / 32, g = tx % 32 / 4, t = tx % 4;
  for (int i = tx; i < {TILE_BYTES // 4}; i += 128) {{
    words[i] = A[i];
    words[{TILE_BYTES // 4} + i] = B[i];
  }}
  alignas(16) {d} d[{product.n // 2}];
  alignas(16) {a} held[{count}];
  for (int i = 0; i < {product.n // 2}; ++i)
    d[i] = C[(16 * w + g + i / 2 % 2 * 8) * {product.n} + i / 4 * 8 + 2 * t + i % 2];
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < {per}; ++j)
      held[i * {per} + j] = H[(16 * w + g + i % 2 * 8) * {product.k} + i / 2 * {4 * per} + t * {per} + j];
  tc_fence_async();
  tc_barrier();
  const tc_operand_t A_tile = tc_operand(shared + layout[3], layout[0], layout[1], layout[2]);
  const tc_operand_t B_tile = tc_operand(shared + {TILE_BYTES} + layout[7], layout[4], layout[5], layout[6]);
  tc_warpgroup_begin();
  {call}
  tc_warpgroup_commit();
  tc_warpgroup_wait<0>();
  tc_warpgroup_settle<{product.n // 2}>(d);
  for (int i = 0; i < {product.n // 2}; ++i)
    C[(16 * w + g + i / 2 % 2 * 8) * {product.n} + i / 4 * 8 + 2 * t + i % 2] = d[i];
}}
""",
    )


NUMPY = {
    "f16": "float16", "bf16": "bfloat16", "tf32": "float32", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2",
    "s8": "int8", "u8": "uint8", "f32": "float32", "s32": "int32",
}  # fmt: skip


def dtype_of(kind: str) -> Any:
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, NUMPY[kind], None) or NUMPY[kind])


def image(tile: np.ndarray, layout: Layout) -> np.ndarray:
    """The tile (rows by k) as it lies in memory; what is between its parts is no number."""
    size = tile.dtype.itemsize
    memory = np.full(TILE_BYTES, 0x7F, np.uint8)
    raw = np.ascontiguousarray(tile).view(np.uint8).reshape(*tile.shape, size)
    for row in range(tile.shape[0]):
        for k in range(tile.shape[1]):
            at = layout.place(row, k, size)
            memory[at : at + size] = raw[row, k]
    return memory.view(np.uint32)


def problem(product: Product, of_a: Layout, of_b: Layout, add: bool) -> tuple[list[np.ndarray], np.ndarray]:
    """(arguments of the kernel, the sums that it must leave in C), in numbers that are exact in all types."""
    rng = np.random.default_rng(product.n)
    low = 0 if "u8" in (product.a, product.b) else -3
    a = rng.integers(low, 4, (64, product.k)).astype(dtype_of(product.a))
    b = rng.integers(low, 4, (product.n, product.k)).astype(dtype_of(product.b))
    c = rng.integers(-9, 10, (64, product.n)).astype(dtype_of(product.c))
    facts = [(x.leading, x.stride, x.swizzle, x.start) for x in (of_a, of_b)]
    places = np.array([*facts[0], *facts[1], int(add)], np.int32)
    exact = a.astype(np.float64) @ b.astype(np.float64).T + (c.astype(np.float64) if add else 0)
    return [image(a, of_a), image(b, of_b), a, c, places], exact.astype(c.dtype)
