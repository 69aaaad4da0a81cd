"""Assigns addresses in local memory to buffers with live ranges, in different banks where engines use them together.

Buffers whose live ranges overlap do not share memory. Greedy, as the vendor's compiler assigns local memory (SophGo
PPL, address assignment): the buffer with the most conflicts first, at the start of a bank or right behind another
buffer, where it has the fewest bank conflicts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Request:
    """A request for memory. size: in bytes. first, last: its live range, both included."""

    size: int
    first: int
    last: int

    def overlaps(self, other: Request) -> bool:
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class Memory:
    """A local memory. size: in bytes. unit: every address is a multiple of it. bank: the bytes of a bank."""

    size: int
    unit: int
    bank: int


Pairs = Mapping[
    tuple[int, int], int
]  # indices of two requests, the smaller one first: how often both are used together


def allocate(requests: Sequence[Request], pairs: Pairs, memory: Memory) -> list[int] | None:
    """The address of each request; None where no order of this module finds room for all."""
    weights = [sum(w for pair, w in pairs.items() if i in pair) for i in range(len(requests))]
    by_conflicts = lambda i: (-weights[i], -requests[i].size, requests[i].first, i)  # noqa: E731
    by_size = lambda i: (-requests[i].size, requests[i].first, i)  # noqa: E731
    by_first_use = lambda i: (requests[i].first, -requests[i].last, i)  # noqa: E731
    orders: list[tuple[Callable[[int], tuple], Pairs]] = [(by_conflicts, pairs), (by_size, pairs)]
    orders += [(by_size, {}), (by_first_use, {}), (by_conflicts, {})]
    for order_key, considered in orders:
        addresses = _greedy(requests, sorted(range(len(requests)), key=order_key), considered, memory)
        if addresses is not None:
            return addresses
    return None


def bank_conflicts(
    requests: Sequence[Request], addresses: Sequence[int], pairs: Pairs, bank: int
) -> dict[tuple[int, int], int]:
    """The pairs of requests that share a bank, with their weights."""
    return {
        (a, b): weight
        for (a, b), weight in pairs.items()
        if _share_bank(addresses[a], requests[a].size, addresses[b], requests[b].size, bank)
    }


def peak_bytes(requests: Sequence[Request]) -> int:
    """The most bytes that are live at one time: no allocation takes fewer."""
    return max(
        (sum(other.size for other in requests if other.first <= request.first <= other.last) for request in requests),
        default=0,
    )


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
    partners = []
    for (a, b), weight in pairs.items():
        other = b if a == index else a
        if index in (a, b) and other in addresses_so_far:
            partners.append((other, weight))
    return partners


def _candidates(neighbours: Sequence[tuple[int, int]], memory: Memory) -> list[int]:
    ends = {-(-end // memory.unit) * memory.unit for _, end in neighbours}
    return sorted({0, *range(0, memory.size, memory.bank), *ends})


def _share_bank(a: int, a_size: int, b: int, b_size: int, bank: int) -> bool:
    return a // bank <= (b + b_size - 1) // bank and b // bank <= (a + a_size - 1) // bank
