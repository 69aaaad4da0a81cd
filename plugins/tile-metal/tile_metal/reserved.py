"""The names that no variable of a kernel may have in the Metal Shading Language."""

from __future__ import annotations

# the words of MSL that variables of a kernel must not have (Metal Shading Language Specification, 1.4.3 and 2)
_WORDS = frozenset(
    "kernel vertex fragment mesh object device constant thread threadgroup threadgroup_imageblock ray_data object_data "
    "visible stitchable intersection sampler texture depth access metal simd quad coherent tc_block tc_thread tc_votes "
    "tc_messages tc_scalars tc_lane size_t ptrdiff_t bool char short int long float half bfloat uchar ushort uint "
    "ulong "
    "as_type".split()
)


def _words(prefixes: str, words: str) -> set[str]:
    """Each prefix with each word behind it."""
    return {f"{prefix}_{word}" for prefix in prefixes.split() for word in words.split()}


# the macros of metal_stdlib, which no declaration may name: limits and constants of numbers (chapter 6)
_MACROS = frozenset(
    _words("CHAR SCHAR SHRT INT LONG", "MIN MAX")
    | _words("UCHAR USHRT UINT ULONG", "MAX")
    | _words(
        "FLT HALF BFLT",
        "DIG MANT_DIG MAX_10_EXP MAX_EXP MIN_10_EXP MIN_EXP RADIX MAX MIN EPSILON DECIMAL_DIG TRUE_MIN HAS_SUBNORM",
    )
    | _words("FP", "ILOGB0 ILOGBNAN INFINITE NAN NORMAL SUBNORMAL ZERO")
    | {
        f"M_{number}_{kind}"
        for number in "E LOG2E LOG10E LN2 LN10 PI PI_2 PI_4 1_PI 2_PI 2_SQRTPI SQRT2 SQRT1_2".split()
        for kind in ("F", "H", "BF")
    }
    | {"CHAR_BIT", "MAXFLOAT", "MAXHALF", "MAXBFLOAT", "HUGE_VALF", "HUGE_VALH", "HUGE_VALBF"}
)
RESERVED = _WORDS | _MACROS
