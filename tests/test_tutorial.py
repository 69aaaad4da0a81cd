"""The pages that lead a newcomer through a backend: every block is carried out, in order, and does what the page says.

A fenced block says in its info string what it is:

    python title=PATH     a whole file (of any language); PATH from the package's folder
    python append=PATH    goes behind what is in the file
    diff patch=PATH       lines with - become those with +; they and those around them stand there once
    python run            a program of its own; one whose output ends in an error ends so
    bash run              commands, in the folder that the last ones left; they succeed
    bash run fails        the last command ends with another code than 0
    text output           what the commands before it printed: these lines, in this order; ... stands for anything
    text recorded         of a run that takes too long to repeat here
    bash shown            what this machine must not do, such as an upload
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tilecore.simulate.compilers import find_compiler

ROOT = Path(__file__).parents[1]
_GENERATED = ("header.md", "library.md")
HOOKS = tuple(
    f"hooks/{page.name}" for page in sorted((ROOT / "docs" / "hooks").glob("[a-z]*.md")) if page.name not in _GENERATED
)
LONG = ("backend-quickstart.md", "write-a-backend.md", "testing-without-hardware.md")
PAGES = (*LONG, "versions.md", "thread-ir.md", *HOOKS)
_BLOCK = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOT_RUN = ("recorded", "shown")

# pip without a network: tilecore is here already, and a package goes where its own folder stays the source
PIP = r"""
set -e
words=()
for word in "$@"; do
  case "$word" in tilecore|tilecore\[*) exit 0 ;; -e) ;; *) words+=("${word%%\[*}") ;; esac
