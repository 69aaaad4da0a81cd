"""Layouts that follow from one another: a fragment's from the nest that runs over it, and the other way round."""

from __future__ import annotations

from collections.abc import Sequence

from tilecore.ir.fragments import FragmentLayout
from tilecore.lowering.simt.analysis.parallel_nests import Access, Nest


def following(nest: Nest, access: Access, partition: FragmentLayout) -> FragmentLayout | None:
    """The layout of a buffer whose elements are taken by a nest that is dealt out so."""
    matched = nest.matched(access)
    if matched is None:
        return None
    shape = [int(s) for s in access.buffer.shape]
    for axis, loop in enumerate(matched):
        if (1 if loop is None else partition.shape[loop]) != shape[axis]:
            return None
    loops = [loop for loop in matched if loop is not None]
    return widened(partition.project(loops), [loop is not None for loop in matched])


def widened(layout: FragmentLayout, present: Sequence[bool]) -> FragmentLayout:
    """Axes of one element put in where ``present`` is False."""
    numbers = [k for k, there in enumerate(present) if there]
    shape = [1] * len(present)
    for k, axis in enumerate(numbers):
        shape[axis] = layout.shape[k]
    digits = tuple(d._replace(axis=numbers[d.axis]) for d in layout.digits)
    return FragmentLayout(tuple(shape), layout.threads, digits)


def reordered(layout: FragmentLayout, order: Sequence[int | None]) -> FragmentLayout:
    """The layout of a nest whose loop n runs along axis ``order[n]`` of a fragment (None: a loop of one step)."""
    axes = [axis for axis in order if axis is not None]
    return widened(layout.project(axes), [axis is not None for axis in order])
