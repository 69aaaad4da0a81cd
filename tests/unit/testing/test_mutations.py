"""The mutations of the sample backend: each can be planted, and what the kit says of one is told apart."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[3]))

from benchmarks.mutations import judge, kit
from benchmarks.mutations.__main__ import main
from benchmarks.mutations.judge import Verdict
from benchmarks.mutations.judge import judge as judged
from benchmarks.mutations.records import ROOMS, Mutation, mutations
from benchmarks.mutations.results import Results
from benchmarks.mutations.sample import NotOnce, mutated, plant, write_sample

pytestmark = pytest.mark.rotated

REPOSITORY = Path(__file__).parents[3]
ALL = mutations()
BY_NAME = {mutation.name: mutation for mutation in ALL}


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    return write_sample(tmp_path_factory.mktemp("written") / "sample")


@pytest.mark.parametrize("mutation", ALL, ids=lambda mutation: f"{mutation.room}/{mutation.name}")
def test_it_can_be_planted(mutation, sample):
    text = mutated((sample / mutation.file).read_text(), mutation)
    assert mutation.mistake.endswith(".")
    for words in mutation.first:
        group, _, case = words.partition("::")
        assert not case or f"def {case}(" in (kit.CASES / f"test_{group}.py").read_text(), "the kit has no such case"
    if mutation.file.endswith(".py"):
        compile(text, mutation.file, "exec")


def test_there_are_enough():
    assert len(ALL) >= 45
    assert all(sum(mutation.room == room for mutation in ALL) >= 6 for room in ROOMS)


def test_what_is_replaced_stands_there_once(sample, tmp_path):
    twice = replace(ALL[0], file="tile_acme/target.py", text="frozenset", by="set")
    with pytest.raises(NotOnce, match="stands 4 times"):
        plant(sample, twice, tmp_path / "mutated")
    with pytest.raises(NotOnce, match="changes nothing"):
        plant(sample, replace(ALL[0], by=ALL[0].text), tmp_path / "other")


@pytest.mark.parametrize(
    ("name", "outcome", "case"),
    [
        ("detect-says-nothing", "failed", "test_registration.py::test_is_a_device_here[acme]"),
        ("source-with-a-number-of-its-own", "failed", "test_compiles.py::test_the_same_source_each_time[acme]"),
        ("another-contract", "refused", "the plugin is loaded"),
    ],
)
def test_cheap_ones_are_killed(sample, name, outcome, case):
    verdict = judged(BY_NAME[name], sample, [])
    assert (verdict.killed, verdict.ended, verdict.case) == (True, outcome, case), verdict.reason


def test_what_changes_nothing_survives(sample):
    harmless = Mutation("harmless", "target", "tile_acme/target.py", "# of a block", "# of one block", "None.")
    verdict = judged(replace(harmless, first=("registration",)), sample, [])
    assert not verdict.killed
    assert judge.surprises([verdict]) == ["harmless survives, and its record does not say why"]
    assert not judge.surprises([replace(verdict, survives="it is a comment")])


@pytest.mark.parametrize(
    ("words", "silence", "ended"),
    [("import time; time.sleep(1000)", 15, "hung"), ("import os; os.kill(os.getpid(), 11)", 60, "crashed")],
)
def test_processes_that_do_not_end_well(sample, tmp_path, words, silence, ended):
    text = '    """Quick, and it must not open the device."""'
    folder = plant(sample, replace(ALL[0], file="tile_acme/target.py", text=text, by=f"    {words}"), tmp_path / "bad")
    run_of_kit = kit.run(folder, ["registration"], silence=silence)
    assert (run_of_kit.ended, run_of_kit.case) == (ended, "test_registration.py::test_is_a_device_here[acme]")


def test_what_is_no_verdict(sample):
    assert kit.run(sample, ["no_such_group"]).ended == "broken"


def test_rates():
    killed = Verdict("a", "target", True, "failed", "case", "", 1.0)
    survivor = Verdict("b", "target", False, "", "", "", 1.0, "a reason")
    rates = judge.data([killed, survivor, replace(killed, room="codegen")], {"cases": 3})
    assert (rates["killed"], rates["mutations"], rates["rate"]) == (2, 3, 0.6667)
    assert rates["rooms"] == {"target": {"killed": 1, "mutations": 2}, "codegen": {"killed": 1, "mutations": 1}}
    assert judge.surprises([replace(killed, survives="cannot be")]) == [
        "a is killed by case: its record says that it survives"
    ]


def test_results_are_kept_and_gone_on_with(tmp_path):
    path = tmp_path / "out.json"
    first_mutation, second_mutation = ALL[:2]
    first = Results.at(path, ALL)
    first.note_clean(kit.Outcome("passed", seconds=2.0, cases=900))
    first.add(Verdict(first_mutation.name, first_mutation.room, True, "failed", "case", "", 1.0))
    first.add(Verdict("one that is gone", "target", True, "failed", "case", "", 1.0))
    again = Results.at(path, ALL)
    again.add(Verdict(second_mutation.name, second_mutation.room, False, "", "", "", 1.0))
    assert (again.is_killed(first_mutation.name), again.is_killed(second_mutation.name)) == (True, False)
    assert [verdict.name for verdict in again.verdicts()] == [first_mutation.name, second_mutation.name]
    assert [verdict.name for verdict in again.verdicts({second_mutation.name})] == [second_mutation.name]
    written = json.loads(path.read_text())
    assert (written["killed"], written["mutations"], written["clean"]["cases"]) == (1, 2, 900)


def test_what_is_recorded_is_of_these_and_told_in_the_docs():
    facts = json.loads((REPOSITORY / "benchmarks" / "results" / "mutations.json").read_text())
    verdicts = Results.at(REPOSITORY / "benchmarks" / "results" / "mutations.json", ALL).verdicts()
    names = [mutation.name for mutation in ALL]
    assert [verdict.name for verdict in verdicts] == names, "run those that are new: --resume"
    assert not judge.surprises(verdicts)
    assert judge.rate(verdicts) >= judge.FLOOR
    rooms = [f"| {room} | {killed} | {count} |" for room, (killed, count) in judge.by_room(verdicts).items()]
    words = (REPOSITORY / "docs" / "conformance.md").read_text()
    assert "\n".join(rooms) in words
    assert f"**{facts['killed']} of {len(ALL)}**" in words


def test_they_are_listed(capsys):
    assert main(["--list", "--only", "warp-*"]) == 0
    assert [line.split()[:2] for line in capsys.readouterr().out.splitlines()] == [
        ["target", "warp-of-64"],
        ["target", "warp-of-16"],
    ]
    assert main(["--only", "no-such-name"]) == 2
