"""Fits the constants of the models of tilecore.heuristics to data of heuristics_data.py, and says how good they are.

    python benchmarks/fit_heuristics.py data.json[.gz] [--kind Gemm] [--steps 1500] [--seed 1] [--stay 0.01]
                                        [--fixed memory,second]

Only shapes that are not held out are fitted on. The search changes constants by chance, and
keeps what is better: the logarithms of measured to expected times, most of all of the fast configurations, and the
time that is lost by taking the best expected configuration of those measured. Both are printed for the shapes fitted on
and for the held-out ones.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import random
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from h200_defaults_kernels import TARGET, attention_work, gemm_work
from h200_defaults_shapes import Attention, Gemm

from tilecore.heuristics import attention_model, attention_space, gemm_model, gemm_space
from tilecore.heuristics.chip import Chip, chip_of

NEAR = 1.25  # of the best time: configurations that matter more


class Shape:
    """One shape: the tilings that were measured, their seconds, and the library's."""

    def __init__(self, kind: str, fields: dict[str, Any], rows: list[dict[str, Any]], chip: Chip) -> None:
        self.shape: Any = Gemm(**fields) if kind == "Gemm" else Attention(**fields)
        self.held_out = rows[0]["held_out"]
        self.work: Any = gemm_work(self.shape) if kind == "Gemm" else attention_work(self.shape)
        space: Any = gemm_space if kind == "Gemm" else attention_space
        legal = list(space.tilings(self.work, chip))
        pairs = [(tiling_of(row["config"], legal), row["ms"] / 1e3) for row in rows]
        self.tilings = [(tiling, seconds) for tiling, seconds in pairs if tiling is not None]
        self.best = min(row["ms"] for row in rows) / 1e3
        self.peer = min(next(iter(row["peers"].values())) for row in rows) / 1e3


def tiling_of(config: dict[str, Any], legal: list[Any]) -> Any:
    config = {("block_M" if name == "block_H" else name): value for name, value in config.items()}
    for tiling in legal:
        if all(getattr(tiling, name) == value for name, value in config.items()):
            return tiling
    return None


def read(path: str, kind: str, chip: Chip) -> list[Shape]:
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
        data = json.load(file)
    if isinstance(data, dict):  # of results/, by shape
        data = [{**shape, **row} for shape in data["shapes"] for row in shape["configs"]]
    rows = [row for row in data if row["kind"] == kind and row.get("ms") and "pass_configs" not in row["config"]]
    by_shape: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_shape.setdefault(json.dumps([row.get("run"), row["shape"]]), []).append(row)
    shapes = [Shape(kind, json.loads(key)[1], group, chip) for key, group in by_shape.items()]
    return [shape for shape in shapes if shape.tilings]


def judged(shapes: list[Shape], chip: Chip, model: Any, constants: Any) -> tuple[float, float, float]:
    """Mean square of logarithms of errors; geometric means of the time lost by the choice and of ratios to peers."""
    errors, weights, lost, ratios = 0.0, 0.0, 0.0, 0.0
    for shape in shapes:
        guesses = [model.estimate(shape.work, tiling, chip, constants).seconds for tiling, _ in shape.tilings]
        for guess, (_, seconds) in zip(guesses, shape.tilings, strict=True):
            weight = 1.0 if seconds < NEAR * shape.best else 0.25
            errors, weights = errors + weight * math.log(guess / seconds) ** 2, weights + weight
        chosen = shape.tilings[guesses.index(min(guesses))][1]
        lost += math.log(chosen / shape.best)
        ratios += math.log(shape.peer / chosen)
    count = max(1, len(shapes))
    return errors / max(weights, 1e-9), math.exp(lost / count), math.exp(ratios / count)


def changed(dice: random.Random, constants: Any, fixed: set[str]) -> Any:
    names = [name for name in asdict(constants) if name not in fixed]
    chosen = dice.sample(names, dice.choice((1, 1, 2, 3)))
    constants = replace(constants, **{n: getattr(constants, n) * math.exp(dice.gauss(0, 0.15)) for n in chosen})
    shares = [name for name in ("hidden", "overlap", "alone", "turns", "late", "joint") if hasattr(constants, name)]
    bounded = {name: min(getattr(constants, name), 0.98) for name in shares}
    return replace(constants, **bounded)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--kind", default="Gemm", choices=["Gemm", "Attention"])
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fixed", default="", help="constants that do not change, such as memory,second")
    parser.add_argument("--stay", type=float, default=0.0, help="cost of moving away from the constants that are there")
    options = parser.parse_args()
    chip, dice, fixed = chip_of(TARGET), random.Random(options.seed), set(options.fixed.split(","))
    model: Any = gemm_model if options.kind == "Gemm" else attention_model
    shapes = read(options.data, options.kind, chip)
    fitted, held_out = ([s for s in shapes if s.held_out is held] for held in (False, True))
    constants = model.CONSTANTS

    def score(constants: Any) -> float:
        error, lost, _ = judged(fitted, chip, model, constants)
        start = asdict(model.CONSTANTS)
        moved = sum(math.log(value / start[name]) ** 2 for name, value in asdict(constants).items())
        return (
            error
            + 0.6 * math.log(lost)
            + options.stay * moved
            + (constants.peak > 1)
            + (getattr(constants, "cache", 0) > 1)
        )

    best = score(constants)
    for _ in range(options.steps):
        other = changed(dice, constants, fixed)
        reached = score(other)
        if reached < best:
            best, constants = reached, other
    for name, group in (("fitted", fitted), ("held out", held_out)):
        error, lost, ratio = judged(group, chip, model, constants)
        print(f"{name}: {len(group)} shapes, error {math.sqrt(error):.3f}, lost {lost:.3f}, of the library {ratio:.3f}")
    print({name: float(f"{value:.3g}") for name, value in asdict(constants).items()})
    for shape in shapes:
        guesses = [model.estimate(shape.work, tiling, chip, constants).seconds for tiling, _ in shape.tilings]
        chosen = guesses.index(min(guesses))
        tiling, seconds = shape.tilings[chosen]
        lost = seconds / shape.best
        if lost > 1.08:
            print(f"  {shape.shape}: {lost:.2f}, of the library {shape.peer / seconds:.2f}, {tiling}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
