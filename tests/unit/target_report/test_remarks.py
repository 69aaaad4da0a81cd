"""What is said of kernels that a target takes: what keeps it from doing better, by line."""

from __future__ import annotations

from .conftest import SAMPLE

CODE = SAMPLE.read_text().splitlines()


def remarks(verdict, slow):
    return {(CODE[remark.line - 1].strip(), remark.text) for remark in verdict.remarks if remark.slow == slow}


def test_loops_that_stay_scalar(report_on):
    (verdict,) = report_on("demanding", "cpu").verdicts
    assert verdict.state == "slow"
    assert verdict.compiles
    slow = remarks(verdict, True)
    assert ("for i, j in T.Parallel(64, 64):", "the loop stays scalar: atomic_element runs element by element") in slow
    assert any(line == "T.cumsum(row, dim=1)" for line, _ in slow)


def test_fragments_in_shared_memory(small_targets):
    from tilecore.plugins import manager
    from tilecore.target_report.files import module_of
    from tilecore.target_report.kernels import kernels_of
    from tilecore.target_report.run import report_on_targets
    from tilecore.target_report.targets import targets_of

    from .tiny_backend import lacking

    with manager.register(lacking("roomy", dtypes=frozenset(), tile_ops=frozenset(), max_threads=512, shared_bytes=0)):
        kernels = kernels_of(module_of(SAMPLE), "demanding", ())
        (verdict,) = report_on_targets(kernels, targets_of(["roomy"]), str(SAMPLE)).verdicts
    assert verdict.state == "slow"
    assert remarks(verdict, True) == {
        (
            'row = T.alloc_fragment((64, 64), "float32")',
            "row is kept in shared memory: used outside of T.Parallel and tile operations",
        )
    }


def test_narrow_moves_are_said_and_not_slow(report_on):
    (verdict,) = report_on("scaled", "tiny").verdicts
    assert verdict.state == "ok"
    narrow = "a thread moves X by 4, Y by 4 bytes at a time"
    assert ("for i, j in T.Parallel(16, 16):", narrow) in remarks(verdict, False)


def test_a_kernel_without_anything_to_say(report_on):
    (verdict,) = report_on("scaled", "cpu").verdicts
    assert verdict.state == "ok"
    assert not verdict.remarks
