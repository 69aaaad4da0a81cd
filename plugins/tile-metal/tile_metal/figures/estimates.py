"""What the text of a kernel tells without a compiler: its arrays of a thread, threadgroup memory and matrix products.

The registers of a kernel are known to Apple's compiler alone. What is estimated here is how many its arrays take at
once: accumulators, operands, and tiles of the next step. Addresses and intermediate values come on top.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod

from tile_metal.figures.chips import MOST_THREADS, REGISTER_BYTES, rates_of

MOST_REGISTERS = 256  # of 16 bits, of a thread (philipturner/metal-benchmarks: 384 threads at 256 registers)
_THREADS_STEP = 64
_KERNEL = re.compile(r"^\[\[kernel[^\n]*\bvoid (\w+)\([^\n]*\) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_SHARED = re.compile(r"\bthreadgroup uchar \w+\[(\d+)\];")
_ARRAY = re.compile(r"\s*(?:alignas\(\d+\) )?([a-z]\w*) \w+\[(\d+)\];")
_PRODUCTS = re.compile(r"\btc_multiply_add(?:_transposed)?<\w+((?:, \d+)*)>")
_LOOP = re.compile(r"\s*for \(.*?(?:< (\d+))?; [^;]*\) \{")
_BYTES = {"bool": 1, "char": 1, "uchar": 1, "short": 2, "ushort": 2, "half": 2, "bfloat": 2, "long": 8, "ulong": 8}


@dataclass(frozen=True)
class Estimate:
    """threadgroup_bytes: of a threadgroup. registers: of 16 bits, that the arrays of a thread take at least.
    products: of 8 x 8 x 8, by a simdgroup in an iteration of the loop that has most of them."""

    threadgroup_bytes: int
    registers: int
    products: int

    def threads_by_registers(self) -> int:
        """The most threads of a core whose arrays fit into its registers."""
        threads = min(MOST_THREADS, REGISTER_BYTES // (2 * max(self.registers, 1)))
        return threads // _THREADS_STEP * _THREADS_STEP

    def threadgroups_by_memory(self, family: str) -> int | None:
        """The threadgroups whose memory fits into a core; None where a core's is not published, or none is needed."""
        rates = rates_of(family)
        if rates is None or not rates.threadgroup_bytes or not self.threadgroup_bytes:
            return None
        return rates.threadgroup_bytes // self.threadgroup_bytes


def estimates(source: str) -> dict[str, Estimate]:
    """The estimate of each kernel in an emitted source, or in a whole program."""
    return {name: _estimate(body) for name, body in _KERNEL.findall(source)}


@dataclass
class _Scope:
    """The bytes of its arrays, and how often it runs in an iteration of the loop around that is not unrolled."""

    size: int
    times: int


def _estimate(body: str) -> Estimate:
    scopes = [_Scope(0, 1)]
    largest = products = 0
    counts = [0]  # of the products of each loop that is open and not unrolled
    opened: list[bool] = []  # by scope: whether it is such a loop
    is_unrolled = False
    for line in body.splitlines():
        code = line.split("//")[0].rstrip()
        array = _ARRAY.fullmatch(code)
        if array is not None:
            scopes[-1].size += _BYTES.get(array[1], 1 if array[1].startswith("tc_") else 4) * int(array[2])
            largest = max(largest, sum(scope.size for scope in scopes))
        counts[-1] += scopes[-1].times * _products(code)
        if code.lstrip().startswith("}") and opened:
            scopes.pop()
            if opened.pop():
                products = max(products, counts.pop())
        if code.endswith("{"):
            loop = _LOOP.fullmatch(code)
            unrolled = loop is not None and is_unrolled and loop[1] is not None
            is_loop = loop is not None and not unrolled
            times = int(loop[1]) if loop is not None and unrolled and loop[1] else 1
            scopes.append(_Scope(0, 1 if is_loop else scopes[-1].times * times))
            opened.append(is_loop)
            if is_loop:
                counts.append(0)
        is_unrolled = code.strip() == "#pragma unroll"
    shared = _SHARED.search(body)
    return Estimate(int(shared[1]) if shared else 0, -(-largest // 2), max(products, counts[0]))


def _products(code: str) -> int:
    """The products of a line: a call makes one, or so many along M, N and K as its template says."""
    return sum(prod(int(size) for size in re.findall(r"\d+", sizes)) for sizes in _PRODUCTS.findall(code))
