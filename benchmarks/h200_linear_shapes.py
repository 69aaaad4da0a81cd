"""The shapes of h200_linear.py."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """Q, K, V [batch, length, heads, dim]. decay: of each step ("step"), or "none"."""

    batch: int
    heads: int
    length: int
    dim: int
    decay: str = "none"
    dtype: str = "float16"

    @property
    def name(self) -> str:
        decay = "" if self.decay == "none" else f", decay of each {self.decay}"
        return f"B{self.batch} H{self.heads} S{self.length} D{self.dim}{decay}"

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.batch, self.length, self.heads, self.dim, self.dim

    @property
    def bytes(self) -> int:
        """Of Q, K, V and the output, each once."""
        return 4 * 2 * self.batch * self.length * self.heads * self.dim


SHAPES = (
    Shape(8, 16, 2048, 64),
    Shape(4, 16, 4096, 128),
    Shape(1, 32, 16384, 128),
    Shape(16, 8, 1024, 128),
    Shape(4, 16, 1000, 128),
    Shape(4, 16, 4096, 128, "step"),
    Shape(8, 16, 2048, 64, "step"),
)
