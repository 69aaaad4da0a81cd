"""Builds the errors for targets that no package, or more than one package, offers."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from tilecore.errors import PluginError, TargetError
from tilecore.installation import RUNTIME
from tilecore.plugins.discovery import CORE, Entry
from tilecore.plugins.installed import distributions

_ANY_DEVICE = ("gpu", "device", "accelerator")  # names that users write for any device
# names that users write for what is a setting and runs the kernels of any target
_SETTINGS = {
    **dict.fromkeys(
        ("interpret", "interpreter"), "TILECORE_INTERPRET=1 runs the kernels of any target in the interpreter;"
    ),
    **dict.fromkeys(
        ("sim", "simulate", "simulator", "simulation"),
        "TILECORE_SIMULATE=1 runs the kernels of a target on its simulated device;",
    ),
}
_KIND = re.compile(r"[a-z][a-z0-9_-]*")
_EXTRA = re.compile(r"""Requires-Dist:\s*(?P<package>[\w.-]+)[^;]*;.*extra\s*==\s*['"](?P<extra>[^'"]+)['"]""")


def unknown_target(
    name: str, kinds: Collection[str], aliases: Collection[str], broken: Collection[str], others: Sequence[str] = ()
) -> TargetError:
    """The error for a target that no installed package offers.

    broken: kinds whose packages do not work. others: targets for which the name is that of an architecture.
    """
    import difflib

    also = f" (aliases: {', '.join(sorted(aliases))})" if aliases else ""
    also += f"; broken: {', '.join(broken)} (see `tilecore doctor`)" if broken else ""
    close = difflib.get_close_matches(name, [*kinds, *sorted(aliases)], 3)
    return TargetError(
        f"no installed backend offers the target {name!r}",
        found=repr(name),
        expected=f"one of {', '.join(kinds)}{also}",
        hint=f"{_advice(name, [*others, *close])} `tilecore targets` lists what is installed",
    )


def _advice(name: str, close: Sequence[str]) -> str:
    """What the user can do: install the package of tilecore's extra of that name, correct the spelling, or look for
    tile-<target>, the usual name of a backend's package."""
    package = package_of_extra(name)
    if package:
        return f"install its backend: pip install {package};"
    if name in _ANY_DEVICE:
        return "use target='auto' for the device of this machine;"
    if name in _SETTINGS:
        return _SETTINGS[name]
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    if _KIND.fullmatch(name):
        package = f"tile-{name.replace('_', '-')}"
        return f"backends are packages: install the one for this target, if there is one (usually named {package});"
    return "backends are packages: pip install the one for your device;"


def package_of_extra(name: str) -> str:
    """The package that the extra ``name`` of tilecore and tilecore-runtime installs; "" where there is no such extra,
    or it is no backend."""
    for distribution in distributions():
        try:
            if distribution.name_and_version()[0].lower() not in (CORE, RUNTIME):
                continue
            text = distribution.read_text("METADATA") or distribution.read_text("PKG-INFO") or ""
        except (OSError, UnicodeDecodeError):
            continue
        for line in text.partition("\n\n")[0].splitlines():
            match = _EXTRA.match(line)
            if match and match["extra"] == name and match["package"].lower().startswith("tile-"):
                return match["package"]
    return ""


def clash(kind: str, entries: Sequence[Entry]) -> PluginError:
    """The error for a kind that several packages offer."""
    packages = [f"{entry.package} {entry.version}".strip() for entry in entries]
    others = " or ".join(f"pip uninstall {entry.package}" for entry in entries if entry.package != CORE)
    return PluginError(
        f'target "{kind}" is offered by {len(entries)} packages: {", ".join(packages)}',
        found="; ".join(f"{entry.package}: {entry.value}" for entry in entries),
        expected="one package for each target kind",
        hint=f"keep one of the packages: {others}; other targets are not affected",
    )
