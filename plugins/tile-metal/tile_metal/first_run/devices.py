"""A process that prints what torch, MLX and tile-metal say of the GPU, as a line of JSON: ``python -m`` this module."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any


def torch_facts() -> dict[str, Any]:
    """What torch says. "problem" where it has no device "mps"."""
    import torch

    mps = torch.backends.mps
    record: dict[str, Any] = {"is_built": mps.is_built(), "is_available": mps.is_available()}
    if not mps.is_available():
        return {**record, "problem": f"torch {torch.__version__} has no device 'mps' here"}
    # names of several versions of torch
    for place, name in ((mps, "get_name"), (mps, "get_core_count"), (torch.mps, "recommended_max_memory")):
        if hasattr(place, name):
            record[name.removeprefix("get_")] = getattr(place, name)()
    record["can_compile"] = hasattr(torch.mps, "compile_shader")
    return record


def mlx_facts() -> dict[str, Any]:
    """What MLX says of its device."""
    import mlx.core as mx

    return {name: value for name, value in mx.device_info().items() if isinstance(value, (str, int, float))}


def target_facts() -> dict[str, Any]:
    """What tile-metal makes of this Mac: the target that "metal" is, and whether each execution backend runs."""
    from tilecore.plugins import manager

    backend, target = manager.resolve("metal")
    presence = {name: adapter.available(target) for name, adapter in backend.adapters.items()}
    return {
        "target": str(target),
        "execution_backends": {name: answer.detail for name, answer in presence.items() if answer.present},
        "missing": {name: answer.detail for name, answer in presence.items() if not answer.present},
    }


def answered(ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What ``ask`` returns, or why it could not."""
    try:
        return ask()
    except ImportError:
        return {}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:500]}


def main() -> None:
    record = {"torch": answered(torch_facts), "mlx": answered(mlx_facts), "tile-metal": answered(target_facts)}
    problem = record["torch"].get("problem")
    print(json.dumps({**record, **({"problem": problem} if problem else {})}))


if __name__ == "__main__":
    main()
