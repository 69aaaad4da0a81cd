"""The table of nodes in thread IR: one row states all facts about a kind of node. Importing it does not import TVM.

docs/thread-ir.md has the same rows. The walk of thread_walk.py and the emitters of tilecore/codegen/ take their methods
from this table, so that they handle the same nodes.
"""

from __future__ import annotations

from dataclasses import dataclass

STATEMENT, VALUE, PART = "statement", "value", "part"


@dataclass(frozen=True)
class Field:
    """A field of a node.

    kind: ``statement``, ``statements``, ``value`` or ``values`` (other nodes of thread IR, which a walk visits);
    ``index`` (a list of one value, or of one Ramp: all memory of thread IR has one dimension); ``buffer`` and
    ``variable`` (a Var), ``calls`` (the arguments of a call) and ``fact`` (data that is no node).
    """

    name: str
    kind: str
    meaning: str


@dataclass(frozen=True)
class NodeKind:
    """The facts about a kind of node.

    name: of TVM's class. role: STATEMENT, VALUE, or PART of another node. word: of the methods that handle it:
    ``visit_<word>`` of a walk, ``emit_<word>`` or ``<word>_value`` of an emitter. doc: what it means.
    """

    name: str
    role: str
    word: str
    fields: tuple[Field, ...]
    doc: str

    @property
    def visit_method(self) -> str:
        """The method of a walk that visits it."""
        return f"visit_{self.word}"

    @property
    def emit_method(self) -> str:
        """The method of an emitter that emits it; "" for a part of another node."""
        return {STATEMENT: f"emit_{self.word}", VALUE: f"{self.word}_value", PART: ""}[self.role]


def _statement(name: str, word: str, doc: str, *fields: Field) -> NodeKind:
    return NodeKind(name, STATEMENT, word, fields, doc)


_STATEMENTS = (
    _statement("SeqStmt", "sequence", "Statements, one after another.", Field("seq", "statements", "in their order")),
    _statement(
        "For",
        "for",
        "A loop that counts up by one.",
        Field("loop_var", "variable", "int32 or int64; the body does not change it"),
        Field("min", "value", "its first value"),
        Field("extent", "value", "how many values, evaluated once; none where it is not positive"),
        Field("kind", "fact", "ForKind.SERIAL, or UNROLLED: to be unrolled, wholly or by the annotation"),
        Field("annotations", "fact", "`unroll_factor`: of T.unroll; others mean nothing here"),
        Field("body", "statement", ""),
    ),
    _statement(
        "While",
        "while",
        "A loop, as long as the condition holds before each iteration.",
        Field("condition", "value", "bool"),
        Field("body", "statement", ""),
    ),
    _statement(
        "IfThenElse",
        "if",
        "A branch.",
        Field("condition", "value", "bool"),
        Field("then_case", "statement", "where it holds"),
        Field("else_case", "statement", "elsewhere; None for nothing"),
    ),
    _statement("Break", "break", "Leaves the innermost loop."),
    _statement("Continue", "continue", "Goes on with the next iteration of the innermost loop."),
    _statement(
        "Bind",
        "binding",
        "Defines a variable that is never assigned again, for the statements after it in its block.",
        Field("var", "variable", ""),
        Field("value", "value", ""),
    ),
    _statement(
        "AllocBuffer",
        "allocation",
        "Declares a buffer of the block (scope `shared`) or of the thread (scope `local`), for the statements behind "
        "it in its block. What it holds first is not defined.",
        Field("buffer", "buffer", "its `name`, `scope()`, element type, and `shape` of one size"),
    ),
    _statement(
        "DeclBuffer",
        "view",
        "Declares another buffer, of another element type or size, over the memory of a buffer; or a tensor in global "
        "memory at an address, on targets with the feature `pointers`.",
        Field("buffer", "buffer", "the view, or the tensor"),
        Field("data", "fact", "`data.args[0]`: the buffer whose memory it is; the address (int64) of a `reinterpret`"),
    ),
    _statement(
        "AttrStmt",
        "attribute",
        "Says something of its body, by the key: see the attributes of statements. Of other keys only the body counts.",
        Field("node", "fact", "for `tile.range` an IterVar: the variable and its range"),
        Field("attr_key", "fact", "the key"),
        Field("value", "fact", "a constant; for `simt.move_hint` a StringImm"),
        Field("body", "statement", ""),
    ),
    _statement(
        "BufferStore",
        "store",
        "Stores an element; or moves neighbouring elements, where the index is a Ramp: then the value is a TensorLoad "
        "with a Ramp of as many lanes.",
        Field("buffer", "buffer", ""),
        Field("indices", "index", ""),
        Field("value", "value", "of the buffer's element type"),
    ),
    _statement(
        "Evaluate", "evaluate", "A call that stands alone; a constant: nothing.", Field("value", "value", "a Call")
    ),
)  # fmt: skip

