"""The IR of a kernel just before and just after one pass, as functions and as text."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tilecore.contract.passes import Pass, PassEnv
from tilecore.interpreter import interpret
from tilecore.lowering.loops.pipeline import STEPS as LOOPS_STEPS
from tilecore.lowering.simt.pipeline import STEPS as SIMT_STEPS
from tilecore.testing import kernel_text

from . import kit as loops_kit
from .simt import kit as simt_kit

SIMT = "simt"  # the imagined target of simt/kit.py; every other target is one of the loops family
LOOPS = loops_kit.NARROW

_RANGE = re.compile(
    r'T\.attr\(T\.iter_var\((\w+), T\.Range\(0, (\d+)\), "ThreadIndex", "\w*"\), "tile\.threads", (\d+)\)'
)
_KNOWN = re.compile(
    r'with T\.attr\(T\.iter_var\((\w+), T\.Range\(0, (\d+)\), "DataPar", ""\), "tile\.range", \d+\):\s+T\.evaluate\(0\)'
)


def around_pass(func: Any, name: str, target: str = SIMT, **options: Any) -> tuple[Any, Any, PassEnv]:
    """The function before and after the pass ``name``, and the environment of the passes.

    options: what ``lowered`` of the family's kit takes, for example capabilities of the imagined target.
    """
    if target == SIMT:
        before, env = simt_kit.lowered(func, name, before=True, **options)
    else:
        before, env = loops_kit.lowered(func, name, target, before=True, **options)
    steps = SIMT_STEPS if target == SIMT else LOOPS_STEPS
    (step,) = (step for step in steps if isinstance(step, Pass) and step.name == name)
    return before, step.run(before, env), env


def before_and_after(func: Any, name: str, target: str = SIMT, **options: Any) -> tuple[str, str]:
    """The text of the kernel before and after the pass ``name``."""
    before, after, _ = around_pass(func, name, target, **options)
    return text(before), text(after)


def after_pass(func: Any, name: str, target: str = SIMT, **options: Any) -> str:
    """The text of the kernel after the pass ``name``."""
    return before_and_after(func, name, target, **options)[1]


def text(func: Any) -> str:
    """The statements of a function as text (testing/kernel_text.py).

    Code of a range of threads (ir/thread_ranges.py) begins with ``threads(first, count) as index``; that an index is
    below a number is written ``known(index < number)``.
    """
    return _KNOWN.sub(r"known(\1 < \2)", _RANGE.sub(r"threads(\3, \2) as \1", kernel_text.text(func)))


def interpreted(func: Any, *args: Any) -> list[np.ndarray]:
    """What a function in tile IR, or in the code of threads, writes into copies of the arrays in ``args``."""
    copies = [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]
    interpret(func, *copies)
    return [copy for copy in copies if isinstance(copy, np.ndarray)]
