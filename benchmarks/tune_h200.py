"""Tunes examples/dequant_matmul.py on this GPU, and writes the best configurations to a file.

    python benchmarks/tune_h200.py [--only dequant_matmul] [--folder examples]

For one shape of every class tilecore's autotuner compiles the candidates, checks each against torch and times it. The
winners are written to FOLDER/<example>.tuned.json, in the order in which a call is looked up: classes are ranges of
sizes. The example uses them where they were found for the target that it runs on. Examples whose configurations
tilecore.heuristics proposes need no such file.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import torch
from h200_measure import example

import tilecore
from tilecore.autotuner import KnownConfig, KnownConfigs, set_autotune_inputs

ANY = 1 << 30
TARGET = {"kind": "cuda", "arch": "sm_90a"}


def dequant_matmul() -> list[KnownConfig]:
    module, tuned_configs, group = example("dequant_matmul"), [], 64
    for rows, (m, n, k) in (
        ([1, 16], (16, 8192, 8192)),
        ([17, 256], (128, 8192, 8192)),
        ([257, ANY], (4096, 8192, 8192)),
    ):
        a = torch.randn(m, k, device="cuda").half()
        numbers = torch.randint(0, 16, (n, k), device="cuda", dtype=torch.uint8)
        zero = torch.randint(0, 16, (n, k // group), device="cuda").half()
        scale = (0.01 + 0.01 * torch.rand(n, k // group, device="cuda")).half()
        plain = ((numbers - zero.repeat_interleave(group, 1)) * scale.repeat_interleave(group, 1)).t().contiguous()
        packed = numbers[:, 0::2] | numbers[:, 1::2] << 4
        few = [
            {"block_M": bm, "block_N": bn, "block_K": bk, "stages": s, "splits": p}
            for bm in sorted({max(16, min(most, -(-m // 16) * 16)) for most in (64, 128)})
            for bn in (64, 128) for bk, s in ((64, 6), (128, 4), (256, 3)) for p in (1, 2, 4, 8)
        ]  # fmt: skip
        many = [
            {"block_M": bm, "block_N": bn, "block_K": 64, "stages": s, "splits": 1}
            for bm, bn, s in ((256, 128, 3), (256, 128, 4), (128, 128, 4), (128, 256, 3))
        ]
        config = search(
            module.dequant_matmul, few if m <= 256 else many, (m, n, k, group), (a, packed, scale, zero),
            lambda a, w, s, z, plain=plain: torch.mm(a, plain),
        )  # fmt: skip
        tuned_configs.append(KnownConfig(TARGET, {"M": rows}, config))
    return tuned_configs


def search(
    factory: Callable[..., Any], candidates: list[dict[str, Any]], arguments: tuple[Any, ...], inputs: tuple[Any, ...],
    right: Callable[..., Any],
) -> dict[str, Any]:  # fmt: skip
    fast = {tilecore.PassConfigKey.TL_ENABLE_FAST_MATH: True}
    tuned = tilecore.autotune(configs=candidates, ref_prog=right, warmup=10, rep=40)(
        tilecore.jit(factory, target="cuda", out_idx=-1, pass_configs=fast)
    )
    with set_autotune_inputs(*inputs):
        result = tuned.tune(*arguments)
    against = f", torch {result.ref_latency:.3f} ms" if result.ref_latency else ""
    print(f"{factory.__name__}{arguments}: {result.latency:.3f} ms{against} with {result.config}", flush=True)
    return result.config


SEARCHES = {"dequant_matmul": dequant_matmul}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(SEARCHES))
    parser.add_argument("--folder", type=Path, default=Path(__file__).resolve().parents[1] / "examples")
    options = parser.parse_args()
    for name in options.only.split(","):
        if name not in SEARCHES:
            parser.error(f"--only: {name!r} is none of {', '.join(SEARCHES)}")
        KnownConfigs(SEARCHES[name]()).save(options.folder / f"{name}.tuned.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
