"""Runs host kernels on several threads: the built pool, or the one in plain Python where it was not built.

A kernel entry is ``int32 entry(const int64_t *slots, int64_t begin, int64_t end, uint8_t *scratch)``: it runs the
blocks begin..end of the grid, counted with x fastest. ``scratch`` belongs to the running thread, is 64-byte aligned
and has the entry's shared bytes, at least 64. A number other than 0 ends the launch, which returns it; so does one that
the entry leaves in the first four bytes of ``scratch``, which are 0 when it starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from tilecore.errors import ArgumentError

INTERFACE = 2  # changes when the built pool and the Python around it must change together
MOST_THREADS = 4096
NO_MEMORY = -1  # returned by a launch that cannot have the scratch memory that it needs

_NAME, _FIX = "tilecore.backends.cpu._pool", "python setup.py build_ext --inplace"


def _choose() -> tuple[ModuleType, bool, str]:
    from tilecore import settings

    if settings.pure_python():
        why = "TILECORE_PURE_PYTHON is set"
    else:
        try:
            from tilecore.backends.cpu import _pool  # type: ignore[attr-defined]
        except ImportError as error:
            why = f"the extension {_NAME} is not built ({error}); {_FIX}"
        else:
            if _pool.INTERFACE == INTERFACE:
                return _pool, True, f"built: {_pool.__file__}"
            why = f"the extension {_NAME} is of another version; {_FIX}"
    from tilecore.backends.cpu import pool_py

    return pool_py, False, why


_pool, _built, _reason = _choose()


def built() -> tuple[bool, str]:
    """Whether the built pool is in use, and where it is or why it is not."""
    return _built, _reason


def launch_of(addresses: Sequence[int], work: Sequence[int]) -> tuple[Any, int, Any]:
    """(launch, state, owner) of a LoadedKernel with these entries; keep the owner as long as the launch.

    work: estimated nanoseconds of one block of each entry, 0 where unknown. The launch returns 0, what a block
    returned, or NO_MEMORY.
    """
    _start()
    entries = list(zip(addresses, work, strict=True))
    if _built:
        state = _pool.State(entries)
        return _pool.launch_capsule(), state.address, state
    kernel = _pool.Kernel(entries)
    return kernel.launch, 0, kernel


def set_num_threads(threads: int) -> None:
    """How many threads run a host kernel from now on, the calling one included."""
    global _started
    if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= MOST_THREADS:
        raise ArgumentError("the number of threads is wrong", found=repr(threads), expected=f"1 to {MOST_THREADS}")
    _started = True
    _pool.set_num_threads(threads)


def get_num_threads() -> int:
    """How many threads run a host kernel: TILECORE_NUM_THREADS, else as many CPUs as this process may use."""
    _start()
    return _pool.get_num_threads()


_started = False


def _start() -> None:
    if not _started:
        from tilecore import settings
        from tilecore.tensors.current_device import get_available_cpu_count

        set_num_threads(settings.num_threads() or min(get_available_cpu_count(), MOST_THREADS))
