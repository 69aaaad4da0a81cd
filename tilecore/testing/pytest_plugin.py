"""What pytest sees of tilecore: the options of the conformance kit, whose rest is loaded where it is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

KIT = "tilecore.testing.conformance"
PLUGIN = f"{KIT}.plugin"
FOLDER = Path(__file__).parent / "conformance"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tilecore", f"conformance of tilecore's backends (--pyargs {KIT})")
    group.addoption(
        "--conform-target", action="append", default=[], metavar="TARGET[@BACKEND]",
        help="the target that cases run on, and the execution backend if not the one that is chosen by itself; may be "
        "given several times (default: all that can run here)",
    )  # fmt: skip
    group.addoption(
        "--conform-level", type=int, default=3, choices=range(5), help="highest level tried (default 3; 4: speed)"
    )
    group.addoption("--conform-seed", type=int, default=0, help="of the values that kernels are given (default 0)")
    group.addoption(
        "--conform-part", default="0/1", metavar="K/N",
        help="of the cases on targets that are not built in only part K (from 0) of N; N runs have all (default 0/1)",
    )  # fmt: skip
    group.addoption("--conform-report", type=Path, default=None, metavar="FILE", help="write the outcome as JSON")
    group.addoption(
        "--conform-report-moves", action="store_true",
        help="do not print the path of the report, as its reader removes the file",
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    if any(map(_names_the_kit, config.args)) and not config.pluginmanager.has_plugin(PLUGIN):
        config.pluginmanager.import_plugin(PLUGIN)


def _names_the_kit(word: str) -> bool:
    path = Path(word.partition("::")[0]).resolve()
    return word.startswith(KIT) or path == FOLDER or FOLDER in path.parents or path in FOLDER.parents
