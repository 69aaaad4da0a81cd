"""The command line, run as users run it: in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tilecore.commands.text import short, size, table

REPOSITORY = Path(__file__).parents[2]
HEAVY = ("tvm", "tvm_ffi", "torch", "numpy", "typer", "rich")


def run(*words: str, program: tuple[str, ...] = ("-m", "tilecore"), **environment: str):
    settings = {name: value for name, value in os.environ.items() if not name.startswith("TILECORE_")}
    settings |= {"PYTHONPATH": str(REPOSITORY), **environment}
    return subprocess.run([sys.executable, *program, *words], env=settings, capture_output=True, text=True, timeout=60)


@pytest.fixture
def cache_dir(tmp_path):
    return {"TILECORE_CACHE_DIR": str(tmp_path / "cache")}


def test_version():
    ended = run("--version")
    assert ended.returncode == 0
    assert ended.stdout.startswith("tilecore 0.")


@pytest.mark.parametrize("command", ["targets", "doctor", "cache", "toolchain"])
def test_help_has_examples(command):
    assert command in run("--help").stdout
    text = run(command, "--help").stdout
    assert f"  tilecore {command}" in text.partition("examples:")[2]


@pytest.mark.parametrize("words", [[], ["nonsense"], ["cache", "nonsense"], ["targets", "--timeout", "soon"]])
def test_wrong_usage(words):
    ended = run(*words)
    assert ended.returncode == 2
    assert "usage: tilecore" in ended.stderr


def test_targets():
    ended = run("targets")
    assert ended.returncode == 0, ended.stderr
    head, *rows = ended.stdout.splitlines()
    assert head.split() == ["TARGET", "STATUS", "DEVICE", "ALIASES", "PACKAGE"]
    assert any(row.startswith("cpu ") for row in rows)
    assert "\033" not in ended.stdout, "no colours but on a terminal"


def test_targets_json():
    facts = json.loads(run("targets", "--json").stdout)
    (host,) = [target for target in facts["targets"] if target["kind"] == "cpu"]
    assert host["packages"][0]["name"] == "tilecore"


@pytest.mark.parametrize("words", [("targets",), ("--version",), ("--help",), ("cache", "path"), ("doctor", "--json")])
def test_nothing_heavy_is_imported(words):
    code = (
        "import sys, atexit\n"
        f"atexit.register(lambda: print([m for m in {HEAVY} if m in sys.modules], file=sys.stderr))\n"
        "from tilecore.cli import main\nmain()"
    )
    assert run(*words, program=("-c", code)).stderr.splitlines()[-1] == "[]"


def test_importing_tilecore_costs_little():
    """60 ms is the bar; modules that the interpreter has anyway are not counted, and the best of five is taken."""
    code = "import time; t = time.perf_counter(); import tilecore; print(time.perf_counter() - t)"
    assert min(float(run(program=("-c", code)).stdout) for _ in range(5)) < 0.06


def test_doctor_reports_each_part(cache_dir):
    ended = run("doctor", "--json", **cache_dir)
    facts = json.loads(ended.stdout)
    assert ended.returncode == (1 if facts["broken"] else 0)
    assert facts["python"]["executable"] == sys.executable
    versions = {package["name"]: package for package in facts["packages"]}
    assert versions["apache-tvm"]["state"] == "ok"
    assert versions["numpy"]["version"]
    (host,) = [target for target in facts["targets"] if target["kind"] == "cpu"]
    assert {"state", "packages"} <= set(host)
    assert facts["cache"]["path"] == cache_dir["TILECORE_CACHE_DIR"]
    assert facts["cache"]["state"] == "ok"
    assert facts["launcher"]["state"] in ("ok", "optional")


def test_doctor_text_names_what_is_broken(cache_dir):
    ended = run("doctor", TILECORE_DEBUG="abc", TILECORE_DEBUGG="1", **cache_dir)
    assert ended.returncode == 1
    assert "TILECORE_DEBUG=abc: wrong, expected a whole number from 0 to 6" in ended.stdout
    assert "TILECORE_DEBUGG=1: unknown" in ended.stdout
    assert "  TILECORE_DEBUG=abc" in ended.stdout.partition("broken:\n")[2]
    assert "DEBUGG" not in ended.stdout.partition("broken:\n")[2]


def test_doctor_finds_files_of_keys_that_are_not_there(tmp_path):
    ended = run("doctor", "--json", TILECORE_TRUSTED_KEYS=str(tmp_path / "none"))
    (row,) = [row for row in json.loads(ended.stdout)["environment"] if row["name"] == "TILECORE_TRUSTED_KEYS"]
    assert row["state"] == "wrong"
    assert f"names {tmp_path / 'none'}, which does not exist" in row["reason"]
    assert ended.returncode == 1


def test_doctor_finds_an_unusable_cache(tmp_path):
    (tmp_path / "file").write_text("")
    facts = json.loads(run("doctor", "--json", TILECORE_CACHE_DIR=str(tmp_path / "file" / "below")).stdout)
    assert facts["cache"]["state"] == "wrong"
    assert any("cache" in sentence for sentence in facts["broken"])


def test_doctor_survives_a_check_that_fails(monkeypatch):
    from tilecore.commands import checks, doctor

    monkeypatch.setattr(checks, "launcher", lambda: 1 // 0)
    monkeypatch.setattr(doctor.probe, "look_all", lambda *a, **k: [])
    facts = doctor.examine(1.0)
    assert facts["launcher"]["state"] == "wrong"
    assert any("ZeroDivisionError" in sentence for sentence in facts["broken"])


def test_doctor_knows_versions_that_do_not_work(monkeypatch):
    import importlib.metadata

    from tilecore.commands import checks

    monkeypatch.setattr(importlib.metadata, "version", lambda name: {"apache-tvm-ffi": "0.1.15"}.get(name, "0.27.0"))
    packages = {package["name"]: package for package in checks.packages()}
    assert packages["apache-tvm-ffi"]["state"] == "wrong"
    assert "0.1.14" in packages["apache-tvm-ffi"]["fix"]
    assert packages["apache-tvm"]["state"] == "ok"


def test_doctor_tells_missing_from_optional(monkeypatch):
    import importlib.metadata

    from tilecore.commands import checks

    def version(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    states = {package["name"]: package["state"] for package in checks.packages()}
    assert states["torch"] == "optional"
    assert states["apache-tvm"] == "missing"


def test_cache_commands(cache_dir):
    assert run("cache", "path", **cache_dir).stdout.strip() == cache_dir["TILECORE_CACHE_DIR"]
    facts = json.loads(run("cache", "--json", **cache_dir).stdout)
    assert (facts["entries"], facts["path"]) == (0, cache_dir["TILECORE_CACHE_DIR"])
    assert "0 kernels" in run("cache", "stats", **cache_dir).stdout
    assert json.loads(run("cache", "clear", "--json", **cache_dir).stdout)["removed"] == 0
    ended = run("cache", "verify", **cache_dir)
    assert ended.returncode == 0
    counts = "0 kernels, 0 links, 0 results of the autotuner and 0 libraries of simulators"
    assert ended.stdout == f"{counts} read, 0 damaged\n"


def test_cache_holds_what_was_put(cache_dir):
    """Through the commands: one entry is counted, damaged behind the cache's back, found, and cleared."""
    code = (
        "from tilecore.cache import disk_cache, kernel_key\nfrom tilecore.artifact.records import Artifact\n"
        "a = Artifact('k', 'null', 'p', 'null', (), (), (), (), (), 'source', 'txt', b'binary', 'text')\n"
        "disk_cache().put(kernel_key({'a': 1}), a)\n"
        "from tilecore.autotune.store import Stored, save\nsave(kernel_key({'b': 1}), [{}], Stored(0, 1.0, None, ''))"
    )
    ended = run(program=("-c", code), **cache_dir)
    assert ended.returncode == 0, ended.stderr
    facts = json.loads(run("cache", "--json", **cache_dir).stdout)
    assert (facts["entries"], facts["results"]) == (1, 1)
    assert json.loads(run("cache", "verify", "--json", **cache_dir).stdout)["damaged"] == []
    (entry,) = Path(cache_dir["TILECORE_CACHE_DIR"]).glob("v1/entries/*/*")
    entry.write_bytes(entry.read_bytes()[:-5])
    ended = run("cache", "verify", **cache_dir)
    assert ended.returncode == 1
    assert "damaged" in ended.stdout
    assert json.loads(run("cache", "--json", **cache_dir).stdout)["entries"] == 0
    counts = "0 kernels, 1 results of the autotuner and 0 libraries of simulators"
    assert counts in run("cache", "clear", **cache_dir).stdout
    assert json.loads(run("cache", "--json", **cache_dir).stdout)["results"] == 0


