"""tilecore-runtime beside engines: a resolver finds versions of everything that both need, from metadata alone.

uv resolves (``pip install uv``); nothing but metadata is downloaded. Where uv, the index or a release of an engine is
not to be had, the test skips and says why.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from built_wheels import wheels_of

# what each one pins of apache-tvm-ffi, and whether the compiler can be installed beside it
ENGINES = {
    "vllm==0.33.0": ("==0.1.11", False),
    "sglang==0.5.23": ("==0.1.11", False),
    "tilelang==0.1.15": (">=0.1.11,<0.1.13", False),
    "flashinfer-python==0.7.4": (None, True),
}
OURS = ("tilecore-runtime", "tile-cuda")


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    return wheels_of(tmp_path_factory.mktemp("wheels"))


@pytest.fixture(scope="module")
def resolve(wheels, tmp_path_factory):
    """resolve(requirement, ...): the versions by project, or the words of the resolver that there are none."""
    if shutil.which("uv") is None and importlib.util.find_spec("uv") is None:
        pytest.skip("uv, which resolves, is not installed: pip install uv")
    uv = ["uv"] if importlib.util.find_spec("uv") is None else [sys.executable, "-m", "uv"]
    words = ["pip", "compile", "--quiet", "--no-header", "--no-annotate", "--no-build", "--python", sys.executable]
    folder = tmp_path_factory.mktemp("resolved")
    index = _pips_index()

    def run(*requirements: str) -> dict[str, str] | str:
        request = folder / "requirements.in"
        request.write_text("\n".join(requirements) + "\n")
        options = ["--find-links", str(Path(wheels["tilecore"]).parent), *(["--index-url", index] if index else [])]
        ended = subprocess.run([*uv, *words, *options, str(request)], capture_output=True, text=True, timeout=300)
        if ended.returncode:
            return " ".join(ended.stderr.split())
        return dict(re.findall(r"^([\w.-]+)==(\S+)$", ended.stdout, re.MULTILINE))

    return run


def _pips_index() -> str:
    """The index that pip is set to use; "" for the default one."""
    command = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def require_engine(resolve, engine: str) -> None:
    """Skip where the engine cannot be resolved without tilecore, either."""
    answer = resolve(engine)
    if isinstance(answer, str):
        pytest.skip(f"{engine} cannot be resolved here by itself: {answer[:300]}")


@pytest.mark.parametrize("engine", ENGINES)
def test_the_runtime_installs_beside(resolve, engine):
    versions = resolve(engine, *OURS)
    if isinstance(versions, str):
        require_engine(resolve, engine)
        pytest.fail(versions)
    project, _, version = engine.partition("==")
    assert versions[project] == version
    assert set(OURS) <= versions.keys()
    pin, _ = ENGINES[engine]
    assert "apache-tvm" not in versions
    if pin is not None:
        assert versions["apache-tvm-ffi"].startswith(("0.1.11", "0.1.12"))


@pytest.mark.parametrize("engine", [engine for engine, (_, fits) in ENGINES.items() if not fits])
def test_the_compiler_does_not(resolve, engine):
    """What docs/deploy.md says of the pin, and that the resolver sees conflicts at all."""
    answer = resolve(engine, "tilecore")
    if isinstance(answer, str) and "apache-tvm-ffi" in answer:
        assert "are incompatible" in answer
        return
    require_engine(resolve, engine)
    pytest.fail(str(answer)[:1000])
