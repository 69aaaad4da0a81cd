"""No module of a backend's package imports one that imports it, late imports (inside functions) included."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from source_modules import is_for_type_checkers, modules_of

import tilecore

ROOT = Path(__file__).parent.parent
PACKAGES = (
    "plugins/tile-cuda/tile_cuda",
    "plugins/tile-hip/tile_hip",
    "plugins/tile-metal/tile_metal",
    "plugins/tile-tpu/tile_tpu",
    "examples/backends/tile-opencl/tile_opencl",
    "tilecore/backends/cpu",  # of the package that is installed
)


def imports_of(source: str, modules: set[str]) -> set[str]:
    """Those of ``modules`` that a module with this text imports, but for type checkers."""
    names: set[str] = set()

    def visit(node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if is_for_type_checkers(child):
                continue
            if isinstance(child, ast.Import):
                names.update(alias.name for alias in child.names)
            elif isinstance(child, ast.ImportFrom) and child.module:
                full = {alias.name: f"{child.module}.{alias.name}" for alias in child.names}
                names.update(name if name in modules else str(child.module) for name in full.values())
            visit(child)

    visit(ast.parse(source))
    return names & modules


def in_circles(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """The modules that are on a circle of imports or between two, with what they import of these."""
    left = dict(graph)
    while True:
        imported = {name for names in left.values() for name in names}
        remaining = {
            name: names & left.keys() for name, names in left.items() if names & left.keys() and name in imported
        }  # fmt: skip
        if remaining == left:
            return left
        left = remaining


@pytest.mark.parametrize("package", PACKAGES)
def test_no_circle_of_imports(package):
    is_core = package.startswith("tilecore/")
    folder = (Path(tilecore.__file__).parents[1] if is_core else ROOT) / package
    prefix = ".".join(Path(package).parts[:-1]) + "." if is_core else ""
    modules = {prefix + name: path for name, path in modules_of(folder).items()}
    graph = {
        name: imports_of(path.read_text(encoding="utf-8"), set(modules)) - {name} for name, path in modules.items()
    }
    assert any(graph.values()), "no import was seen"
    circles = in_circles(graph)
    assert not circles, "\n".join(f"{name} imports {', '.join(sorted(names))}" for name, names in circles.items())


def test_late_imports_count():
    sources = {"a": "import b", "b": "def f():\n    from c import x", "c": "import a", "d": "import a"}
    graph = {name: imports_of(source, set(sources)) for name, source in sources.items()}
    assert in_circles(graph) == {"a": {"b"}, "b": {"c"}, "c": {"a"}}
    assert in_circles({**graph, "c": set()}) == {}
    assert imports_of("if TYPE_CHECKING:\n    import a", {"a"}) == set()
