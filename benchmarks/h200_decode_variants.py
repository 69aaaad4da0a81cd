"""Compares variants of the kernels for decoding on one GPU: latent attention (MLA), and attention over pages.

    python benchmarks/h200_decode_variants.py FOLDER [--rounds 15] [--without triton]

All variants are compiled at once in parallel; each is checked against torch, then measured as benchmarks/h200.py does.
It prints a line for each and writes FOLDER/decode_variants.json. What the names mean: "roles" is
examples/hopper/mla_decode.py (pieces: of a tile's latents, each_half * 2; pairs: clusters of two blocks), "plain" is
examples/mla_decode.py; "fast" is TL_ENABLE_FAST_MATH, "products apart"
TL_DISABLE_PRODUCT_OVERLAP; "heads" are heads of the cache that a block visits, "kept" is
without the policy that lets L2 drop keys and values first.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import h200_decode
import torch
import torch.nn.functional as F
from h200_decode import FAST
from h200_measure import Case, example

import tilecore

MULTIPROCESSORS = 132
APART = {"pass_configs": {**FAST["pass_configs"], tilecore.PassConfigKey.TL_DISABLE_PRODUCT_OVERLAP: True}}
Variants = dict[str, tuple[Callable[[], Any], dict[str, Any]]]  # by name: the factory, and the options of compilation


def latent_variants(batch: int, heads: int, length: int, latent: int, rotary: int) -> Variants:
    plain, roles = example("mla_decode"), example("hopper/mla_decode")
    groups, rows = -(-heads // 64), 64 if heads > 16 else 16
    sizes = batch, heads, length, latent, rotary
    variants: Variants = {}
    one_wave = max(1, MULTIPROCESSORS // (batch * groups))
    for splits in (one_wave, 2 * one_wave):
        for each_half in (1, 2, 4) if splits == one_wave else (2,):
            for blocks in (1, 2) if groups % 2 == 0 else (1,):
                name = f"roles, {2 * each_half} pieces, {splits} parts" + ", pairs" * (blocks - 1)
                options = {"splits": splits, "each_half": each_half, "blocks": blocks}
                variants[f"{name}, fast"] = (lambda o=options: roles.mla_decode(*sizes, **o), FAST)
    options = {"splits": one_wave, "each_half": 2}
    variants[f"roles, 4 pieces, {one_wave} parts"] = (lambda: roles.mla_decode(*sizes, **options), {})
    for splits in (1,) if heads > 16 else (8, 16):
        for fast, name in ((FAST, ", fast"), (APART, ", fast, products apart"), ({}, "")):
            if fast is APART and rows < 64:  # mma.sync, where products have no overlap
                continue
            variants[f"plain, {splits} parts{name}"] = (
                lambda s=splits: plain.mla_decode(*sizes, s, block_H=rows, block_N=64, stages=2),
                fast,
            )
    return variants


def paged_variants(batch: int, heads: int, kv_heads: int, length: int, dim: int) -> Variants:
    module, page = example("paged_attention"), h200_decode.PAGE
    variants: Variants = {}
    for splits in (1, 2, 4, 8, 16, 32):
        for keys, stages, each, policy in (
            (64, 2, 1, "evict_first"), (64, 2, 1, None), (64, 3, 1, "evict_first"), (128, 2, 1, "evict_first"),
            (64, 2, 2, "evict_first"), (64, 3, 2, "evict_first"),
        ):  # fmt: skip
            if not 100 <= splits * (kv_heads // each) * batch <= 640:
                continue
            options = {"splits": splits, "block_N": keys, "stages": stages, "heads_each": each}
            name = f"{keys} keys, {stages} stages, {splits} parts, {each} heads" + ", kept" * (policy is None)
            variants[name] = (
                lambda o=options, p=policy: module.paged_attention(
                    batch, heads, kv_heads, dim, -(-length // page), page, **o, eviction_policy=p
                ),
                FAST,
            )
    return variants


def latent_peers(case: Case, rotary: int) -> dict[str, Callable[[], Any]]:
    """torch's attention with the heads as queries of one head whose values are narrower, and a kernel in Triton."""
    q, qr, kv, kr, _ = case.args
    whole_q, whole_k = torch.cat((q, qr), 2)[:, None], torch.cat((kv, kr), 2)[:, None]
    peers: dict[str, Callable[[], Any]] = {
        "torch sdpa": lambda: F.scaled_dot_product_attention(whole_q, whole_k, kv[:, None])[:, 0]
    }
    try:
        from h200_triton import triton_latents

        peers["triton"] = triton_latents(q, qr, kv, kr)
    except ImportError as reason:
        print(f"{case.name}: no triton: {reason}", flush=True)
    return {name: call for name, call in peers.items() if is_right(case, name, call)}


def is_right(case: Case, name: str, call: Callable[[], Any]) -> bool:
    try:
        error = ((call().float() - case.want).abs().max() / case.want.abs().max()).item()
    except Exception as reason:  # a peer that cannot do this size on this machine is left out, with its reason
        print(f"{case.name}, {name}: left out: {str(reason)[:200]}", flush=True)
        return False
    if not error <= case.tolerance:
        print(f"{case.name}, {name}: WRONG, error {error:.2e}", flush=True)
    return error <= case.tolerance


def cases(without: set[str]) -> Iterator[tuple[Case, Variants]]:
    for make, sizes in h200_decode.CASES["decode"]:
        case = make(*sizes)
        if make is h200_decode.paged:
            yield case, paged_variants(*sizes)
            continue
        if "triton" not in without:
            case.peers |= latent_peers(case, sizes[-1])
        yield case, latent_variants(*sizes)


def compile_all(variants: Variants) -> None:
    """Compiles in parallel what Case.measure then takes from the cache."""
    for options in (FAST, APART, {}):
        made = [factory() for factory, own in variants.values() if own == options]
        if made:
            tilecore.par_compile(made, target="cuda", ignore_error=True, **options)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--without", default="", help="peers to leave out: triton, slow to compile, and sdpa")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    options.folder.mkdir(parents=True, exist_ok=True)
    for case, variants in cases(set(options.without.split(","))):
        compile_all(variants)
        factories = {name: factory for name, (factory, _) in variants.items()}
        case = replace(case, ours=factories, options_of={name: own for name, (_, own) in variants.items()})
        rows += case.measure(options.rounds)
        facts = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda}
        (options.folder / "decode_variants.json").write_text(
            json.dumps({"facts": facts, "rows": rows}, indent=1) + "\n"
        )
        del case
        torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main())
