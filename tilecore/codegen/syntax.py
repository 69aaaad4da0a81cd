"""How one language writes what thread IR says. The methods here write C++ and, by the tables of a Dialect, C.

Other languages override them. A method takes text that is emitted already and returns text; none looks at IR nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilecore.codegen import literals, text
from tilecore.codegen.refusal import refuse
from tilecore.codegen.returned_text import check_methods, check_text
from tilecore.codegen.text import ORDER, SUM, UNARY, Text, within
from tilecore.dtypes import FACTS

if TYPE_CHECKING:
    from tilecore.codegen.dialect import Dialect, KernelHead


@dataclass(frozen=True)
class Memory:
    """A buffer in the source: its name and element type; scalar: a plain variable, not an array or a pointer.

    scope: the memory that it is in, such as "global", "shared" or "local".
    """

    name: str
    dtype: str
    scalar: bool = False
    scope: str = "global"


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel.

    name: in the source. dtype: of the scalar, or of the buffer's elements. read_only: the kernel writes no element.
    may_alias: another parameter may be the same tensor.
    """

    name: str
    dtype: str
    is_buffer: bool
    read_only: bool = False
    may_alias: bool = False
    scope: str = "global"


class Syntax:
    """The words of a language. The methods here write those of ``dialect``, a language of C's family."""

    comment = "//"  # begins a comment that ends with the line
    block_start = " {"  # behind the head of a loop, a branch or a kernel
    block_end = "}"  # the line behind a block; "" for none
    otherwise = "} else {"  # between the two blocks of a branch

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        check_methods(cls)  # of a backend's emitter

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect

    def line_directive(self, path: str, line: int) -> str:
        """The line that tells the compiler which line of the user's the next one is from; "" where the language has
        none."""
        escaped = path.replace("\\", "\\\\").replace('"', '\\"')
        return f'#line {line} "{escaped}"'

    # -- types and constants ------------------------------------------------------------------------------------

    def type_of(self, dtype: str, node: Any = None) -> str:
        """The language's name of an element type. Raises UnsupportedError, at ``node``'s line, for vectors and for
        types that the dialect does not have."""
        kind = self.dialect.types.get(dtype)
        return kind if kind is not None else refuse(node, self.dialect.kind, what=f"a value of type {dtype}")

    def integer(self, value: int, dtype: str) -> Text:
        """An integer constant, wrapped into the range of ``dtype``."""
        return literals.integer(value, dtype, self.dialect)

    def floating(self, value: float, dtype: str) -> Text:
        """A floating-point constant, exact to the bit."""
        return literals.floating(value, dtype, self.dialect)

    def boolean(self, value: bool) -> Text:
        """A constant bool."""
        return Text("true" if value else "false")

    # -- operators and functions --------------------------------------------------------------------------------

    def binary(self, symbol: str, level: int, a: Text, b: Text) -> Text:
        """``a symbol b``. symbol: the operator in C; level: its precedence (text.py)."""
        return text.binary(symbol, level, a, b)

    def typed_binary(self, symbol: str, level: int, a: Text, b: Text, dtype: str) -> Text:
        """``a symbol b``, as :meth:`binary` writes it: the emitter calls this hook for every operator. dtype: the type
        in which it computes, that of the left operand. Override it where the text depends on the type."""
        return self.binary(symbol, level, a, b)

    def unary(self, symbol: str, value: Text) -> Text:
        """``symbol value``. symbol: "-", "!" or "~"."""
        return text.minus(value) if symbol == "-" else Text(f"{symbol}{within(value, UNARY)}", UNARY)

    def cast(self, dtype: str, value: Text) -> Text:
        """``value`` converted to a type of 8 bits or more, as C converts: integers wrap."""
        return text.cast(self.type_of(dtype), value)

    def bits_as(self, dtype: str, value: Text) -> Text:
        """The bits of ``value`` as a type of the same size."""
        return self.typed_function("tc_bits", dtype, value)

    def truncate(self, dtype: str, value: Text) -> Text:
        """A float as an integer, towards zero and saturated; 0 for NaN."""
        return self.typed_function("tc_truncate", dtype, value)

    def choice(self, condition: Text, yes: Text, no: Text) -> Text:
        """``yes`` where ``condition`` holds, else ``no``. Only the one chosen is evaluated, if the language can."""
        return text.choice(condition, yes, no)

    def function(self, name: str, *arguments: Text | str) -> Text:
        """A call. name: a function of the backend's header ("tc_min"), of ``Dialect.math``, or of the user's source."""
        return text.call(name, *arguments)

    def typed_function(self, name: str, dtype: str, *arguments: Text | str) -> Text:
        """A call of the function of the header that returns a ``dtype``."""
        return self.function(self.dialect.forms.typed(name, self.type_of(dtype), dtype), *arguments)

    def sized_function(self, name: str, number: int, *arguments: Text | str) -> Text:
        """A call of the function of the header for a number, such as bytes, that is known."""
        return self.function(self.dialect.forms.sized(name, number), *arguments)

    def narrowed(self, dtype: str, value: Text) -> Text:
        """A number rounded to a float of fewer than 32 bits."""
        return self.dialect.forms.narrow(self.type_of(dtype), value)

    def widened(self, value: Text) -> Text:
        """A float of fewer than 32 bits as a float32."""
        return self.dialect.forms.single(self.type_of("float32"), value)

    def from_bits(self, dtype: str, bits: str) -> Text:
        """A float of fewer than 32 bits from its bits."""
        return self.dialect.forms.from_bits(self.type_of(dtype), bits)

    # -- memory -------------------------------------------------------------------------------------------------

    def access(self, memory: Memory, index: Text) -> Text:
        """An element of an array, where it is read: ``name[index]``."""
        return Text(f"{memory.name}[{index}]")

    def stored(self, memory: Memory, index: Text, value: Text) -> str:
        """The statement that stores into an element; index: "0" for a scalar. Override it where a store needs more
        than an element to assign to, such as bytes that share a word."""
        return self.assigned(memory, self.named(memory, index), value)

    def named(self, memory: Memory, index: Text) -> Text:
        """An element of an array, or a scalar, as :meth:`access` writes it."""
        return Text(memory.name) if memory.scalar else self.access(memory, index)

    def assigned(self, memory: Memory, element: Text, value: Text) -> str:
        """The statement that assigns to an element or a scalar."""
        return f"{element} = {value};"

    def updated(self, memory: Memory, element: Text, symbol: str, value: Text) -> str:
        """The statement that adds to, subtracts from or multiplies an element. symbol: "+", "-" or "*"."""
        return f"{element} {symbol}= {value};"

    def pointer(self, memory: Memory, index: Text) -> Text:
        """The address of an element, for functions that access memory, such as "tc_move": a sum. index: "0" for the
        first element and for a scalar."""
        if memory.scalar:
            return Text(f"&{memory.name}", UNARY)
        return Text(memory.name) if index.text == "0" else Text(f"{memory.name} + {within(index, SUM)}", SUM)

    def reference(self, element: Text) -> Text:
        """The address of an element, for atomic functions and functions of the user's source. element: as
        :meth:`access` writes it."""
        return Text(f"&{within(element, UNARY)}", UNARY)

    # -- texts and prints ---------------------------------------------------------------------------------------

    def quoted(self, message: str) -> str:
        """A text as a constant: of a print or of an assertion."""
        return literals.quoted(message)

    def printed(self, dtype: str, value: Text) -> tuple[str, Text]:
        """What stands for a number in the text of a print, and the number as an argument of the print. dtype: of the
        number; a float of fewer than 32 bits is float32 here."""
        place, kind = self.dialect.forms.printed[FACTS[dtype].kind]
        return place, text.cast(kind, value)

    def print_statement(self, pieces: Sequence[str | tuple[str, Text]]) -> str:
        """The statement that prints a line. pieces: the line in order, its end included: text, or what :meth:`printed`
        returned for a number."""
        text, numbers = print_format(pieces)
        return self.call_statement(self.function("tc_print", self.quoted(text), *numbers))

    # -- declarations, each one line ----------------------------------------------------------------------------

    def constant(self, dtype: str, name: str, value: Text) -> str:
        """The declaration of a variable that is never assigned again."""
        return f"const {self.type_of(dtype)} {name} = {value};"

    def indices(self, names: Sequence[tuple[str, str]]) -> str:
        """The declaration of the indices of the block or of the thread, int32. names: (name, value)."""
        return f"const int {', '.join(f'{name} = {value}' for name, value in names)};"

    def variable(self, dtype: str, name: str, align: int) -> str:
        """A variable without a value. align: 0, or bytes where it needs a greater alignment than its type."""
        return f"{f'alignas({align}) ' if align else ''}{self.type_of(dtype)} {name};"

    def local_array(self, dtype: str, name: str, count: int, align: int) -> str:
        """An array of one thread's own, of ``count`` elements."""
        return self.variable(dtype, f"{name}[{count}]", align)

    def shared_arena(self, size: int) -> str:
        """All shared memory of a block, in bytes; "" for nothing, where every buffer is declared by itself."""
        return str(check_text(self.dialect.arena(size), self.dialect.kind, "str", "Dialect.arena"))

    def shared_array(self, memory: Memory, count: int | None, offset: int) -> str:
        """A buffer in shared memory, ``offset`` bytes into the arena; count: of its elements, None if not constant."""
        pointer = self.dialect.pointer(self.dialect.aliased(self.type_of(memory.dtype)), memory.scope)
        return f"{pointer} {memory.name} = ({pointer})({self.dialect.arena_name} + {offset});"

    def view(self, memory: Memory, source: Memory, read_only: bool) -> str:
        """``memory``: another element type of the memory of ``source``."""
        pointer = self.dialect.pointer(self.dialect.aliased(self.type_of(memory.dtype)), source.scope, read_only)
        return f"{pointer} {memory.name} = ({pointer}){source.name};"

    def pointer_at(self, memory: Memory, address: Text) -> str:
        """``memory``: a tensor whose first element is at an address, a 64-bit integer."""
        pointer = self.dialect.pointer(self.type_of(memory.dtype), memory.scope, False)
        return f"{pointer} {memory.name} = ({pointer}){within(address, UNARY)};"

    # -- control flow: heads, without the start of the block ----------------------------------------------------

    def for_head(self, dtype: str, name: str, first: Text, stop: Text) -> str:
        """A loop from ``first`` up to, and without, ``stop``."""
        end = within(stop, ORDER, right=True)
        return f"for ({self.type_of(dtype)} {name} = {first}; {name} < {end}; ++{name})"

    def unroll_line(self, factor: int) -> str:
        """The line in front of a loop that is to be unrolled, by ``factor`` or, for 0, wholly; "" for none."""
        return f"{self.dialect.unroll} {factor}" if self.dialect.unroll and factor else self.dialect.unroll

    def while_head(self, condition: Text) -> str:
        """A loop, as long as the condition holds before each iteration."""
        return f"while ({condition})"

    def if_head(self, condition: Text) -> str:
        """A branch."""
        return f"if ({condition})"

    def else_if_head(self, condition: Text) -> str:
        """The line of an `else if`; "" in a language without it: then the `if` is emitted inside the `else` block."""
        return f"}} else {self.if_head(condition)}"

    def empty_block(self) -> str:
        """The line of a block without statements; "" for none, in a language that allows such a block."""
        return ""

    def break_statement(self) -> str:
        """Leaves the innermost loop."""
        return "break;"

    def continue_statement(self) -> str:
        """Goes on with the next iteration of the innermost loop."""
        return "continue;"

    def call_statement(self, call: Text) -> str:
        """A call whose value nobody uses."""
        return f"{call};"

    # -- kernels ------------------------------------------------------------------------------------------------

    def parameter_type(self, parameter: Parameter) -> str:
        """The type of a parameter, with its qualifiers, as it stands in ``KernelHead.parameters``."""
        kind = self.type_of(parameter.dtype)
        if not parameter.is_buffer:
            return kind
        restrict = f" {self.dialect.restrict}" if self.dialect.restrict and not parameter.may_alias else ""
        return f"{self.dialect.pointer(kind, parameter.scope, parameter.read_only)}{restrict}"

    def parameter_value(self, parameter: Parameter) -> Text:
        """What stands for a scalar parameter where it is read."""
        return Text(parameter.name)

    def kernel_head(self, head: KernelHead) -> str:
        """The head of a kernel, without the start of its block."""
        return str(check_text(self.dialect.head(head), self.dialect.kind, "str", "Dialect.head"))

    def module_head(self) -> str:
        """The first lines of a source; "" for none."""
        return f'#include "{self.dialect.include}"'


def print_format(pieces: Sequence[str | tuple[str, Text]]) -> tuple[str, list[Text]]:
    """(the text of a print as printf takes it, its numbers). pieces: as ``print_statement`` gets them."""
    parts = [piece.replace("%", "%%") if isinstance(piece, str) else piece[0] for piece in pieces]
    return "".join(parts), [piece[1] for piece in pieces if not isinstance(piece, str)]


def alignment_beyond(dtype: str, bytes_needed: int) -> int:
    """``bytes_needed`` where it is more than the size of an element of ``dtype``, else 0."""
    return bytes_needed if bytes_needed > (FACTS[dtype].bits + 7) // 8 else 0
