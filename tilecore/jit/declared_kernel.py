"""The record of a kernel that is not compiled yet: parameters, symbols and outputs, as the tile IR declares them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilecore import compiler
from tilecore.artifact.records import Artifact, TensorParam

if TYPE_CHECKING:
    from tilecore.jit.request import Request


def declared_artifact(func: Any, request: Request) -> Artifact:
    """An artifact without entries and without code, whose calls take the same arguments as those of the compiled one.

    func: the tile IR. Raises TargetError for outputs that do not fit it, LanguageError for sizes that no argument
    gives.
    """
    from tilecore.ir.sizes import scalar_symbols, symbols_of_params

    outputs = compiler.out_idx_of(func, request.options)
    params = compiler.params_of(func, request.backend.target.capabilities(request.target))
    sizes = [d for p in params if isinstance(p, TensorParam) for d in (*p.shape, *(p.strides or ()), p.needed)]
    return Artifact(
        name=str(func.attrs["global_symbol"]),
        target=str(request.target),
        backend=request.backend.package,
        adapter=request.adapter,
        params=params,
        symbols=(*symbols_of_params(func.params), *scalar_symbols(func.params, sizes)),
        workspaces=(),
        entries=(),
        out_idx=compiler.checked_outputs(outputs, func) if outputs else (),
        source="",
        source_format="",
        binary=b"",
        binary_format="",
    )


def device_type_of(request: Request) -> int:
    """DLPack's type of the device whose memory calls of the kernel access."""
    device = request.backend.adapters[request.adapter].device
    return request.backend.target.device if device is None else device
