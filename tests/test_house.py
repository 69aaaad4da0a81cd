"""The rules of the house: no chip is named in the core, TVM comes in by one door, imports are light, rooms are small,
and what is shipped is what should be."""

from __future__ import annotations

import ast
import re
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from fresh_processes import imported_by, output_of

import tilecore

PACKAGE = Path(tilecore.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
SOURCES = sorted(p for p in PACKAGE.rglob("*") if p.suffix in (".py", ".pyx", ".pxd", ".pxi", ".h"))

VENDORS = re.compile(r"(?<![a-zA-Z])(cuda|nvidia|hip|rocm|amd|metal|apple|tpu|sophgo)(?![a-zA-Z]|64)", re.IGNORECASE)
DOOR = PACKAGE / "ir" / "nodes.py"
HEAVY = ("tvm", "tvm_ffi", "torch", "numpy", "ml_dtypes", "rich", "pytest", "hypothesis")


@cache
def trees() -> dict[Path, ast.Module]:
    """Of the modules; not at import, as every process that collects tests imports this file."""
    return {path: ast.parse(path.read_text()) for path in MODULES}


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE.parent).as_posix()


def test_there_is_something_to_look_at():
    assert len(MODULES) > 100
    assert DOOR in MODULES


# -- the core names no chip ---------------------------------------------------------------------------------------


def test_no_vendor_is_named():
    mentions = [
        f"{name_of(path)}:{number}: {line.strip()}"
        for path in SOURCES
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if VENDORS.search(line)
    ]
    assert not mentions, "\n".join(mentions)


@pytest.mark.parametrize("text", ["target = 'cuda'", "tpu_width", "# on AMD chips", "Metal.", "sm_hip_0"])
def test_vendor_names_are_recognised(text):
    assert VENDORS.search(text)


@pytest.mark.parametrize(
    "text", ["AuthenticAMD", "a chip", "ship", "output", "metallic", "grapple", "barracuda", "amd64"]
)
def test_other_words_are_not(text):
    assert not VENDORS.search(text)


# -- TVM comes in by one door -------------------------------------------------------------------------------------


def imported(tree: ast.AST) -> set[str]:
    """First words of what a module imports, wherever in it, and by importlib's function too."""
    modules = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules.add(node.module.partition(".")[0])
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module") and node.args:
            argument = node.args[0]
            if isinstance(argument, ast.Constant):
                modules.add(str(argument.value).partition(".")[0])
    return modules


def test_only_the_door_imports_tvm():
    guilty = [name_of(path) for path in MODULES if path != DOOR and imported(trees()[path]) & {"tvm", "tvm_ffi"}]
    assert not guilty
    extensions = [
        p for p in SOURCES if p.suffix != ".py" and re.search(r"^\s*c?(import|from) tvm", p.read_text(), re.M)
    ]
    assert not extensions
    assert "tvm" in imported(trees()[DOOR])


@pytest.mark.parametrize(
    "code",
    ["import tilecore", "import tilecore.language as T", "import tilecore.cli; tilecore.cli._parser()"],
)
def test_imports_are_light(code):
    assert imported_by(code, HEAVY) == []


def test_a_name_of_the_language_is_not_hidden_by_the_module_it_comes_from():
    code = (
        "import importlib, sys\n"
        "import tilecore.language as T\n"
        "for place in sorted(set(T._NAMES.values())):\n"
        "    importlib.import_module(place.partition(':')[0])\n"
        "print([name for name in T._NAMES if getattr(T, name) is sys.modules.get(f'tilecore.language.{name}')])"
    )
    assert output_of(code) == "[]\n"


# -- rooms are small, and named after what they do ----------------------------------------------------------------