def test_own_errors_are_shown_without_a_traceback():
    ended = run("cache", "stats", TILECORE_CACHE_SIZE="much")
    assert ended.returncode == 1
    assert ended.stderr.startswith("tilecore: environment variable TILECORE_CACHE_SIZE")


def test_a_reader_that_stops_early_is_no_error():
    command = f"{sys.executable} -m tilecore doctor --help | head -1"
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    ended = subprocess.run(command, shell=True, env=environment, capture_output=True, text=True, timeout=60)
    assert ended.stdout.startswith("usage:")
    assert ended.stderr == ""


def in_shell(command, **environment):
    """(exit code, what is written to the standard error) of a shell's command; tilecore stands for this one."""
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join([str(REPOSITORY), *sys.path]), **environment}
    words = command.replace("tilecore ", f"{sys.executable} -m tilecore ")
    ended = subprocess.run(["bash", "-c", words], env=settings, capture_output=True, text=True, timeout=120)
    return ended.returncode, ended.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", ["passes --target cpu", "targets", "cache path", "--version"])
@pytest.mark.parametrize("end", ["| true; exit ${PIPESTATUS[0]}", ">&-", "<&- >&- 2>&-"])
def test_the_end_is_quiet_where_nobody_reads_the_output(command, end, unbuffered):
    """141 is the exit code of a process that SIGPIPE ends."""
    code, errors = in_shell(f"tilecore {command} {end}", PYTHONUNBUFFERED=unbuffered)
    assert (code, errors) == (141, "")


