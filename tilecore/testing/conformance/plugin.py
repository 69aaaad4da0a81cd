"""pytest's part of the kit: options, the places that cases run on, what is skipped or known to fail, and the report."""

from __future__ import annotations

import fnmatch
import functools
import os
import platform
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import tilecore
from tilecore.errors import PluginError
from tilecore.plugins import manager
from tilecore.testing.conformance import report
from tilecore.testing.conformance.cases import kit
from tilecore.testing.conformance.parts import Part
from tilecore.testing.conformance.places import Place, further, place, places
from tilecore.whole_files import can_be_replaced

PACKAGE = Path(__file__).parent
REPORTS: pytest.StashKey[dict[str, report.Report]] = pytest.StashKey()
ENDED: pytest.StashKey[bool] = pytest.StashKey()  # whether every case that was chosen has had its turn
PLACES: pytest.StashKey[list[Place]] = pytest.StashKey()  # on which all groups run
_config: pytest.Config | None = None  # of this session: a hook of reports is not told


def pytest_configure(config: pytest.Config) -> None:
    global _config
    _config = config
    config.stash[REPORTS] = {}
    kit.SEED = config.getoption("--conform-seed")
    kit.COMPILE_ONLY = config.getoption("--conform-level") < 2


def requested_places(config: pytest.Config) -> list[Place]:
    """Those of ``--conform-target``; else all that work here, for which each execution backend is asked once."""
    if PLACES not in config.stash:
        config.stash[PLACES] = [place(words) for words in config.getoption("--conform-target")] or places()
    return config.stash[PLACES]


def is_case(path: Any) -> bool:
    return PACKAGE in Path(str(path)).parents


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "target" in metafunc.fixturenames and is_case(metafunc.module.__file__):
        targets = [*requested_places(metafunc.config), *further(group_of(metafunc.module.__file__))]
        metafunc.parametrize("target", targets, ids=[target.words for target in targets], scope="session")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    most = config.getoption("--conform-level")
    part = Part.parse(config.getoption("--conform-part"))
    names = sorted({item_place.words for item in items if (item_place := place_of(item)) is not None})
    patterns_of = functools.cache(known_failures)
    chosen: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        if not is_case(item.path):
            chosen.append(item)
            continue
        is_tried = level_of(item) <= (2 if most == 1 else most)  # what has to be right has to compile, first
        where = place_of(item)
        is_tried &= part.has(group_of(item.path), name_without_place(item), where, names)
        (chosen if is_tried else left_out).append(item)
        if is_tried and where is not None:
            reason = known_failure(item, patterns_of(where))
            if reason is not None:
                runs = not reason.startswith("crash")
                item.add_marker(pytest.mark.xfail(reason=reason, strict=not kit.COMPILE_ONLY, run=runs))
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = chosen


def group_of(file: Any) -> str:
    """The group of a module's cases: ``product_kernels``."""
    return Path(str(file)).stem.removeprefix("test_")


def place_of(item: pytest.Item) -> Place | None:
    call = getattr(item, "callspec", None)
    place = None if call is None else call.params.get("target")
    return place if isinstance(place, Place) else None


def level_of(item: pytest.Item) -> int:
    """Of the case as it is written: what is right counts as 2, be it on a simulated device or on hardware."""
    return int(getattr(item.module, "LEVEL", 2))  # type: ignore[attr-defined]


def known_failures(where: Place) -> Mapping[str, str]:
    """Patterns of cases that the backend expects to fail there, and why. One that cannot say it fails a case of
    registration."""
    backend, target = manager.resolve(str(where))
    try:
        return backend.target.known_failures(target)
    except PluginError:
        return {}


def known_failure(item: pytest.Item, patterns: Mapping[str, str]) -> str | None:
    """Why the backend expects this case to fail, if it does."""
    name = case_name(item.nodeid)
    return next((why for pattern, why in patterns.items() if fnmatch.fnmatchcase(name, pattern)), None)


def case_name(nodeid: str) -> str:
    """``test_gemm.py::test_shapes[...]`` without the folders."""
    path, _, rest = nodeid.partition("::")
    return f"{Path(path).name}::{rest}"


