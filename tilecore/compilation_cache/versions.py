"""Collects the versions of everything that determines the compiled code of a kernel, without importing any of it.

The version of an installed distribution is read from the name of its ``.dist-info`` directory. A package that runs
from a source checkout changes without changing its version, so there a digest of its files is added.
"""

from __future__ import annotations

import functools
import json
import os
import sys
from hashlib import sha256

from tilecore.installation import compiler_is_installed

_OF_THE_COMPILER = ("apache-tvm", "apache-tvm-ffi")
_DERIVED = (".pyc", ".pyo", ".so", ".pyd", ".dylib", ".dll", ".o", ".c", ".md")


def versions_for_key(
    backend_package: str, backend_version: str, backend_module: str | None = None, registration: str = ""
) -> dict[str, str]:
    """Distribution name to version of tilecore, TVM and the backend, for a cache key and an artifact's ``versions``.

    backend_module: the plugin's module. When it is given and comes from a source checkout, a digest of its package's
    files is added to the version, so that a backend under development never meets its own stale kernels.
    registration: the unique text of a plugin that was registered as an object (``Backend.registration``).
    """
    versions = dict(_core_versions())
    if backend_package and (backend_package != "tilecore" or registration):
        checkout = _checkout_digest(backend_module.partition(".")[0]) if backend_module and not registration else ""
        suffix = f"+object.{registration}" if registration else checkout
        versions[backend_package] = versions.get(backend_package, "") + backend_version + suffix
    return versions


def portable_versions(
    backend_package: str, backend_version: str, backend_module: str | None = None, registration: str = ""
) -> dict[str, str]:
    """As :func:`versions_for_key`, without the packages that only the compiler needs: for kernels that are used where
    these are missing or have other versions."""
    versions = versions_for_key(backend_package, backend_version, backend_module, registration)
    return {name: version for name, version in versions.items() if name not in _OF_THE_COMPILER}


def installed_version(distribution: str) -> str:
    """Version of an installed distribution; "absent" when there is none."""
    return _installed().get(distribution) or _from_metadata(distribution)


@functools.lru_cache(maxsize=1)
def _core_versions() -> tuple[tuple[str, str], ...]:
    own = _own_version()
    compilers = _installed_compiler() if compiler_is_installed() else _noted_compiler(own)
    return (*sorted(compilers.items()), ("tilecore", own))


def _own_version() -> str:
    import tilecore

    return tilecore.__version__ + _checkout_digest("tilecore")


def _installed_compiler() -> dict[str, str]:
    return {name: installed_version(name) for name in _OF_THE_COMPILER}


@functools.lru_cache(maxsize=1)
def note_compiler() -> None:
    """Note in the cache on disk with which compiler its kernels are made, once in a process: where tilecore-runtime is
    installed alone, kernels are looked up as those of the last compiler that wrote to the cache."""
    from tilecore.compilation_cache.current import disk_cache

    if compiler_is_installed():
        text = json.dumps(_installed_compiler(), sort_keys=True)
        disk, key = disk_cache(), _key_of_note(_own_version())
        if disk.note("results", key) != text:
            disk.keep_note("results", key, text)


def _noted_compiler(own: str) -> dict[str, str]:
    """The versions that the cache has a note of; "absent" where there is none."""
    from tilecore.compilation_cache.current import disk_cache

    text = disk_cache().note("results", _key_of_note(own))
    noted = json.loads(text) if text else {}
    return {name: str(noted.get(name, "absent")) for name in _OF_THE_COMPILER}


def _key_of_note(own: str) -> str:
    return sha256(f"tilecore-compiler 1 {own}".encode()).hexdigest()


@functools.lru_cache(maxsize=1)
def _installed() -> dict[str, str]:
    """Lower-case, dashed name to version of the distributions on sys.path; the first counts, as for imports."""
    installed_versions: dict[str, str] = {}
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            if name.endswith(".dist-info"):
                project, _, version = name[: -len(".dist-info")].rpartition("-")
                installed_versions.setdefault(project.replace("_", "-").lower(), version)
    return installed_versions


def _from_metadata(distribution: str) -> str:
    """The version from the metadata: the slow way, for packages that are not installed as a wheel."""
    import importlib.metadata

    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "absent"


@functools.lru_cache(maxsize=64)
def _checkout_digest(module: str) -> str:
    """``+source.<digest>`` for a package that was imported from a source checkout, "" for an installed wheel."""
    loaded = sys.modules.get(module)
    file = getattr(loaded, "__file__", None)
    paths = list(getattr(loaded, "__path__", ()))
    if not paths and not file:
        return ""
    root = paths[0] if paths else str(file)
    folder = os.path.dirname(os.path.abspath(root))
    try:
        if any(name.endswith(".dist-info") for name in os.listdir(folder)):
            return ""
    except OSError:  # inside a zip archive: a package that is not being edited
        return ""
    total = sha256()
    for path in _source_files(root):
        with open(path, "rb") as stream:
            content = sha256(stream.read()).digest()
        total.update(os.path.relpath(path, folder).replace(os.sep, "/").encode() + b"\0" + content)
    return f"+source.{total.hexdigest()[:16]}"


def _source_files(root: str) -> list[str]:
    if os.path.isfile(root):
        return [root]
    paths = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name != "__pycache__" and not name.startswith(".")]
        paths += [os.path.join(folder, name) for name in files if not name.endswith(_DERIVED) and name[0] != "."]
    return sorted(paths, key=lambda path: path.replace(os.sep, "/"))