def test_help_that_nobody_reads_has_no_traceback():
    for end in ("| true; exit ${PIPESTATUS[0]}", ">&-"):
        code, errors = in_shell(f"tilecore --help {end}", PYTHONUNBUFFERED="")
        assert (code, errors) == (141, "")


def test_errors_that_nobody_reads_do_not_change_the_output():
    code, _ = in_shell("tilecore targets 2>&- | grep -q ^cpu; exit ${PIPESTATUS[0]}")
    assert code in (0, 141)  # 141 where grep has ended first
    assert in_shell("tilecore passes --target nosuch 2>&-")[0] == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_reported_once():
    code, errors = in_shell("tilecore targets > /dev/full", PYTHONUNBUFFERED="")
    assert code == 1
    assert errors.startswith("tilecore: [Errno 28]")
    assert len(errors.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "command", "told"),
    [
        ("compile kernels.py --traget cpu", "compile", "--traget; did you mean --target?"),
        ("compile kernels.py --traget=cpu -o a.tcb", "compile", "--traget=cpu; did you mean --target?"),
        ("compile kernels.py -traget cpu", "compile", "-traget cpu; did you mean --target?"),
        ("bundle a.tcb --sigend-by key.pub", "bundle", "--sigend-by; did you mean --signed-by?"),
        ("passes --traget cpu", "passes", "--traget; did you mean --target?"),
        ("cache gc --maxsize 4G", "cache", "--maxsize; did you mean --max-size?"),
        ("targets --qqq", "targets", "--qqq; `tilecore targets --help` describes what it takes"),
        ("targets all", "targets", "all; `tilecore targets --help` describes what it takes"),
        ("compile x --bogus", "compile", "--bogus; `tilecore compile --help` describes what it takes"),
        ("compile x --x", "compile", "--x; `tilecore compile --help` describes what it takes"),
        ("conform --target cpu --k=x", "conform", "--k=x; did you mean -k?"),
        ("bundle a.tcb -- --json", "bundle", "--json; --json is an option in front of -- only"),
        ("bundle -- a.tcb --sigend-by=x", "bundle", "--sigend-by=x; --signed-by is an option in front of -- only"),
    ],
)
def test_a_mistyped_option_gets_the_usage_of_its_command(capsys, words, command, told):
    """Also where an option that is needed is the mistyped one."""
    from tilecore.cli import main

    with pytest.raises(SystemExit) as ended:
        main(words.split())
    assert ended.value.code == 2
    errors = capsys.readouterr().err
    assert errors.startswith(f"usage: tilecore {command} ")
    assert errors.endswith(f"\ntilecore {command}: error: unrecognized arguments: {told}\n")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--versoin", "unrecognized arguments: --versoin; did you mean --version?"),
        ("--versoin targets", "unrecognized arguments: --versoin; did you mean --version?"),
        ("-version", "unrecognized arguments: -version; did you mean --version?"),
        ("--json targets", "unrecognized arguments: --json; `tilecore --help` describes what it takes"),
        ("targts", "did you mean targets?"),
        ("Compile kernels.py", "did you mean compile?"),
        ("qqq", ")"),
        ("", "the following arguments are required: COMMAND"),
    ],
)
def test_mistyped_words_in_front_of_the_command(capsys, words, told):
    from tilecore.cli import main

    with pytest.raises(SystemExit) as ended:
        main(words.split())
    assert ended.value.code == 2
    errors = capsys.readouterr().err
    assert errors.startswith("usage: tilecore [-h]")
    assert errors.endswith(f"{told}\n")
    assert "; did you mean" in errors or "did you mean" not in told


