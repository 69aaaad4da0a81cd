"""Reports that a simulator is being built, for which its first kernel waits."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def building(simulator: str, parts: int, usually: str) -> Iterator[Callable[[], None]]:
    """Reports, on standard error, the start and the end of building a simulator, and on a terminal its progress. Yields
    a function to be called once for each of ``parts``, from any thread.

    simulator: its name, such as "the simulated device". usually: how long it takes, in words.
    """
    from tilecore.progress import Progress

    _say(f"building {simulator}, once for this cache folder: {usually}")
    start = time.monotonic()
    lock = threading.Lock()
    with Progress(f"building {simulator}", parts) as bar:

        def step() -> None:
            with lock:
                bar.advance()

        yield step
    _say(f"{simulator} is built, in {time.monotonic() - start:.0f} s")


def _say(text: str) -> None:
    if sys.stderr is not None and not sys.stderr.closed:
        print(f"[tilecore] {text}", file=sys.stderr, flush=True)