done
if [ "${words[0]}" = install ]; then words+=(--target "$SITE" --upgrade); fi
"$PYTHON" -m pip "${words[@]}" --quiet --no-deps --no-build-isolation --no-index
find "$SITE" -maxdepth 1 -name "tile_*" ! -name "*.dist-info" -exec rm -rf {} +
"""


@dataclass(frozen=True)
class Block:
    """line: of the page. words: of the info string."""

    line: int
    words: tuple[str, ...]
    text: str

    @property
    def role(self) -> str:
        return self.words[1].partition("=")[0] if len(self.words) > 1 else ""

    @property
    def path(self) -> str:
        return self.words[1].partition("=")[2]


def blocks_of(text: str) -> list[Block]:
    return [
        Block(text[: match.start()].count("\n") + 1, tuple(match[1].split()), match[2])
        for match in _BLOCK.finditer(text)
    ]


def missing_line(promised: str, printed: str) -> str | None:
    """The first promised line that the output has not, behind the lines before it; None if it has all."""
    lines = iter([" ".join(line.split()) for line in printed.splitlines()])
    for promised_line in promised.splitlines():
        pattern = ".*".join(re.escape(" ".join(part.split())) for part in promised_line.split("..."))
        pattern = pattern.replace(".*", " ?.* ?")
        if promised_line.strip() not in ("", "...") and not any(re.fullmatch(f" ?{pattern} ?", line) for line in lines):
            return promised_line
    return None


def patched(text: str, diff: str) -> str:
    """``text`` with the change of one piece of a unified diff, which must fit at one place."""
    lines = diff.splitlines(keepends=True)
    old, new = ("".join(line[1:] for line in lines if line[0] in marks) for marks in (" -", " +"))
    assert text.count(old) == 1, f"stands there {text.count(old)} times:\n{old}"
    return text.replace(old, new)


class Workplace:
    """A folder with what a newcomer has: an environment with tilecore, and a shell.

    package: the folder that the paths of blocks start from.
    """

    package = "tile-acme"

    def __init__(self, folder: Path, cache: Path | None = None) -> None:
        self.here = self.start = folder / "work"
        site, tools = folder / "site", folder / "bin"
        for new_folder in (self.start, site, tools):
            new_folder.mkdir()
        self._tool(tools / "tilecore", f'exec "{sys.executable}" -m tilecore "$@"')
        self._tool(tools / "pytest", f'exec "{sys.executable}" -m pytest -p no:cacheprovider "$@"')
        self._tool(tools / "python", f'exec "{sys.executable}" "$@"')
        self._tool(tools / "pip", PIP)
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("TILECORE_", "PYTEST_"))}
        path = os.pathsep.join(map(str, (self.start / "tile-acme", site, ROOT)))
        variables = {"PATH": f"{tools}{os.pathsep}{inherited['PATH']}", "PYTHONPATH": path, "SITE": str(site)}
        variables |= {"PYTHON": sys.executable, "TILECORE_CACHE_DIR": str(cache or folder / "cache"), "COLUMNS": "120"}
        self.environment = inherited | variables

    def _tool(self, path: Path, script: str) -> None:
        path.write_text(f"#!/usr/bin/env bash\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def write(self, block: Block) -> None:
        path = self.start / self.package / block.path
        assert path.resolve().is_relative_to(self.start.resolve())
        path.parent.mkdir(parents=True, exist_ok=True)
        before = "" if block.role == "title" else path.read_text()
        path.write_text(patched(before, block.text) if block.role == "patch" else before + block.text)

    def program(self, block: Block) -> tuple[int, str]:
        (self.here / f"line_{block.line}.py").write_text(block.text)
        return self.run(f"python line_{block.line}.py")

    def run(self, script: str) -> tuple[int, str]:
        """The exit code and all that was printed."""
        marker = self.start.parent / "here"
        ended = subprocess.run(
            ["bash", "-e", "-c", f"trap 'pwd > {marker}' EXIT\n{script}"], cwd=self.here, env=self.environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300,
        )  # fmt: skip
        self.here = Path(marker.read_text().strip())
        return ended.returncode, ended.stdout


def follow(page: str, folder: Path, cache: Path | None = None) -> int:
    """Do all that a page says; the number of blocks that did something. cache: kernels and simulator of other pages."""
    return carry_out(page, Workplace(folder, cache))


def carry_out(page: str, place: Workplace) -> int:
    """As :func:`follow`, in a workplace that is there."""
    printed, done = "", 0
    for block in blocks_of((ROOT / "docs" / page).read_text()):
        where = f"docs/{page}:{block.line}"
        if block.role in ("title", "append", "patch"):
            place.write(block)
        elif block.role == "run":
            code, printed = place.run(block.text) if block.words[0] == "bash" else place.program(block)
            assert (code != 0) == ("fails" in block.words), f"{where} ended with {code}:\n{printed[-6000:]}"
        elif block.role == "output":
            missing = missing_line(block.text, printed)
            assert missing is None, f"{where} promises {missing!r}, printed was:\n{printed[-6000:]}"
        else:
            assert block.role in NOT_RUN, f"{where}: what is this block? {block.words}"
            continue
        done += 1
    return done


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize("page", [pytest.param(p, marks=pytest.mark.rotated if p in LONG else ()) for p in PAGES])
def test_the_page_does_what_it_says(page, tmp_path, cache):
    find_compiler()
    assert follow(page, tmp_path, cache) >= 2


@pytest.mark.parametrize("page", PAGES)
def test_little_is_only_shown(page):
    """What is not carried out is said to be so, and is the smaller part."""
    blocks = blocks_of((ROOT / "docs" / page).read_text())
    idle = [block for block in blocks if block.role in NOT_RUN]
    assert len(idle) * 4 <= len(blocks), [block.line for block in idle]


def test_a_missing_line_is_seen():
    printed = "a table\nacme      12   3.5 s\nend\n"
    assert missing_line("acme 12 ... s\n", printed) is None
    assert missing_line("a table\n...\nend\n", printed) is None
    assert missing_line("end\na table\n", printed) == "a table"
    assert missing_line("acme 13 ... s\n", printed) == "acme 13 ... s"
    assert missing_line("acme 12\n", printed) == "acme 12"


def test_a_change_that_does_not_fit_is_seen():
    assert patched("a\nb\nc\n", " a\n-b\n+d\n") == "a\nd\nc\n"
    for text in ("a\nc\n", "a\nb\na\nb\n"):
        with pytest.raises(AssertionError, match="stands there"):
            patched(text, " a\n-b\n+d\n")


def test_a_command_that_fails_is_seen(tmp_path, monkeypatch):
    (tmp_path / "docs").mkdir()
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    for number, (words, text) in enumerate((("bash run", "false\n"), ("bash run fails", "true\n"), ("bash", "true\n"))):
        (tmp_path / "docs" / "page.md").write_text(f"```{words}\n{text}```\n")
        (tmp_path / str(number)).mkdir()
        with pytest.raises(AssertionError, match=r"docs/page\.md:1"):
            follow("page.md", tmp_path / str(number))