def test_a_mistyped_choice_gets_the_choice_that_is_most_like_it(capsys):
    from tilecore.cli import main

    for words, end in (("cache stat", "; did you mean stats?\n"), ("conform --target cpu --level 10", "3, 4)\n")):
        with pytest.raises(SystemExit) as ended:
            main(words.split())
        assert ended.value.code == 2
        assert capsys.readouterr().err.endswith(end)


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        (["compile", "kernels.py", "--targ", "cpu"], "target", ["cpu"]),
        (["compile", "kernels.py", "--targ=cpu"], "target", ["cpu"]),
        (["compile", "--", "--kernels.py"], "file", "--kernels.py"),
        (["compile", "--a file.py"], "file", "--a file.py"),
        (["explain", "kernels.py", "--call=--x"], "call", ["--x"]),
    ],
)
def test_what_argparse_takes_is_taken(words, name, value):
    """The beginning of an option, what follows --, and what has a space in it."""
    from tilecore.cli import _parser

    assert getattr(_parser().parse_args(words), name) == value


def test_help_comes_before_a_mistyped_option(capsys):
    from tilecore.cli import main

    with pytest.raises(SystemExit) as ended:
        main(["targets", "--help", "--qqq"])
    assert ended.value.code == 0
    assert "examples:" in capsys.readouterr().out


SECONDS = "expected a number of seconds that is above 0 and at most 86400"
MINUTES = "expected a number of minutes that is above 0 and at most 525600"
COUNT = "expected a whole number that is at least 1"
SEED = "expected a whole number that is at least 0"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("targets --timeout inf", SECONDS),
        ("targets --timeout nan", SECONDS),
        ("targets --timeout 0", SECONDS),
        ("targets --timeout -1", SECONDS),
        ("targets --timeout 1e9", SECONDS),
        ("doctor --timeout inf", SECONDS),
        ("conform --target cpu --seed -1", SEED),
        ("conform --target cpu --seed 1.5", SEED),
        ("conform --target cpu --jobs 0", COUNT),
        ("conform --target cpu -j -2", COUNT),
        ("fuzz --count 0", COUNT),
        ("fuzz --count -3", COUNT),
        ("fuzz --minutes 0", MINUTES),
        ("fuzz --minutes inf", MINUTES),
        ("fuzz --seed -1", SEED),
        ("fuzz --only -1", SEED),
        ("fuzz --jobs many", COUNT),
        ("fuzz --timeout nan", SECONDS),
    ],
)
def test_numbers_that_make_no_sense_are_refused(capsys, words, expected):
    from tilecore.cli import main

    with pytest.raises(SystemExit) as ended:
        main(words.split())
    assert ended.value.code == 2
    *_, option, number = words.split()
    last = capsys.readouterr().err.splitlines()[-1]
    assert f"{option}: got {number!r}, {expected}" in last or f"{option}/--jobs: got {number!r}, {expected}" in last


