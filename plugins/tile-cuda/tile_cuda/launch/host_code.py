"""The launch of cubins in C, for shared libraries: the driver's library is opened at the first launch.

The cubin is a constant of the library. The launch is that of calls from Python (launch_native.h, tensor_map_native.h),
with launch attributes and tensor maps; host_library.h is what loads the kernels.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from tile_cuda.driver import DRIVER
from tile_cuda.launch.entries import LaunchEntry, launch_entry
from tile_cuda.launch.failures import BAD_CLUSTER, BAD_MAP, MAX_MAPS
from tile_cuda.launch.tensor_maps import TensorMap
from tilecore.artifact.dims import Dim
from tilecore.artifact.records import Artifact, Entry, TensorParam
from tilecore.contract.adapter import HostCode

_FOLDER = Path(__file__).parent
_IN_A_LINE = 24  # bytes of the cubin in a line of source
_ERRORS = {
    100: "there is no driver of the GPU here",
    200: "the kernel's binary is for another GPU",
    209: "the kernel's binary is for another GPU",
    500: "the driver is too old: install one of CUDA 12 or later",
    BAD_CLUSTER: "the grid is no multiple of the cluster",
    **{BAD_MAP + number: f"tensor map {number} of the kernel does not fit its tensor" for number in range(MAX_MAPS)},
}


def host_code(artifact: Artifact) -> HostCode:
    """The launch of an artifact's entries, in their order."""
    facts = [launch_entry(entry) for entry in artifact.entries]
    sizes = tuple(dict.fromkeys(size for fact in facts for size in fact.sizes if not isinstance(size, int)))
    slots = len(artifact.params) + len(artifact.workspaces) + len(artifact.symbols)
    tables = _Tables(artifact, facts, sizes, slots)
    parts = [_text("tensor_map_native.h"), _text("launch_native.h"), *tables.lines(), _text("host_library.h")]
    return HostCode("\n".join(parts), allocates=True, errors=_ERRORS, has_streams=True, finds_device=True, sizes=sizes)


def _text(name: str) -> str:
    """The text of a header, for inclusion in a source file that already has what it includes."""
    lines = (_FOLDER / name).read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith(("#pragma once", '#include "')))


class _Tables:
    """The tables of host_library.h. sizes: those behind the slots; slots: their number."""

    def __init__(self, artifact: Artifact, facts: Sequence[LaunchEntry], sizes: Sequence[Dim], slots: int) -> None:
        self.artifact = artifact
        self.facts = facts
        self.sizes = sizes
        self.slots = slots
        self.parameters = slots - sum(symbol.source[0] == "scalar" for symbol in artifact.symbols)

    def lines(self) -> list[str]:
        kernels = [self._kernel(entry, fact) for entry, fact in zip(self.artifact.entries, self.facts, strict=True)]
        maps = [self._maps(number, fact.tensor_maps) for number, fact in enumerate(self.facts) if fact.tensor_maps]
        entries = [self._entry(number, fact) for number, fact in enumerate(self.facts)]
        return [
            f'#define TILECORE_DRIVER "{DRIVER}"',
            f"#define TILECORE_KERNELS {len(kernels)}",
            f"#define TILECORE_SLOTS {self.slots}",
            f"#define TILECORE_EMPTY_MAPS {int(self._may_be_empty())}",
            f"#define TILECORE_WINDOW {int(any(fact.window_slot >= 0 for fact in self.facts))}",
            "static const struct { const char *symbol; int shared, carveout; } tilecore_kernels[] = {",
            *kernels,
            "};",
            "static tcu_functions tilecore_functions;",
            *maps,
            "static const tcu_entry tilecore_entries[] = {",
            *entries,
            "};",
            _constant(self.artifact.binary),
        ]

    @staticmethod
    def _kernel(entry: Entry, fact: LaunchEntry) -> str:
        shared = entry.shared_bytes if isinstance(entry.shared_bytes, int) else -1
        return f'  {{"{entry.symbol}", {shared}, {-1 if fact.carveout is None else fact.carveout}}},'

    def _entry(self, number: int, fact: LaunchEntry) -> str:
        maps = f"tilecore_maps_{number}" if fact.tensor_maps else "NULL"
        values = {
            "driver": "&tilecore_functions",
            "threads": _list(fact.threads),
            "cluster": _list(fact.cluster),
            "number": number,
            "n_parameters": self.parameters,
            "is_plain": int(fact.is_plain),
            "window_slot": fact.window_slot,
            "window_bytes": self._size(fact.window_bytes),
            "window_ratio": f"{float(fact.window_ratio)!r}f",
            "programmatic": int(fact.programmatic),
            "cooperative": int(fact.cooperative),
            "n_maps": len(fact.tensor_maps),
            "maps": maps,
        }
        return f"  {_record(values)},"

    def _maps(self, number: int, maps: Sequence[TensorMap]) -> str:
        lines = [f"static const tcu_map tilecore_maps_{number}[] = {{"]
        for place, tensor_map in enumerate(maps):
            dtype, interleave, swizzle, promotion, fill = tensor_map.codes
            values = {
                "id": MAX_MAPS * number + place + 1,
                "slot": tensor_map.slot,
                "rank": tensor_map.rank,
                "dtype": dtype,
                "interleave": interleave,
                "swizzle": swizzle,
                "promotion": promotion,
                "fill": fill,
                "offset": self._size(tensor_map.offset),
                "shape": _list(map(self._size, tensor_map.shape)),
                "strides": _list(map(self._size, tensor_map.strides)) if tensor_map.strides else "{{0, -1}}",
                "box": _list(tensor_map.box),
                "steps": _list(tensor_map.steps),
            }
            lines.append(f"  {_record(values)},")
        return "\n".join([*lines, "};"])

    def _size(self, size: Dim) -> str:
        if isinstance(size, int):
            return f"{{INT64_C({size}), -1}}"
        return f"{{0, {self.slots + self.sizes.index(size)}}}"

    def _may_be_empty(self) -> bool:
        """Whether a tensor that has a tensor map may be empty, or NULL."""
        maps = [tensor_map for fact in self.facts for tensor_map in fact.tensor_maps]
        if any(isinstance(param, TensorParam) and param.needed != 1 for param in self.artifact.params):
            return bool(maps)
        return any(not isinstance(size, int) or size == 0 for tensor_map in maps for size in tensor_map.shape)


def _record(values: dict[str, object]) -> str:
    return "{" + ", ".join(f".{name} = {value}" for name, value in values.items()) + "}"


def _list(values: Iterable[object]) -> str:
    return "{" + ", ".join(map(str, values)) + "}"


def _constant(binary: bytes) -> str:
    lines = [", ".join(map(str, binary[at : at + _IN_A_LINE])) for at in range(0, len(binary), _IN_A_LINE)]
    text = ",\n".join(lines)
    return f"static const unsigned char tilecore_cubin[] __attribute__((aligned(16))) = {{\n{text}}};\n"
