"""Assigns addresses in local memory to buffers with live ranges, in different banks where engines use them together.

Buffers whose live ranges overlap do not share memory. Greedy, as the vendor's compiler assigns local memory (SophGo
PPL, address assignment): the buffer with the most conflicts first, at the start of a bank or right behind another
buffer, where it has the fewest bank conflicts.
"""

from __future__ import annotations

import heapq
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
    weights = [sum(partners.values()) for partners in _partners_of(len(requests), pairs)]
    meeting = overlapping(requests)
    by_conflicts = lambda i: (-weights[i], -requests[i].size, requests[i].first, i)  # noqa: E731
    by_size = lambda i: (-requests[i].size, requests[i].first, i)  # noqa: E731
    by_first_use = lambda i: (requests[i].first, -requests[i].last, i)  # noqa: E731
    orders: list[tuple[Callable[[int], tuple], Pairs]] = [(by_conflicts, pairs), (by_size, pairs)]
    orders += [(by_size, {}), (by_first_use, {}), (by_conflicts, {})]
    for order_key, considered in orders:
        order = sorted(range(len(requests)), key=order_key)
        addresses = _greedy(requests, order, meeting, _partners_of(len(requests), considered), memory)
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
    live: list[tuple[int, int]] = []  # a heap of the ends of live ranges, with the sizes
    total = most = 0
    for request in sorted(requests, key=lambda request: request.first):
        while live and live[0][0] < request.first:
            total -= heapq.heappop(live)[1]
        heapq.heappush(live, (request.last, request.size))
        total += request.size
        most = max(most, total)
    return most


def overlapping(requests: Sequence[Request]) -> list[list[int]]:
    """Of each request the indices of the others whose live ranges overlap with its own: in time that grows with the
    number of such pairs, not of all pairs."""
    meeting: list[list[int]] = [[] for _ in requests]
    live: list[int] = []
    for index in sorted(range(len(requests)), key=lambda i: requests[i].first):
        live = [other for other in live if requests[other].last >= requests[index].first]
        for other in live:
            meeting[other].append(index)
        meeting[index] += live
        live.append(index)
    return meeting


def _greedy(
    requests: Sequence[Request],
    order: Sequence[int],
    meeting: Sequence[Sequence[int]],
    partners_of: Sequence[Mapping[int, int]],
    memory: Memory,
) -> list[int] | None:
    """meeting, partners_of: of each request the results of overlapping and _partners_of."""
    addresses_so_far: dict[int, int] = {}
    for index in order:
        request = requests[index]
        neighbours = [
            (addresses_so_far[i], addresses_so_far[i] + requests[i].size)
            for i in meeting[index]
            if i in addresses_so_far
        ]
        partners = [(other, weight) for other, weight in partners_of[index].items() if other in addresses_so_far]
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


def _partners_of(count: int, pairs: Pairs) -> list[dict[int, int]]:
    """Of each request the other ones that it is used together with, and how often."""
    partners: list[dict[int, int]] = [{} for _ in range(count)]
    for (a, b), weight in pairs.items():
        partners[a][b] = partners[b][a] = weight
    return partners


def _candidates(neighbours: Sequence[tuple[int, int]], memory: Memory) -> list[int]:
    ends = {-(-end // memory.unit) * memory.unit for _, end in neighbours}
    return sorted({0, *range(0, memory.size, memory.bank), *ends})


def _share_bank(a: int, a_size: int, b: int, b_size: int, bank: int) -> bool:
    return a // bank <= (b + b_size - 1) // bank and b // bank <= (a + a_size - 1) // bank
