"""Runs whole programs of Metal on the simulated device: what the stand-ins for torch and for Metal do with them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod

from tile_metal import families, header, header_parts
from tile_metal.codegen import HEADER
from tile_metal.simulated import INCLUDE
from tile_metal.simulated_text import host_source

from tilecore.simulate.arguments import Record, Tensor
from tilecore.simulate.device import SimulatedDevice
from tilecore.simulate.library import compile_kernels

_HEAD = re.compile(r"^\[\[kernel, max_total_threads_per_threadgroup\((\d+)\)\]\] void (\w+)\((.*)\) \{", re.MULTILINE)
_PARAMETER = re.compile(r"(.*?)\s*(\w+) \[\[buffer\((\d+)\)\]\]")
_ARENA = re.compile(r"^\s*alignas\(16\) threadgroup uchar \w+\[(\d+)\];", re.MULTILINE)
_STRUCTURE = re.compile(r"^struct (\w+) \{ long words\[(\d+)\]; \};$", re.MULTILINE)
_SIZES = {"bool": 1, "char": 1, "uchar": 1, "short": 2, "ushort": 2, "half": 2, "bfloat": 2, "long": 8, "ulong": 8}
_ELEMENTS = {
    "float": "float32", "half": "float16", "bfloat": "bfloat16", "char": "int8", "uchar": "uint8", "short": "int16",
    "ushort": "uint16", "int": "int32", "uint": "uint32", "long": "int64", "ulong": "uint64", "bool": "bool",
}  # fmt: skip
MESSAGES = "tc_messages"


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel. kind: as in the text, "device const half*". size: bytes of a scalar, 0 for a buffer."""

    name: str
    kind: str
    size: int

    @property
    def element(self) -> str:
        """The element type of a buffer; bytes for types of the header."""
        words = [word for word in re.findall(r"\w+", self.kind) if word in _ELEMENTS]
        return _ELEMENTS[words[0]] if words else "uint8"

    @property
    def access(self) -> str:
        return "r" if "const " in self.kind.replace("constant", "") else "rw"


@dataclass(frozen=True)
class Kernel:
    """What the text of a kernel says."""

    symbol: str
    bound: int
    parameters: list[Parameter]
    threadgroup_bytes: int


class HostProgram:
    """A program of one or several kernels. Raises what the host's compiler or the simulated device finds wrong."""

    def __init__(self, program: str) -> None:
        source = program.partition(header.END)[2]
        assert source, "the header is inlined"
        heads = list(_HEAD.finditer(source))
        ends = [*(head.start() for head in heads[1:]), len(source)]
        self.kernels = {
            head[2]: Kernel(
                head[2], int(head[1]), _parameters(head[3], dict(_STRUCTURE.findall(source))),
                sum(int(size) for size in _ARENA.findall(source[head.start() : end])),
            )
            for head, end in zip(heads, ends, strict=True)
        }  # fmt: skip
        include = (INCLUDE, header_parts.CORE)
        text = host_source(f'#include "{HEADER}"\n{source}')
        self.library = compile_kernels(text, list(self.kernels), include, ())
        self.device = SimulatedDevice(
            warp=families.SIMD,
            shared_limit=families.SHARED_BYTES,
            max_threads=families.MAX_THREADS,
            allow_same_value=True,
        )

    def run(self, symbol: str, arguments: list[Tensor | bytes], grid: list[int], block: list[int]) -> None:
        """arguments: one for each parameter; bytes for a scalar, of at least the size that the kernel reads."""
        kernel = self.kernels[symbol]
        assert len(arguments) == len(kernel.parameters), f"{symbol} gets {len(arguments)} arguments"
        values: list[Tensor | Record | int] = []
        for parameter, value in zip(kernel.parameters, arguments, strict=True):
            if isinstance(value, bytes):
                assert parameter.size, f"{parameter.name} is a buffer"
                assert len(value) >= parameter.size, f"{symbol} reads {parameter.name} beyond its {len(value)} bytes"
                words = [int.from_bytes(value[i : i + 8], "little", signed=True) for i in range(0, parameter.size, 8)]
                one = int.from_bytes(value[: parameter.size], "little")
                values.append(Record(tuple(words)) if len(words) > 1 else one)
            elif parameter.name != MESSAGES:
                assert not parameter.size, f"{parameter.name} is a scalar"
                values.append(value)
        assert prod(block) <= kernel.bound, "more threads than max_total_threads_per_threadgroup"
        self.device.run(self.library, symbol, grid, block, values, kernel.threadgroup_bytes)


def _parameters(text: str, structures: dict[str, str]) -> list[Parameter]:
    """structures: the number of words of each, by its name."""
    parameters = []
    for index, match in enumerate(_PARAMETER.finditer(text)):
        kind, name, number = match[1].lstrip(" ,"), match[2], int(match[3])
        assert number == index, "buffers are numbered in order"
        scalar = re.fullmatch(r"constant (\w+)&", kind)
        words = int(structures.get(scalar[1], 0)) if scalar else 0
        parameters.append(Parameter(name, kind, 8 * words or (_SIZES.get(scalar[1], 4) if scalar else 0)))
    return parameters
