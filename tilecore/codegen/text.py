"""C expressions with their precedence, so that parentheses are emitted only where they are needed."""

from __future__ import annotations

from typing import NamedTuple

# binding strength, loosest first
CHOICE, OR, AND, BIT_OR, BIT_XOR, BIT_AND, EQUALITY, ORDER, SHIFT, SUM, PRODUCT, UNARY, PRIMARY = range(13)
_LOGIC = (OR, AND)
_BITS = (BIT_OR, BIT_XOR, BIT_AND, SHIFT)


class Text(NamedTuple):
    """A C expression: its text and the strength of its outermost operator."""

    text: str
    level: int = PRIMARY

    def __str__(self) -> str:
        return self.text


def within(piece: Text, level: int, right: bool = False) -> str:
    """``piece`` as an operand of an operator of ``level``; right: on its right side.

    Compilers warn of ``a & b == c``, ``a << b + c`` and ``a || b && c``, and people stumble: those get parentheses.
    """
    bare = piece.level > level or (piece.level == level and not right)
    mixed = piece.level < UNARY and piece.level != level
    if level in _BITS and mixed:
        bare = False
    if level in _LOGIC and piece.level in _LOGIC and mixed:
        bare = False
    if level in (EQUALITY, ORDER) and piece.level in (EQUALITY, ORDER):
        bare = False
    return piece.text if bare else f"({piece.text})"


def binary(symbol: str, level: int, a: Text, b: Text) -> Text:
    """``a symbol b``."""
    return Text(f"{within(a, level)} {symbol} {within(b, level, right=True)}", level)


def minus(value: Text) -> Text:
    """``-value``; what has a sign already gets parentheses, for ``--`` is another operator."""
    operand = within(value, UNARY)
    return Text(f"-({operand})" if operand.startswith("-") else f"-{operand}", UNARY)


def call(name: str, *arguments: Text | str) -> Text:
    """``name(a, b)``."""
    return Text(f"{name}({', '.join(str(a) for a in arguments)})")


def cast(kind: str, value: Text) -> Text:
    """``(kind)value``."""
    return Text(f"({kind}){within(value, UNARY)}", UNARY)


def choice(condition: Text, yes: Text, no: Text) -> Text:
    """``condition ? yes : no``."""
    test, first = within(condition, CHOICE, right=True), within(yes, CHOICE, right=True)
    return Text(f"{test} ? {first} : {within(no, CHOICE)}", CHOICE)
