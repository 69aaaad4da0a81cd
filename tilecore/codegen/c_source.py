"""Emits thread IR as C-like source (docs/simt.md): one translation unit for a module, a kernel for each function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tilecore.codegen.names import kernel_names
from tilecore.codegen.source_emitter import EmittedKernel, SourceEmitter
from tilecore.ir.attributes import FunctionAttr

if TYPE_CHECKING:
    from tilecore.codegen.dialect import Dialect
    from tilecore.ir.nodes import IRModule

__all__ = ["Emitted", "EmittedKernel", "emit_module"]


@dataclass(frozen=True)
class Emitted:
    """The source of a module, and facts of its kernels by symbol. names: what the source calls kernels whose symbols
    are reserved in the language, or are no names of it."""

    text: str
    kernels: dict[str, EmittedKernel]
    names: Mapping[str, str] = field(default_factory=dict)

    def facts(self) -> dict[str, Any]:
        """The facts as ``Codegen.function`` returns them."""
        return {
            symbol: {
                "shared_bytes": kernel.shared_bytes,
                "attributes": {**kernel.attributes, "assertions": list(kernel.assertions)},
                **({"symbol": self.names[symbol]} if symbol in self.names else {}),
            }
            for symbol, kernel in self.kernels.items()
        }


def emit_module(module: IRModule, dialect: Dialect, emitter: type[SourceEmitter] = SourceEmitter) -> Emitted:
    """Emit every kernel of ``module``. emitter: the class that emits each, for languages that are not of C's family.

    Raises UnsupportedError, at the user's line, for what has no form.
    """
    preludes: dict[str, None] = {}
    texts, kernels, head = [], {}, ""
    symbols = [str(var.name_hint) for var in module.functions]
    names = kernel_names(symbols, dialect.reserved)
    used_names = frozenset(symbols) | frozenset(names.values())
    for var, func in module.functions.items():
        symbol = str(var.name_hint)
        emit = emitter.for_kernel(names.get(symbol, symbol), func, dialect, used_names)
        text, kernels[symbol] = emit.kernel(func)
        texts.append(text)
        used_names |= frozenset(emit.declarations)
        head = head or emit.module_head()
        prelude = func.attrs.get(FunctionAttr.PRELUDE)
        if prelude:
            preludes[str(prelude).strip()] = None
    return Emitted("\n\n".join([*([head] if head else []), *preludes, *texts]) + "\n", kernels, names)
