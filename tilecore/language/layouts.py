"""Memory layouts by hand: T.Layout for buffers in memory, T.Fragment for tiles spread over threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class Layout:
    """Where each element of a tile lies. ``forward_fn(i, j, ...)`` gives its physical indices (one or several)."""

    def __init__(self, shape: Sequence[int], forward_fn: Callable[..., Any]) -> None:
        self.shape = tuple(int(s) for s in shape)
        self.forward_fn = forward_fn

    def map_forward_index(self, indices: Sequence[Any]) -> list[Any]:
        """Physical indices of the element at ``indices``."""
        result = self.forward_fn(*indices)
        return list(result) if isinstance(result, (tuple, list)) else [result]

    def __repr__(self) -> str:
        return f"T.{type(self).__name__}({self.shape})"


class Fragment(Layout):
    """Which thread holds each element, and in which of its registers.

    Either ``forward_fn(i, j) -> (thread, index)``, or ``forward_thread_fn`` and ``forward_index_fn`` apart. With
    ``replicate`` > 1 the functions take a further argument, the copy's number.
    """

    def __init__(
        self,
        shape: Sequence[int],
        forward_fn: Callable[..., Any] | None = None,
        forward_thread_fn: Callable[..., Any] | None = None,
        replicate: int = 1,
        forward_index_fn: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(shape, forward_fn or (lambda *i: [forward_index_fn(*i)] if forward_index_fn else []))
        self.forward_thread_fn = forward_thread_fn
        self.replicate = int(replicate)
