"""Describes the parameters of a compiled kernel, with torch's element types."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilecore.artifact.records import Param, ScalarParam
from tilecore.dtypes import dtype as DType

if TYPE_CHECKING:
    from tilecore.artifact.dims import Dim


@dataclass(frozen=True)
class KernelParam:
    """One parameter of a kernel. record: the artifact's record, which has the element type as text."""

    record: Param

    @property
    def name(self) -> str:
        return self.record.name

    @property
    def shape(self) -> tuple[Dim, ...]:
        """An int for each axis, or an expression of sizes that are known at the call; () for a scalar."""
        return () if isinstance(self.record, ScalarParam) else self.record.shape

    @property
    def strides(self) -> tuple[Dim, ...] | None:
        """Strides in elements; None: contiguous and row-major."""
        return None if isinstance(self.record, ScalarParam) else self.record.strides

    @property
    def access(self) -> str:
        """How the kernel accesses the parameter: "r", "w" or "rw"."""
        return "r" if isinstance(self.record, ScalarParam) else self.record.access

    @property
    def dtype(self) -> Any:
        """The torch dtype of the argument that a call passes; without torch the language's element type.

        4-bit elements are passed in pairs, as int8 or uint8.
        """
        try:
            return self.torch_dtype()
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            return self.tilelang_dtype()

    def torch_dtype(self) -> Any:
        """As ``dtype``; raises ModuleNotFoundError without torch, AttributeError for a type that this torch lacks."""
        return self.tilelang_dtype().as_torch()

    def tilelang_dtype(self) -> DType:
        """The element type of the tile language, such as ``T.float16``."""
        return DType(self.record.dtype)

    def is_scalar(self) -> bool:
        """Whether the parameter is a scalar."""
        return isinstance(self.record, ScalarParam)

    def is_unsigned(self) -> bool:
        return self.record.dtype.startswith("uint")

    def is_float8(self) -> bool:
        return self.record.dtype.startswith("float8")

    def is_float4(self) -> bool:
        return self.record.dtype.startswith("float4")

    def is_boolean(self) -> bool:
        return self.record.dtype == "bool"

    def __repr__(self) -> str:
        shape = "" if self.is_scalar() else f"{list(self.shape)}"
        return f"KernelParam({self.name}: {self.record.dtype}{shape})"


def params_of(records: Iterable[Param]) -> tuple[KernelParam, ...]:
    """The parameters of an artifact as KernelParams."""
    return tuple(map(KernelParam, records))
