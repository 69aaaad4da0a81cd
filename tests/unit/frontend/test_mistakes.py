"""What is wrong with a kernel is said at its line, with the statement underlined and what to do about it."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from tilecore.errors import LanguageError, UnsupportedError

HEAD = """
import tilecore
import tilecore.language as T

n = 64

@T.prim_func
def kernel(X: T.Tensor((n, n), "float32"), Y: T.Tensor((n, n), "float32"), P: T.Tensor((n,), "int32"), s: T.int32):
"""

# name: (body, message, further text of the report); the wrong statement's line ends in `#!`
MISTAKES = {
    "a break that the kernel decides on, of a loop that Python runs": (
        """
        with T.Kernel(1):
            for factor in (1.0, 2.0):
                Y[0, 0] -= factor
                if Y[0, 0] < 0:
                    break  #!
        """,
        "`break` of a Python loop stands in an `if` whose condition is a value of the kernel",
        "`while True:`",
    ),
    "else of a for loop": (
        """
        with T.Kernel(1):
            for i in T.serial(4):  #!
                if P[i] > 0:
                    break
            else:
                P[0] = 1
        """,
        "a loop that runs in the kernel has an `else`",
        "clear a flag",
    ),
    "else of a while loop": (
        """
        with T.Kernel(1):
            while P[0] > 0:  #!
                P[0] -= 1
            else:
                P[0] = 1
        """,
        "a loop that runs in the kernel has an `else`",
        "clear a flag",
    ),
    "else of a loop that the kernel leaves": (
        """
        with T.Kernel(1):
            while True:
                if P[0] > 0:
                    break  #!
                P[0] += 1
            else:
                P[0] = 1
        """,
        "a loop that runs in the kernel has an `else`",
        "clear a flag",
    ),
    "a Python name that changes in a loop that the kernel leaves": (
        """
        with T.Kernel(1):
            k = 0
            while k < 4:  #!
                if P[k] == 0:
                    break
                k += 1
            P[0] = k
        """,
        "`k` is assigned inside a while loop that runs in the kernel",
        "k = T.alloc_var",
    ),
    "a condition that becomes a value of the kernel": (
        """
        with T.Kernel(1):
            value = 3
            while value:
                value = P[0]  #!
        """,
        "the condition of `while` becomes a value of the kernel after the first iteration",
        "",
    ),
    "a condition that becomes a value of the kernel, of a loop with a break": (
        """
        with T.Kernel(1):
            value = 3
            while value:
                if isinstance(value, str):
                    break
                value = P[0]  #!
        """,
        "the condition of `while` becomes a value of the kernel after the first iteration",
        "",
    ),
    "a Python list that changes in a loop that the kernel leaves": (
        """
        with T.Kernel(1):
            kept = []
            while True:  #!
                kept.append(1)
                if P[0] > 0:
                    break
        """,
        "`kept` is changed inside a while loop that runs in the kernel",
        "T.alloc_var",
    ),
    "match of a value of the kernel": (
        """
        with T.Kernel(1):
            match P[0]:  #!
                case 1:
                    P[1] = 2
        """,
        "`match` is applied to a value of the kernel",
        "decide with `if` and `elif`",
    ),
    "a slice where an iteration stores an element": (
        """
        with T.Kernel(1):
            for i in T.Parallel(8):
                Y[i] = 2  #!
        """,
        "a slice of Y is stored to inside T.Parallel",
        "an index for each axis: Y[i, j] = ...",
    ),
    "Python's sum of a tile": (
        """
        with T.Kernel(1):
            tile = T.alloc_shared((8, 16), "float32")
            Y[0, 0] = sum(tile)  #!
        """,
        "tile is a buffer of the kernel and cannot be iterated by Python",
        "T.reduce_sum",
    ),
    "copy of different shapes": (
        """
        with T.Kernel(1):
            tile = T.alloc_shared((32, 32), "float32")
            T.copy(X, tile)  #!
        """,
        "T.copy: the shapes differ",
        "X[64, 64] and tile[32, 32]",
    ),
    "product of tiles that do not fit": (
        """
        with T.Kernel(1):
            a, b = T.alloc_shared((16, 32), "float16"), T.alloc_shared((16, 32), "float16")
            c = T.alloc_fragment((16, 32), "float32")
            T.gemm(a, b, c)  #!
        """,
        "T.gemm: K of A (32) does not match K of B (16)",
        "transpose_B=False",
    ),
    "reduction into another shape": (
        """
        with T.Kernel(1):
            tile, out = T.alloc_shared((8, 16), "float32"), T.alloc_fragment((8,), "float32")
            T.reduce_sum(tile, out, dim=0)  #!
        """,
        "the shape of the output does not fit",
        "(16,) or (1, 16)",
    ),
    "reduction along an axis that is not there": (
        """
        with T.Kernel(1):
            tile, out = T.alloc_shared((8, 16), "float32"), T.alloc_fragment((8,), "float32")
            T.reduce_max(tile, out, dim=2)  #!
        """,
        "dim 2 is out of range for a tile with 2 axes",
        "tile[8, 16]",
    ),
    "bits of floats": (
        """
        with T.Kernel(1):
            tile, out = T.alloc_shared((8, 16), "float32"), T.alloc_fragment((8,), "float32")
            T.reduce_bitor(tile, out)  #!
        """,
        "T.reduce_bitor is not defined for float32",
        "integers or bool",
    ),
    "transpose of other shapes": (
        """
        with T.Kernel(1):
            a, b = T.alloc_shared((8, 16), "float32"), T.alloc_shared((8, 16), "float32")
            T.transpose(a, b)  #!
        """,
        "T.transpose: the shapes do not fit",
        "[..., m, n] to [..., n, m]",
    ),
    "scan into another shape": (
        """
        with T.Kernel(1):
            a, b = T.alloc_shared((8, 16), "float32"), T.alloc_shared((8, 15), "float32")
            T.cumsum(a, b)  #!
        """,
        "T.cumsum: the shapes differ",
        "a[8, 16] and b[8, 15]",
    ),
    "unknown element type": (
        """
        with T.Kernel(1):
            tile = T.alloc_shared((8,), "flaot32")  #!
        """,
        "unknown dtype 'flaot32'",
        "did you mean 'float32'?",
    ),
    "too many indices": (
        """
        with T.Kernel(1) as b:
            Y[0, 0] = X[b, 1, 2]  #!
        """,
        "X has 2 axes and is indexed with 3",
        "for shape (64, 64)",
    ),
    "index outside": (
        """
        with T.Kernel(1):
            Y[0, 0] = X[3, 64]  #!
        """,
        "index 64 of axis 1 is outside X",
        "-64 to 63",
    ),
    "negative index outside": (
        """
        with T.Kernel(1):
            Y[-65, 0] = 1  #!
        """,
        "index -65 of axis 0 is outside Y",
        "-64 to 63",
    ),
    "slice that ends outside": (
        """
        with T.Kernel(1):
            tile = T.alloc_shared((8, 8), "float32")
            T.clear(tile[4:9, :])  #!
        """,
        "the slice of axis 0 of tile ends outside the axis",
        "within 0:8",
    ),
    "slice that starts outside": (
        """
        with T.Kernel(1):
            tile = T.alloc_shared((8, 8), "float32")
            T.clear(tile[8:9, :])  #!
        """,
        "the slice of axis 0 of tile starts outside the axis",
        "8:9",
    ),
    "empty slice": (
        """
        with T.Kernel(1):
            T.clear(Y[5:5, :])  #!
        """,
        "the slice of axis 0 of Y is empty",
        "5:5",
    ),
    "slice with a step": (
        """
        with T.Kernel(1):
            T.clear(Y[0:8:2, :])  #!
        """,
        "Y is sliced with step 2",
        "T.StridedTensor",
    ),
    "index of the wrong type": (
        """
        with T.Kernel(1) as b:
            Y[X[0, 0], 0] = 1  #!
        """,
        "axis 0 of Y is indexed with a float32",
        'T.cast(x, "int32")',
    ),
    "division of integers": (
        """
        with T.Kernel(1) as b:
            Y[0, 0] = P[0] / s  #!
        """,
        "`/` divides two integers",
        "`//` rounds down",
    ),
    "division of integers in place": (
        """
        with T.Kernel(1) as b:
            count = T.alloc_var("int32", init=3)
            count /= 2  #!
        """,
        "`/` divides two integers",
        "`//` rounds down",
    ),
    "number that does not fit": (
        """
        with T.Kernel(1):
            tile = T.alloc_shared((8,), "int8")
            T.fill(tile, 300)  #!
        """,
        "300 does not fit in int8",
        "-128 to 127",
    ),
    "arithmetic on buffers": (
        """
        with T.Kernel(1):
            tile = T.alloc_shared((8,), "float32")
            other = tile + 1  #!
        """,
        "an operator is applied to the whole buffer tile",
        "T.Parallel",
    ),
    "buffer as a value": (
        """
        with T.Kernel(1):
            tile = T.alloc_shared((8,), "float32")
            Y[0, 0] = T.exp(tile)  #!
        """,
        "tile is a buffer, where a value is expected",
        "tile[i]",
    ),
    "string as a value": (
        """
        with T.Kernel(1):
            Y[0, 0] = T.exp("one")  #!
        """,
        "a str stands where a value of the kernel is expected",
        "'one'",
    ),
    "size known only at the call": (
        """
        with T.Kernel(1):
            tile = T.alloc_fragment((s, 8), "float32")  #!
        """,
        "T.alloc_fragment: the size s is not known when compiling",
        "choose a tile size",
    ),
    "size of nothing": (
        """
        with T.Kernel(1):
            tile = T.alloc_fragment((8, 0), "float32")  #!
        """,
        "T.alloc_fragment: a size is 0",
        "at least 1",
    ),
    "allocation outside a kernel": (
        """
        tile = T.alloc_shared((8,), "float32")  #!
        with T.Kernel(1):
            T.clear(tile)
        """,
        "memory is allocated outside T.Kernel",
        "T.alloc_global",
    ),
    "workspace inside a kernel": (
        """
        with T.Kernel(1):
            buffer = T.alloc_global((8,), "float32")  #!
        """,
        "T.alloc_global stands inside T.Kernel",
        "before `with T.Kernel",
    ),
    "loop outside a kernel": (
        """
        for i in T.serial(4):  #!
            pass
        with T.Kernel(1):
            T.clear(Y)
        """,
        "a loop stands outside T.Kernel",
        "Python lists",
    ),
    "operation outside a kernel": (
        """
        with T.Kernel(1):
            Y[0, 0] = 1
        T.clear(Y)  #!
        """,
        "T.clear stands outside T.Kernel",
        "with T.Kernel(...)",
    ),
    "kernel in a kernel": (
        """
        with T.Kernel(2) as a:
            with T.Kernel(3) as b:  #!
                Y[a, b] = 1
        """,
        "a T.Kernel stands inside another T.Kernel",
        "one after the other",
    ),
    "names of another number": (
        """
        with T.Kernel(2, 3) as (a, b, c):  #!
            Y[a, b] = 1
        """,
        "T.Kernel has 2 grid extents and 3 names",
        "a, b, c",
    ),
    "four grid extents": (
        """
        with T.Kernel(2, 3, 4, 5):  #!
            Y[0, 0] = 1
        """,
        "T.Kernel has 4 grid extents",
        "up to three",
    ),
    "too many loop variables": (
        """
        with T.Kernel(1):
            for i, j in T.Parallel(4):  #!
                Y[i, j] = 1
        """,
        "the loop has 1 axis and 2 variables",
        "1 variable",
    ),
    "break in a parallel loop": (
        """
        with T.Kernel(1):
            for i in T.Parallel(64):
                if X[i, 0] > 0:
                    break  #!
                Y[i, 0] = 1
        """,
        "`break` stands in a T.Parallel loop",
        "T.serial",
    ),
    "continue in a parallel loop": (
        """
        with T.Kernel(1):
            for i in T.Parallel(64):
                if X[i, 0] > 0:
                    if X[i, 1] > 0:
                        continue  #!
                    Y[i, 1] = 2
                Y[i, 0] = 1
        """,
        "`continue` stands in a block within a block of a T.Parallel loop",
        "join the conditions",
    ),
    "break of a Python loop decided in the kernel": (
        """
        with T.Kernel(1):
            for i in [1, 2, 3]:
                if X[i, 0] > 0:
                    break  #!
        """,
        "`break` of a Python loop stands in an `if` whose condition is a value of the kernel",
        "T.serial",
    ),
    "return in a loop": (
        """
        with T.Kernel(1):
            for i in T.serial(64):
                return  #!
        """,
        "`return` stands inside a loop or an `if`",
        "invert the condition",
    ),
    "return in an if": (
        """
        with T.Kernel(1) as b:
            if X[b, 0] > 0:
                return  #!
            Y[b, 0] = 1
        """,
        "`return` stands inside a loop or an `if`",
        "invert the condition",
    ),
    "else of a loop": (
        """
        with T.Kernel(1):
            for i in T.serial(4):  #!
                Y[i, 0] = 1
            else:
                Y[0, 0] = 2
        """,
        "a loop that runs in the kernel has an `else`",
        "T.alloc_var",
    ),
    "value carried from one iteration to the next": (
        """
        with T.Kernel(1):
            total = X[0, 0]
            for i in T.serial(4):  #!
                total = total + X[i, 0]
            Y[0, 0] = total
        """,
        "`total` is assigned inside a loop that runs in the kernel",
        "total = T.alloc_var(dtype, init=...)",
    ),
    "sum in a Python number": (
        """
        with T.Kernel(1):
            total = 0
            for i in T.serial(4):  #!
                total += X[i, 0]
            Y[0, 0] = total
        """,
        "`total` is assigned inside a loop",
        "T.alloc_var",
    ),
    "counter in a Python number": (
        """
        with T.Kernel(1):
            count = 0
            for i in T.serial(4):  #!
                Y[count, 0] = 1
                count += 1
        """,
        "`count` is assigned inside a loop",
        "T.alloc_var",
    ),
    "value chosen by an if": (
        """
        with T.Kernel(1) as b:
            if X[b, 0] > 0:  #!
                value = X[b, 1]
            else:
                value = X[b, 2]
            Y[b, 0] = value
        """,
        "`value` is assigned inside an `if`",
        "T.if_then_else",
    ),
    "a buffer allocated inside an if and used after it": (
        """
        with T.Kernel(1) as b:
            if X[b, 0] > 0:  #!
                tile = T.alloc_shared((4,), "float32")
            T.copy(X[0, 0:4], tile)
        """,
        "`tile` is assigned inside an `if`",
        "allocate it before, as in tile = T.alloc_shared(shape, dtype)",
    ),
    "conditions combined by plain Python": (
        """
        with T.Kernel(1) as b:
            if all([X[b, 0] > 0, X[b, 1] > 0]):  #!
                Y[b, 0] = 1
        """,
        "a value of the kernel is used as a Python condition",
        "`and`, `or` and `not` directly in the kernel",
    ),
    "while with a value that does not change": (
        """
        with T.Kernel(1):
            i = P[0]
            while i < 10:  #!
                i = i + 1
        """,
        "`i` is assigned inside a while loop",
        "T.alloc_var",
    ),
    "loop variable after its loop": (
        """
        with T.Kernel(1):
            for i in T.serial(4):  #!
                Y[i, 0] = 1
            Y[0, 1] = i
        """,
        "`i` is assigned inside a loop",
        "T.alloc_var",
    ),
    "step of a loop": (
        """
        with T.Kernel(1):
            for i in T.serial(0, 8, X[0, 0]):  #!
                Y[i, 0] = 1
        """,
        "a loop bound is a float32",
        "an integer",
    ),
    "step 0": (
        """
        with T.Kernel(1):
            for i in T.serial(0, 8, 0):  #!
                Y[i, 0] = 1
        """,
        "the step of a loop is 0",
        "other than 0",
    ),
    "float as a bound": (
        """
        with T.Kernel(1):
            for i in T.serial(X[0, 0]):  #!
                Y[i, 0] = 1
        """,
        "a loop bound is a float32",
        "an integer",
    ),
    "decided by plain Python": (
        """
        with T.Kernel(1) as b:
            Y[0, 0] = max(X[0, 0], X[0, 1])  #!
        """,
        "a value of the kernel is used as a Python condition",
        "T.max",
    ),
    "iterated by plain Python": (
        """
        with T.Kernel(1) as b:
            total = sum(X[i, 0] for i in T.serial(4))  #!
        """,
        "T.serial is iterated by Python outside the kernel",
        "Python's range",
    ),
    "buffer iterated": (
        """
        with T.Kernel(1) as b:
            for x in X:  #!
                Y[0, 0] = x
        """,
        "X is a buffer of the kernel and cannot be iterated",
        "",
    ),
    "memory order": (
        """
        with T.Kernel(1) as b:
            T.atomic_add(Y[0, 0], 1, memory_order="strict")  #!
        """,
        "memory_order='strict'",
        "seq_cst",
    ),
    "view of another size": (
        """
        with T.Kernel(1) as b:
            flat = T.reshape(X, (n, n + 1))  #!
        """,
        "the size of a view of X does not match the buffer",
        "as many bytes as shape (64, 64)",
    ),
    "declaration in the body": (
        """
        Z: T.Tensor((n,), "float32")  #!
        with T.Kernel(1):
            Z[0] = 1
        """,
        "`Z: ...` declares a name that is not a parameter",
        "X, Y",
    ),
    "output that is not returned": (
        """
        out = T.empty((n,), "float32")  #!
        with T.Kernel(1):
            out[0] = 1
        """,
        "an output with T.empty that it does not return",
        "T.alloc_global",
    ),
    "rounding of a chip": (
        """
        with T.Kernel(1):
            Y[0, 0] = T.cast(X[0, 0], "float16", round="rz")  #!
        """,
        "T.cast rounds to nearest even",
        "round='rz'",
    ),
    "infinity of a type that has none": (
        """
        with T.Kernel(1):
            Y[0, 0] = T.infinity("float8_e4m3fn")  #!
        """,
        "float8_e4m3fn has no infinity",
        "T.max_value",
    ),
    "bits of another width": (
        """
        with T.Kernel(1):
            Y[0, 0] = T.reinterpret(X[0, 0], "int16")  #!
        """,
        "T.reinterpret cannot read float32 as int16",
        "a value of 16 bits",
    ),
    "assertion that never holds": (
        """
        with T.Kernel(1):
            T.device_assert(n % 3 == 0, "a multiple of 3")  #!
        """,
        "the condition of T.device_assert is always false: a multiple of 3",
        "",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_reported_where_they_are(load_module, name):
    body, message, more = MISTAKES[name]
    with pytest.raises((LanguageError, UnsupportedError)) as caught:
        load_module(HEAD + textwrap.indent(textwrap.dedent(body), "    ") + "\nkernel.ir\n")
    error = caught.value
    assert message in error.message
    assert more in str(error)
    assert error.location is not None, str(error)
    lines = Path(error.location.file).read_text().splitlines()
    wrong = next(number for number, line in enumerate(lines, 1) if line.endswith("#!"))
    text = lines[wrong - 1].removesuffix("#!").rstrip()
    assert (error.location.line, error.location.column) == (wrong, len(text) - len(text.lstrip()))
    shown = str(error).splitlines()
    place = next(i for i, line in enumerate(shown) if line.startswith("  --> "))
    assert shown[place] == f"  --> {error.location.file}:{wrong}:{error.location.column + 1}"
    carets = shown[place + 3].partition("| ")[2]
    source = shown[place + 2].partition("| ")[2]
    marked = "".join(c for c, mark in zip(source, carets.ljust(len(source)), strict=False) if mark == "^")
    assert marked.startswith(text.strip()), marked
    assert re.fullmatch(r" *\^+", carets)


def test_python_mistakes_stay_pythons_own(load_module):
    """A traceback that ends at the user's line."""
    for body, kind, text in (
        ("undefined_name[0] = 1", NameError, "undefined_name"),
        ("T.copyy(X, Y)", AttributeError, "did you mean T.copy?"),
        ("Y[0, 0] = X.missing", AttributeError, "missing"),
        ("T.alloc_shared()", TypeError, "shape"),
        ("Y[0, 0] = {}['key']", KeyError, "key"),
    ):
        with pytest.raises(kind, match=re.escape(text)) as caught:
            load_module(HEAD + f"    with T.Kernel(1):\n        {body}\n\nkernel.ir\n")
        frames = [f for f in caught.traceback if "user_kernels" in str(f.path)]
        assert body in str(frames[-1].statement)


def test_names_of_one_chip_say_where_they_live(monkeypatch):
    import tilecore.language as T
    from tilecore.plugins import manager

    monkeypatch.setattr(manager, "offers", lambda: iter(()))
    with pytest.raises(AttributeError, match="an instruction of one chip"):
        _ = T.wgmma_gemm
    with pytest.raises(AttributeError, match=r"did you mean T\.reduce_sum"):
        _ = T.reduce_summ


def test_a_parameter_of_a_file_that_is_gone(load_module):
    """Its place is the function's first line."""
    import linecache

    from tilecore.ir.spans import location_of_span, place_of_parameter

    definition = "@T.prim_func\ndef kernel(X: T.Tensor((4,), 'float32')):\n    pass\n"
    kernels = load_module(f"import tilecore.language as T\n\n{definition}")
    span = kernels.kernel.ir.span
    assert place_of_parameter(span, "X").column > 0
    Path(kernels.__file__).unlink()
    linecache.clearcache()
    assert place_of_parameter(span, "X") == location_of_span(span)
