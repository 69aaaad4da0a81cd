"""Addresses for pieces of memory with lives: none overlaps another that lives at the same time, those that engines work
on together lie in different banks where there is room for that.

Greedy, as the vendor's compiler assigns local memory (SophGo PPL, address assignment): the piece that meets most others
first, at the start of a bank or right behind another piece, where it has the fewest conflicts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Piece:
    """size: bytes. first, last: when it holds something, both included."""

    size: int
    first: int
    last: int

    def meets(self, other: Piece) -> bool:
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class Memory:
    """size: bytes. unit: every address is a multiple of it. bank: bytes of a bank."""

    size: int
    unit: int
    bank: int


Pairs = Mapping[tuple[int, int], int]  # numbers of two pieces, the smaller one first: how often both are worked on


def place(pieces: Sequence[Piece], pairs: Pairs, memory: Memory) -> list[int] | None:
    """The address of each; None when no way of this module fits them in."""
    weights = [sum(w for pair, w in pairs.items() if i in pair) for i in range(len(pieces))]
    by_conflicts = lambda i: (-weights[i], -pieces[i].size, pieces[i].first, i)  # noqa: E731
    by_size = lambda i: (-pieces[i].size, pieces[i].first, i)  # noqa: E731
    by_life = lambda i: (pieces[i].first, -pieces[i].last, i)  # noqa: E731
    orders: list[tuple[Callable[[int], tuple], Pairs]] = [(by_conflicts, pairs), (by_size, pairs)]
    orders += [(by_size, {}), (by_life, {}), (by_conflicts, {})]
    for key, heeded in orders:
        found = _greedy(pieces, sorted(range(len(pieces)), key=key), heeded, memory)
        if found is not None:
            return found
    return None


def conflicts(pieces: Sequence[Piece], addresses: Sequence[int], pairs: Pairs, bank: int) -> dict[tuple[int, int], int]:
    """The pairs that share a bank, with their weights."""
    return {
        (a, b): weight
        for (a, b), weight in pairs.items()
        if _share_bank(addresses[a], pieces[a].size, addresses[b], pieces[b].size, bank)
    }


def most_alive(pieces: Sequence[Piece]) -> int:
    """Bytes that live at one time, at the worst one: no placement takes fewer."""
    return max((sum(p.size for p in pieces if p.first <= one.first <= p.last) for one in pieces), default=0)


def _greedy(pieces: Sequence[Piece], order: Sequence[int], pairs: Pairs, memory: Memory) -> list[int] | None:
    placed: dict[int, int] = {}
    for number in order:
        piece = pieces[number]
        neighbours = [(placed[i], placed[i] + pieces[i].size) for i in placed if pieces[i].meets(piece)]
        partners = _partners(number, pairs, placed)
        best: tuple[int, int] | None = None
        for address in _candidates(neighbours, memory):
            if address + piece.size > memory.size or any(
                a < address + piece.size and address < z for a, z in neighbours
            ):
                continue
            cost = sum(
                weight
                for other, weight in partners
                if _share_bank(address, piece.size, placed[other], pieces[other].size, memory.bank)
            )
            best = min(best or (cost, address), (cost, address))
        if best is None:
            return None
        placed[number] = best[1]
    return [placed[i] for i in range(len(pieces))]


def _partners(number: int, pairs: Pairs, placed: Mapping[int, int]) -> list[tuple[int, int]]:
    found = []
    for (a, b), weight in pairs.items():
        other = b if a == number else a
        if number in (a, b) and other in placed:
            found.append((other, weight))
    return found


def _candidates(neighbours: Sequence[tuple[int, int]], memory: Memory) -> list[int]:
    ends = {-(-end // memory.unit) * memory.unit for _, end in neighbours}
    return sorted({0, *range(0, memory.size, memory.bank), *ends})


def _share_bank(a: int, a_size: int, b: int, b_size: int, bank: int) -> bool:
    return a // bank <= (b + b_size - 1) // bank and b // bank <= (a + a_size - 1) // bank
