"""Reads torch's state when a kernel is called: whether torch records operations, and the version counters of tensors.

A kernel reads and writes memory behind torch's back. Where torch traces, it would record nothing; where it
differentiates, it would miss a step; and it must hear which tensors were written. Nothing here imports torch.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from tilecore.tensors.torch_allocation import TorchAllocation
    from tilecore.tensors.torch_fields import TorchFields

# Modes that record or replace operations, by the names of their classes; others (counters, profilers) may be active.
_RECORDING = {
    "ProxyTorchDispatchMode": "torch.fx (make_fx, torch.export)",
    "FakeTensorMode": "FakeTensorMode",
    "FunctionalTensorMode": "torch's functionalization",
    "CrossRefMode": "CrossRefMode",
}


def recorder() -> str:
    """What records torch's operations in this thread, in words; "" when nothing does."""
    torch = sys.modules.get("torch")
    core = getattr(torch, "_C", None)
    if core is None or not hasattr(core, "_get_tracing_state"):
        return ""
    if core._get_tracing_state() is not None:
        return "torch.jit.trace"
    functorch = getattr(core, "_functorch", None)
    if functorch is not None and functorch.peek_interpreter_stack() is not None:
        return "a transformation of torch.func (vmap, grad, functionalize, ...)"
    if not core._len_torch_dispatch_stack():
        return ""
    from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

    for mode in _get_current_dispatch_mode_stack():
        for kind in type(mode).__mro__:
            if kind.__name__ in _RECORDING:
                return _RECORDING[kind.__name__]
    return ""


def not_traced(function: Any, instead: str) -> Any:
    """``function``, which torch.compile does not trace into: it stops there, and its error says what to call instead.
    With ``fullgraph=False`` it calls the function between two graphs."""
    function._torchdynamo_disable = True  # what torch.compiler.disable sets, without an import of torch
    function._torchdynamo_disable_msg = instead
    return function


def loses_gradient(tensor: Any) -> bool:
    """Whether autograd would need a derivative of values that are computed from this torch tensor now."""
    return tensor.requires_grad and sys.modules["torch"].is_grad_enabled()


def has_tangent(values: Iterable[Any]) -> bool:
    """Whether torch differentiates in forward mode (torch.autograd.forward_ad, torch.func.jvp) through one of these."""
    torch = sys.modules["torch"]
    forward = torch.autograd.forward_ad
    if getattr(forward, "_current_level", 0) < 0:  # there is none at all
        return False
    return any(isinstance(one, torch.Tensor) and forward.unpack_dual(one).tangent is not None for one in values)


def handles_operations(kind: type) -> bool:
    """Whether a class of torch tensors has its own idea of operations, and so of what its memory means."""
    plain = getattr(sys.modules["torch"].Tensor, "__torch_dispatch__", None)
    return getattr(kind, "__torch_dispatch__", plain) is not plain


def note_writes(tensors: Sequence[Any]) -> None:
    """Tell torch that these tensors of its own were written: their version counters go up, as after ``add_``."""
    if not tensors:
        return
    torch = sys.modules["torch"]
    counted = [tensor for tensor in tensors if not tensor.is_inference()]
    if hasattr(torch._C, "_increment_version"):
        try:
            torch._C._increment_version(counted)
            return
        except TypeError:  # before torch 2.6 it took one tensor
            pass
    for tensor in counted:
        torch.autograd.graph.increment_version(tensor)


class NativeState(NamedTuple):
    """Addresses of torch's own functions, which the built launcher asks in C, in some nanoseconds.

    offset: bytes from a tensor's Python object to its C++ handle. included: of a dispatch key; python_key, layer_key:
    the keys that are included while a dispatch mode, or a transformation of torch.func, is active. trace: gives the
    place of the tracer's state. grad_mode: whether it is on. The others are of a tensor. fields: functions that
    describe a tensor, or None where torch's exchange of DLPack must be asked. allocation: functions that make one, or
    None where Python's must.
    """

    offset: int
    included: int
    python_key: int
    layer_key: int
    trace: int
    grad_mode: int
    requires_grad: int
    is_negated: int
    is_inference: int
    bump_version: int
    fields: TorchFields | None = None
    allocation: TorchAllocation | None = None


