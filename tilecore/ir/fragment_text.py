"""Formats layouts of fragments as readable formulas: ``thread = i % 8 * 4 + j / 2 % 4``."""

from __future__ import annotations

from tilecore.ir.fragments import REGISTER, THREAD, Digit, FragmentLayout

AXES = "ijklmn"


def formula(layout: FragmentLayout, where: str) -> str:
    """The formula of the index of the thread (THREAD; the first one of those that hold copies) or of the register
    (REGISTER) of the element at i, j, ..., the largest strides first; / rounds down."""
    parts = [_term(layout, digit) for digit in layout.digits if digit.where == where]
    return " + ".join(text for _, text in sorted(parts, key=lambda part: -part[0])) or "0"


def facts(layout: FragmentLayout) -> dict[str, object]:
    """A layout as plain data: its sizes and formulas."""
    copies = 1
    for part in layout.free:
        copies *= part.extent
    return {
        "shape": list(layout.shape),
        "threads": layout.threads,
        "registers": layout.registers,
        "copies": copies,
        "thread": formula(layout, THREAD),
        "register": formula(layout, REGISTER),
    }


def _term(layout: FragmentLayout, digit: Digit) -> tuple[int, str]:
    text = AXES[digit.axis] if digit.axis < len(AXES) else f"i{digit.axis}"
    if digit.place > 1:
        text += f" / {digit.place}"
    if digit.end < layout.shape[digit.axis]:
        text += f" % {digit.extent}"
    return digit.stride, text + (f" * {digit.stride}" if digit.stride > 1 else "")
