"""docs/thread-ir.md: its tables are written from the tables of nodes, of calls and of keys; its prose stays."""

from __future__ import annotations

import re
from pathlib import Path

from tilecore.ir import attributes
from tilecore.ir.attributes import FunctionAttr
from tilecore.ir.thread_calls import THREAD_CALLS, ThreadCall
from tilecore.ir.thread_nodes import PART, STATEMENT, THREAD_NODES, VALUE

PAGE = Path(__file__).parents[1] / "docs" / "thread-ir.md"
BLOCK = re.compile(r"<!-- table: (\w+) -->\n.*?<!-- end -->\n", re.DOTALL)
# keys of a PrimFunc that are gone when it is thread IR
EARLIER = {FunctionAttr.COMPILE_FLAGS, FunctionAttr.PASS_CONFIGS, FunctionAttr.SYMBOLS, FunctionAttr.FORMER_NO_RESTRICT}


def rows(head: tuple[str, ...], cells: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *(tuple(cell.replace("|", "\\|") for cell in row) for row in cells)]
    return "".join(f"| {' | '.join(row)} |\n" for row in lines)


def attribute_table() -> str:
    """The keys of FunctionAttr with the comments behind them."""
    text = Path(attributes.__file__).read_text().partition("class FunctionAttr")[2].partition("\nclass ")[0]
    entries = re.findall(r'^    [A-Z_]+ = "([^"]+)"  # (.+)$', text, re.MULTILINE)
    return rows(("attribute", "value"), [(f"`{key}`", meaning) for key, meaning in entries if key not in EARLIER])


def node_table(role: str) -> str:
    cells = []
    for kind in THREAD_NODES.values():
        if kind.role != role:
            continue
        fields = "; ".join(f"`{f.name}`" + (f": {f.meaning}" if f.meaning else "") for f in kind.fields)
        methods = f"`{kind.visit_method}`" + (f", `{kind.emit_method}`" if kind.emit_method else "")
        cells.append((f"`{kind.name}`", kind.doc, fields, methods))
    return rows(("node", "meaning", "fields", "methods of a walk, of the emitter"), cells)


def call_table() -> str:
    cells = []
    for call in THREAD_CALLS.values():
        arguments = "; ".join(
            f"`{a.name}`: {a.meaning or a.kind}" + (f" ({', '.join(a.choices)})" if a.choices else "")
            for a in call.arguments
        )
        doc = call.doc if call.from_core else f"{call.doc} For passes of backends."
        cells.append((f"`{call.signature()}`", doc, arguments, call.result or "none", effects(call)))
    return rows(("call", "meaning", "arguments", "result", "effects"), cells)


def effects(call: ThreadCall) -> str:
    words = ["pure"] if call.pure else []
    words += [f"{verb} {', '.join(names)}" for verb, names in (("reads", call.reads), ("writes", call.writes)) if names]
    words += ["atomic"] if call.atomic else []
    words += [f"waits for: {call.waits_for}"] if call.waits_for else []
    return "; ".join(words)


TABLES = {
    "attributes": attribute_table,
    "statements": lambda: node_table(STATEMENT),
    "values": lambda: node_table(VALUE),
    "parts": lambda: node_table(PART),
    "calls": call_table,
}


def thread_ir_page() -> str:
    """The page as it stands, with every table written anew."""
    return BLOCK.sub(lambda block: f"<!-- table: {block[1]} -->\n{TABLES[block[1]]()}<!-- end -->\n", PAGE.read_text())
