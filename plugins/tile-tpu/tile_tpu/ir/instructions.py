"""The instructions. In the IR an instruction is a statement ``tpu.<name>(operands)``: one command to an engine.

Operands are views (``views.py``), scalars (expressions) or words (strings). ``codegen/instruction_text.py`` chooses the
vendor's function for each instruction by element type. The vendor's ``tpu_kernel.h`` has the rules of the functions
(alignment, lanes, extents).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tile_tpu.ir.views import View, as_view
from tilecore.ir.nodes import Call, Evaluate, Stmt, StringImm
from tilecore.ir.register_call import register_call

PREFIX = "tpu."
TENSOR, DMA, CONTROL = "tensor unit", "dma", "control"


@dataclass(frozen=True)
class Instruction:
    """One instruction.

    name: the name without the prefix. engine: the engine that executes it. operands: ``name:kind`` for each. The kinds
    are ``w`` (a view that it writes), ``r`` (a view that it reads), ``rw`` (both), ``work`` (a view that it uses as
    scratch memory), ``r|x`` (a view or a scalar), ``x`` (a scalar) and ``s`` (a word). aligned: its views must have the
    aligned layout.
    """

    name: str
    engine: str
    operands: tuple[str, ...]
    aligned: bool = False


def _unary(names: str, aligned: bool = False) -> list[Instruction]:
    return [Instruction(name, TENSOR, ("dst:w", "src:r"), aligned) for name in names.split()]


def _binary(names: str) -> list[Instruction]:
    """Instructions with two operands, of which one may be a scalar."""
    return [Instruction(name, TENSOR, ("dst:w", "a:r|x", "b:r|x")) for name in names.split()]


_ALL = (
    # -- moves: dst and src have the same extents, and any strides unless the comment says otherwise
    Instruction("load", DMA, ("dst:w", "src:r")),  # global (or L2) to local
    Instruction("store", DMA, ("dst:w", "src:r")),  # local to global
    Instruction("move_global", DMA, ("dst:w", "src:r")),  # global to global
    Instruction("shift", DMA, ("dst:w", "src:r")),  # local to local, any lanes
    Instruction("load_to_all", DMA, ("dst:w", "src:r")),  # src has c = 1; dst gets it in each of its c <= lanes lanes
    Instruction("load_transposed", DMA, ("dst:w", "src:r")),  # dst (n,c,h,w) = src (n,w,h,c), cw_trans_S2L
    Instruction("store_transposed", DMA, ("dst:w", "src:r")),
    Instruction("gather_rows", DMA, ("dst:w", "src:r", "rows:r", "other:x")),  # dst[0,c,r,w] = src[0,c,rows[r],w]
    Instruction("copy", TENSOR, ("dst:w", "src:r")),  # local to local, same lane
    Instruction("to_all_lanes", TENSOR, ("dst:w", "src:r"), True),  # npu_bcast: src has c = 1
    Instruction("transpose", TENSOR, ("dst:w", "src:r"), True),  # dst (1,c,1,w) = src (1,w,1,c)
    Instruction("fill", TENSOR, ("dst:w", "value:x")),
    Instruction("cast", TENSOR, ("dst:w", "src:r", "rounding:s")),  # rounding: even, zero, down, up
    # -- element by element
    *_unary("neg abs reciprocal square floor ceil round"),
    *_unary("sqrt rsqrt", aligned=True),
    *_binary("add sub mul div max min and or xor shift_left"),
    *_binary("shift_right"),  # a view of amounts holds them negated, with a sign
    *(
        Instruction(f"select_{test}", TENSOR, ("dst:w", "a:r|x", "b:r|x", "yes:r|x", "no:r|x"), True)
        for test in ("greater", "less", "equal")
    ),
    # -- functions with work memory and tables; aligned
    Instruction("exp", TENSOR, ("dst:w", "src:r", "work0:work", "work1:work", "table:r"), True),
    Instruction("log", TENSOR, ("dst:w", "src:r", "work0:work", "table:r"), True),
    Instruction("sin", TENSOR, ("dst:w", "src:r", "work0:work", "table:r"), True),
    Instruction("cos", TENSOR, ("dst:w", "src:r", "work0:work", "table:r"), True),
    Instruction("tanh", TENSOR, ("dst:w", "src:r", "work0:work", "work1:work", "table:r"), True),
    Instruction("sigmoid", TENSOR, ("dst:w", "src:r", "work0:work", "work1:work", "table:r"), True),
    Instruction(
        "erf",
        TENSOR,
        (
            "dst:w",
            "src:r",
            "work0:work",
            "work1:work",
            "work2:work",
            "exp_table:r",
            "table:r",
        ),
        True,
    ),
    Instruction("load_table", TENSOR, ("table:w", "function:s"), True),  # exp, log, sin, cos, erf
    # -- pools of src (n,c,h,w): over w into dst (n,c,h,1), over h into (n,c,1,w), over both into (n,c,1,1)
    Instruction("reduce_max", TENSOR, ("dst:w", "src:r"), True),
    Instruction("reduce_min", TENSOR, ("dst:w", "src:r"), True),
    Instruction("reduce_sum", TENSOR, ("dst:w", "src:r"), True),  # dst float32 of any float src, or of its dtype
    # -- int32 sequences: iota_w writes start + step * w in each lane of (1,c,1,w), iota_c start + step * c to (1,c,1,1)
    Instruction("iota_w", TENSOR, ("dst:w", "start:x", "step:x")),
    Instruction("iota_c", TENSOR, ("dst:w", "start:x", "step:x")),
    # -- products: views are (1,rows,1,columns) at lane 0, aligned. accumulate: c += ..., else c = ...
    Instruction("mm", TENSOR, ("c:rw", "a:r", "b:r", "accumulate:x"), True),  # (M,K) (K,N)
    Instruction("mm_nt", TENSOR, ("c:rw", "a:r", "b:r", "accumulate:x"), True),  # (M,K) (N,K)
    Instruction("mm_tt", TENSOR, ("c:rw", "a:r", "b:r", "accumulate:x"), True),  # c is (N,M): b (N,K) x a (K,M)
    # -- control
    Instruction("poll", CONTROL, ()),  # waits for all engines
    Instruction("parallel_start", CONTROL, ()),  # from here on DMA and tensor unit run side by side
    Instruction("parallel_end", CONTROL, ()),  # waits for both
    Instruction("sync_all", CONTROL, ()),  # waits for all cores
    # the control core's cache: memory is a range of elements of a tensor, (1,1,1,count), empty where count < 1
    Instruction("invalidate_cache", CONTROL, ("memory:r",)),  # the next reads fetch from memory
    Instruction("flush_cache", CONTROL, ("memory:r",)),  # writes back what the core has written
)
INSTRUCTIONS: dict[str, Instruction] = {i.name: i for i in _ALL}

# the control core's accesses to one element of local memory
ELEMENT = register_call("tpu.element")  # (buffer, lane, offset): reads the element
SET_ELEMENT = register_call("tpu.set_element")  # (buffer, lane, offset, value): writes it

# the index of this core in the launch, int32, from 0
CORE_INDEX = register_call("tpu.core_index", pure=True)

for _instruction in _ALL:
    register_call(PREFIX + _instruction.name)


@dataclass(frozen=True)
class Command:
    """An instruction in the IR, parsed: its operands by name, views as Views, words as str."""

    instruction: Instruction
    operands: dict[str, Any]
    span: Any

    def views(self, *kinds: str) -> list[View]:
        """The operands that are views of these kinds ("w", "r", "rw", "work"); without kinds, all views."""
        views = []
        for operand in self.instruction.operands:
            name, _, kind = operand.partition(":")
            value = self.operands[name]
            if isinstance(value, View) and (not kinds or kind.split("|")[0] in kinds):
                views.append(value)
        return views

    def written(self) -> list[View]:
        return self.views("w", "rw", "work")

    def read(self) -> list[View]:
        return self.views("r", "rw")


def command(name: str, *operands: Any, span: Any = None) -> Stmt:
    """The statement of an instruction. operands: Views, scalars (ints or expressions) and words, in order."""
    instruction = INSTRUCTIONS[name]
    if len(operands) != len(instruction.operands):
        raise ValueError(f"tpu.{name} takes {', '.join(instruction.operands)}, not {len(operands)} operands")
    return Evaluate(Call(PREFIX + name, [_operand(o) for o in operands], ret_ty="void"), span=span)


def instruction_of(node: Any) -> Instruction | None:
    """The instruction of ``node`` (an Evaluate or its Call); None where ``node`` is no command."""
    call = node.value if isinstance(node, Evaluate) else node
    name = getattr(getattr(call, "op", None), "name", "") if isinstance(call, Call) else ""
    return INSTRUCTIONS.get(name.removeprefix(PREFIX)) if name.startswith(PREFIX) else None


def as_command(node: Any) -> Command | None:
    """``node`` (an Evaluate or its Call) as a Command; None where it is no command."""
    call = node.value if isinstance(node, Evaluate) else node
    instruction = instruction_of(call)
    if instruction is None:
        return None
    names = [word.partition(":")[0] for word in instruction.operands]
    return Command(instruction, dict(zip(names, map(_value, call.args), strict=True)), getattr(node, "span", None))


def rebuilt(original: Command, operands: dict[str, Any]) -> Stmt:
    """The command with other operands."""
    names = [word.partition(":")[0] for word in original.instruction.operands]
    return command(original.instruction.name, *(operands[name] for name in names), span=original.span)


def _operand(value: Any) -> Any:
    from tilecore.ir.build import const

    if isinstance(value, View):
        return value.call()
    if isinstance(value, str):
        return StringImm(value)
    return const(int(value), "int32") if isinstance(value, int) else value


def _value(node: Any) -> Any:
    view = as_view(node)
    if view is not None:
        return view
    return str(node.value) if isinstance(node, StringImm) else node
