"""The tables of docs/thread-ir.md and docs/hooks/codegen.md, written from the code that they describe.

``python -m tests.contract_tables --update`` writes them between their marks; tests/test_docs.py compares them.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tilecore.codegen.calls import VALUE_CALLS
from tilecore.codegen.effects import STATEMENT_CALLS
from tilecore.codegen.source_emitter import SourceEmitter
from tilecore.codegen.syntax import Syntax
from tilecore.ir.thread_calls import MATH_CALLS, THREAD_CALLS, ThreadCall
from tilecore.ir.thread_nodes import PART, STATEMENT, THREAD_NODES, VALUE

ROOT = Path(__file__).parents[1]
# hooks that take emitted text: what the default returns for these arguments, for the language of C++
WORDS = {
    "line_directive": ("/home/me/matmul.py", 41),
    "type_of": ("float32",),
    "integer": (7, "int32"),
    "floating": (0.5, "float32"),
    "boolean": (True,),
    "binary": ("+", 9, "a", "b"),
    "typed_binary": ("+", 9, "a", "b", "float32"),
    "unary": ("-", "a"),
    "cast": ("float32", "a"),
    "bits_as": ("float32", "a"),
    "truncate": ("int32", "a"),
    "choice": ("c", "a", "b"),
    "function": ("tc_min", "a", "b"),
    "typed_function": ("tc_bits", "int32", "a"),
    "sized_function": ("tc_move", 16, "a", "b"),
    "narrowed": ("float16", "a"),
    "widened": ("a",),
    "from_bits": ("float16", "0x3c00"),
    "access": ("x", "i"),
    "named": ("x", "i"),
    "stored": ("x", "i", "a"),
    "assigned": ("x", "x[i]", "a"),
    "updated": ("x", "x[i]", "+", "a"),
    "pointer": ("x", "i"),
    "reference": ("x[i]",),
    "quoted": ("two\nlines",),
    "printed": ("float32", "a"),
    "print_statement": (["sum: ", ("%g", "(double)a"), "\n"],),
    "constant": ("float32", "x", "a"),
    "indices": ([("bx", "block"), ("by", "row")],),
    "variable": ("float32", "x", 0),
    "local_array": ("float32", "x", 4, 16),
    "shared_arena": (1024,),
    "shared_array": ("x", 64, 256),
    "view": ("x", "y", False),
    "pointer_at": ("x", "a"),
    "for_head": ("int32", "i", "0", "n"),
    "unroll_line": (4,),
    "while_head": ("c",),
    "if_head": ("c",),
    "else_if_head": ("c",),
    "empty_block": (),
    "break_statement": (),
    "continue_statement": (),
    "call_statement": ("f(a)",),
    "parameter_type": ("x",),
    "parameter_value": ("n",),
    "kernel_head": ("k",),
    "module_head": (),
}


def mark(name: str) -> tuple[str, str]:
    """The lines before and behind a table in its page."""
    return f"<!-- table of {name}: python -m tests.contract_tables --update -->", f"<!-- end of {name} -->"


def table(head: str, rows: Iterable[Iterable[str]]) -> str:
    columns = head.split(" | ")
    lines = [f"| {head} |", "|" + "---|" * len(columns)]
    return "\n".join([*lines, *("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)])


def node_table(role: str) -> str:
    rows = []
    for kind in THREAD_NODES.values():
        if kind.role == role:
            parts = [f"`{f.name}`{f': {f.meaning}' if f.meaning else ''}" for f in kind.fields]
            rows.append((f"`{kind.name}`", kind.doc, "; ".join(parts), f"`{kind.visit_method}`"))
    return table("node | meaning | fields | method of a walk", rows)


def call_table(calls: Iterable[ThreadCall]) -> str:
    rows = []
    for call in calls:
        parts = []
        for argument in call.arguments:
            choices = f" ({', '.join(f'`{choice}`' for choice in argument.choices)})" if argument.choices else ""
            meaning = f": {argument.meaning}" if argument.meaning else ""
            dtype = f", {argument.dtype}" if argument.dtype else ""
            parts.append(f"`{argument.name}` ({argument.kind}{dtype}){meaning}{choices}")
        rows.append((f"`{call.signature()}`", call.doc, "; ".join(parts), call.result or "none", _effect(call)))
    return table("call | meaning | arguments | value | what it accesses and orders", rows)


def _effect(call: ThreadCall) -> str:
    waits = {"block": "a barrier of the block", "range": "a barrier of these threads", "warp": "a barrier of the warp",
             "copies": "waits for this thread's copies", "": ""}[call.waits_for]  # fmt: skip
    parts = [f"reads {', '.join(call.reads)}"] if call.reads else []
    parts += [f"writes {', '.join(call.writes)}"] if call.writes else []
    parts += ["atomic"] if call.atomic else []
    parts += [waits] if waits else []
    parts += ["pure"] if call.pure else []
    parts += [] if call.from_core else ["only passes of backends write it"]
    return "; ".join(parts)


def hook_table() -> str:
    """The hooks that take emitted text."""
    rows = []
    for name in WORDS:
        hook = getattr(Syntax, name)
        rows.append((f"`{name}({_parameters(hook)})`", _doc(hook), _returns(hook), _default(name)))
    return table("hook | what it writes | returns | default, of C++", rows)


def method_table() -> str:
    """The hooks that take a node."""
    handled: dict[str, list[str]] = {}
    for kind in THREAD_NODES.values():
        if kind.role != PART:
            handled.setdefault(kind.emit_method, []).append(f"`{kind.name}`")
    for name, method in {**VALUE_CALLS, **STATEMENT_CALLS}.items():
        handled.setdefault(method, []).append(f"`{name}`")
    handled["math_value"] = [f"`{call.name}`" for call in MATH_CALLS]
    rows = []
    for name, parts in handled.items():
        hook = getattr(SourceEmitter, name)
        meaning = next((kind.doc for kind in THREAD_NODES.values() if kind.emit_method == name), "")
        rows.append((f"`{name}({_parameters(hook)})`", ", ".join(parts), _returns(hook), _doc(hook) or meaning))
    for name in (
        "atomic",
        "emit_move",
        "vector_move",
        "element",
        "address",
        "place",
        "place_at",
        "place_in",
        "element_named",
        "printable",
        "value",
        "index",
    ):
        hook = getattr(SourceEmitter, name)
        rows.append((f"`{name}({_parameters(hook)})`", "called by the others", _returns(hook), _doc(hook)))
    return table("hook | emits | returns | default", rows)


def _parameters(hook: Callable[..., Any]) -> str:
    names = list(inspect.signature(hook).parameters.values())[1:]
    return ", ".join(f"*{p.name}" if p.kind == p.VAR_POSITIONAL else p.name for p in names)


def _returns(hook: Callable[..., Any]) -> str:
    result = str(inspect.signature(hook).return_annotation).strip("'")
    return {"None": "nothing; it appends lines"}.get(result, f"`{result}`")


def _doc(hook: Callable[..., Any]) -> str:
    text = " ".join((inspect.getdoc(hook) or "").split()).replace("``", "`")
    return re.sub(r":(?:meth|class):`~?([^`]*)`", r"`\1`", text)


def _default(name: str) -> str:
    from tilecore.codegen.dialect import Dialect, KernelHead
    from tilecore.codegen.syntax import Memory, Parameter
    from tilecore.codegen.text import Text

    dialect = Dialect(kind="acme", include="acme.h", head=lambda head: f"void {head.symbol}(...)")
    words: list[Any] = list(WORDS[name])
    memory = {"x": Memory("x", "float32", scope="shared"), "y": Memory("y", "int32", scope="shared")}
    if name in ("access", "named", "stored", "assigned", "updated", "pointer", "shared_array", "view", "pointer_at"):
        words[0] = memory[words[0]]
    if name == "view":
        words[1] = memory[words[1]]
    if name.startswith("parameter"):
        words[0] = Parameter(words[0], "float32", is_buffer=name == "parameter_type", read_only=True)
    if name == "kernel_head":
        words[0] = KernelHead("k", [("float*", "x")], (64, 1, 1))
    symbol = name in ("binary", "typed_binary", "unary")
    plain = symbol or name in ("function", "typed_function", "sized_function")
    plain_operands = {
        "binary": 2,
        "typed_binary": 2,
        "unary": 1,
        "function": 1,
        "typed_function": 2,
        "sized_function": 1,
    }.get(name, 0)
    texts = [
        Text(word) if isinstance(word, str) and number >= plain_operands and (plain or word in _TEXTS) else word
        for number, word in enumerate(words)
    ]
    default = getattr(Syntax(dialect), name)(*texts)
    shown = [str(part) for part in (default if type(default) is tuple else (default,))]
    return ", ".join(f"`{text}`" for text in shown if text) or "nothing"


_TEXTS = {"a", "b", "c", "i", "n", "0", "x[i]", "f(a)"}


def tables() -> dict[str, tuple[Path, str]]:
    """For each table its page and its text."""
    ir, codegen = ROOT / "docs" / "thread-ir.md", ROOT / "docs" / "hooks" / "codegen.md"
    functions = {call.name for call in MATH_CALLS}
    return {
        "statements": (ir, node_table(STATEMENT)),
        "values": (ir, node_table(VALUE)),
        "parts of nodes": (ir, node_table(PART)),
        "calls": (ir, call_table(call for call in THREAD_CALLS.values() if call.name not in functions)),
        "functions of floats": (ir, call_table(MATH_CALLS)),
        "hooks of words": (codegen, hook_table()),
        "hooks of nodes": (codegen, method_table()),
    }


def in_page(page: str, name: str) -> str:
    """The table of this name as the page has it."""
    before, behind = mark(name)
    return page.partition(f"{before}\n")[2].partition(f"\n{behind}")[0]


def main() -> None:
    if sys.argv[1:] != ["--update"]:
        sys.exit("usage: python -m tests.contract_tables --update")
    for name, (path, text) in tables().items():
        page = path.read_text()
        before, behind = mark(name)
        start, end = page.index(before) + len(before), page.index(behind)
        path.write_text(f"{page[:start]}\n{text}\n{page[end:]}")


if __name__ == "__main__":
    main()
