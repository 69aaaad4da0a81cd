"""Memory that the pointers of a kernel may reach where the host runs the kernel with checks: in the interpreter and on
simulated devices.

An address is a number, which does not tell whose memory it is and how long that is. So these look an address up among
the tensors of the call, those that :func:`reachable` names, and torch's tensors on the host that are alive.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from tilecore.errors import ArgumentError
from tilecore.frozen_dataclasses import frozen
from tilecore.tensors.dlpack import HOST_KINDS
from tilecore.tensors.views import UnreadableTensor, is_tensor, view


@frozen
class Block:
    """Memory of the host: the bytes from begin to end. owner: keeps it alive."""

    begin: int
    end: int
    read_only: bool
    owner: Any

    def holds(self, address: int) -> bool:
        return self.begin <= address < self.end


_named: ContextVar[tuple[Block, ...]] = ContextVar("reachable", default=())


@contextmanager
def reachable(*tensors: Any) -> Iterator[None]:
    """While the context is open, pointers of kernels may reach the memory of these tensors on the host: numpy arrays,
    torch tensors, anything with ``__dlpack__``. Only the interpreter and simulated devices need it, of arrays that are
    not torch's. Raises ArgumentError for what is no tensor on the host.

    ``with tilecore.reachable(*parts): kernel(np.array([part.ctypes.data for part in parts]), out)``
    """
    token = _named.set((*_named.get(), *map(block_of, tensors)))
    try:
        yield
    finally:
        _named.reset(token)


def block_of(tensor: Any) -> Block:
    """The memory of a tensor on the host. Raises ArgumentError."""
    if not is_tensor(tensor):
        raise ArgumentError("tilecore.reachable takes tensors", found=type(tensor).__name__)
    try:
        memory = view(tensor)
    except UnreadableTensor as unreadable:
        raise ArgumentError(f"a tensor cannot be used: {unreadable.reason}", hint=unreadable.hint) from None
    if memory.device[0] not in HOST_KINDS:
        raise ArgumentError("tilecore.reachable takes tensors of the host", found=f"one on {memory.device_name}")
    return Block(*memory.span(), memory.read_only, memory.owner)


def block_at(address: int, of_call: Iterable[Block] = ()) -> Block | None:
    """The memory that an address points into; None where no tensor is known to have it. of_call: that of the call."""
    for block in (*of_call, *_named.get()):
        if block.holds(address):
            return block
    return next((block for block in _of_torch() if block.holds(address)), None)


def _of_torch() -> Iterator[Block]:
    """The memory of torch's tensors on the host that are alive."""
    torch = sys.modules.get("torch")
    if torch is None:
        return
    for candidate in gc.get_objects():
        if type(candidate) not in (torch.Tensor, torch.nn.Parameter):
            continue
        if candidate.device.type == "cpu" and candidate.layout == torch.strided:
            try:
                storage = candidate.untyped_storage()
                begin = storage.data_ptr()
            except RuntimeError:  # one that torch.func has made (vmap, functionalize, ...) has no memory of its own
                continue
            yield Block(begin, begin + storage.nbytes(), False, storage)
