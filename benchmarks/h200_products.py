"""Cases of benchmarks/h200.py: GEMMs in half precision, in fp8, with few rows, and with 4-bit weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from h200_measure import Case, example
from h200_peers import quack_gemm
from h200_triton import triton_matmul

LARGE = {
    "128x256, 4 stages": {"block_M": 128, "block_N": 256, "stages": 4, "threads": 256},
    "256x128, 4 stages": {"block_M": 256, "block_N": 128, "stages": 4, "threads": 256},
}
FEW_ROWS = {
    f"64x{n}x{k}, {stages} stages, K in {split}": {
        "block_M": 64, "block_N": n, "block_K": k, "stages": stages, "threads": 128, "split_k": split
    }
    for n, k, stages, split in (
        (128, 64, 4, 4), (128, 128, 4, 4), (128, 64, 6, 2), (64, 128, 4, 2), (64, 64, 6, 4), (64, 64, 8, 4),
        (256, 64, 4, 4),
    )
}  # fmt: skip


def gemm(m: int, n: int, k: int, configs: dict[str, dict[str, Any]], clocks: dict[str, int]) -> Case:
    module = example("gemm")
    a, b = (torch.randn(*shape, device="cuda", dtype=torch.float16) for shape in ((m, k), (k, n)))
    c = torch.empty(m, n, device="cuda", dtype=torch.float16)
    ours = {name: lambda v=v: module.gemm(m, n, k, "float16", **v) for name, v in configs.items()}
    peers: dict[str, Callable[[], Any]] = {"torch": lambda: torch.mm(a, b, out=c)}
    if m >= 1024:
        peers["triton"] = triton_matmul(a, b)
        peers |= quack_gemm(a, b, c)
    name = f"gemm fp16 {m}x{n}x{k}"
    return Case(name, "TFLOP/s", 2.0 * m * n * k, (a, b, c), ours, peers, a.float() @ b.float(), 2e-3, clocks=clocks)


def gemm_fp8(m: int, n: int, k: int) -> Case:
    module = example("gemm")
    a, b = (torch.randn(rows, k, device="cuda").to(torch.float8_e4m3fn) for rows in (m, n))
    c, scale = torch.empty(m, n, device="cuda", dtype=torch.bfloat16), torch.tensor(1.0, device="cuda")
    ours = {name: lambda v=v: module.gemm(m, n, k, "float8_e4m3fn", None, "NT", **v) for name, v in LARGE.items()}

    def of_torch() -> Any:
        return torch._scaled_mm(a, b.t(), scale_a=scale, scale_b=scale, out_dtype=torch.bfloat16, use_fast_accum=True)

    expected = a.float() @ b.float().t()
    name, amount = f"gemm fp8 to bf16 {m}x{n}x{k}", 2.0 * m * n * k
    return Case(
        name, "TFLOP/s", amount, (a, b, c), ours, {"torch": of_torch}, expected, 1e-2, clocks={"row": 3, "single": 1}
    )


def of_four_bits(m: int, n: int, k: int, configs: dict[str, dict[str, Any]], clock: str) -> Case:
    """4-bit weights in groups of 64 beside torch's product with the same weights in half precision."""
    module, group = example("dequant_matmul"), 64
    a = torch.randn(m, k, device="cuda").half()
    numbers = torch.randint(0, 16, (n, k), device="cuda", dtype=torch.uint8)
    zero = torch.randint(0, 16, (n, k // group), device="cuda").half()
    scale = (0.01 + 0.01 * torch.rand(n, k // group, device="cuda")).half()
    weights = (numbers - zero.repeat_interleave(group, 1)) * scale.repeat_interleave(group, 1)
    packed, plain = numbers[:, 0::2] | numbers[:, 1::2] << 4, weights.t().contiguous()
    c = torch.empty(m, n, device="cuda", dtype=torch.float16)
    ours = {name: lambda v=v: module.dequant_matmul(m, n, k, group, **v) for name, v in configs.items()}
    peers = {"torch": lambda: torch.mm(a, plain, out=c)}
    args, expected = (a, packed, scale, zero, c), a.float() @ plain.float()
    return Case(
        f"int4 x fp16 {m}x{n}x{k}", "TFLOP/s", 2.0 * m * n * k, args, ours, peers, expected, 4e-3, clocks={clock: 1}
    )


FOUR_BITS_FEW = {
    f"{bn}x{bk}, {stages} stages, K in {splits}": {"block_N": bn, "block_K": bk, "stages": stages, "splits": splits}
    for bn, bk, stages, splits in ((64, 128, 4, 4), (64, 128, 4, 8), (64, 256, 3, 4), (128, 128, 4, 4), (64, 128, 6, 3))
}
FOUR_BITS_MANY = {
    "128x256x64, 4 stages": {},
    "128x256x64, 3 stages": {"stages": 3},
    "128x128x64, 4 stages": {"block_M": 128},
    "256x128x64, 3 stages": {"block_M": 128, "block_N": 256, "threads": 256, "stages": 3},
}
IN_A_ROW, COLD = {"row": 5, "single": 1}, {"cold": 1}
CASES = {
    "gemm": [
        (gemm, (4096, 4096, 4096, LARGE, {"row": 10, "single": 1})),
        (gemm, (8192, 8192, 8192, LARGE, {"row": 3, "single": 1})),
        (gemm, (16384, 4096, 4096, LARGE, IN_A_ROW)),
        (gemm, (4000, 4104, 4024, LARGE, IN_A_ROW)),  # no whole tiles
        (gemm, (8191, 4096, 1000, LARGE, IN_A_ROW)),
    ],
    "gemm_fp8": [(gemm_fp8, (8192, 8192, 8192)), (gemm_fp8, (4000, 4112, 4080))],
    "int4": [
        (of_four_bits, (16, 8192, 8192, FOUR_BITS_FEW, "cold")),
        (of_four_bits, (4096, 8192, 8192, FOUR_BITS_MANY, "row")),
    ],
    "gemm_few_rows": [(gemm, (16, 8192, 8192, FEW_ROWS, COLD)), (gemm, (64, 4096, 14336, FEW_ROWS, COLD))],
}
