"""What README.md, CHANGELOG.md and docs/walk.md say is held to the code: commands, settings, paths, examples."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import tilecore
from tilecore.cli import _parser
from tilecore.errors import LanguageError
from tilecore.settings import SETTINGS

ROOT = Path(__file__).parents[1]
PACKAGE = Path(tilecore.__file__).parent
README = (ROOT / "README.md").read_text()
WALK = (ROOT / "docs" / "walk.md").read_text()
CHANGELOG = (ROOT / "CHANGELOG.md").read_text()
TEXTS = {"README.md": README, "docs/walk.md": WALK, "CHANGELOG.md": CHANGELOG}


def blocks(text: str, language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def code_words(text: str) -> list[str]:
    """What stands between single backticks, outside of fenced blocks."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL))


def locate(path: str) -> Path:
    """The package may be installed elsewhere than next to the documents."""
    return PACKAGE.parent / path if path.startswith("tilecore/") else ROOT / path


def is_path(word: str) -> bool:
    """Folders and files of the project; not commands, options or code."""
    return bool(re.fullmatch(r"\.?[\w-]+(/[\w.-]*)+|[\w-]+\.(py|md|txt|toml|pyx)", word.removeprefix("./")))


# -- paths, links, commands -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TEXTS)
def test_paths_exist(name):
    folder, missing, seen = "", [], 0
    for word in code_words(TEXTS[name]):
        if not is_path(word):
            continue
        seen += 1
        path = word.removeprefix("./")
        if path.startswith("tilecore/"):
            folder = path.rpartition("/")[0] + "/"
        if not locate(path).exists() and not locate(folder + path).exists():  # a file of the folder named last
            missing.append(word)
    assert not missing
    assert seen or name == "CHANGELOG.md"


@pytest.mark.parametrize("name", TEXTS)
def test_links_lead_somewhere(name):
    for target in re.findall(r"\]\(([^)#]+)\)", TEXTS[name]):
        assert (ROOT / name).parent.joinpath(target).exists(), target


def test_every_folder_of_the_package_is_walked_through():
    rooms = {path.parent.name for path in PACKAGE.glob("*/*.py") if path.stat().st_size}
    named = {word.split("/")[1] for word in code_words(WALK) if word.startswith("tilecore/")}
    assert rooms <= named


@pytest.mark.parametrize("name", TEXTS)
def test_commands_exist(name):
    commands = next(action.choices for action in _parser()._actions if action.choices)
    named = re.findall(r"(?:`|bin/)tilecore ([a-z][\w-]*)", TEXTS[name])
    assert set(named) <= set(commands)
    assert named or name == "docs/walk.md"


def test_scripts_named_can_be_run():
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    assert "`./.ci/run`" in README


def test_nox_sessions_named_exist():
    sessions = re.findall(r"^@nox\.session.*\ndef (\w+)", (ROOT / "noxfile.py").read_text(), re.MULTILINE)
    assert set(re.findall(r"nox -s (\w+)", README)) <= set(sessions)
    comment = re.search(r"\.venv/bin/nox +# ([\w, ]+);", README)
    assert comment is not None
    assert set(comment[1].split(", ")) <= set(sessions)


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
    from importlib_metadata import entry_points

    own = {e.name for e in entry_points(group="tilecore.backends") if e.value.startswith("tilecore.")}
    rows = re.findall(r"^\| `(\w+)` \| tilecore itself ", README, re.MULTILINE)
    assert set(rows) == (own or {"cpu"})


def test_entry_point_group():
    assert all('[project.entry-points."tilecore.backends"]' in block for block in blocks(README, "toml"))


def test_python_of_the_readme_runs(tmp_path):
    pytest.importorskip("torch")
    script = tmp_path / "readme.py"
    script.write_text("\n\n".join(blocks(README, "python")))
    environment = dict(os.environ) | {"TILECORE_CACHE_DIR": str(tmp_path / "cache")}
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
