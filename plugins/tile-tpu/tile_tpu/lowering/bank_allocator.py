"""Addresses for pieces of memory with lives: none overlaps another that lives at the same time, those that engines work
on together lie in different banks where there is room for that.

Greedy, as the vendor's compiler assigns local memory (SophGo PPL, address assignment): the piece that meets most others
first, at the start of a bank or right behind another piece, where it has the fewest conflicts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Request:
    """size: bytes. first, last: when it holds something, both included."""

    size: int
    first: int
    last: int

    def overlaps(self, other: Request) -> bool:
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class Memory:
    """size: bytes. unit: every address is a multiple of it. bank: bytes of a bank."""

    size: int
    unit: int
    bank: int


Pairs = Mapping[tuple[int, int], int]  # numbers of two pieces, the smaller one first: how often both are worked on


def allocate(requests: Sequence[Request], pairs: Pairs, memory: Memory) -> list[int] | None:
    """The address of each; None when no way of this module fits them in."""
    weights = [sum(w for pair, w in pairs.items() if i in pair) for i in range(len(requests))]
    by_conflicts = lambda i: (-weights[i], -requests[i].size, requests[i].first, i)  # noqa: E731
    by_size = lambda i: (-requests[i].size, requests[i].first, i)  # noqa: E731
    by_life = lambda i: (requests[i].first, -requests[i].last, i)  # noqa: E731
    orders: list[tuple[Callable[[int], tuple], Pairs]] = [(by_conflicts, pairs), (by_size, pairs)]
    orders += [(by_size, {}), (by_life, {}), (by_conflicts, {})]
    for key, heeded in orders:
        found = _greedy(requests, sorted(range(len(requests)), key=key), heeded, memory)
        if found is not None:
            return found
    return None


def bank_conflicts(
    requests: Sequence[Request], addresses: Sequence[int], pairs: Pairs, bank: int
) -> dict[tuple[int, int], int]:
    """The pairs that share a bank, with their weights."""
    return {
        (a, b): weight
        for (a, b), weight in pairs.items()
        if _share_bank(addresses[a], requests[a].size, addresses[b], requests[b].size, bank)
    }


def peak_bytes(requests: Sequence[Request]) -> int:
    """Bytes that live at one time, at the worst one: no placement takes fewer."""
    return max((sum(p.size for p in requests if p.first <= one.first <= p.last) for one in requests), default=0)


def _greedy(requests: Sequence[Request], order: Sequence[int], pairs: Pairs, memory: Memory) -> list[int] | None:
    addresses_so_far: dict[int, int] = {}
    for index in order:
        request = requests[index]
        neighbours = [
            (addresses_so_far[i], addresses_so_far[i] + requests[i].size)
            for i in addresses_so_far
            if requests[i].overlaps(request)
        ]
        partners = _partners(index, pairs, addresses_so_far)
        best: tuple[int, int] | None = None
        for address in _candidates(neighbours, memory):
            if address + request.size > memory.size or any(
                a < address + request.size and address < z for a, z in neighbours
            ):
                continue
            cost = sum(
                weight
                for other, weight in partners
                if _share_bank(address, request.size, addresses_so_far[other], requests[other].size, memory.bank)
            )
            best = min(best or (cost, address), (cost, address))
        if best is None:
            return None
        addresses_so_far[index] = best[1]
    return [addresses_so_far[i] for i in range(len(requests))]


def _partners(index: int, pairs: Pairs, addresses_so_far: Mapping[int, int]) -> list[tuple[int, int]]:
    found = []
    for (a, b), weight in pairs.items():
        other = b if a == index else a
        if index in (a, b) and other in addresses_so_far:
            found.append((other, weight))
    return found


def _candidates(neighbours: Sequence[tuple[int, int]], memory: Memory) -> list[int]:
    ends = {-(-end // memory.unit) * memory.unit for _, end in neighbours}
    return sorted({0, *range(0, memory.size, memory.bank), *ends})


def _share_bank(a: int, a_size: int, b: int, b_size: int, bank: int) -> bool:
    return a // bank <= (b + b_size - 1) // bank and b // bank <= (a + a_size - 1) // bank
