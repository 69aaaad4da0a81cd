"""Finds the modules of tilecore that are no files: former names, tables of names, and modules of backends.

``tilecore/__init__.py`` asks here, as the last place where the import system looks. A module of a table
(tilecore/module_names/table.py), or of a backend (``TargetSpec.modules``), is an empty package whose names are
imported from their places when they are first used. So a class under two names is one class, and an import costs
nothing.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tilecore import installation
from tilecore.errors import CompilerMissingError, PluginError
from tilecore.module_names.left_out import instead_of
from tilecore.module_names.table import MODULES, SAME
from tilecore.nearest import did_you_mean
from tilecore.plugins import former_names

if TYPE_CHECKING:
    from tilecore.plugins.asking import TargetFacts

_ROOT = "tilecore."
# Modules of the table to which backends add submodules and names.
MODULES_OF_BACKENDS = (
    "contrib",
    "carver.arch",
    "engine.callback",
    "tools",
    "jit.adapter",
    "language.fp8",
    "utils.target",
)
_FIRST_WORDS = frozenset(path.partition(".")[0] for path in MODULES)
_state = threading.local()


def spec_of(full_name: str) -> ModuleSpec | None:
    """The spec of ``tilecore.<path>``; None where there is no such module, which is an ImportError then.

    Raises ImportError for what is left out, and for a module of a backend that is not installed; CompilerMissingError
    for a module of the compiler where tilecore-runtime is installed alone.
    """
    former = former_names.spec_of(full_name)
    if former is not None:
        return former
    path = full_name.removeprefix(_ROOT)
    if path not in MODULES and path not in SAME and installation.is_of_compiler(full_name):
        require_compiler(full_name)
    if is_module(path):
        return ModuleSpec(full_name, _Loader(), is_package=True)  # type: ignore[arg-type]
    reason = why_missing(path)
    if reason is not None:
        raise ImportError(reason, name=full_name)
    return None


def require_compiler(name: str) -> None:
    """Raise CompilerMissingError, which says that ``name`` is a part of the compiler, unless it is installed."""
    if not installation.compiler_is_installed():
        raise compiler_missing(f"{name} is a part of tilecore's compiler, which is not installed")


def compiler_missing(message: str) -> CompilerMissingError:
    """The error for what needs the compiler where tilecore-runtime is installed alone."""
    import tilecore
    from tilecore.compilation_cache.versions import installed_version

    version, folder = tilecore.__version__, tilecore.__path__[0]
    compilers = installed_version(installation.COMPILER)
    if compilers == "absent":
        return CompilerMissingError(
            message,
            found=f"{installation.RUNTIME} {version} alone, which loads and launches kernels",
            expected=f"{installation.COMPILER} {version} beside it",
            hint=f"pip install {installation.COMPILER}=={version}; or compile the kernel on another machine, "
            'kernel.export("kernel.tck"), and load it here: tilecore.load_kernel("kernel.tck")',
        )
    # a checkout whose link stands behind the installed files on Python's path, or an installation that lost files
    return CompilerMissingError(
        message,
        found=f"{installation.COMPILER} {compilers} is installed, but {folder} has no files of it",
        expected=f"the modules of both in one folder, or {installation.RUNTIME} linked to the same checkout",
        hint=f"pip install --force-reinstall --no-deps {installation.COMPILER}=={version}; in a checkout: "
        "pip install -e ./tilecore-runtime -e .",
    )


def is_module(path: str) -> bool:
    """Whether ``tilecore.<path>`` is a module that :func:`spec_of` finds. Imports no backend."""
    if path in MODULES or path in SAME or _place_of_module(path) is not None:
        return True
    return any(name.startswith(f"{path}.") for name in _offered(path))


def is_file(path: str) -> bool:
    """Whether tilecore itself has a file or a folder of this module."""
    import tilecore

    place = os.path.join(tilecore.__path__[0], *path.split("."))
    return os.path.isdir(place) or os.path.isfile(f"{place}.py")


def why_missing(path: str) -> str | None:
    """What is to be said of ``tilecore.<path>``, which is not there; None where nothing is known of it."""
    instead = instead_of(path)
    if instead is not None:
        return f"tilecore.{path} is a part of TileLang's own compiler, which tilecore does not have; instead: {instead}"
    first = path.partition(".")[0]
    package = "" if first in _FIRST_WORDS or is_file(first) else _package_of_extra(first)
    if package and not _offered(path):
        return (
            f"tilecore.{path} is a module of a backend that is not installed or does not work: "
            f"pip install {package}; `tilecore doctor` says what is wrong"
        )
    parent = path.rpartition(".")[0]
    if parent in MODULES_OF_BACKENDS:
        return (
            f"no installed backend offers tilecore.{path}: install the backend of the chip "
            f"(pip install tile-<target>); `tilecore targets` lists those that are installed"
        )
    return None


def _package_of_extra(name: str) -> str:
    from tilecore.plugins.target_errors import package_of_extra

    return package_of_extra(name)


def names_in(path: str) -> list[str]:
    """The names of the module ``tilecore.<path>`` that :func:`spec_of` finds, without submodules of backends' files."""
    names = {*MODULES.get(path, ())}
    prefix = f"{path}."
    for offered in (*MODULES, *_offered(path)):
        if offered.startswith(prefix):
            names.add(offered.removeprefix(prefix).partition(".")[0])
    place = _place_of_module(path)
    if place is not None:
        module = import_module(place)
        names |= set(getattr(module, "__all__", None) or (name for name in vars(module) if not name.startswith("_")))
    return sorted(names)


