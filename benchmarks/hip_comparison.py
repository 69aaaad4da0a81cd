"""What is worse in code objects than what was recorded (benchmarks/hip_codeobjects.py --compare)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any

LDS_LIMIT = {"gfx950": 160 << 10}  # of a block; elsewhere 64 KiB
# registers may grow by a step of their allocation: the compiler's choice differs as much after any change of the source
STEP = {"gfx9": 8, "gfx1": 24}
FRACTION = 0.02  # of the model's fraction of matrix slots


def worse(old: Mapping[str, Any], now: Mapping[str, Any], same_compiler: Set[str]) -> list[str]:
    """One line for each figure that is worse: "kernel on chip: figure was X, is Y".

    old, now: rows by kernel and chip. same_compiler: the chips for which the same compiler made both; registers and
    fractions of the others are not compared.
    """
    lines = []
    for name, chips in now.items():
        for arch, row in chips.items():
            before = old.get(name, {}).get(arch)
            if before is None:
                lines.append(f"{name} on {arch}: is not in the record; python benchmarks/hip_codeobjects.py records it")
                continue
            lines += [f"{name} on {arch}: {text}" for text in _row(before, row, arch, arch in same_compiler)]
    return lines


def _row(before: Mapping[str, Any], row: Mapping[str, Any], arch: str, same: bool) -> Iterator[str]:
    if "refused" in row:
        if "refused" not in before:
            yield f"it was compiled, and is refused: {row['refused']}"
        return
    for symbol, kernel in row.items():
        yield from (f"{symbol}: {text}" for text in _always(before.get(symbol, {}), kernel, arch))
        if symbol in before and same:
            yield from (f"{symbol}: {text}" for text in _grown(before[symbol], kernel, arch))


def _always(before: Mapping[str, Any], kernel: Mapping[str, Any], arch: str) -> Iterator[str]:
    """What is wrong whichever compiler made the record."""
    figures, old = kernel["figures"], before.get("figures", {})
    scratch = old.get("scratch_bytes", 0)
    if figures["scratch_bytes"] > scratch:
        yield f"scratch_bytes was {scratch}, is {figures['scratch_bytes']}"
    limit = LDS_LIMIT.get(arch, 64 << 10)
    if figures["lds_bytes"] > limit:
        yield f"lds_bytes was {old.get('lds_bytes', 0)}, is {figures['lds_bytes']}; a block has at most {limit}"
    multiplied = _matrix(before)
    if multiplied and not _matrix(kernel):
        yield f"matrix instructions of the main loop were {multiplied}, are 0"


def _grown(before: Mapping[str, Any], kernel: Mapping[str, Any], arch: str) -> Iterator[str]:
    """What the compiler of the record did better."""
    old, new = before["figures"]["vgprs"], kernel["figures"]["vgprs"]
    if new > old + STEP[arch[:4]]:
        yield f"vgprs was {old}, is {new}"
    waves, now = (version["occupancy"]["waves_per_simd"] for version in (before, kernel))
    if now < waves:
        yield f"waves_per_simd was {waves}, is {now}"
    filled, fills = (version["model"].get("fraction", 0) for version in (before, kernel))
    if fills < filled - FRACTION:
        yield f"fraction of the matrix slots (a model) was {filled}, is {fills}"


def _matrix(kernel: Mapping[str, Any]) -> int:
    loop = kernel.get("main_loop") or kernel.get("no_loop") or {}
    return int(loop.get("matrix", 0))
