"""The shape of the contract: what a package of a backend can see of it, as plain data. Its library, the functions and
classes that backends may import, is part of it.

``python tests/plugins/contract_shape.py`` writes it down for the version of the checkout; under a number that has been
released, only additions that break nobody are written.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
from importlib import import_module
from pathlib import Path
from typing import Any

from tilecore.artifact.records import Artifact, Entry, ScalarParam, Symbol, TensorParam, Workspace
from tilecore.contract import records as backend
from tilecore.contract.adapter import KernelAdapter, LoadedKernel
from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.library import LIBRARY
from tilecore.contract.passes import Pass, PassEdit, PassEnv
from tilecore.plugins.loader import HOOKS, OPTIONAL
from tilecore.target import Target

FOLDER = Path(__file__).parent / "contracts"
PARTS = [
    Target,
    *(record for record in vars(backend).values() if dataclasses.is_dataclass(record)),
    *(Pass, PassEdit, PassEnv, TileOpImpl, LoadedKernel),
    *(Artifact, Entry, ScalarParam, Symbol, TensorParam, Workspace),
]
Shape = dict[str, Any]


def shape() -> Shape:
    """hooks: name to whether it is needed.
    records: fields in order, each [name, may be left out].
    adapter: its methods, which plugins override, each [parameters, may be left out].
    library: module to its public names, each with the parameters of a call, [name, may be left out] in order, or None
    for what is not called.
    """
    return {
        "hooks": {name: name not in OPTIONAL for name in HOOKS},
        "records": {record.__name__: [_field(f) for f in dataclasses.fields(record)] for record in PARTS},
        "adapter": {
            name: [list(inspect.signature(member).parameters), not getattr(member, "__isabstractmethod__", False)]
            for name, member in vars(KernelAdapter).items()
            if inspect.isfunction(member) and not name.startswith("_")
        },
        "library": _library(),
    }


def _library() -> dict[str, dict[str, Any]]:
    shapes: dict[str, dict[str, Any]] = {}
    for group in LIBRARY:
        for short, names in group.modules:
            if names != "*" and short != "ir.nodes":  # records are above, and TVM's classes are not ours
                module = import_module(f"tilecore.{short}" if short else "tilecore")
                shapes[module.__name__] = {name: _call_shape(getattr(module, name)) for name in sorted(names.split())}
    return shapes


def _call_shape(value: Any) -> list[Any] | None:
    if not (inspect.isclass(value) or inspect.isroutine(value)):
        return None
    try:
        parameters = inspect.signature(value).parameters.values()
    except ValueError:
        return None
    return [[p.name, p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)] for p in parameters]


def _field(field: dataclasses.Field[Any]) -> list[Any]:
    has_default = field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
    return [field.name, has_default]


def recorded(version: int) -> Shape | None:
    """What was written down for a version; None where nothing was."""
    path = FOLDER / f"{version}.json"
    return json.loads(path.read_text()) if path.exists() else None


def breaks(old: Shape, new: Shape) -> list[str]:
    """What a package written for the old contract cannot live with in the new one, in words."""
    problems = [f"the hook {name} is gone" for name in old["hooks"] if name not in new["hooks"]]
    problems += [
        f"the hook {name} is new and needed" for name in new["hooks"].keys() - old["hooks"].keys() if new["hooks"][name]
    ]
    for record, fields in old["records"].items():
        if record not in new["records"]:
            problems.append(f"the record {record} is gone")
            continue
        now = new["records"][record]
        if [name for name, _ in now[: len(fields)]] != [name for name, _ in fields]:
            problems.append(f"the fields of {record} have other places: plugins may pass them by position")
        old_defaults = dict(map(tuple, fields))
        problems += [
            f"{record}.{name} has to be given now"
            for name, left_out in now
            if not left_out and old_defaults.get(name, True)
        ]
    for name, (parameters, _) in old["adapter"].items():
        if new["adapter"].get(name, [None])[0] != parameters:
            problems.append(f"KernelAdapter.{name} is called with other arguments")
    problems += _broken_names(old.get("library", {}), new.get("library", {}))
    problems += [
        f"KernelAdapter.{name} is new and abstract"
        for name in new["adapter"].keys() - old["adapter"].keys()
        if not new["adapter"][name][1]
    ]
    return problems


def _broken_names(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    broken = []
    for module, names in old.items():
        for name, parameters in names.items():
            if name not in new.get(module, {}):
                broken.append(f"{module}.{name} is public no more")
                continue
            now = new[module][name]
            if parameters is None or now is None:
                if parameters != now:
                    broken.append(f"{module}.{name} is called in another way")
            elif [n for n, _ in now[: len(parameters)]] != [n for n, _ in parameters]:
                broken.append(f"{module}.{name} has lost, moved or renamed a parameter")
            else:
                needed = [n for n, left_out in now[len(parameters) :] if not left_out]
                needed += [n for (n, left_out), (_, before) in zip(now, parameters, strict=False) if before > left_out]
                broken += [f"{module}.{name}: {n} has to be given now" for n in needed]
    return broken


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{backend.CONTRACT_VERSION}.json"
    path.write_text(json.dumps(shape(), indent=1) + "\n")
    print(f"written: {path}")


if __name__ == "__main__":
    main()