def lengths_of_functions() -> dict[str, int]:
    return {
        f"{name_of(path)}:{node.lineno} {node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    }


def check_sizes(sizes: dict[str, int], usual: int, share: float, most: int) -> None:
    """At most a ``share`` is longer than ``usual`` lines, none than ``most``."""
    over = {name: size for name, size in sorted(sizes.items(), key=lambda item: -item[1]) if size > usual}
    report = "\n".join(f"{size:5} {name}" for name, size in over.items())
    assert len(over) <= share * len(sizes), f"{len(over)} of {len(sizes)} have more than {usual} lines\n{report}"
    assert max(sizes.values()) <= most, report


def test_files_are_short():
    check_sizes({name_of(p): len(p.read_text().splitlines()) for p in MODULES}, usual=300, share=0.05, most=600)


def test_functions_are_short():
    check_sizes(lengths_of_functions(), usual=60, share=0.01, most=100)


def test_lengths_are_told():
    with pytest.raises(AssertionError, match=r"1 of 2 have more than 60 lines\n +61 long"):
        check_sizes({"long": 61, "short": 60}, usual=60, share=0.01, most=100)
    with pytest.raises(AssertionError, match="101 long"):
        check_sizes({"long": 101, "short": 60}, usual=60, share=0.5, most=100)


def test_no_room_is_for_everything():
    vague = {"utils", "util", "common", "misc", "helpers", "helper", "tools", "stuff"}
    assert not [name_of(path) for path in PACKAGE.rglob("*") if path.stem.strip("_") in vague]


def test_modules_say_what_they_are_for():
    written = {path: tree for path, tree in trees().items() if path.read_text().strip()}
    silent = [name_of(path) for path, tree in written.items() if not ast.get_docstring(tree)]
    assert not silent


# -- C writes into no memory of Python's ---------------------------------------------------------------------------


def blank_bytes(tree: ast.AST) -> list[int]:
    """Lines that make a bytes object of so many equal bytes: it is of no use but as memory for C to write into, and
    must not be written, since CPython shares such objects (there is one ``b" "`` in a process)."""
    lines = []
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            sides = (node.left, node.right)
            count = [s for s in sides if not isinstance(s, ast.Constant)]
            if count and any(isinstance(s, ast.Constant) and isinstance(s.value, bytes) for s in sides):
                lines.append(node.lineno)
    return lines


def test_c_is_not_handed_bytes_objects_to_write_into():
    """In every module of the core, the plugins and the samples that calls C. What a function fills is a bytearray or
    a buffer of ctypes."""
    root = PACKAGE.parent
    others = [p for folder in ("plugins", "examples", "benchmarks") for p in sorted((root / folder).glob("**/*.py"))]
    all_trees = trees() | {path: ast.parse(path.read_text()) for path in others if "build" not in path.parts}
    libraries = {"ctypes", "cffi", "cuda", "pyopencl"}
    calls_c = {path: tree for path, tree in all_trees.items() if imported(tree) & libraries}
    assert len(calls_c) > 10
    assert not [f"{path}:{line}" for path, tree in calls_c.items() for line in blank_bytes(tree)]


@pytest.mark.parametrize(
    ("text", "count"), [('b" " * n', 1), ('size * b"\\0"', 1), ('b"-" * 8', 0), ("data * n", 0), ("bytearray(n)", 0)]
)
def test_blank_bytes_are_seen(text, count):
    assert len(blank_bytes(ast.parse(text))) == count


# -- what is shipped ----------------------------------------------------------------------------------------------


def shipped() -> list[str]:
    """Files of the two installed distributions; skips in a checkout that is not installed, or is so only by a link."""
    try:
        files = [*(metadata.files("tilecore") or ()), *(metadata.files("tilecore-runtime") or ())]
    except metadata.PackageNotFoundError:
        files = []
    names = [file.as_posix() for file in files]
    installed = "tilecore/__init__.py" in names and "pyproject.toml" not in names
    if not installed or metadata.distribution("tilecore").locate_file("tilecore") != PACKAGE:
        pytest.skip("tilecore runs from a checkout; .ci/run installs it")
    return names


def test_the_wheel_has_what_it_needs():
    names = set(shipped())
    assert "tilecore/py.typed" in names
    sources = "_launcher.pyx _launcher.pxd _checks.h _dlpack.h _device_launch.pyx _device_launch.h"
    for source in sources.split():
        assert f"tilecore/runtime/{source}" in names
    included = {
        word
        for path in SOURCES
        if path.suffix == ".pyx"
        for word in re.findall(r'^include "(.*)"', path.read_text(), re.MULTILINE)
    }
    assert included <= {Path(name).name for name in names}


def test_the_wheel_has_nothing_else():
    packaged = [name for name in shipped() if not name.startswith("../")]
    tops = {name.partition("/")[0] for name in packaged}
    assert len(tops) == 4
    assert {top.partition("-")[0] for top in tops} == {"tilecore", "tilecore_runtime", "tilecore_pytest.py"}
    allowed = {".py", ".pyc", ".pyx", ".pxd", ".pxi", ".h", ".so", ".pyd", ".typed"}
    templates = "tilecore/scaffold/templates/"  # of what `tilecore new-backend` writes
    assert {Path(name).suffix for name in packaged if name.startswith(templates)} == {".in"}
    inside = [name for name in packaged if name.startswith("tilecore/") and not name.startswith(templates)]
    assert not [name for name in inside if Path(name).suffix not in allowed]
    assert not [name for name in inside if {"tests", "examples", "benchmarks"} & set(name.split("/"))]


def test_dependencies_are_pinned_to_the_tvm_that_works():
    text = (Path(__file__).parents[1] / "constraints.txt").read_text()
    pins = dict(re.findall(r"^([\w-]+)==([^;\s]+)", text, re.MULTILINE))
    assert pins["apache-tvm"].startswith("0.27.")
    assert pins["apache-tvm-ffi"].startswith("0.1.14.")
    project = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    dependencies = re.search(r"^dependencies = \[\n(.*?)^\]", project, re.MULTILINE | re.DOTALL)
    assert dependencies is not None
    needed = re.findall(r'^    "([\w-]+)[^"]*",$', dependencies[1], re.MULTILINE)
    assert {"apache-tvm", "rich", "tilecore-runtime"} <= set(needed)
    needed.remove("tilecore-runtime")
    assert {name.replace("-", "_").lower() for name in needed} <= {name.replace("-", "_").lower() for name in pins}
