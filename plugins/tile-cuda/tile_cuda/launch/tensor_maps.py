"""Tensor maps: the descriptions of tensors in global memory that the TMA copies of sm_90 and later use.

The launcher encodes each from a tensor argument with ``cuTensorMapEncodeTiled`` and passes it as one of the kernel's
last parameters (``const __grid_constant__ CUtensorMap``, 128 bytes). The limits are those of the CUDA driver API,
"Tensor Map Object Management".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tilecore.artifact.dims import Dim, dim_from_json, dim_to_json
from tilecore.errors import LaunchError

# element type -> CUtensorMapDataType; types that the driver does not have are moved as unsigned integers of their size
DTYPES = {
    "uint8": 0, "uint16": 1, "uint32": 2, "int32": 3, "uint64": 4, "int64": 5, "float16": 6, "float32": 7,
    "float64": 8, "bfloat16": 9, "tfloat32": 11, "int8": 0, "bool": 0, "int16": 1, "float8_e4m3fn": 0,
    "float8_e5m2": 0, "float8_e4m3fnuz": 0, "float8_e5m2fnuz": 0,
}  # fmt: skip
_BYTES = {0: 1, 1: 2, 2: 4, 3: 4, 4: 8, 5: 8, 6: 2, 7: 4, 8: 8, 9: 2, 11: 4}
SWIZZLES = {"none": 0, "32B": 1, "64B": 2, "128B": 3}
INTERLEAVES = {"none": 0, "16B": 1, "32B": 2}
PROMOTIONS = {"none": 0, "64B": 1, "128B": 2, "256B": 3}
FILLS = {"zero": 0, "nan": 1}
MAX_RANK = 5
BYTES = 128  # of an encoded tensor map
_SPANS = {1: 32, 2: 64, 3: 128}  # CUtensorMapSwizzle -> the bytes that it permutes


@dataclass(frozen=True)
class TensorMap:
    """How a tensor is divided into boxes. Axes are counted from the innermost one, as the hardware does.

    slot: the index of the tensor among the kernel's slots. dtype: the element type. shape: the elements along each
    axis, at most 2^32; where a tensor is empty at a launch, the map describes one element that is 0.
    strides: the bytes between neighbours along each axis but the innermost, multiples of 16 below 2^40.
    box: the elements that one copy moves, at most 256 along an axis. Its innermost axis is a multiple of 16 bytes, and
    as long as the swizzle if there is one (shorter ones are refused, as their layout has not been verified).
    element_strides: the steps along each axis, 1 to 8. swizzle: "none", "32B", "64B", "128B": the permutation of
    16-byte chunks in shared memory. interleave: "none", "16B", "32B". promotion: "none", "64B", "128B", "256B": the
    least that L2 fetches. fill: "zero" or "nan": the value of elements outside of the tensor. offset: the bytes from
    the start of the tensor to the start of the map.
    """

    slot: int
    dtype: str
    shape: tuple[Dim, ...]
    strides: tuple[Dim, ...]
    box: tuple[int, ...]
    element_strides: tuple[int, ...] = ()
    swizzle: str = "none"
    interleave: str = "none"
    promotion: str = "128B"
    fill: str = "zero"
    offset: Dim = 0
    name: str = field(default="", compare=False)  # the tensor's name, for errors

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def steps(self) -> tuple[int, ...]:
        """``element_strides``, or 1 along every axis where there are none."""
        return self.element_strides or (1,) * self.rank

    @property
    def sizes(self) -> tuple[Dim, ...]:
        """The sizes that may differ between launches: the offset, the shape, the strides."""
        return (self.offset, *self.shape, *self.strides)

    @property
    def codes(self) -> tuple[int, int, int, int, int]:
        """The driver's codes of dtype, interleave, swizzle, promotion and fill."""
        return (
            DTYPES[self.dtype], INTERLEAVES[self.interleave], SWIZZLES[self.swizzle], PROMOTIONS[self.promotion],
            FILLS[self.fill],
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        return {
            "slot": self.slot,
            "dtype": self.dtype,
            "shape": [dim_to_json(d) for d in self.shape],
            "strides": [dim_to_json(d) for d in self.strides],
            "box": list(self.box),
            "element_strides": list(self.steps),
            "swizzle": self.swizzle,
            "interleave": self.interleave,
            "promotion": self.promotion,
            "fill": self.fill,
            "offset": dim_to_json(self.offset),
            "name": self.name,
        }

    @staticmethod
    def from_json(facts: Mapping[str, Any], kernel: str = "the kernel") -> TensorMap:
        """The inverse of :meth:`to_json`. Raises LaunchError for maps that the hardware does not support."""
        tensor_map = TensorMap(
            slot=int(facts["slot"]),
            dtype=str(facts["dtype"]),
            shape=tuple(map(dim_from_json, facts["shape"])),
            strides=tuple(map(dim_from_json, facts["strides"])),
            box=tuple(map(int, facts["box"])),
            element_strides=tuple(map(int, facts.get("element_strides", ()))),
            swizzle=str(facts.get("swizzle", "none")),
            interleave=str(facts.get("interleave", "none")),
            promotion=str(facts.get("promotion", "128B")),
            fill=str(facts.get("fill", "zero")),
            offset=dim_from_json(facts.get("offset", 0)),
            name=str(facts.get("name", "")),
        )
        fault = tensor_map.fault()
        if fault:
            tensor = tensor_map.name or f"slot {tensor_map.slot}"
            raise LaunchError(f"the tensor map of {tensor} in {kernel} is wrong", found=fault[0], expected=fault[1])
        return tensor_map

    def fault(self) -> tuple[str, str] | None:
        """(found, expected) of a rule that the map breaks at every launch; None where it breaks no rule."""
        choices = (
            (self.dtype, DTYPES, "dtype"), (self.swizzle, SWIZZLES, "swizzle"), (self.fill, FILLS, "fill"),
            (self.interleave, INTERLEAVES, "interleave"), (self.promotion, PROMOTIONS, "promotion"),
        )  # fmt: skip
        for choice, table, field_name in choices:
            if choice not in table:
                return f"{field_name} {choice!r}", "one of " + ", ".join(table)
        rank = self.rank
        least = 3 if self.interleave != "none" else 1
        if not least <= rank <= MAX_RANK:
            return f"{rank} axes", f"{least} to {MAX_RANK}"
        if (len(self.strides), len(self.box), len(self.steps)) != (rank - 1, rank, rank):
            return (
                f"{len(self.strides)} strides, a box of {len(self.box)} axes, {len(self.steps)} element strides",
                f"{rank - 1}, {rank} and {rank} for {rank} axes",
            )
        if not all(1 <= b <= 256 for b in self.box):
            return f"a box of {self.box}", "1 to 256 elements along every axis"
        if not all(1 <= s <= 8 for s in self.steps):
            return f"element strides {self.steps}", "1 to 8"
        return self._box_fault() or self._size_fault(self.shape, self.strides)

    def _box_fault(self) -> tuple[str, str] | None:
        code = DTYPES[self.dtype]
        inner = self.box[0] * _BYTES[code]
        span = _SPANS.get(SWIZZLES[self.swizzle])
        if self.interleave != "none":
            return None
        if inner % 16:
            return f"the box's innermost axis has {inner} bytes", "a multiple of 16"
        if span is not None and inner != span:
            return f"the box's innermost axis has {inner} bytes", f"{span}, as the swizzle is {self.swizzle}"
        return None

    def _size_fault(self, shape: tuple[Dim, ...], strides: tuple[Dim, ...]) -> tuple[str, str] | None:
        unit = 32 if self.interleave == "32B" else 16
        for size in shape:
            if isinstance(size, int) and not 0 <= size <= 2**32:
                return f"shape {tuple(map(str, shape))}", "at most 2^32 elements along every axis"
        for stride in strides:
            if isinstance(stride, int) and (stride % unit or not 0 <= stride < 2**40):
                return f"a stride of {stride} bytes", f"a multiple of {unit} below 2^40"
        return None

    def fault_of_call(self, address: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[str, str] | None:
        """(found, expected) of a rule that the address, shape and strides of one launch break; None for none.

        An empty tensor breaks no rule: its map describes one zero (launch/module.py).
        """
        if 0 in shape:
            return None
        unit = 32 if self.interleave == "32B" else 16
        if address % unit:
            return f"its address is {address:#x}", f"a multiple of {unit}"
        return self._size_fault(shape, strides)
