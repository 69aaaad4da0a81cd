"""What targets say of themselves; needs no pytest, so that tools ask it too."""

from __future__ import annotations

from tilecore.plugins import manager


def has_feature(target: str, word: str) -> bool:
    """Whether the target's capabilities name it."""
    backend, resolved = manager.resolve(target)
    return word in backend.target.capabilities(resolved).features