_SYMBOLS = {
    "included": "_ZN3c104impl28tls_is_dispatch_key_includedENS_11DispatchKeyE",
    "trace": "_ZN5torch3jit6tracer15getTracingStateEv",
    "grad_mode": "_ZN3c108GradMode10is_enabledEv",
    "requires_grad": "_ZNK3c1010TensorImpl13requires_gradEv",
    "is_negated": "_ZN2at6native6is_negERKNS_6TensorE",
    "is_inference": "_ZN2at6native12is_inferenceERKNS_6TensorE",
    "bump_version": "_ZN5torch8autograd4impl12bump_versionERKN2at6TensorE",
}


def native_state() -> NativeState | None:
    """The functions of the loaded torch, each checked on tensors first.

    None if a function is missing or its result differs from torch's in Python, as in another release. Must not be
    called while a :func:`recorder` is active."""
    try:
        with sys.modules["torch"].inference_mode(False):
            return _tried(_read_state())
    except Exception:  # a torch whose inner names differ: the launcher asks in Python, which is slower
        return None


def _read_state() -> NativeState:
    import torch

    from tilecore.tensors.torch_allocation import torch_allocation
    from tilecore.tensors.torch_fields import torch_fields

    folder = os.path.join(os.path.dirname(str(torch.__file__)), "lib")
    libraries = [ctypes.CDLL(os.path.join(folder, name)) for name in ("libc10.so", "libtorch_cpu.so")]
    addresses: dict[str, int] = {}
    for name, symbol in _SYMBOLS.items():
        function = next(getattr(library, symbol) for library in libraries if hasattr(library, symbol))
        addresses[name] = ctypes.cast(function, ctypes.c_void_p).value or 0
    keys: Any = torch._C.DispatchKey
    offset = _offset_of_handle()
    return NativeState(
        offset=offset,
        fields=torch_fields(libraries[1], offset),
        allocation=torch_allocation(libraries[1]),
        python_key=int(keys.Python),
        layer_key=int(keys.FuncTorchDynamicLayerFrontMode),
        **addresses,
    )


def _offset_of_handle() -> int:
    """Where tensors' Python objects keep the pointer to their C++ part, the same in several kinds of tensors."""
    import torch

    base = torch.zeros(4, device="cpu")
    tensors = [
        base,
        base[1:],
        torch.zeros(2, 3, dtype=torch.int8, device="cpu"),
        torch.nn.Parameter(base),
        torch._neg_view(base),
    ]
    words = torch._C.TensorBase.__basicsize__ // 8
    places: list[set[int]] = []
    for tensor in tensors:
        memory = (ctypes.c_uint64 * words).from_address(id(tensor))  # all of it is the object's own
        places.append({i for i in range(words) if memory[i] == tensor._cdata})
    (place,) = set.intersection(*places)
    return place * 8


def _tried(state: NativeState) -> NativeState:
    """``state`` if every function returns the expected result for known tensors and modes. Raises ValueError."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    def handle(tensor: Any) -> int:
        return id(tensor) + state.offset

    def ask(name: str, *arguments: Any) -> bool:
        return bool(ctypes.CFUNCTYPE(ctypes.c_bool, *map(type, arguments))(getattr(state, name))(*arguments))

    def included(key: int) -> bool:
        return ask("included", ctypes.c_uint16(key))

    plain = torch.zeros(2, device="cpu")
    with torch.inference_mode():
        frozen = torch.zeros(2, device="cpu")
    leaf, negated = torch.zeros(2, device="cpu", requires_grad=True), torch._neg_view(plain)
    facts = [
        ask("is_negated", ctypes.c_void_p(handle(negated))), not ask("is_negated", ctypes.c_void_p(handle(plain))),
        ask("is_inference", ctypes.c_void_p(handle(frozen))), not ask("is_inference", ctypes.c_void_p(handle(plain))),
        ask("requires_grad", ctypes.c_void_p(leaf._cdata)), not ask("requires_grad", ctypes.c_void_p(plain._cdata)),
        not included(state.layer_key),
    ]  # fmt: skip
    for enabled in (True, False):
        with torch.set_grad_enabled(enabled):
            facts.append(ask("grad_mode") == enabled)
    before = included(state.python_key)
    with TorchDispatchMode():
        facts.append(included(state.python_key))
    facts.append(before == bool(torch._C._len_torch_dispatch_stack()))
    version = plain._version
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(state.bump_version)(handle(plain))
    facts.append(plain._version == version + 1)
    if not all(facts):
        raise ValueError(f"torch's own functions answer otherwise: {facts}")
    return state