class _Loader:
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return NamesModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing, as the names are imported when they are used; a module under a second name is the module itself."""
        path = module.__name__.removeprefix(_ROOT)
        place = _place_of_module(path)
        if path in SAME:
            sys.modules[module.__name__] = import_module(SAME[path])
        elif place is not None:
            import_module(place)  # whose errors belong here


class NamesModule(ModuleType):
    """A module whose names are those of other modules. Its own names win over submodules of the same name."""

    __path__: list[str]

    def __getattr__(self, name: str) -> Any:
        path = self.__name__.removeprefix(_ROOT)
        if name == "__all__":
            return names_in(path)
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        value = _value_of(path, name)
        super().__setattr__(name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        is_submodule = isinstance(value, ModuleType) and value.__name__ == f"{self.__name__}.{name}"
        if is_submodule and name in MODULES.get(self.__name__.removeprefix(_ROOT), ()):
            return
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *names_in(self.__name__.removeprefix(_ROOT))})


def _value_of(path: str, name: str) -> Any:
    """What ``tilecore.<path>.<name>`` is; raises AttributeError with what to do."""
    full = f"{path}.{name}"
    place = MODULES.get(path, {}).get(name) or _offered(full).get(full)
    if place is not None and ":" in place:
        module, _, attribute = place.partition(":")
        return getattr(import_module(module), attribute)
    module_place = _place_of_module(path)
    if module_place is not None:
        module_of_backend = import_module(module_place)
        if hasattr(module_of_backend, name) and not _is_submodule(module_of_backend, name):
            return getattr(module_of_backend, name)
    if is_module(full):
        return import_module(f"{_ROOT}{full}")
    reason = why_missing(full)
    if reason is None:
        hint = did_you_mean(name, names_in(path))
        reason = f"module 'tilecore.{path}' has no attribute {name!r}" + (f"; {hint}" if hint else "")
    raise AttributeError(reason)


def _is_submodule(module: ModuleType, name: str) -> bool:
    value = getattr(module, name)
    return isinstance(value, ModuleType) and value.__name__ == f"{module.__name__}.{name}"


def _offers(path: str) -> Iterator[TargetFacts]:
    """The backends that may offer ``tilecore.<path>``: the one whose kind is the first word, which is loaded here;
    else all of them, which are asked."""
    from tilecore.plugins import manager

    first = path.partition(".")[0]
    is_open = any(path == module or path.startswith(f"{module}.") for module in MODULES_OF_BACKENDS)
    if not is_open and (first.startswith("_") or first in _FIRST_WORDS or is_file(first)):
        return
    if len(manager.claims(first)) == 1 and not is_open:
        with suppress(PluginError):
            yield manager.target_spec(first)
        return
    yield from manager.offers()


def _offered(path: str) -> dict[str, str]:
    """What those backends offer: paths under ``tilecore`` with their places. Of several that offer one path, the one of
    the default target is used where it is among them, else the first by name."""
    if getattr(_state, "is_asking", False):
        return {}
    with asking():
        by_kind: dict[str, dict[str, str]] = {}
        for offer in _offers(path):
            for name, place in offer.modules.items():
                by_kind.setdefault(name, {})[offer.kind] = place
        return {name: next(iter(places.values())) for name, places in _in_order(by_kind, path).items()}


@contextmanager
def asking() -> Iterator[None]:
    """In this block no further backend is asked: a backend that is being loaded may import a module that nobody has."""
    before = getattr(_state, "is_asking", False)
    _state.is_asking = True
    try:
        yield
    finally:
        _state.is_asking = before


def _in_order(by_kind: dict[str, dict[str, str]], path: str) -> dict[str, dict[str, str]]:
    """The places of each path, that of the default target first.

    The default target is asked for only where backends have different places for ``path``, a module around it or one in
    it: to find it, backends look for devices, which ``hasattr(tilecore, "other")`` must not cause.
    """
    from tilecore.plugins import manager

    around = [name for name in by_kind if f"{path}.".startswith(f"{name}.") or name.startswith(f"{path}.")]
    if all(len(set(by_kind[name].values())) == 1 for name in around):
        return by_kind
    default = manager.use_default()[1].kind
    return {name: dict(sorted(places.items(), key=lambda item: item[0] != default)) for name, places in by_kind.items()}


def _place_of_module(path: str) -> str | None:
    """The module of a backend that ``tilecore.<path>`` stands for; None where there is none."""
    offered = _offered(path)
    words = path.split(".")
    for count in range(len(words), 0, -1):
        place = offered.get(".".join(words[:count]))
        if place is None:
            continue
        if ":" in place:
            return None
        full = ".".join([place, *words[count:]])
        try:
            return full if find_spec(full) is not None else None
        except ModuleNotFoundError:
            return None
    return None
