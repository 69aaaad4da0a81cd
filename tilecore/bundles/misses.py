"""Says why the bundles of a program do not have a kernel."""

from __future__ import annotations

from collections.abc import Sequence

from tilecore.bundles.format import KernelRecord
from tilecore.bundles.layers import BundleLayer, Fit, all_layers, runs_here
from tilecore.bundles.lookup import some


def instead_of(name: str, adapter: str, fit: Fit) -> list[str]:
    """For each bundle one sentence: what it has instead of the kernel. adapter: the execution backend that is asked
    for. fit: how well a target's text fits the requested one, 0 where it does not."""
    return [f"{layer.path} {_why(layer, name, adapter, fit)}" for layer in all_layers()]


def _why(layer: BundleLayer, name: str, adapter: str, fit: Fit) -> str:
    records = layer.records()
    if records is None:
        return f"is not used: {layer.problem or 'it has no kernels'}"
    named = [record for record in records if record.name == name]
    if not named:
        return f"has no kernel {name}; it has {_labels(records)}"
    fitting = [record for record in named if runs_here(record) and fit(record.target) > 0]
    if not fitting:
        targets = list(dict.fromkeys(f"{record.target} ({record.machine})" if record.machine else record.target
                                     for record in named))  # fmt: skip
        return f"has {name} for other targets only: {some(targets)}"
    by_adapter = [record for record in fitting if record.adapter == adapter]
    if not by_adapter:
        adapters = list(dict.fromkeys(record.adapter for record in fitting))
        return f"has {name} for other execution backends only: {some(adapters)}"
    return (
        f"has {_labels(by_adapter)} for this target: the arguments differ, or the kernel's source, pass_configs, "
        "compile_flags or out_idx are not those that were compiled"
    )


def _labels(records: Sequence[KernelRecord]) -> str:
    return some(list(dict.fromkeys(record.label for record in records))) or "no kernels"
