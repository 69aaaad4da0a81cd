"""Runs a random body by CPython on numbers, and as a kernel by the interpreter and on a target."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tilecore
import tilecore.language as T
from tilecore.errors import LanguageError, UnsupportedError
from tilecore.interpreter import interpret
from tilecore.testing.fuzz.python.generate import CELLS, WIDTH, Body, Line

LANES = 4
RESULTS = 3 + 3 + CELLS  # a, b, c, slots, s
_LIMIT = 2**31 - 1


@dataclass(frozen=True)
class Verdict:
    """kind: right, wrong, refused, error, or large (a value that does not fit an int32). text: what happened."""

    kind: str
    text: str = ""


class TooLargeError(Exception):
    """A number of Python that does not fit an int32."""


def text_of(lines: Sequence[Line], depth: int = 0) -> list[str]:
    texts: list[str] = []
    for line in lines:
        texts.append("    " * depth + line.text)
        if line.body is not None:
            texts += text_of(line.body, depth + 1) or ["    " * (depth + 1) + "pass"]
    return texts


def function_text(body: Body, kernel: bool) -> str:
    """The source of the function that runs the body: a kernel, or a plain function."""
    lanes = LANES if body.parallel else 1
    fill = ["base = lane * 8", f"s = memory({CELLS})", f"for q in range({CELLS}):", "    s[q] = X[base + q] - q"]
    fill += [f"for q in range({WIDTH}):", "    m[base + q] = X[base + q] * 2"]
    keep = [f"Y[lane * {RESULTS} + {at}] = {name}" for at, name in enumerate("abc")]
    keep += [f"Y[lane * {RESULTS} + {3 + at}] = slots[{at}]" for at in range(3)]
    keep += [f"for q in range({CELLS}):", f"    Y[lane * {RESULTS} + 6 + q] = s[q]"]
    keep += [f"for q in range({WIDTH}):", "    M[base + q] = m[base + q]"]
    inner = [*fill, *text_of(body.lines), *keep]
    tensors = ("X", lanes * WIDTH), ("Y", lanes * RESULTS), ("M", lanes * WIDTH)
    if kernel:
        parameters = ", ".join(f'{name}: T.Tensor(({size},), "int32")' for name, size in tensors)
        head = ["@T.prim_func", f"def body({parameters}):", "    with T.Kernel(1, threads=4) as block:"]
        head += [f'        m = T.alloc_shared(({lanes * WIDTH},), "int32")']
        head += [f"        for lane in T.Parallel({lanes}):"]
        return "\n".join([*head, *("            " + line for line in inner)]) + "\n"
    head = ["def body(X, Y, M):", f"    m = [0] * {lanes * WIDTH}", f"    for lane in range({lanes}):"]
    return "\n".join([*head, *("        " + line for line in inner)]) + "\n"


def _small(value: int) -> int:
    if abs(value) > _LIMIT:
        raise TooLargeError
    return (value + 40) % 81 - 40


def _python_names() -> dict[str, Any]:
    return {
        "var": int,
        "memory": lambda size: [0] * size,
        "small": _small,
        "most": max,
        "macro": lambda function: function,
    }


def _kernel_names() -> dict[str, Any]:
    return {
        "T": T,
        "var": lambda value: T.alloc_var("int32", init=value),
        "memory": lambda size: T.alloc_local((size,), "int32"),
        "small": lambda value: (value + 40) % 81 - 40,
        "most": T.max,
        "macro": T.macro,
    }


def _defined(text: str, names: dict[str, Any], file: str) -> Any:
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = {"__name__": "random_body", **names}
    exec(compile(text, file, "exec"), space)
    return space["body"]


def arrays(body: Body) -> list[np.ndarray]:
    """X, Y and M."""
    lanes = LANES if body.parallel else 1
    inputs = np.random.default_rng(body.seed).integers(-20, 20, lanes * WIDTH).astype(np.int32)
    return [inputs, np.zeros(lanes * RESULTS, np.int32), np.zeros(lanes * WIDTH, np.int32)]


def expected(body: Body) -> list[np.ndarray]:
    """The arrays after CPython has run the body. Raises TooLargeError."""
    function = _defined(function_text(body, kernel=False), _python_names(), f"<python body {body.seed}>")
    lists = [[int(v) for v in array] for array in arrays(body)]
    function(*lists)
    if any(abs(int(v)) > _LIMIT for values in lists for v in values):
        raise TooLargeError
    return [np.array(values, np.int64).astype(np.int32) for values in lists]


def judge(body: Body, targets: Sequence[str]) -> Verdict:
    """Has the kernel the results of CPython, by the interpreter and on these targets?"""
    try:
        python_results = expected(body)
    except TooLargeError:
        return Verdict("large")
    try:
        kernel = _defined(function_text(body, kernel=True), _kernel_names(), f"<kernel body {body.seed}>").ir
        for target in ("", *targets):
            results = arrays(body)
            if target:
                tilecore.compile(kernel, target=target)(*results)
            else:
                interpret(kernel, *results)
            wrong = _difference(results, python_results)
            if wrong:
                return Verdict("wrong", f"{target or 'interpreter'}: {wrong}")
    except (LanguageError, UnsupportedError) as error:
        return Verdict("refused", f"{type(error).__name__}: {error}")
    except Exception as error:  # whatever it is, it is a finding
        return Verdict("error", f"{type(error).__name__}: {error}")
    return Verdict("right")


def _difference(results: list[np.ndarray], python_results: list[np.ndarray]) -> str:
    for name, result, python_result in zip("XYM", results, python_results, strict=True):
        wrong = np.flatnonzero(result != python_result)
        if wrong.size:
            at = int(wrong[0])
            return f"{name}[{at}] is {int(result[at])}, Python's is {int(python_result[at])} ({wrong.size} differ)"
    return ""