def name_without_place(item: pytest.Item) -> str:
    """``test_gemm.py::test_shapes[...]`` with the place cut out of the brackets: the same on every target."""
    where, name = place_of(item), case_name(item.nodeid)
    return name if where is None else name.replace(where.words, "", 1)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    try:
        return (yield)
    except kit.Compiled:  # all that this level asks for
        return True  # type: ignore[return-value]


@pytest.fixture(autouse=True)
def _execution_backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    where = request.getfixturevalue("target") if "target" in request.fixturenames else None
    if isinstance(where, Place) and where.backend:
        monkeypatch.setenv("TILECORE_EXECUTION_BACKEND", where.backend)


@pytest.fixture(scope="session", autouse=True)
def _private(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The verifier between passes, and no cache but this session's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILECORE_CHECK", "1")
        patch.setenv("TILECORE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


# -- the report ------------------------------------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    report = yield
    where = place_of(item)
    if is_case(item.path) and where is not None:
        report.user_properties.append(("tilecore", [where.words, where.is_simulated, level_of(item)]))
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Iterator[None]:
    """Ctrl-C, twice or once, and ``-x`` leave it by an exception."""
    outcome = yield
    session.config.stash[ENDED] = True
    return outcome


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if _config is not None:
        _note(_config, report)


def _note(config: pytest.Config, case_report: pytest.TestReport) -> None:
    recorded: Any = next((value for name, value in case_report.user_properties if name == "tilecore"), None)
    if recorded is None or (case_report.when != "call" and case_report.passed):
        return
    words, simulated, level = recorded
    if level == 2 and config.getoption("--conform-level") < 2:
        level = 1
    elif level == 2 and not simulated:
        level = 3
    reports = config.stash[REPORTS]
    if words not in reports:
        reports[words] = report.Report(words, simulated, _facts(words))
    group = group_of(case_report.nodeid.partition("::")[0])
    outcome, reason = _outcome(case_report)
    reports[words].cases.append(
        report.Case(case_name(case_report.nodeid), group, level, outcome, reason, round(case_report.duration, 3))
    )
    measured: Any
    for name, measured in case_report.user_properties:
        if name == report.MEASURED:
            reports[words].measure(*measured)


def _outcome(report: pytest.TestReport) -> tuple[str, str]:
    expected = getattr(report, "wasxfail", None)
    if expected is not None:
        return ("xfailed" if report.skipped else "xpassed"), str(expected)
    if report.skipped:
        _, _, why = report.longrepr if isinstance(report.longrepr, tuple) else ("", 0, str(report.longrepr))
        return "skipped", why.removeprefix("Skipped: ")
    if report.failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        words = str(report.longrepr).strip().splitlines()[-1:] if crash is None else crash.message.splitlines()
        return "failed", " ".join(words)[:300]
    return "passed", ""


def _facts(words: str) -> dict[str, Any]:
    backend, target = manager.resolve(str(place(words)))
    names = ("dtypes", "scopes", "tile_ops", "features")
    try:
        capabilities = backend.target.capabilities(target)
        declared = {name: sorted(getattr(capabilities, name)) for name in names}
    except PluginError:  # a case of registration fails by it
        declared = {name: [] for name in names}
    adapter = place(words).adapter()
    return {
        "target": str(target),
        "package": backend.package,
        "version": backend.version,
        "execution_backend": None if adapter is None else adapter.name,
        "tilecore": tilecore.__version__,
        "python": platform.python_version(),
        "seed": kit.SEED,
        "declared": declared,
    }


def pytest_sessionstart(session: pytest.Session) -> None:
    """A report of another run does not outlive the start of this one; a link to it, a pipe or a device does."""
    path = session.config.getoption("--conform-report")
    if path is not None and not _is_worker(session.config) and can_be_replaced(path):
        Path(os.path.realpath(path)).unlink(missing_ok=True)


def _is_worker(config: pytest.Config) -> bool:
    """One of pytest-xdist's processes? The report is of all of them."""
    return hasattr(config, "workerinput")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if _is_worker(config):
        return
    reports = list(config.stash[REPORTS].values())
    for target_report in reports:
        target_report.interrupted = not config.stash.get(ENDED, False)
        terminalreporter.section("conformance")
        terminalreporter.write_line(report.table(target_report))
    path = config.getoption("--conform-report")
    if path is not None and reports:
        report.write(path, reports)
        if not config.getoption("--conform-report-moves"):
            terminalreporter.write_line(f"\nwritten to {path}")
