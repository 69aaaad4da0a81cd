"""Keys of attributes, annotations and hints stand in one module: tilecore/ir/attributes.py, and one of each backend."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import tilecore
from tilecore.ir import attributes

PACKAGE = Path(tilecore.__file__).parent
ROOT = Path(__file__).parents[3]
KEY_CLASSES = [value for value in vars(attributes).values() if isinstance(value, type)]
HOME = PACKAGE / "ir" / "attributes.py"
# keys that are TVM's own
OF_TVM = {"pragma_import_llvm", "global_symbol", "calling_conv", "target"}


def keys() -> dict[str, str]:
    """The keys of the core that have a namespace, such as "simt.access", and what they are called."""
    named = ((f"{cls.__name__}.{name}", value) for cls in KEY_CLASSES for name, value in vars(cls).items())
    return {
        value: name for name, value in named if isinstance(value, str) and not name.partition(".")[2].startswith("_")
    }


def packages() -> list[Path]:
    plugins = [path.parent for path in ROOT.glob("plugins/*/*/plugin.py")]
    return [PACKAGE, *plugins, *(path.parent for path in ROOT.glob("examples/backends/*/*/plugin.py"))]


def written_keys(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, key) of each key that is written as text where something attached to IR is read or written."""

    def text(node: ast.AST | None) -> Iterator[tuple[int, str]]:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value

    attached = {"attrs", "annotations", "hints"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and getattr(node.value, "attr", "") in attached:
            yield from text(node.slice)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            if (
                node.func.attr == "get" and getattr(node.func.value, "attr", "") in attached
            ) or node.func.attr == "with_attr":
                yield from text(node.args[0])
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) > 1:
            place = {"AttrStmt": 1, "hints_of": 1, "last_hint": 1, "annotate": 0}.get(node.func.id)
            if place is not None:
                yield from text(node.args[place])
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(getattr(side, "attr", "") == "attr_key" for side in sides):
                for side in sides:
                    yield from text(side)


def spelled_out(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, key) of each namespaced key of the core that stands in code as text."""
    known = {key for key in keys() if "." in key}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value in known:
            yield node.lineno, str(node.value)


def test_every_key_has_one_name():
    for cls in KEY_CLASSES:
        values = [value for name, value in vars(cls).items() if isinstance(value, str) and not name.startswith("_")]
        assert len(values) == len(set(values)), cls


@pytest.mark.parametrize("package", packages(), ids=lambda path: path.name)
def test_keys_are_written_in_one_module(package: Path):
    offenders = []
    for path in sorted(package.rglob("*.py")):
        if path == HOME or "testing" in path.parts:
            continue
        tree = ast.parse(path.read_text())
        lines = [*written_keys(tree), *spelled_out(tree)]
        offenders += [f"{path.relative_to(package)}:{line} {key!r}" for line, key in lines if key not in OF_TVM]
    assert not offenders, "write these keys in ir/attributes.py (or in one module of the backend): " + ", ".join(
        offenders
    )


@pytest.mark.parametrize(
    "code",
    [
        'func.attrs["simt.access"]',
        'loop.annotations.get("num_stages", 0)',
        'AttrStmt(node, "acme.role", value, body)',
        'node.attr_key == "acme.role"',
        'func.with_attr("acme.local", 1)',
        'hints_of(kernel, "cluster_dims")',
    ],
)
def test_keys_in_code_are_seen(code: str):
    assert list(written_keys(ast.parse(code)))


def test_keys_by_name_pass():
    assert not list(written_keys(ast.parse("func.attrs[FunctionAttr.ACCESS]; annotate(KernelHint.LAYOUT, buffer)")))
