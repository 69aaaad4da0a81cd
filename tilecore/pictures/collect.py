"""Where the elements of a kernel's buffers lie: the layouts that lowering chose, as tables of numbers."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tilecore.contract.passes import PassEnv
from tilecore.contract.state import BufferLayouts
from tilecore.dtypes import dtype as DType
from tilecore.errors import UnsupportedError
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.fragment_text import formula
from tilecore.ir.fragments import REGISTER, THREAD, FragmentLayout
from tilecore.ir.nodes import Var
from tilecore.ir.scopes import is_shared
from tilecore.ir.tabulate import tabulate
from tilecore.lowering.simt.state import InferredLayouts, SharedPlan
from tilecore.pictures.picture import FRAGMENT, MEMORY, LayoutPicture

if TYPE_CHECKING:
    from tilecore.ir.layout import BufferLayout


def pictures_of(env: PassEnv) -> dict[str, LayoutPicture]:
    """By buffer; none for kernels without threads. ``env``: after the last pass."""
    pictures: dict[str, LayoutPicture] = {}
    fragments = env.find_state(InferredLayouts)
    if fragments is None:
        return pictures
    for inferred in fragments.by_kernel:
        for buffer, layout in inferred.fragments.items():
            _add(pictures, fragment_picture(str(buffer.name), dtype_of(buffer), layout))
    arranged = env.state(BufferLayouts).by_buffer
    for buffer, layout in arranged.items():
        if is_shared(buffer):
            _add(pictures, memory_picture(buffer, layout))
    rearranged = {str(buffer.name) for buffer in arranged}
    for buffer in env.state(SharedPlan).places:
        if str(buffer.name) not in rearranged:
            _add(pictures, memory_picture(buffer, None))
    return pictures


def fragment_picture(name: str, dtype: str, layout: FragmentLayout) -> LayoutPicture:
    places = list(np.indices(layout.shape, dtype=np.int64)) if layout.shape else []
    tables = [np.broadcast_to(np.asarray(of(places)), layout.shape) for of in (layout.thread, layout.register)]
    copies = prod(part.extent for part in layout.free)
    words = f"thread = {formula(layout, THREAD)}; register = {formula(layout, REGISTER)}"
    return LayoutPicture(name, dtype, FRAGMENT, layout.shape, tables[0], tables[1], words, copies)


def memory_picture(buffer: Var, layout: BufferLayout | None) -> LayoutPicture:
    """Of a buffer in shared memory; None: rows as they are."""
    shape = tuple(constant(extent) for extent in buffer.shape)
    if any(extent is None for extent in shape):
        raise UnsupportedError(f"the size of {buffer.name} is not known when compiling", expected="constants")
    sizes = tuple(int(extent) for extent in shape if extent is not None)
    if layout is None:
        offsets = np.arange(prod(sizes), dtype=np.int64).reshape(sizes)
    else:
        variables = [Var(f"i{axis}", "int32") for axis in range(len(sizes))]
        tables = tabulate(variables, layout.place(variables), sizes)
        offsets = np.ravel_multi_index(tables, layout.shape)
    kind = DType(dtype_of(buffer))
    starts = offsets * kind.bits // 8
    words = layout.name if layout is not None else "rows as they are"
    return LayoutPicture(str(buffer.name), dtype_of(buffer), MEMORY, sizes, starts // 4 % 32, starts, words)


def _add(pictures: dict[str, LayoutPicture], picture: LayoutPicture) -> None:
    """Kernels of one function may have buffers of one name: the later ones get a number."""
    name, number = picture.name, 1
    while name in pictures:
        name, number = f"{picture.name}_{number}", number + 1
    pictures[name] = picture.renamed(name)