def test_every_number_of_every_command_is_checked():
    """No option has a type that accepts any number; those with choices are checked by them."""
    from tilecore.cli import _parser

    commands = next(action.choices for action in _parser()._actions if action.choices)
    actions = [action for parser in commands.values() for action in parser._actions]
    assert len([action for action in actions if getattr(action.type, "__module__", "").endswith("numbers")]) >= 9
    assert not [action.dest for action in actions if action.type in (int, float) and action.choices is None]


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("cpu", "'cpu' is a target of the installed package tilecore"),
        ("llvm", "'llvm' is an alias of the target 'cpu'"),
        ("auto", "'auto' is the target that tilecore chooses"),
        ("interpret", "'interpret' is a name of an execution backend"),
        ("native", "'native' is a name of an execution backend"),
        ("dlpack", "'dlpack' is a name of an execution backend"),
    ],
)
def test_a_name_that_is_taken_is_no_new_backend(tmp_path, monkeypatch, name, owner):
    monkeypatch.chdir(tmp_path)
    ended = run("new-backend", name)
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"tilecore: a backend cannot be called {name!r}, as the name is taken\n")
    assert f"found: {owner}" in ended.stderr
    assert "help: choose the name of the chip" in ended.stderr
    assert not list(tmp_path.iterdir())


def test_table_columns_are_aligned():
    text = table(("A", "LONG"), [("wide cell", "x"), ("b", "")])
    assert text.splitlines() == ["A          LONG", "wide cell  x", "b"]


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (2**20, "1.0 MiB"), (5 * 2**40, "5120.0 GiB")]
)
def test_sizes(count, text):
    assert size(count) == text


def test_short():
    assert short("a\n b") == "a b"
    assert short("x" * 100, 10) == "xxxxxxx..."


KERNELS = """
import tilecore
import tilecore.language as T

def scale(n=64, by=2.0):
    @T.prim_func
    def kernel(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(n):
                B[i] = A[i] * by
    return kernel

lazy = tilecore.jit(scale, target="cpu")
"""


def explained(tmp_path, *words):
    path = tmp_path / "kernels.py"
    path.write_text(KERNELS)
    name, *rest = words
    return run("explain", f"{path}{name}", *rest, TILECORE_CACHE_DIR=str(tmp_path / "cache"))


@pytest.mark.parametrize(
    "words",
    [("",), (":lazy",), (":lazy", "--set", "n=32"), (":scale", "--target", "cpu"), (":scale", "--set", "by=1.5")],
)
def test_explain_says_how_a_kernel_was_compiled(tmp_path, words):
    ended = explained(tmp_path, *words)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("kernel on cpu ")
    assert "vectorized loops" in ended.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((":nothing",), "has no kernel 'nothing'"),
        ((":scale", "--set", "m=3"), "scale cannot be built: scale() got an unexpected keyword argument 'm'"),
        ((":scale", "--set", "m"), "expected: --set NAME=VALUE"),
        ((":lazy", "--svg", "a.svg"), "expected: --layout BUFFER beside --svg"),
        ((":lazy", "--layout", "C"), "has no buffer 'C' with a layout"),
        (("missing",), "there is no Python file"),
    ],
)
def test_explain_says_what_is_wrong(tmp_path, words, message):
    ended = explained(tmp_path, *words)
    assert ended.returncode == 1
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("conform", "--target", "cpu", "--out", "file/report.json"),
            "--out names a file in a folder that cannot be made",
        ),
        (("conform", "--target", "cpu", "--out", "."), "--out names the folder"),
        (("conform", "--target", "cpu", "--out", "new/"), "--out names the folder new/"),
        (("conform", "--target", "cpu", "--out", "file/"), "--out names the folder file/"),
        (("fuzz", "--target", "cpu", "--json", "new/."), "--json names the folder new/."),
        (("explain", "kernel.py", "--layout", "C", "--svg", "c.svg/"), "--svg names the folder c.svg/"),
        (("new-backend", "acme", "--into", "file/acme"), "--into names a folder that cannot be created"),
        (("new-backend", "acme", "--into", "file"), "--into names a folder that cannot be created"),
        (("passes", "--target", "cpu", "--dump", "file", "kernel.py"), "--dump names a folder that cannot be created"),
        (("explain", "kernel.py", "--layout", "C", "--svg", "file/too/c.svg"), "--svg names a file in a folder"),
        (("fuzz", "--target", "cpu", "--out", "file"), "--out names a folder that cannot be created"),
        (("fuzz", "--target", "cpu", "--json", "file/f.json"), "--json names a file in a folder"),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_work(tmp_path, monkeypatch, words, message):
    (tmp_path / "file").write_text("kept")
    monkeypatch.chdir(tmp_path)
    ended = run(*words)
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"tilecore: {message}"), ended.stderr
    assert ended.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "kept"


