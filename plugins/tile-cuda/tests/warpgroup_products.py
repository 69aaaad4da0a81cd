"""All matrix products of a warpgroup that the header has, and kernels that use each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

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
    """Uses both forms in every order of axes that they have."""
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
