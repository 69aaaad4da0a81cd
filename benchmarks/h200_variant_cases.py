"""The cases and variants of h200_product_variants.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from h200_measure import example

from tilecore import heuristics

TARGET = "cuda -arch=sm_90a"
Tensors = tuple[tuple[Any, ...], dict[str, Callable[[], Any]], Any]


@dataclass(frozen=True)
class Variant:
    """arguments: of the example's function; passes: names of tilecore.PassConfigKey and their values."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    passes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """A product.

    example: the module of examples/ and its function; sizes, fixed: its arguments of all variants. tensors: makes the
    inputs, the libraries' calls (torch first) and what is right, in float32. tolerance: of the largest value.
    """

    name: str
    example: str
    sizes: tuple[int, ...]
    fixed: dict[str, Any]
    variants: tuple[Variant, ...]
    operations: float
    tensors: Callable[[], Tensors]
    tolerance: float
    clock: str = "row"
    launches: int = 10


def tile(m: int, n: int, k: int, stages: int, threads: int, **more: Any) -> dict[str, Any]:
    return {"block_M": m, "block_N": n, "block_K": k, "stages": stages, "threads": threads, **more}


def proposed(m: int, n: int, k: int, dtype: str, layout: str, count: int) -> list[Variant]:
    out = "bfloat16" if "float8" in dtype else dtype
    proposals = heuristics.gemm(m, n, k, dtype, out, layout, target=TARGET, count=count)
    words = [" ".join(str(value) for value in p.config.values()) for p in proposals]
    return [Variant(f"proposal {i + 1}: {w}", p.config) for i, (p, w) in enumerate(zip(proposals, words, strict=True))]


def gemm_tensors(m: int, n: int, k: int, dtype: str, layout: str) -> Tensors:
    import torch

    kind = getattr(torch, dtype)
    a = torch.randn((k, m) if layout[0] == "T" else (m, k), device="cuda").to(kind)
    b = torch.randn((n, k) if layout[1] == "T" else (k, n), device="cuda").to(kind)
    x, y = (a.t() if layout[0] == "T" else a), (b.t() if layout[1] == "T" else b)
    expected = x.double() @ y.double() if dtype == "float32" and m <= 1024 else x.float() @ y.float()
    if "float8" not in dtype:
        out = torch.empty(m, n, device="cuda", dtype=kind)
        return (a, b), {"torch": lambda: torch.mm(x, y, out=out)}, expected.float()
    one = torch.tensor(1.0, device="cuda")
    options = {"scale_a": one, "scale_b": one, "out_dtype": torch.bfloat16, "use_fast_accum": True}
    return (a, b), {"torch": lambda: torch._scaled_mm(x, y, **options)}, expected


def gemm_case(
    sizes: tuple[int, int, int], dtype: str, layout: str, variants: list[Variant], clock: str, launches: int
) -> Case:
    tolerance = {"float32": 1e-5, "float16": 2e-3}.get(dtype, 1e-2)
    name = f"gemm {dtype} {layout} {'x'.join(map(str, sizes))}"
    return Case(
        name, "gemm", sizes, {"dtype": dtype, "layout": layout}, tuple(variants), 2.0 * sizes[0] * sizes[1] * sizes[2],
        lambda: gemm_tensors(*sizes, dtype, layout), tolerance, clock, launches,
    )  # fmt: skip


def sgemm() -> list[Case]:
    """float32 by multiply-adds: thread tiles of 8 x 16, 8 x 8 and 8 x 4; loads by a producer warp or by all threads."""
    by_threads = {"TL_DISABLE_WARP_SPECIALIZED": True}
    large = [
        Variant("128x256x32, 4 stages, 256", tile(128, 256, 32, 4, 256)),
        Variant("256x128x32, 4 stages, 256", tile(256, 128, 32, 4, 256)),
        Variant("128x128x32, 4 stages, 256", tile(128, 128, 32, 4, 256)),
        Variant("128x128x32, 2 stages, 128", tile(128, 128, 32, 2, 128)),
        Variant("128x128x32, 3 stages, 256, loads by threads", tile(128, 128, 32, 3, 256), by_threads),
        Variant("128x128x16, 3 stages, 256, loads by threads", tile(128, 128, 16, 3, 256), by_threads),
    ]
    small = [
        Variant("128x128x32, 4 stages, 256, clusters of 2", tile(128, 128, 32, 4, 256)),
        Variant("128x128x32, 4 stages, 256, not shared", tile(128, 128, 32, 4, 256), {"TL_SPLIT_K": 1}),
        Variant("128x64x32, 4 stages, 256", tile(128, 64, 32, 4, 256)),
        Variant("128x64x32, 4 stages, 128", tile(128, 64, 32, 4, 128)),
        Variant("64x64x32, 4 stages, 128", tile(64, 64, 32, 4, 128)),
        Variant("64x64x32, 4 stages, 64", tile(64, 64, 32, 4, 64)),
        Variant("128x256x32, 4 stages, 256, clusters of 4", tile(128, 256, 32, 4, 256)),
        Variant("64x64x32, 3 stages, 128, loads by threads", tile(64, 64, 32, 3, 128), by_threads),
    ]
    cases = [gemm_case((1024,) * 3, "float32", layout, small, "row", 20) for layout in ("NN", "NT", "TN")]
    cases += [gemm_case((2048,) * 3, "float32", layout, large, "row", 5) for layout in ("NN", "NT")]
    return cases + [gemm_case((4096,) * 3, "float32", layout, large[:4], "row", 2) for layout in ("NN", "NT")]


FEW = [
    (512, 3584, 3584, "bfloat16", "NT"), (1024, 1024, 5120, "float16", "NN"), (2048, 1024, 5120, "bfloat16", "NT"),
    (256, 3584, 3584, "float16", "NN"), (512, 512, 7168, "bfloat16", "NN"),
]  # fmt: skip


def few() -> list[Case]:
    """Few tiles and long sums: pairs of blocks, overlapped products, slices of shared sums, a second kernel."""
    alone, overlap = {"TL_BLOCK_PAIRS": False}, {"TL_DISABLE_PRODUCT_OVERLAP": False}
    square, wide = tile(128, 128, 64, 6, 256), tile(128, 256, 64, 4, 256)
    variants = [
        Variant("128x128x64, 6 stages, 256", square),
        Variant("128x128x64, 6 stages, 256, no pairs", square, alone),
        Variant("128x128x64, 6 stages, 256, overlap", square, overlap),
        Variant("128x128x64, 6 stages, 256, no pairs, overlap", square, alone | overlap),
        Variant("128x128x128, 3 stages, 256", tile(128, 128, 128, 3, 256)),
        Variant("128x128x64, 6 stages, 256, K in 2", square | {"split_k": 2}),
        Variant("128x224x64, 4 stages, 256", tile(128, 224, 64, 4, 256)),
        Variant("128x256x64, 4 stages, 256", wide),
        Variant("128x256x64, 4 stages, 256, overlap", wide, overlap),
        Variant("64x128x128, 4 stages, 128", tile(64, 128, 128, 4, 128)),
    ]
    return [
        gemm_case((m, n, k), dtype, layout, proposed(m, n, k, dtype, layout, 3) + variants, "cold", 1)
        for m, n, k, dtype, layout in FEW
    ]


def large() -> list[Case]:
    """Large products, limited by power, and those of few rows, limited by memory.

    "stream-K": the tiles beyond whole rounds of 132 blocks are divided along K. Its grid is these blocks, not tiles, so
    they form no pairs."""
    pairs = {"TL_BLOCK_PAIRS": True}
    wide, high, streams = tile(128, 256, 64, 4, 256), tile(256, 128, 64, 4, 256), {"stream_k": 132}
    square, low = tile(192, 192, 64, 4, 384), tile(192, 128, 64, 4, 384)
    variants = [
        Variant("128x256x64, 4 stages", wide),
        Variant("256x128x64, 4 stages", high),
        Variant("128x256x64, 4 stages, pairs", wide, pairs),
        Variant("256x128x64, 4 stages, pairs", high, pairs),
        Variant("128x256x64, 4 stages, stream-K", wide | streams),
        Variant("256x128x64, 4 stages, stream-K", high | streams),
        Variant("192x192x64, 4 stages, 384", square),
        Variant("192x192x64, 4 stages, 384, stream-K", square | streams),
        Variant("192x128x64, 4 stages, 384", low),
        Variant("192x128x64, 4 stages, 384, stream-K", low | streams),
        Variant("192x128x64, 5 stages, 384, as the grid says", low | {"stages": 5}),
        Variant("128x256x128, 2 stages", tile(128, 256, 128, 2, 256)),
        Variant("128x256x64, 4 stages, panels of 16", wide | {"panel": 16}),
        Variant("128x256x64, 4 stages, panels of 4", wide | {"panel": 4}),
        Variant("192x256x64, 3 stages, 384", tile(192, 256, 64, 3, 384)),
    ]
    in_fp8 = [
        Variant(v.name.replace("x64", "x128"), v.arguments | {"block_K": 128}, v.passes) for v in variants[:11]
    ]  # fmt: skip
    cases = [
        gemm_case((3072, 3072, 3072), "float16", "NN", variants[:11], "row", 20),
        gemm_case((4096, 4096, 4096), "float16", "NN", variants, "row", 10),
        gemm_case((8192, 8192, 8192), "float16", "NN", variants, "row", 3),
        gemm_case((16384, 4096, 4096), "float16", "NN", variants, "row", 4),
        gemm_case((8192, 8192, 8192), "float8_e4m3fn", "NT", in_fp8, "row", 3),
    ]
    rows = [Variant(f"64x128x64, 6 stages, K in {s}", tile(64, 128, 64, 6, 128, split_k=s)) for s in (1, 2, 4)]
    for sizes in ((16, 8192, 8192), (64, 4096, 14336)):
        cases.append(gemm_case(sizes, "float16", "NN", proposed(*sizes, "float16", "NN", 5) + rows, "cold", 1))
    return cases


PAIRED = [
    (4096, 4096, 4096, "float16", "NN"), (4096, 4096, 4096, "float16", "NT"), (8192, 8192, 2048, "bfloat16", "NT"),
    (2048, 8192, 8192, "float16", "NN"), (4096, 28672, 4096, "bfloat16", "NT"), (4096, 4096, 14336, "bfloat16", "NT"),
    (16384, 1024, 4096, "float16", "NN"), (8192, 3584, 18944, "bfloat16", "NT"), (3072, 3072, 3072, "float16", "NN"),
    (2048, 4096, 4096, "bfloat16", "NT"),
]  # fmt: skip


def pairs() -> list[Case]:
    """Products of several waves by single blocks and by pairs that share loads; M 64 by ways to divide K."""
    cases = []
    for m, n, k, dtype, layout in PAIRED:
        depth = 128 if "float8" in dtype else 64
        variants = [
            Variant(f"{bm}x{bn}x{depth}, 4 stages{name}", tile(bm, bn, depth, 4, 256), {"TL_BLOCK_PAIRS": value})
            for bm, bn in ((128, 256), (256, 128)) for value, name in ((False, ""), (True, ", pairs"))
        ]  # fmt: skip
        launches = max(2, min(20, round(2e12 / (2.0 * m * n * k))))
        cases += [gemm_case((m, n, k), dtype, layout, variants, clock, launches if clock == "row" else 1)
                  for clock in ("row", "cold")]  # fmt: skip
    few = [
        Variant(f"64x{n}x{k}, {stages} stages, K in {split}, clusters of {parts}",
                tile(64, n, k, stages, 128, split_k=split), {"TL_SPLIT_K": parts})
        for n, k, stages in ((128, 64, 6), (128, 128, 4), (64, 128, 6))
        for split, parts in ((1, 1), (1, 2), (1, 4), (2, 1), (2, 2), (4, 1), (8, 1))
    ]  # fmt: skip
    for sizes in ((64, 4096, 14336), (16, 8192, 8192)):
        cases += [gemm_case(sizes, "float16", "NN", few, "row", 5), gemm_case(sizes, "float16", "NN", few, "cold", 1)]
    return cases


def scaled_tensors(m: int, n: int, k: int) -> Tensors:
    import torch
    from h200_triton_scaled import triton_scaled

    module = example("block_scaled_gemm")
    a, sa = module.quantize(torch.randn(m, k, device="cuda"), 1, "float8_e4m3fn")
    b, sb = module.quantize(torch.randn(n, k, device="cuda"), 128, "float8_e4m3fn")
    sa_t, out = sa.t().contiguous(), torch.bfloat16

    def of_torch() -> Any:
        return torch._scaled_mm(a, b.t(), scale_a=sa_t.t(), scale_b=sb.t(), out_dtype=out)

    one = torch.tensor(1.0, device="cuda")
    peers = {"torch": of_torch, "triton": triton_scaled(a, b, sa_t, sb)}
    expected = module.dequantize(a, sa, 1) @ module.dequantize(b, sb, 128).t()
    peers["torch, one scale (other numbers)"] = lambda: torch._scaled_mm(
        a, b.t(), scale_a=one * sa.mean(), scale_b=one * sb.mean(), out_dtype=out, use_fast_accum=True
    )
    return (a, b, sa_t, sb), peers, expected


def scaled() -> list[Case]:
    variants = (
        Variant("4 stages", {}), Variant("5 stages", {"stages": 5}), Variant("64 rows, 6 stages", {"block_M": 64,
        "stages": 6, "threads": 128}), Variant("128 rows, one warpgroup", {"threads": 128}),
    )  # fmt: skip
    return [
        Case(f"fp8 with scales {m}x{n}x{k}", "block_scaled_gemm", (m, n, k), {}, variants, 2.0 * m * n * k,
             lambda m=m, n=n, k=k: scaled_tensors(m, n, k), 1e-2, clock, launches)
        for m, n, k, clock, launches in (
            (4096, 4096, 7168, "row", 5), (4096, 7168, 2048, "row", 5), (64, 7168, 2048, "cold", 1),
        )
    ]  # fmt: skip


def grouped_tensors(experts: int, n: int, k: int, sizes: list[int]) -> Tensors:
    import torch
    from h200_triton_scaled import triton_grouped

    starts = torch.tensor([0, *torch.tensor(sizes).cumsum(0).tolist()], dtype=torch.int32, device="cuda")
    x = torch.randn(sum(sizes), k, device="cuda").bfloat16()
    w = (torch.randn(experts, k, n, device="cuda") / k**0.5).bfloat16()
    parts = torch.split(x, sizes)
    expected = torch.cat([part.float() @ weight.float() for part, weight in zip(parts, w, strict=True)])
    peers = {
        "torch": lambda: torch._grouped_mm(x, w, offs=starts[1:]),
        "triton": triton_grouped(x, w, starts),
    }
    return (x, w, starts), peers, expected


def grouped() -> list[Case]:
    import random

    variants = (
        Variant("64x128x64, 4 stages, 128", tile(64, 128, 64, 4, 128)),
        Variant("128x128x64, 4 stages, 256", tile(128, 128, 64, 4, 256)),
        Variant("128x256x64, 4 stages, 256", tile(128, 256, 64, 4, 256)),
        Variant("128x256x64, 3 stages, 256", tile(128, 256, 64, 3, 256)),
    )
    cases = []
    for experts, n, k, tokens in ((8, 4096, 4096, 8192), (64, 2048, 4096, 16384)):
        shares = [random.Random(experts + i).random() for i in range(experts)]
        sizes = [int(tokens * share / sum(shares)) for share in shares]
        amount = 2.0 * sum(sizes) * n * k
        cases.append(
            Case(f"grouped bf16 {experts} experts {n}x{k}", "grouped_gemm", (experts, n, k), {"dtype": "bfloat16"},
                 variants, amount, lambda e=experts, n=n, k=k, s=sizes: grouped_tensors(e, n, k, s), 1e-2, "row", 5)
        )  # fmt: skip
    return cases


CASES: dict[str, Callable[[], list[Case]]] = {
    "sgemm": sgemm, "few": few, "large": large, "pairs": pairs, "scaled": scaled, "grouped": grouped,
}  # fmt: skip
