"""What README.md, CHANGELOG.md, CONTRIBUTING.md, .github/ and docs/ say is held to the code: commands, settings, paths,
names, examples."""

from __future__ import annotations

import inspect
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import tilecore
import tilecore.language as T
from tilecore import heuristics
from tilecore.autotune.profile_args import ProfileOptions
from tilecore.cli import _parser
from tilecore.dtypes import ALIASES, FACTS
from tilecore.errors import LanguageError
from tilecore.heuristics.attention import DECODING_NAMES, FORWARD_NAMES
from tilecore.heuristics.gemm import GEMM_NAMES
from tilecore.language import _NAMES
from tilecore.language.foreign import _REASONS, MissingNameError
from tilecore.plugins import manager
from tilecore.scaffold.package import TEMPLATES
from tilecore.settings import SETTINGS

ROOT = Path(__file__).parents[1]
PACKAGE = Path(tilecore.__file__).parent
README = (ROOT / "README.md").read_text()
WALK = (ROOT / "docs" / "walk.md").read_text()
CHANGELOG = (ROOT / "CHANGELOG.md").read_text()
LANGUAGE = (ROOT / "docs" / "language.md").read_text()
TEMPLATES_OF_REPORTS = sorted((ROOT / ".github").glob("**/*.md"))
TOP = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
PAGES = [*TOP, *sorted((ROOT / "docs").glob("**/*.md")), *TEMPLATES_OF_REPORTS]
TEXTS = {page.relative_to(ROOT).as_posix(): page.read_text() for page in PAGES}


