"""The table of the names that a backend's header defines is complete: by the emitter's code, and by emitted source."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import tilecore.codegen
import tilecore.scaffold
from tilecore.codegen.dialect import C_MATH
from tilecore.codegen.header_names import HEADER_NAMES, SIZED, TYPED, entry_of
from tilecore.codegen.moves import HINTS
from tilecore.dtypes import FACTS

ROOT = Path(__file__).parents[3]
CODEGEN = Path(tilecore.codegen.__file__).parent
RECORDED = ROOT / "tests" / "replay" / "recorded"
# targets whose source the core's emitter writes -> the Python of the package, which writes calls of its own
PACKAGES = {
    "acme": Path(tilecore.scaffold.__file__).parent,  # the core may be installed elsewhere
    "cuda-sm_80": "plugins/tile-cuda/tile_cuda",
    "cuda-sm_90a": "plugins/tile-cuda/tile_cuda",
    "opencl": "examples/backends/tile-opencl/tile_opencl",
}
FORMS = {  # in C, of a narrow float; these are methods and casts in C++
    "{kind}_from", "{kind}_bits",
}  # fmt: skip


def patterns_of(module: Path) -> list[str]:
    """The names in the texts of a module that begin with ``tc_``, each as a regular expression."""
    nodes = list(ast.walk(ast.parse(module.read_text())))
    formatted = [node for node in nodes if isinstance(node, ast.JoinedStr)]
    parts = {id(part) for node in formatted for part in node.values}
    texts = ["".join(_pattern(part) for part in node.values) for node in formatted]
    texts += [
        re.escape(node.value)
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts
    ]
    names = [re.search(r"(?<!\w)(tc|TC)_(\\w\*|\w)+", text) for text in texts]
    return [name[0] for name in names if name is not None]


def _pattern(part: ast.expr) -> str:
    return re.escape(str(part.value)) if isinstance(part, ast.Constant) else r"\w*"


def emitted_patterns() -> list[str]:
    modules = [path for path in CODEGEN.glob("*.py") if path.name not in ("header_names.py", "names.py")]
    return [pattern for path in modules for pattern in patterns_of(path)]


def test_every_name_that_the_emitter_writes_is_in_the_table():
    patterns = emitted_patterns()
    assert len(patterns) > 40
    assert [p for p in patterns if not any(re.fullmatch(p, name) for name in HEADER_NAMES)] == []
    assert {name for functions in C_MATH.values() for name in functions} <= set(HEADER_NAMES)
    assert {facts.c for facts in FACTS.values() if facts.c.startswith("tc_")} <= set(HEADER_NAMES)


def test_the_table_has_no_name_that_the_emitter_does_not_write():
    patterns = [pattern for pattern in emitted_patterns() if pattern != r"tc_\w*"]
    kinds = {facts.c for facts in FACTS.values() if facts.c.startswith("tc_")}
    others = {name for functions in C_MATH.values() for name in functions} | kinds
    others |= {form.format(kind=kind) for kind in kinds for form in FORMS} | {"tc_order", "tc_relaxed"}
    others |= {"tc_isnan", "tc_isinf", "tc_isfinite", "tc_move"}  # written as "tc_" and the rest
    others |= {"tc_acquire", "tc_release", "tc_acq_rel", "tc_seq_cst"}
    others |= {f"tc_{word}_{hint}" for word in ("load", "store") for hint in HINTS}
    unwritten = [name for name in HEADER_NAMES if not any(re.fullmatch(p, name) for p in patterns)]
    assert set(unwritten) <= others


def test_each_signature_is_of_its_name():
    for name, entry in HEADER_NAMES.items():
        assert re.search(rf"\b{name}\b", entry.signature)
        assert entry.doc.endswith((".", "?"))
        assert entry.form == "" or "template <" in entry.signature


def test_names_with_a_type_or_a_number_are_found():
    assert entry_of("tc_move_16") is HEADER_NAMES["tc_move"]
    assert entry_of("tc_bits_float16") is HEADER_NAMES["tc_bits"]
    assert {HEADER_NAMES["tc_move"].form, HEADER_NAMES["tc_bits"].form} == {SIZED, TYPED}
    for name in ("tc_barrier_16", "tc_move_half", "tc_bits_16", "tc_nonesuch"):
        assert entry_of(name) is None


@pytest.mark.parametrize("place", PACKAGES)
def test_every_name_in_recorded_source_is_in_the_table_or_the_backends_own(place):
    modules = [path for path in (ROOT / PACKAGES[place]).rglob("*") if path.name.endswith((".py", ".py.in"))]
    text = "\n".join(path.read_text() for path in modules)
    patterns = {pattern for path in modules if path.suffix == ".py" for pattern in patterns_of(path)}
    sources = "\n".join(path.read_text() for path in (RECORDED / place).glob("*") if path.suffix != ".txt")
    names = set(re.findall(r"\b(?:tc|TC)_\w+", sources))
    assert "tc_barrier" in names
    assert sorted(n for n in names if entry_of(n) is None and not is_own(n, text, patterns)) == []


def is_own(name: str, text: str, patterns: set[str]) -> bool:
    """Does a package with this text write the name: whole, by a beginning that it completes, or by the end alone?"""
    beginnings = tuple(pattern for pattern in patterns if pattern.endswith("_") and pattern != "tc_")
    is_written = name in text or name.startswith(beginnings) or any(re.fullmatch(p, name) for p in patterns)
    return is_written or f'"{name.removeprefix("tc_")}"' in text
