"""The shapes of benchmarks/h200_defaults.py, written down before any of them was measured.

Products: twelve numbers of rows for each of five combinations of element type and layout; columns and depth go through
twelve sizes each, as in a Latin square, so that every size of one meets small and large ones of the other. float8 has B
as rows of K alone, which is what cuBLAS takes. Attention: five for each size of heads, of them one of a single new
query (decoding), plain and causal, with and without groups of heads.
"""

from __future__ import annotations

from typing import NamedTuple


class Gemm(NamedTuple):
    """C [M, N] = A [M, K] @ B, which is [K, N] for layout "NN" and [N, K] for "NT"."""

    dtype: str
    layout: str
    M: int
    N: int
    K: int

    def __str__(self) -> str:
        return f"{self.dtype} {self.layout} {self.M}x{self.N}x{self.K}"


class Attention(NamedTuple):
    """``queries`` is the number of keys, or 1 for decoding, which is never causal."""

    dtype: str
    batch: int
    heads: int
    kv_heads: int
    queries: int
    keys: int
    dim: int
    dim_v: int
    causal: bool

    def __str__(self) -> str:
        dims = f"{self.dim}" if self.dim == self.dim_v else f"{self.dim}/{self.dim_v}"
        kind = "causal" if self.causal else "decode" if self.queries < self.keys else "plain"
        heads = f"H{self.heads}/{self.kv_heads}"
        return f"{self.dtype} B{self.batch} {heads} S{self.keys} D{dims} {kind}"


_GEMMS = {
    ("float16", "NN"): (
        (1, 2048, 4096), (16, 8192, 28672), (17, 512, 7168),
        (64, 5120, 1024), (128, 18944, 11008), (256, 3584, 3584),
        (512, 11008, 18944), (1024, 1024, 5120), (2048, 7168, 512),
        (4096, 28672, 8192), (8192, 4096, 2048), (16384, 14336, 14336),
    ),
    ("bfloat16", "NT"): (
        (1, 14336, 14336), (16, 2048, 4096), (17, 8192, 28672),
        (64, 512, 7168), (128, 5120, 1024), (256, 18944, 11008),
        (512, 3584, 3584), (1024, 11008, 18944), (2048, 1024, 5120),
        (4096, 7168, 512), (8192, 28672, 8192), (16384, 4096, 2048),
    ),
    ("float8_e4m3fn", "NT"): (
        (1, 4096, 2048), (16, 14336, 14336), (17, 2048, 4096),
        (64, 8192, 28672), (128, 512, 7168), (256, 5120, 1024),
        (512, 18944, 11008), (1024, 3584, 3584), (2048, 11008, 18944),
        (4096, 1024, 5120), (8192, 7168, 512), (16384, 28672, 8192),
    ),
    ("float16", "NT"): (
        (1, 28672, 8192), (16, 4096, 2048), (17, 14336, 14336),
        (64, 2048, 4096), (128, 8192, 28672), (256, 512, 7168),
        (512, 5120, 1024), (1024, 18944, 11008), (2048, 3584, 3584),
        (4096, 11008, 18944), (8192, 1024, 5120), (16384, 7168, 512),
    ),
    ("bfloat16", "NN"): (
        (1, 7168, 512), (16, 28672, 8192), (17, 4096, 2048),
        (64, 14336, 14336), (128, 2048, 4096), (256, 8192, 28672),
        (512, 512, 7168), (1024, 5120, 1024), (2048, 18944, 11008),
        (4096, 3584, 3584), (8192, 11008, 18944), (16384, 1024, 5120),
    ),
}  # fmt: skip
GEMMS = [Gemm(dtype, layout, *sizes) for (dtype, layout), shapes in _GEMMS.items() for sizes in shapes]

_ATTENTIONS = (  # batch, heads, kv_heads, queries, keys, dim, dim_v, causal
    (1, 16, 16, 1, 1, 64, 64, False), (8, 32, 32, 2048, 2048, 64, 64, True),
    (2, 32, 8, 8192, 8192, 64, 64, False), (16, 16, 16, 512, 512, 64, 64, False),
    (16, 32, 8, 1, 4096, 64, 64, False), (1, 32, 32, 1024, 1024, 80, 80, True),
    (4, 32, 32, 2048, 2048, 80, 80, False), (1, 16, 16, 4096, 4096, 80, 80, True),
    (2, 32, 32, 300, 300, 80, 80, False), (8, 32, 32, 1, 2048, 80, 80, False),
    (1, 32, 32, 128, 128, 96, 96, True), (2, 32, 32, 4096, 4096, 96, 96, True),
    (1, 32, 8, 8192, 8192, 96, 96, False), (8, 16, 16, 1024, 1024, 96, 96, False),
    (4, 32, 32, 1, 8192, 96, 96, False), (1, 32, 8, 32768, 32768, 128, 128, True),
    (4, 32, 32, 4096, 4096, 128, 128, False), (1, 64, 8, 1000, 1000, 128, 128, True),
    (2, 16, 16, 17, 17, 128, 128, False), (1, 64, 8, 1, 32768, 128, 128, False),
    (1, 128, 128, 4096, 4096, 192, 128, True), (2, 16, 16, 2048, 2048, 192, 128, False),
    (1, 16, 16, 512, 512, 192, 128, True), (1, 32, 32, 16384, 16384, 192, 128, True),
    (4, 16, 16, 1, 1000, 192, 128, False), (2, 16, 16, 4096, 4096, 256, 256, False),
    (1, 16, 4, 8192, 8192, 256, 256, True), (4, 8, 8, 1024, 1024, 256, 256, True),
    (1, 8, 1, 64, 64, 256, 256, False), (32, 16, 4, 1, 2048, 256, 256, False),
)  # fmt: skip
ATTENTIONS = [Attention(("float16", "bfloat16")[number % 2], *sizes) for number, sizes in enumerate(_ATTENTIONS)]
