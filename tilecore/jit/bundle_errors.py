"""Says why a bundle has no kernel for a target, or for this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilecore.bundles import layers
from tilecore.bundles.format import KernelRecord
from tilecore.bundles.lookup import some
from tilecore.contract.adapter import this_machine
from tilecore.errors import LaunchError, TilecoreError
from tilecore.plugins import manager
from tilecore.target import Target


def nothing_for(
    path: str, label: str, records: Sequence[KernelRecord], target: Any, wanted: Mapping[str, Target]
) -> LaunchError:
    """The error where none of the records of a kernel is for the target, or, where it is None, for this machine.

    path: of the bundle. wanted: by kind, the target, or those of the devices of this machine.
    """
    if target is None and not any(map(layers.runs_here, records)):
        machines = list(dict.fromkeys(record.machine for record in records))
        return LaunchError(
            f"{path} has no kernel {label} for this system",
            found=f"kernels for {some(machines)}",
            expected=f"kernels for {this_machine()}",
            hint="they are loaded on such machines; for this one compile the bundle here, or name its -system",
        )
    parsed = [Target.parse(record.target) for record in records]
    targets = list(dict.fromkeys(str(one) if one.kind in wanted else one.brief() for one in parsed))
    if not wanted:
        return LaunchError(
            f"{path} has no kernel {label} for a device of this machine",
            found=f"kernels for {some(targets)}",
            expected="; ".join(dict.fromkeys(map(_what_is_missing, records))),
            hint="find(name, ..., target=...) gives a kernel whose device is not here, to inspect or export it; for "
            "this machine compile the bundle with its target (--target may be repeated)",
        )
    return LaunchError(
        f"{path} has no kernel {label} for {'this machine' if target is None else target}",
        found=f"kernels for {some(targets)}",
        expected=f"a kernel for {some(list(map(str, wanted.values())))}",
        hint="compile the bundle for this target, too (--target may be repeated); bundle.targets lists those it has, "
        "and tilecore doctor says which of them run here",
    )


def _what_is_missing(record: KernelRecord) -> str:
    """What this machine lacks for the kernel: the package of its target, or its device."""
    kind = Target.parse(record.target).kind
    try:
        detail = manager.target_spec(kind).detect().detail
    except TilecoreError as error:
        return f"the package of target {kind!r} ({getattr(error, 'message', error)})"
    return f"a device of target {kind!r} ({detail})"