def blocks(text: str, language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def unfenced(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def code_words(text: str) -> list[str]:
    """What stands between single backticks, outside of fenced blocks."""
    return re.findall(r"`([^`\n]+)`", unfenced(text))


def locate(path: str) -> Path:
    """The package may be installed elsewhere than next to the documents."""
    return PACKAGE.parent / path if path.startswith("tilecore/") else ROOT / path


def is_path(word: str) -> bool:
    """Folders and files of the project; not commands, options or code."""
    return bool(re.fullmatch(r"\.?[\w-]+(/[\w.-]*)+|[\w-]+\.(py|md|txt|toml|pyx)", word.removeprefix("./")))


def of_a_new_backend(text: str) -> set[str]:
    """What a page may name in a package: what `tilecore new-backend acme` writes, and the page's own files."""
    files = [str(path.relative_to(TEMPLATES)).removesuffix(".in") for path in TEMPLATES.rglob("*.in")]
    files = [name.replace("@NAME@", "acme") for name in files] + re.findall(r"^```\w+ title=(\S+)$", text, re.MULTILINE)
    folders = {f"{folder}/" for name in files for folder in (Path(name).parent, Path(name).parent.name)}
    return {*files, *(Path(name).name for name in files), *folders}


# -- paths, links, commands -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TEXTS)
def test_paths_exist(name):
    folder, missing, seen, of_others = "", [], 0, of_a_new_backend(TEXTS[name])
    for word in code_words(TEXTS[name]):
        if not is_path(word):
            continue
        seen += 1
        path = word.removeprefix("./")
        if path.startswith("tilecore/"):
            folder = path.rpartition("/")[0] + "/"
        # from the root, in the folder named last, or in the package
        places = (locate(path), locate(folder + path), PACKAGE / path)
        if path not in of_others and not any(place.exists() for place in places):
            missing.append(word)
    assert not missing
    assert seen or name not in ("README.md", "docs/walk.md")


@pytest.mark.parametrize("name", TEXTS)
def test_links_lead_somewhere(name):
    text = re.sub(r"`[^`]+`", "", unfenced(TEXTS[name]))
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / name).parent.joinpath(target).exists(), target
    headings = {
        re.sub(r"[^\w -]", "", h).replace(" ", "-").lower() for h in re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    }
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= headings


def test_every_folder_of_the_package_is_walked_through():
    rooms = {path.parent.name for path in PACKAGE.glob("*/*.py") if path.stat().st_size}
    named = {word.split("/")[1] for word in code_words(WALK) if word.startswith("tilecore/")}
    assert rooms <= named


@pytest.mark.parametrize("name", TEXTS)
def test_commands_exist(name):
    commands = next(action.choices for action in _parser()._actions if action.choices)
    named = re.findall(r"(?:`|bin/)tilecore ([a-z][\w-]*)", TEXTS[name])
    assert set(named) <= set(commands)
    assert named or name not in ("README.md", "CHANGELOG.md")


def test_scripts_named_can_be_run():
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    assert "`./.ci/run`" in README


def test_nox_sessions_named_exist():
    sessions = re.findall(r"^@nox\.session.*\ndef (\w+)", (ROOT / "noxfile.py").read_text(), re.MULTILINE)
    assert {name for text in TEXTS.values() for name in re.findall(r"nox -s (\w+)", text)} <= set(sessions)
    comment = re.search(r"\.venv/bin/nox +# ([\w, ]+);", README)
    assert comment is not None
    assert set(comment[1].split(", ")) <= set(sessions)


def test_templates_of_reports_say_what_they_are_for():
    """Each has the front matter that a form of issues shows, and asks for what is needed to answer."""
    reports = {path.stem: path.read_text() for path in TEMPLATES_OF_REPORTS if path.parent.name == "ISSUE_TEMPLATE"}
    assert reports.keys() == {"bug_report", "wrong_result", "backend_request"}
    for name, text in reports.items():
        assert re.match(r"---\nname: \S.*\nabout: \S.*\nlabels: \S.*\n---\n", text), name
    assert "`tilecore doctor`" in reports["bug_report"]
    assert "`TILECORE_INTERPRET=1`" in reports["wrong_result"]


def test_settings_that_pages_name_exist():
    documented = set(re.findall(r"^\| `(TILECORE_\w+)`", README, re.MULTILINE))
    documented |= set(re.findall(r"TILECORE_\w+", (ROOT / "tilecore-runtime" / "setup.py").read_text()))  # of its build
    for page in (ROOT / "CONTRIBUTING.md", *TEMPLATES_OF_REPORTS):
        assert set(re.findall(r"TILECORE_\w+", page.read_text())) <= documented, page


def test_readme_stays_short():
    assert len(README.splitlines()) < 200
    assert max(map(len, README.splitlines())) <= 160


def test_changelog_starts_with_this_version():
    version = re.search(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    first = re.search(r"^## (\S+?),? ", CHANGELOG, re.MULTILINE)
    assert version is not None
    assert first is not None
    assert first[1] == version[1]


# -- what the README claims -----------------------------------------------------------------------------------


def test_settings_table_is_the_settings():
    rows = re.findall(r"^\| `(TILECORE_\w+)` \| (.*?) \| (.*) \|$", README, re.MULTILINE)
    expected = [(s.name, "" if s.default is None else str(s.default), s.doc) for s in SETTINGS.values()]
    assert [tuple(cell.strip() for cell in row) for row in rows] == expected


def test_targets_table_names_the_built_in_targets():
    from importlib.metadata import entry_points

    built_in = {e.name for e in entry_points(group="tilecore.backends") if e.value.startswith("tilecore.")}
    rows = re.findall(r"^\| `(\w+)` \| tilecore itself ", README, re.MULTILINE)
    assert set(rows) == (built_in or {"cpu"})


def test_entry_point_group():
    assert all('[project.entry-points."tilecore.backends"]' in block for block in blocks(README, "toml"))


@pytest.mark.parametrize(
    "name",
    [
        "README.md", "docs/language.md", "docs/first-hour.md", "docs/torch.md", "docs/profiling.md",
        "docs/heuristics.md",
    ],
)  # fmt: skip
def test_python_of_the_page_runs(name, tmp_path):
    pytest.importorskip("torch")
    assert blocks(TEXTS[name], "python")
    script = tmp_path / "page.py"
    script.write_text("\n\n".join(blocks(TEXTS[name], "python")))
    environment = dict(os.environ) | {"TILECORE_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(PACKAGE.parent)}
    ended = subprocess.run(
        [sys.executable, str(script)], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=180
    )
    assert ended.returncode == 0, ended.stderr


def test_calls_in_the_text_of_the_readme_run(tmp_path):
    """Lazy and eager kernels alike; each call as it stands."""
    pytest.importorskip("torch")
    calls = re.findall(r"`((?:kernel|scaled|tilecore)\.[\w.]+\([^`]*\))`", unfenced(README))
    assert {call.partition("(")[0] for call in calls} == {
        "kernel.export", "scaled.compile", "tilecore.load_kernel", "tilecore.interpreter.interpret"
    }  # fmt: skip
    lines = [*blocks(README, "python"), "lazy = kernel", "eager = scaled.compile(x)"]
    lines.append("lazy_arrays = [torch.zeros(*p.shape).numpy() for p in lazy.params]")
    lines.append("eager_arrays = [torch.ones(50, 7).numpy(), torch.zeros(50, 7).numpy()]")
    for kind in ("lazy", "eager"):
        lines += [f"kernel, arrays = {kind}, {kind}_arrays", *calls]
    lines.append("assert (arrays[1] == 2).all()  # what the eager kernel wrote")
    script = tmp_path / "calls.py"
    script.write_text("\n".join(lines))
    environment = dict(os.environ) | {"TILECORE_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(PACKAGE.parent)}
    ended = subprocess.run(
        [sys.executable, str(script)], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=180
    )
    assert ended.returncode == 0, ended.stderr


def test_error_of_the_readme_is_what_users_see(tmp_path, monkeypatch):
    (shown,) = blocks(README, "text")
    line = re.search(r"^(\d+) \| (.*)$", shown, re.MULTILINE)
    assert line is not None
    head = [
        "import tilecore.language as T",
        "@T.prim_func",
        'def kernel(X: T.Tensor((64, 64), "float32")):',
        "    with T.Kernel(1, threads=128) as bx:",
        *(f"        {name} = T.alloc_shared(({m}, 64), 'float32')" for name, m in (("A_shared", 64), ("B_shared", 32))),
        "        C_local = T.alloc_fragment((64, 64), 'float32')",
        "        if True:",
    ]
    number = int(line[1])
    text = head + [""] * (number - 1 - len(head)) + [line[2]]
    (tmp_path / "kernel.py").write_text("\n".join(text) + "\n")
    monkeypatch.chdir(tmp_path)
    kernel = runpy.run_path("kernel.py")["kernel"]
    with pytest.raises(LanguageError) as caught:
        kernel.script()
    assert f"{caught.value}\n" == shown


def test_the_readmes_main_command_is_what_nox_runs():
    commands = [b.strip() for b in blocks(README, "bash") if "tilecore demo" in b]
    assert len(commands) == 1
    assert "\n" not in commands[0]
    assert commands[0].startswith("python3 -m venv ")
    assert "-c constraints.txt" in commands[0]


# -- docs/language.md: every name, once, with its parameters ----------------------------------------------------

# a list item that starts with names in code: "- `T.a(x)`, `T.b`: "
_SPAN = r"`T\.[^`]+`"
_ENTRY = re.compile(rf"^- ({_SPAN}(?:,\s+{_SPAN})*):\s", re.MULTILINE)
_CLASSES = set(  # of TVM's expressions
    "Add Sub Mul Div Mod FloorDiv FloorMod Min Max EQ NE LT LE GT GE And Or Not IntImm FloatImm StringImm Call "
    "BufferLoad IterVar Range".split()
)
_NOT_CALLED = {"GemmWarpPolicy", "Ref", "let", "tir", "dtypes", "PrimExpr", "WSID", "WSSyncKind", *_CLASSES}


def section(title: str) -> str:
    return LANGUAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def entries() -> list[tuple[str, list[str]]]:
    """(name, what stands in the entry): each name of each entry as it is written, on one line."""
    rows = []
    for entry in _ENTRY.finditer(LANGUAGE):
        spans = [" ".join(span.split()) for span in re.findall(_SPAN, entry[1])]
        rows += [(re.match(r"`T\.(\w+)", span)[1], [span.strip("`"), *spans]) for span in spans]  # type: ignore[index]
    return rows


def documented_types() -> list[str]:
    rows = re.findall(r"^\| (`T\..*) \|$", section("Element types and casts"), re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`T\.(\w+)`", row)]


def shape_of(signature: inspect.Signature) -> list[tuple[str, object, object]]:
    return [(p.name, p.kind, p.default) for p in signature.parameters.values()]


def parameters_of(name: str) -> list[tuple[str, object, object]]:
    value = getattr(T, name)
    if type(value).__name__ == "_TensorFactory":
        value = value._with_strides if value.strided else value._plain
    return shape_of(inspect.signature(value))


def written_parameters(call: str) -> list[tuple[str, object, object]]:
    """The parameters of ``T.name(a, b=1)``, read as those of a definition."""
    scope: dict = {"T": T}
    exec(f"def documented{call[call.index('(') :]}: pass", scope)
    return shape_of(inspect.signature(scope["documented"]))


def test_every_name_of_the_language_is_documented_once():
    names = [name for name, _ in entries()]
    assert sorted(names) == sorted(set(names)), "documented twice"
    assert set(names) == set(_NAMES)


def test_every_element_type_is_documented_once():
    types = documented_types()
    public = {name for name in ALIASES if isinstance(getattr(T, name, None), T.dtype) and name != "dtype"}
    assert sorted(types) == sorted(set(FACTS) | public)


@pytest.mark.parametrize(("name", "spans"), entries(), ids=[name for name, _ in entries()])
def test_the_parameters_are_those_of_the_code(name, spans):
    call, *siblings = spans
    if "(" in call:
        assert written_parameters(call) == parameters_of(name)
    elif name not in _NOT_CALLED:  # another name of what the entry says
        others = {re.match(r"`T\.(\w+)\(", span)[1] for span in siblings if "(" in span}  # type: ignore[index]
        assert any(getattr(T, name) is getattr(T, other) for other in others)


def test_every_name_that_the_page_mentions_is_there_or_said_not_to_be(monkeypatch):
    monkeypatch.setattr(manager, "offers", lambda: iter(()))  # no backend adds names
    absent = section("Names of one chip")
    words = set(re.findall(r"\bT\.(\w+)", LANGUAGE.replace(absent, "")))
    assert not {word for word in words if not hasattr(T, word)}
    for word in re.findall(r"`T\.(\w+)`", absent):
        if word not in _NAMES:
            with pytest.raises(MissingNameError):
                getattr(T, word)


def test_names_that_are_not_here_are_listed_with_what_to_use_instead():
    rows = re.findall(r"^\| (`T\..*?) \| (.+) \|$", section("Names of one chip"), re.MULTILINE)
    listed = [name for names, _ in rows for name in re.findall(r"`T\.(\w+)`", names)]
    assert sorted(listed) == sorted(_REASONS)
    assert not {name for name in listed if hasattr(T, name)}


# -- docs/heuristics.md ---------------------------------------------------------------------------------------------


def test_the_functions_of_heuristics_are_documented_with_their_parameters():
    page = TEXTS["docs/heuristics.md"]
    calls = re.findall(r"^### `((?:heuristics|tilecore)\.\w+\(.*\))`$", page, re.MULTILINE)
    for call in calls:
        module, _, name = call.partition("(")[0].partition(".")
        function = getattr(heuristics if module == "heuristics" else tilecore, name)
        assert written_parameters(call) == shape_of(inspect.signature(function)), call
    named = {call.partition("(")[0] for call in calls}
    assert named == {"tilecore.autotune", *(f"heuristics.{name}" for name in heuristics.__all__)}
    tables = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\|(.*?)\|", page, re.MULTILINE))))
    of_configurations = {*GEMM_NAMES, *FORWARD_NAMES, *DECODING_NAMES, "stream_k"}
    assert of_configurations <= tables
    of_searches = {*inspect.signature(tilecore.autotune).parameters, *ProfileOptions.__annotations__}
    assert of_searches - {"func", "options", "cache_input_tensors"} <= tables


@pytest.mark.parametrize("name", ["passes.md", "hooks/library.md", "hooks/header.md"])
def test_pages_that_are_written_from_the_code_are_up_to_date(name):
    from generated_lists import PAGES

    assert TEXTS[f"docs/{name}"] == PAGES[name](), "python tests/generated_lists.py --update"


def test_the_tables_of_thread_ir_and_of_hooks_are_those_of_the_code():
    from contract_tables import in_page, tables

    for name, (path, text) in tables().items():
        assert in_page(path.read_text(), name) == text, f"{name}: python -m tests.contract_tables --update"


def test_the_page_of_the_code_generator_has_every_method_of_the_emitter():
    from contract_tables import WORDS

    from tilecore.codegen.source_emitter import SourceEmitter
    from tilecore.codegen.syntax import Syntax

    page = TEXTS["docs/hooks/codegen.md"]
    public = [name for name in dir(SourceEmitter) if not name.startswith("_")]
    assert [name for name in public if not re.search(rf"`(?:self\.)?{name}\b", page)] == []
    assert {name for name, value in vars(Syntax).items() if inspect.isfunction(value) and name[0] != "_"} == set(WORDS)


@pytest.mark.parametrize("place", ["cuda-sm_90a", "opencl"])
def test_the_page_of_thread_ir_has_every_attribute_of_a_kernel(place):
    from replay import replay

    if not replay.installed(place):
        pytest.skip(f"the package of {place} is not installed")
    from tilecore.compiler import lower
    from tilecore.jit.request import make_request
    from tilecore.target_report.files import module_of

    page, request = TEXTS["docs/thread-ir.md"], make_request(target=replay.TARGETS[place])
    for kernel in ("matmul", "dequant_matmul"):
        func = getattr(module_of(ROOT / "examples" / f"{kernel}.py"), kernel)(*replay.KERNELS[kernel]).ir
        for function in lower(func, request.backend, request.target, request.options)[0].functions.values():
            assert [key for key in map(str, function.attrs.keys()) if f"`{key}`" not in page] == []


def test_the_page_of_launches_has_every_field_of_the_records():
    from dataclasses import fields

    from tilecore.artifact.records import Entry
    from tilecore.runtime.slots import EntryLaunch, KernelCall, ScalarSlot, TensorSlot

    page = TEXTS["docs/hooks/adapters.md"].partition("### What a launch gets")[2]
    for record in (KernelCall, TensorSlot, ScalarSlot, EntryLaunch, Entry):
        assert [f.name for f in fields(record) if f"`{f.name}`" not in page] == [], record.__name__
