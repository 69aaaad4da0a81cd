"""Fragments with their views: the buffers of a family share registers, so one layout decides the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tilecore.ir.build import dtype_of
from tilecore.ir.fragment_views import reshaped
from tilecore.ir.fragments import FragmentLayout
from tilecore.ir.nodes import Var


class FragmentFamilies:
    """views: the views of fragments, each with the fragment that it is of."""

    def __init__(self, views: Mapping[Var, Var]) -> None:
        self.views = views

    def family(self, buffer: Var) -> list[Var]:
        """The buffers that share the registers of ``buffer``: the fragment first, then its views."""
        root = self.views.get(buffer, buffer)
        return [root, *(view for view, source in self.views.items() if source == root)]

    def has_views(self, buffer: Var) -> bool:
        """Does the fragment have views, or is it one?"""
        return len(self.family(buffer)) > 1

    def of_other_types(self) -> list[Var]:
        """The fragments with a view of another element type: a register holds one element of one type."""
        return [root for view, root in self.views.items() if dtype_of(view) != dtype_of(root)]

    def propagate(self, fragments: dict[Var, FragmentLayout], is_open: Callable[[Var], bool]) -> bool:
        """Gives the fragments and views without a layout the one that another buffer of the family decides.

        Has anything changed?
        """
        changed = False
        for root in dict.fromkeys(self.views.values()):
            family = self.family(root)
            decided = next((fragments[buffer] for buffer in family if buffer in fragments), None)
            if decided is None:
                continue
            for buffer in family:
                layout = reshaped(decided, _shape(buffer)) if is_open(buffer) else None
                if layout is not None:
                    fragments[buffer] = layout
                    changed = True
        return changed

    def conflict(self, fragments: Mapping[Var, FragmentLayout]) -> tuple[Var, str] | None:
        """A fragment whose views cannot share its registers, and why; None if there is none."""
        for view, root in self.views.items():
            if root not in fragments and view not in fragments:
                continue  # in shared memory
            layout = fragments.get(root)
            if layout is None or view not in fragments or reshaped(layout, _shape(view)) != fragments[view]:
                held = fragments.get(root, fragments.get(view))
                return root, f"its view {view.name} of shape {_shape(view)} cuts what a thread holds of it ({held})"
        return None


def _shape(buffer: Var) -> list[int]:
    return [int(size) for size in buffer.shape]
