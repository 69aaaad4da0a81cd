"""Random loops of commands, pipelined: the results are the same in any order of the engines."""

from __future__ import annotations

from by_hand import alloc, do, element, kernel, local, piece, set_element, tile
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from pipelines import ZERO, K, X, Y, Z, check, pipelined

from tilecore.ir.build import const, seq
from tilecore.ir.nodes import IfThenElse, tirx

TILES = [local(n, 16) for n in "abcd"]


def small(buffer, rows=8):
    return tile(buffer, rows, 8)


def spot_of(tensor_, step, rows=8):
    return piece(tensor_, step * 64, rows, 8)


@st.composite
def commands(draw, tiles, kinds):
    """One command on some of the tiles."""
    kind = draw(st.sampled_from(kinds))
    a, b, c = (draw(st.sampled_from(tiles)) for _ in range(3))
    rows = draw(st.sampled_from([8, 8, 8, 5]))
    step = K + draw(st.sampled_from([0, 0, 0, 1]))
    if kind == "load":
        return do("load", small(a, rows), spot_of(draw(st.sampled_from([X, X, Y, Z])), step, rows))
    if kind == "store":
        return do("store", spot_of(draw(st.sampled_from([Y, Z, Z])), step, rows), small(a, rows))
    if kind == "fill":
        return do("fill", small(a, rows), const(0.5, "float32"))
    if kind == "shift":
        return do("shift", small(a), small(b))
    if kind == "element":
        return set_element(a, element(b, 3, 4), 5, 6)
    if kind == "if":
        condition = tirx.LT(K, const(draw(st.integers(1, 3)), "int32"))
        inner = [draw(commands(tiles, [k for k in kinds if k != "if"])) for _ in range(draw(st.integers(1, 3)))]
        return IfThenElse(condition, seq(inner), None)
    if kind == "mm":
        return do("mm", small(a), small(b), small(c), const(draw(st.integers(0, 1)), "bool"))
    return do(kind, small(a), small(b), small(c))


ALL = ["load", "store", "mul", "add", "mm", "fill", "shift", "if", "element"]


@st.composite
def steps(draw):
    """Loads, work and stores as in kernels, with statements added or removed."""
    loaded, worked = TILES[:2], TILES[2:]
    body = [do("fill", small(t), ZERO) for t in loaded if draw(st.booleans())]
    body += [do("load", small(t), spot_of(X, K)) for t in loaded]
    body += [do("add", small(worked[0]), small(loaded[0]), small(loaded[1]))]
    body += draw(st.lists(commands(TILES, ["add", "mul", "mm"]), max_size=3))
    body += [do("store", spot_of(Z, K), small(draw(st.sampled_from(worked + loaded))))]
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.integers(0, len(body)))
        if draw(st.booleans()):
            body.insert(place, draw(commands(TILES, ALL)))
        else:
            del body[place : place + 1]
    return body


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps(), st.lists(st.sampled_from(TILES), max_size=1), st.sampled_from(["", "", "a", "c"]), st.integers(1, 4))
def test_random_loops_give_the_same(body, before, after, extent):
    func = kernel(
        [X, Y, Z],
        *alloc(*TILES),
        *(do("load", small(t), spot_of(Y, 9)) for t in before),
        pipelined(*body, extent=extent),
        *(do("store", spot_of(Y, 9), small(t)) for t in TILES if str(t.name) == after),
    )
    _, machine, _ = check(func)
    event(f"overlapped: {machine.overlapped > 0}")