def test_folders_that_are_missing_are_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ended = run("conform", "--target", "cpu", "--level", "0", "--out", "new/too/report.json")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert json.loads((tmp_path / "new" / "too" / "report.json").read_text())[0]["reached"] == 0
    ended = run("fuzz", "--target", "cpu", "--count", "1", "--out", "found", "--json", "counts/too/f.json")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert json.loads((tmp_path / "counts" / "too" / "f.json").read_text())["kernels"] == 1


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="there is no /proc, where no folder can be created")
def test_an_error_of_the_file_system_has_no_traceback():
    ended = run("new-backend", "acme", "--into", "/proc/acme")
    assert ended.returncode == 1
    assert ended.stderr.startswith("tilecore: "), ended.stderr
    assert "/proc/acme" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "Traceback" in run("new-backend", "acme", "--into", "/proc/acme", TILECORE_DEBUG="1").stderr


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission(tmp_path):
    tmp_path.chmod(0o500)
    ended = run("new-backend", "acme", "--into", str(tmp_path / "acme"))
    assert "cannot be written" in ended.stderr


def test_a_file_without_permission_in_a_folder_with_it(tmp_path, monkeypatch):
    """It is not replaced, and the folder is not blamed."""
    from tilecore.commands.destinations import checked_file
    from tilecore.errors import ArgumentError

    path = tmp_path / "a report.json"
    path.write_text("kept")
    path.chmod(0o444)
    monkeypatch.setattr(os, "access", lambda place, mode: Path(place) != path)  # root may write it
    with pytest.raises(ArgumentError, match="--out names a file that you may not write") as caught:
        checked_file(path, "--out")
    assert caught.value.found == f"{path}, whose mode is 444"
    assert caught.value.hint == (f"chmod u+w '{path}'" if hasattr(os, "geteuid") else None)
    assert checked_file(tmp_path / "other.json", "--out") == tmp_path / "other.json"


def test_what_cannot_be_written_in_place_is_refused(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "dangling").symlink_to("none/report.json")
    for name, message in (("loop", "a loop of symbolic links"), ("dangling", "a folder that does not exist")):
        ended = run("conform", "--target", "cpu", "--out", str(tmp_path / name))
        assert ended.returncode == 1
        assert message in ended.stderr
        assert (tmp_path / name).is_symlink()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-k", ""), "help: leave out -k to run all cases"),
        (("-k", " "), "-k selects no cases by an empty pattern"),
        (("--execution-backend", "nosuch"), "expected: native, auto, cython, dlpack"),
    ],
)
def test_a_conformance_run_that_selects_nothing_is_refused(words, message):
    ended = run("conform", "--target", "cpu", "--level", "0", *words)
    assert ended.returncode == 1
    assert ended.stderr.startswith("tilecore: ")
    assert message in ended.stderr


def test_a_conformance_run_names_the_report_that_remains(tmp_path):
    words = ("conform", "--target", "cpu", "--level", "0")
    ended = run(*words)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "written to" not in ended.stdout
    ended = run(*words, "--json")
    assert json.loads(ended.stdout)[0]["reached"] == 0
    assert "written to" not in ended.stderr
    report, link = tmp_path / "report.json", tmp_path / "link.json"
    report.write_text("of an earlier run")
    link.symlink_to(report)
    assert f"written to {link}" in run(*words, "--out", str(link)).stdout
    assert link.is_symlink()
    assert json.loads(report.read_text())[0]["reached"] == 0


def test_a_conformance_run_writes_its_report_to_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
        try:
            ended = run("conform", "--target", "cpu", "--level", "0", "--json", "--out", str(pipe))
            text = reader.communicate(timeout=30)[0]
        finally:
            reader.kill()
    assert ended.returncode == 0, ended.stderr
    assert pipe.is_fifo()
    assert json.loads(text)[0]["reached"] == json.loads(ended.stdout)[0]["reached"] == 0


def test_a_conformance_run_of_no_case_says_so():
    ended = run("conform", "--target", "cpu", "--level", "0", "-k", "no_such_case")
    assert ended.returncode == 2
    assert "no case was selected" in ended.stderr + ended.stdout
