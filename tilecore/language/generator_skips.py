"""The constants of the generators XORWOW and MRG32k3a, and of the maps by which they skip 2^k numbers.

recurrences.py has the sources. Computed in Python, once each.
"""

from __future__ import annotations

from functools import cache

WEYL = 362437  # what XORWOW's counter grows by
MODULI = (4294967087, 4294944443)  # of MRG32k3a: 2^32 - 209 and 2^32 - 22853
MULTIPLIERS = ((-810728, 1403580, 0), (-1370589, 0, 527612))  # of the words from the oldest on
DEGREE = 160  # bits of XORWOW's recurrence

Matrix = tuple[tuple[int, ...], ...]


# -- XORWOW: polynomials over bits, as Python's integers ---------------------------------------------------------------


@cache
def polynomial_of_jump(log2_numbers: int) -> int:
    """x^(2^log2_numbers) modulo the characteristic polynomial: the sum of the states after i steps, for the powers
    x^i in it, is the state after 2^log2_numbers steps."""
    if log2_numbers == 0:
        return 2
    return _remainder(_square(polynomial_of_jump(log2_numbers - 1)))


def _square(polynomial: int) -> int:
    return int("0".join(bin(polynomial)[2:]), 2)  # over bits, (a + b)^2 is a^2 + b^2


def _remainder(polynomial: int) -> int:
    modulus = characteristic_polynomial()
    while (excess := polynomial.bit_length() - 1 - DEGREE) >= 0:
        polynomial ^= modulus << excess
    return polynomial


@cache
def characteristic_polynomial() -> int:
    """That of XORWOW's recurrence, from 320 successive values of one bit of the state (Berlekamp and Massey)."""
    state, sequence = [1, 0, 0, 0, 0], []
    for _ in range(2 * DEGREE):
        sequence.append(state[0] & 1)
        mixed = state[0] ^ state[0] >> 2
        state = [*state[1:], (state[4] ^ state[4] << 4 ^ mixed ^ mixed << 1) & 0xFFFFFFFF]
    connection, before, length, shift = 1, 1, 0, 1
    for index, value in enumerate(sequence):
        terms = (connection >> i & 1 & sequence[index - i] for i in range(1, length + 1))
        if value ^ (sum(terms) & 1):
            changed = connection ^ before << shift
            if 2 * length <= index:
                connection, before, length, shift = changed, connection, index + 1 - length, 1
                continue
            connection = changed
        shift += 1
    assert length == DEGREE
    return sum(1 << (DEGREE - i) for i in range(DEGREE + 1) if connection >> i & 1)


# -- MRG32k3a: matrices ------------------------------------------------------------------------------------------------


@cache
def matrix_power(half: int, log2_numbers: int) -> Matrix:
    """The matrix of the first or second recurrence to the power of 2^log2_numbers."""
    if log2_numbers == 0:
        return ((0, 1, 0), (0, 0, 1), tuple(factor % MODULI[half] for factor in MULTIPLIERS[half]))
    root, modulus = matrix_power(half, log2_numbers - 1), MODULI[half]
    columns = list(zip(*root, strict=True))
    return tuple(
        tuple(sum(a * b for a, b in zip(row, column, strict=True)) % modulus for column in columns) for row in root
    )
