"""docs/hooks/ and the contract say the same: every hook and field is documented, every documented name exists."""

from __future__ import annotations

import ast
import dataclasses
import re
from pathlib import Path
from types import ModuleType

import pytest

from tilecore.contract import hookspecs
from tilecore.contract import records as backend
from tilecore.contract.adapter import HostCode, KernelAdapter, LoadedKernel
from tilecore.plugins.loader import HOOKS, OPTIONAL
from tilecore.plugins.manager import Manager

FOLDER = Path(__file__).parents[3] / "docs" / "hooks"
OVERVIEW = (FOLDER / "README.md").read_text()
TEXT = "\n".join([OVERVIEW, *(page.read_text() for page in sorted(FOLDER.glob("[a-z]*.md")))])


def sections(level: str) -> dict[str, str]:
    """Title (of those in backquotes) to text, down to the next heading of the same or a higher level."""
    parts = re.split(rf"^(#{{2,{len(level)}}}) (.*)$", TEXT, flags=re.MULTILINE)
    titled = zip(parts[1::3], parts[2::3], parts[3::3], strict=True)
    return {title.strip("`"): text for marks, title, text in titled if marks == level and title.startswith("`")}


HOOK_SECTIONS = sections("##")
RECORD_SECTIONS = sections("###")
RECORDS = {
    name: {field.name for field in dataclasses.fields(record)}
    for name, record in {**vars(backend), "LoadedKernel": LoadedKernel, "HostCode": HostCode}.items()
    if dataclasses.is_dataclass(record) and record.__module__ in (backend.__name__, LoadedKernel.__module__)
}
RECORDS["KernelAdapter"] = {name for name in vars(KernelAdapter) if not name.startswith("_")} | {"name"}
CODE = re.findall(r"^```python\n(.*?)^```$", OVERVIEW, flags=re.MULTILINE | re.DOTALL)


def documented(text: str) -> list[str]:
    """The names at the start of the list items."""
    items = re.findall(r"^- ((?:`\w+`(?:, )?)+):", text, flags=re.MULTILINE)
    return [name for item in items for name in re.findall(r"`(\w+)`", item)]


def test_every_hook_has_a_section_and_every_section_a_hook():
    assert set(HOOK_SECTIONS) == set(HOOKS)


@pytest.mark.parametrize("hook", HOOKS)
def test_sections_say_whether_a_hook_is_needed(hook):
    first = HOOK_SECTIONS[hook].strip().split()[0]
    assert first.rstrip(".:") == ("Optional" if hook in OPTIONAL else "Needed")


@pytest.mark.parametrize("hook", HOOKS)
def test_each_hook_documents_the_record_that_it_returns(hook):
    tree = ast.parse(Path(hookspecs.__file__).read_text())
    returns = {node.name: ast.unparse(node.returns) for node in tree.body if isinstance(node, ast.FunctionDef)}
    record = returns[hook].removeprefix("Sequence[").removesuffix("]")
    assert f"### `{record}`" in TEXT.partition(f"## `{hook}`")[2].partition("\n## ")[0]


def test_every_hook_has_a_page():
    """One that the overview leads to, by the name of the hook."""
    imports_and_header = {"library", "header"}
    pages = {page.stem for page in FOLDER.glob("[a-z]*.md")} - imports_and_header
    assert pages == {hook.removeprefix("tilecore_") for hook in HOOKS}
    for page in pages:
        assert f"| `tilecore_{page}` | [{page}.md]({page}.md) |" in OVERVIEW
        assert f"## `tilecore_{page}`" in (FOLDER / f"{page}.md").read_text()


def test_every_record_has_a_section_and_every_section_a_record():
    assert set(RECORD_SECTIONS) == set(RECORDS)


@pytest.mark.parametrize("record", RECORDS)
def test_exactly_the_fields_are_documented(record):
    names = documented(RECORD_SECTIONS[record])
    assert sorted(names) == sorted(RECORDS[record]), "each field once"


def test_the_entry_point_group_is_named():
    assert f'[project.entry-points."{hookspecs.ENTRY_POINT_GROUP}"]' in TEXT


def test_the_example_is_a_whole_backend():
    example, trial = CODE
    plugin = ModuleType("tile_acme")
    exec(compile(example, "docs/hooks/README.md", "exec"), vars(plugin))
    manager = Manager()
    names = {"manager": manager, "plugin_module": plugin}
    exec(trial.replace("from tilecore.plugins import manager", ""), names)
    assert str(names["target"]) == "acme"
    assert names["backend"].package == "tile-acme"
    assert names["backend"].lowering.family == "none"
    assert names["backend"].adapters["acme"].load(None).launch(0, 0, 0) == 0
