"""Names that installed backends add to the language, for features of their chips.

``TargetSpec.language`` says which, and where each is: the core's ``T.<name>`` is then that function. What such
functions put into the IR bears the backend's kind and the name that the user wrote, so that every other target can
refuse it at the user's line (ir/dialect_calls.py).
"""

from __future__ import annotations

import importlib
import inspect
import traceback
from collections.abc import Mapping, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any

from tilecore.errors import LanguageError, PluginError
from tilecore.plugins import manager
from tilecore.plugins.checking import wrong
from tilecore.plugins.guard import blame, calling

if TYPE_CHECKING:
    from tilecore.contract.origin import Origin

_functions_of_backends: dict[CodeType, tuple[Origin, str]] = {}  # with the backend, and the name under ``T.``


def backend_function(name: str) -> Any | None:
    """The function that an installed backend defines as ``T.<name>``, or None. Raises LanguageError where several
    backends define one."""
    names = {offer.kind: str(offer.language[name]) for offer in manager.offers() if name in offer.language}
    if len(set(names.values())) > 1:
        raise LanguageError(
            f"T.{name} is defined by several targets: {', '.join(names)}",
            expected="a name of one target",
            hint="import it from its backend: " + " or ".join(sorted({p.partition(":")[0] for p in names.values()})),
        )
    if not names:
        return None
    kind, place = next(iter(names.items()))
    module, _, attribute = place.partition(":")
    owner = manager.claims(kind)[0]
    with calling(owner, f"importing {place}, its T.{name}"):
        value = getattr(importlib.import_module(module), attribute, None)
    if value is None:
        message = f"{module} has no {attribute!r}, which TargetSpec.language offers as T.{name}"
        raise wrong(owner, message, place, "the place of a function")
    code = getattr(inspect.unwrap(value), "__code__", None)
    if code is not None:
        _functions_of_backends[code] = owner, name
    return value


def backend_fault(error: Exception) -> PluginError | None:
    """The PluginError for an error that a backend's own function ``T.<name>`` raised; None for any other error."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_code in _functions_of_backends:
            owner, name = _functions_of_backends[frame.f_code]
            return blame(owner, f"T.{name}", error)
    return None


def backend_names() -> set[str]:
    """All names that installed backends add."""
    return {name for offer in manager.offers() for name in offer.language}


def dialect_hints(kind: str, called: str, hints: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The attributes of a call that the name ``called`` ("T.tma_copy") of a backend's language makes."""
    from tilecore.ir.attributes import CallAttr

    return {CallAttr.DIALECT: kind, CallAttr.CALLED: called, **(hints or {})}


def emit_call(kind: str, called: str, name: str, args: Sequence[Any]) -> None:
    """Append the statement ``name(args)``, a call of the backend's own, which every thread that reaches it executes."""
    from tilecore.ir.nodes import Call, Evaluate
    from tilecore.language.kernel import open_kernel
    from tilecore.tracing.current import current

    open_kernel(called)
    builder = current(called)
    call = Call(name, list(args), attrs=dialect_hints(kind, called), ret_ty="void")
    builder.emit(Evaluate(call, span=builder.span))
