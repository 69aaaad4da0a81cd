"""Compiles sizes to flat integer programs, so that the native launcher evaluates them without Python.

A program is a sequence of words for a stack machine. ``_checks.h`` runs it; the numbers here are the numbers there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilecore.artifact.dims import OPERATORS, Dim
from tilecore.frozen_dataclasses import frozen

CONST, SYMBOL, JUMP, JUMP_IF_ZERO = 0, 1, 2, 3
FIRST_OPERATOR = 8
OPERATOR_CODES = {name: FIRST_OPERATOR + number for number, name in enumerate(OPERATORS)}
STACK = 32  # values that the native stack holds
_WORD = range(-(2**63), 2**63)


@frozen
class Program:
    """``words``: opcodes and their operands. ``fits``: the native machine can run it (its stack and words suffice)."""

    words: tuple[int, ...]
    fits: bool


def compile_dim(dim: Dim, symbols: Mapping[str, int]) -> Program:
    """The program of ``dim``; ``symbols`` gives each symbol's index. Raises KeyError for an unknown symbol."""
    words: list[int] = []
    depth = _emit(dim if isinstance(dim, int) else dim.tree, symbols, words)
    return Program(tuple(words), depth <= STACK and all(word in _WORD for word in words))


def _emit(tree: Any, symbols: Mapping[str, int], words: list[int]) -> int:
    """Append the code of ``tree``; returns how deep the stack gets."""
    if isinstance(tree, int):
        words += (CONST, int(tree))
        return 1
    if isinstance(tree, str):
        words += (SYMBOL, symbols[tree])
        return 1
    if tree[0] == "select":
        depth = _emit(tree[1], symbols, words)
        words += (JUMP_IF_ZERO, 0)
        to_else = len(words) - 1
        depth = max(depth, _emit(tree[2], symbols, words))
        words += (JUMP, 0)
        to_end = len(words) - 1
        words[to_else] = len(words)
        depth = max(depth, _emit(tree[3], symbols, words))
        words[to_end] = len(words)
        return depth
    left = _emit(tree[1], symbols, words)
    right = _emit(tree[2], symbols, words)
    words.append(OPERATOR_CODES[tree[0]])
    return max(left, right + 1)
