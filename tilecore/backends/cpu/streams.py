"""Which outputs of a kernel are written past the caches: what the target says (llvm/streaming.py finds them)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Streams:
    """Which outputs are written past the caches: those of ``least_bytes`` or more, 0 for none. bursts: also those that
    loops store between other loops that compute elementary functions. There the caches can take the lines of a burst
    and write them to memory meanwhile, where processors have the room (docs/notes/cpu.md)."""

    least_bytes: int = 0
    bursts: bool = True
