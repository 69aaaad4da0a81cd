"""Prints of kernels on devices without a printf: records, numbers in texts, the words for failed assertions."""

import struct

import numpy as np

from tilecore.runtime.device_messages import Messages, Record, formatted, records


def test_records():
    head = 3 | 1 << 16 | 9 << 32
    memory = struct.pack("<QqQ", head, -5, 77)
    record = Record(9, struct.pack("<q", -5), struct.pack("<Q", 77))
    assert records(b"") == ([], 0)
    assert records(memory) == ([record], 3)
    assert records(memory + bytes(16)) == ([record], 3)  # reserved, not written
    assert records(memory + memory[:16]) == ([record], 3)
    assert records(memory + bytes(8) + memory) == ([record], 3)
    assert records(memory * 2) == ([record] * 2, 6)


def test_numbers():
    values = np.array([-1.5, np.inf], np.float64).tobytes() + (2**64 - 3).to_bytes(8, "little")
    assert formatted("%g|%g|%llu|%%|\n", values) == "-1.5|inf|18446744073709551613|%|\n"
    text = formatted("%%lld of %%ld, %%%lld%%: %%u", (-7).to_bytes(8, "little", signed=True))
    assert text == "%lld of %ld, %-7%: %u", "the user's own percent signs are no places"
    single = np.array([0.1, 9], np.float32).tobytes()
    assert formatted("%g", single, "fxxxx") == "0.1"


def test_the_words_for_failed_assertions():
    messages = Messages("", 0, 3, 2, "k", (1, 0, 0), (4, 5, 6))
    words = "device assertion failed: b (k.py:4) in block (1, 0, 0), thread (4, 5, 6); 2 more failed"
    assert messages.failure(["a", "b (k.py:4)"]) == words
    assert "number 2 in block" in messages.failure(["a"])


def test_what_is_shown(capsys):
    Messages("a line\n", 4).show("tile-acme", "scale")
    assert capsys.readouterr() == ("a line\n", "tile-acme: 4 more prints of scale found no room and are lost\n")
