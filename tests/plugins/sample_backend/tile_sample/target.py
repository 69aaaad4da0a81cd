"""What the sample device is: attributes, aliases, limits, and whether there is one."""

from __future__ import annotations

import os

from tilecore.contract.records import AttributeSpec, Capabilities, Presence, TargetSpec
from tilecore.errors import TargetError
from tilecore.target import Target

MODELS = ("s1", "s2")


def capabilities(target: Target) -> Capabilities:
    lanes = int(target.get("lanes", 4))
    return Capabilities(
        dtypes=frozenset({"float32"}),
        scopes=frozenset({"global"}),
        tile_ops=frozenset({"copy", "fill"}),
        max_threads=lanes,
        features=frozenset({"atomics"} if target.get("model") == "s2" else ()),
    )


def detect() -> Presence:
    """A sample device is "plugged in" by an environment variable."""
    model = os.environ.get("SAMPLE_DEVICE", "")
    return Presence(bool(model), f"sample device {model}" if model else "SAMPLE_DEVICE is not set")


def resolve(target: Target) -> Target:
    model = target.get("model") or os.environ.get("SAMPLE_DEVICE") or MODELS[0]
    if model not in MODELS:
        raise TargetError(f"unknown sample model {model!r}", expected=f"one of {', '.join(MODELS)}")
    return target.with_attributes(model=model)


SPEC = TargetSpec(
    kind="sample",
    doc="a device that exists only in tests",
    capabilities=capabilities,
    detect=detect,
    resolve=resolve,
    attributes={
        "lanes": AttributeSpec("threads of a block", default=4, choices=(1, 4, 8)),
        "model": AttributeSpec("s1 or s2; detected when not given"),
        "checked": AttributeSpec("whether accesses are checked", default=False),
    },
    aliases={"sample-wide": {"lanes": 8}},
    contract=2,
)
