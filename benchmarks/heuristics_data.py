"""Measures many configurations of many shapes on one GPU: data to fit the constants of tilecore.heuristics on.

    python benchmarks/heuristics_data.py compile FOLDER [--count 14] [--part 0/2]
    python benchmarks/heuristics_data.py measure FOLDER [--rounds 9] [--out data.json]

``compile`` writes kernels of the likeliest configurations and of some others by chance, for sm_90a, which needs no GPU
but NVRTC; ``measure`` runs them and the libraries beside each other, with clock "cold" of h200_measure.py. Shapes are
those of h200_defaults_shapes.py, marked as "held out", and others by chance, to fit on. Wrong kernels are marked.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import statistics
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from h200_defaults_kernels import MOST_WRONG, TARGET, attention_work, compiled, gemm_work, tensors
from h200_defaults_shapes import ATTENTIONS, GEMMS, Attention, Gemm

import tilecore
from tilecore.heuristics import attention_space, gemm_space
from tilecore.heuristics.chip import Chip, chip_of
from tilecore.heuristics.gemm_model import estimate

FITTED_GEMMS, FITTED_ATTENTIONS = 48, 24


def other_gemms() -> list[Gemm]:
    """Shapes by chance, logarithms evenly spread."""
    dice = random.Random(7)
    shapes = []
    for number in range(FITTED_GEMMS):
        dtype, layout = (("float16", "NN"), ("bfloat16", "NT"), ("float8_e4m3fn", "NT"))[number % 3]
        n, k = (64 * round(2 ** dice.uniform(9, 14.8) / 64) for _ in range(2))
        m = round(2 ** (14 * (number + dice.random()) / FITTED_GEMMS))
        shapes.append(Gemm(dtype, layout, m, n, k))
    return shapes


def other_attentions() -> list[Attention]:
    dice = random.Random(8)
    shapes = []
    for number in range(FITTED_ATTENTIONS):
        dim, dim_v = ((64, 64), (80, 80), (96, 96), (128, 128), (192, 128), (256, 256))[number % 6]
        keys = round(2 ** dice.uniform(6, 14))
        kv_heads, group = dice.choice((4, 8, 16)), dice.choice((1, 1, 4, 8))
        decode, causal = number % 4 == 3, number % 2 == 0
        batch = max(1, min(16, (1 << 16 if decode else 1 << 14) // keys))
        heads = kv_heads * group
        shapes.append(
            Attention("float16", batch, heads, kv_heads, 1 if decode else keys, keys, dim, dim_v, causal and not decode)
        )
    return shapes


def gemm_configs(shape: Gemm, chip: Chip, count: int) -> list[dict[str, Any]]:
    work = gemm_work(shape)
    ranked = sorted(gemm_space.tilings(work, chip), key=lambda t: estimate(work, t, chip).seconds)
    best = estimate(work, ranked[0], chip).seconds
    chosen: list[gemm_space.Tiling] = []
    tiles: dict[tuple[int, int], int] = {}
    for t in ranked:
        if tiles.get((t.block_M, t.block_N), 0) < 2 and len(chosen) < count * 2 // 3:
            tiles[t.block_M, t.block_N] = tiles.get((t.block_M, t.block_N), 0) + 1
            chosen.append(t)
    near = [t for t in ranked if t not in chosen and estimate(work, t, chip).seconds < 1.8 * best]
    random.Random(str(shape)).shuffle(near)
    names = ("block_M", "block_N", "block_K", "stages", "threads", "split_k")
    return [{name: getattr(t, name) for name in names} for t in [*chosen, *near][:count]]


def attention_configs(shape: Attention, chip: Chip, count: int) -> list[dict[str, Any]]:
    work = attention_work(shape)
    all_of_them = [replace(t, resident=1) for t in attention_space.tilings(work, chip)]
    if not work.is_decoding:
        all_of_them = [t for t in all_of_them if t.stages > 1 or work.dim > 128]
        held = {replace(t, q_in_registers=False) for t in all_of_them if t.q_in_registers}
        all_of_them = [t for t in all_of_them if t.q_in_registers or t not in held or t.block_M == 192]
    all_of_them = list(dict.fromkeys(all_of_them))
    random.Random(str(shape)).shuffle(all_of_them)

    def size(t: attention_space.Tiling) -> tuple[int, int]:
        return (
            (-min(t.block_M, 128), -min(t.block_N, 128))
            if not work.is_decoding
            else (0, abs(t.splits * work.batch * work.kv_heads - 264))
        )

    near = sorted(all_of_them, key=size)[: count // 2]
    rest = [t for t in all_of_them if t not in near]
    chosen = [*near, *rest][:count]
    if work.is_decoding:
        names = ("block_N", "stages", "threads", "width", "splits")
        extra = {"block_H": chosen[0].block_M}
    else:
        names, extra = ("block_M", "block_N", "stages", "threads", "width", "q_in_registers"), {}
    return [{name: getattr(t, name) for name in names} | extra for t in chosen]


def compile_all(folder: Path, count: int, part: str) -> None:
    chip, (this, of) = chip_of(TARGET), map(int, part.split("/"))
    held_out = {str(s) for s in [*GEMMS, *ATTENTIONS]}
    shapes = [*GEMMS, *ATTENTIONS, *other_gemms(), *other_attentions()]
    rows = []
    for number, shape in enumerate(shapes):
        if number % of != this:
            continue
        is_gemm = isinstance(shape, Gemm)
        configs = gemm_configs(shape, chip, count) if is_gemm else attention_configs(shape, chip, count - 2)
        for config in configs:
            name = hashlib.sha256(f"{shape} {config}".encode()).hexdigest()[:16] + ".tck"
            row = {"shape": shape._asdict(), "kind": type(shape).__name__, "config": config, "file": name}
            rows.append({**row, "held_out": str(shape) in held_out})
            try:
                kernel = compiled(shape, config)
                rows[-1]["report"] = facts_of(kernel)
                kernel.export(folder / name)
            except Exception as error:
                rows[-1]["failed"] = f"{type(error).__name__}: {error}"[:300]
        print(number, shape, len(configs), flush=True)
        (folder / f"manifest{this}.json").write_text(json.dumps(rows))


def facts_of(kernel: Any) -> list[str]:
    words = ("registers,", "grid (", "gemm:", "stages,", "share the iterations")
    return [line.strip() for line in str(kernel.explain()).splitlines() if any(word in line for word in words)]


def measure(folder: Path, rounds: int, out: str) -> None:
    import torch
    from h200_measure import interleaved

    rows = [row for path in sorted(folder.glob("manifest*.json")) for row in json.loads(path.read_text())]
    by_shape: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_shape.setdefault(json.dumps([row["kind"], row["shape"]]), []).append(row)
    done_before, begun = Path(out), Path(out + ".begun")
    ended = {} if not done_before.exists() else {row["file"]: row for row in json.loads(done_before.read_text())}
    rows[:] = [ended.get(row["file"], row) for row in rows]
    begun_keys = begun.read_text().splitlines() if begun.exists() else []
    for key, group in by_shape.items():
        if key in begun_keys:  # measured, or it crashed the process
            continue
        with begun.open("a") as file:
            file.write(key + "\n")
        group[:] = [row for row in rows if json.dumps([row["kind"], row["shape"]]) == key]
        kind, fields = json.loads(key)
        shape = (Gemm if kind == "Gemm" else Attention)(**fields)
        inputs, peers, expected = tensors(shape)
        works: dict[str, Callable[[], Any]] = dict(peers)
        for number, row in enumerate(group):
            if "failed" in row:
                continue
            try:
                kernel = tilecore.load_kernel(folder / row["file"])
                got = kernel(*inputs).float()
                row["error"] = ((got - expected).abs().max() / expected.abs().max()).item()
            except Exception as error:
                row["failed"] = f"{type(error).__name__}: {error}"[:300]
                continue
            if not row["error"] <= MOST_WRONG:
                print(f"{shape} {row['config']}: WRONG, error {row['error']:.2e}", flush=True)
                row["failed"] = "wrong"
                continue
            works[str(number)] = lambda kernel=kernel, inputs=inputs: kernel(*inputs)
        times = interleaved(works, rounds, "cold", 1)
        medians = {name: statistics.median(samples) for name, samples in times.items()}
        for number, row in enumerate(group):
            row["ms"] = medians.get(str(number))
            row["peers"] = {name: medians[name] for name in peers}
        done = [r for r in group if r["ms"]]
        if done:
            best = min(done, key=lambda r: r["ms"])
            ours, peer = best["ms"], next(iter(best["peers"].values()))
            print(f"{shape!s:46} {peer * 1e3:9.1f} {ours * 1e3:9.1f} us {peer / ours:.3f} {best['config']}", flush=True)
        Path(out).write_text(json.dumps(rows))
        torch.cuda.empty_cache()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["compile", "measure"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=14)
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--out", default="heuristics_data.json")
    options = parser.parse_args()
    if options.what == "compile":
        compile_all(options.folder, options.count, options.part)
    else:
        measure(options.folder, options.rounds, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