_AB = (Field("a", "value", ""), Field("b", "value", "of the same type"))


def _value(name: str, word: str, doc: str, *fields: Field) -> NodeKind:
    return NodeKind(name, VALUE, word, fields, doc)


_LEAVES = (
    _value("IntImm", "integer", "A constant: an integer, or a bool as 0 or 1.", Field("value", "fact", "a number")),
    _value("FloatImm", "floating", "A constant float, exact, also NaN and infinities.", Field("value", "fact", "")),
    _value("Var", "variable", "The value of a variable, of a scalar parameter, or of an index of a block or thread.",
           Field("name", "fact", "the name that the source suggests; several variables may have it")),
    _value(
        "TensorLoad",
        "load",
        "An element of a buffer. With a Ramp as index it stands only in a move.",
        Field("source", "buffer", ""),
        Field("indices", "index", ""),
    ),
    _value("Call", "call", "A call: see the table of calls.", Field("op", "fact", "by its name: `op_name(node)`"),
           Field("args", "calls", ""), Field("attrs", "fact", "hints, or None")),
    _value("Let", "let", "A value with a variable that stands for another value in it.",
           Field("var", "variable", ""), Field("value", "value", ""), Field("body", "value", "")),
    _value("Cast", "cast", "A value in another element type, that of the node.", Field("value", "value", "")),
    _value(
        "Select",
        "select",
        "One of two values. Both may be evaluated: neither reads outside of a buffer.",
        Field("condition", "value", "bool"),
        Field("true_value", "value", ""),
        Field("false_value", "value", "of the same type"),
    ),
)  # fmt: skip
_OPERATORS = (
    _value("Add", "arithmetic", "a + b. Integers wrap.", *_AB),
    _value("Sub", "arithmetic", "a - b. Integers wrap.", *_AB),
    _value("Mul", "arithmetic", "a * b. Integers wrap.", *_AB),
    _value("LShift", "arithmetic", "a << b, of integers.", *_AB),
    _value("Div", "division", "a / b; of integers rounded towards zero.", *_AB),
    _value("Mod", "division", "The remainder of Div, with the sign of a.", *_AB),
    _value("FloorDiv", "floor_division", "a / b, rounded down.", *_AB),
    _value("FloorMod", "floor_division", "The remainder of FloorDiv, with the sign of b.", *_AB),
    _value("Min", "extreme", "The smaller one; of floats the one that is a number.", *_AB),
    _value("Max", "extreme", "The larger one; of floats the one that is a number.", *_AB),
    _value("EQ", "comparison", "a == b, a bool.", *_AB),
    _value("NE", "comparison", "a != b, a bool.", *_AB),
    _value("LT", "comparison", "a < b, a bool.", *_AB),
    _value("LE", "comparison", "a <= b, a bool.", *_AB),
    _value("GT", "comparison", "a > b, a bool.", *_AB),
    _value("GE", "comparison", "a >= b, a bool.", *_AB),
    _value("BitwiseAnd", "bits", "a & b, of integers or bools.", *_AB),
    _value("BitwiseOr", "bits", "a | b, of integers or bools.", *_AB),
    _value("BitwiseXor", "bits", "a ^ b, of integers or bools.", *_AB),
    _value("RShift", "bits", "a >> b, of integers: with the sign for signed a.", *_AB),
    _value("BitwiseNot", "complement", "Every bit of an integer inverted; of a bool its opposite.",
           Field("a", "value", "")),
    _value("And", "and", "Do both bools hold? b is not evaluated where a does not.", *_AB),
    _value("Or", "or", "Does one of two bools hold? b is not evaluated where a does.", *_AB),
    _value("Not", "not", "The opposite of a bool.", Field("a", "value", "")),
)  # fmt: skip
_PARTS = (
    NodeKind(
        "Ramp",
        PART,
        "ramp",
        (
            Field("base", "value", "the first index"),
            Field("stride", "value", "1"),
            Field("lanes", "fact", "how many neighbours"),
        ),
        "The index of a move: neighbouring elements.",
    ),
    NodeKind("StringImm", PART, "text", (Field("value", "fact", ""),), "A text, as an argument of a call."),
)

# every kind of node in thread IR, by the name of its class
THREAD_NODES: dict[str, NodeKind] = {kind.name: kind for kind in (*_STATEMENTS, *_LEAVES, *_OPERATORS, *_PARTS)}
