#!/usr/bin/env python3
"""Runs text cases against the program: run_cases.py --flexor build/flexor [FOLDER or FILE.test ...]

A case is a text file, tests/cli/<command>/<case>.test; each runs in an empty folder of its own. Lines:

  # text                     a comment
  needs SHELL                skips the case unless SHELL succeeds
  setup SHELL                prepares input; must succeed
  cleanup SHELL              runs at the end, whatever happened
  timeout SECONDS            for each run below (default 180)
  run SHELL                  starts a run; `flexor` is the program under test
  exit N                     its exit code (default 0)
  stdout: TEXT               a line of its stdout is TEXT, or matches if written /REGEX/; `stderr:` likewise
  stdout-not: TEXT           no line of its stdout does; `stderr-not:` likewise
  json KEY[.KEY|.INDEX] VALUE  its stdout is one JSON object, whose entry is VALUE (JSON) or matches /REGEX/
  check SHELL                succeeds after the run

A run may come several times; the lines below belong to it. Variables in SHELL: DATA (tests/data), GOLDEN (tests/golden),
CONFIGS (configs), CLI (tests/cli), DOCS (docs), PYTHON (has pyarrow), SPOIL (breaks inputs: spoil.py), TENSORS (looks into outputs:
tensors.py), FAKE (folder of the back ends libflexor_fake.so and libflexor_broken.so: tests/fake_device), SANITIZED (set when the
program has the sanitizers; `needs [ -z "$SANITIZED" ]` skips a case there).

What holds for every run is checked without being written: with exit 1 or 2 stderr has exactly one line "error: ...", with
exit 0 none; the program is never ended by a signal unless the case expects that code; no temporary file stays behind
unless it was killed.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CHECKS = ("exit", "stdout:", "stderr:", "stdout-not:", "stderr-not:", "json", "check")
TEMPORARY = re.compile(r"\.(tmp|partial|staged)\b|\.tmp[-.]", re.IGNORECASE)


class Failure(Exception):
    pass


class Skip(Exception):
    pass


def shell(command, folder, env, timeout):
    """(exit code as a shell gives it, stdout, stderr) of `command`; the whole process group is killed after `timeout`."""
    process = subprocess.Popen(["bash", "-c", command], cwd=folder, env=env, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise Failure(f"no end after {timeout} s: {command}") from None
    code = process.returncode
    return (128 - code if code < 0 else code), out.decode("utf-8", "replace"), err.decode("utf-8", "replace")


def has_line(text, wanted):
    if len(wanted) > 1 and wanted.startswith("/") and wanted.endswith("/"):
        pattern = re.compile(wanted[1:-1])
        return any(pattern.search(line) for line in text.splitlines())
    return any(line.strip() == wanted.strip() for line in text.splitlines())


def check_json(text, argument):
    path, _, wanted = argument.partition(" ")
    try:
        value = json.loads(text)
    except ValueError as error:
        raise Failure(f"stdout is not one JSON value: {error}") from None
    if not isinstance(value, dict):
        raise Failure("stdout is no JSON object")
    for key in path.split(".") if path != "." else []:
        try:
            value = value[int(key)] if isinstance(value, list) else value[key]
        except (KeyError, IndexError, ValueError, TypeError):
            raise Failure(f"JSON has no {path} (at {key!r})") from None
    wanted = wanted.strip()
    if wanted.startswith("/") and wanted.endswith("/"):
        good = re.search(wanted[1:-1], value if isinstance(value, str) else json.dumps(value))
    else:
        good = value == json.loads(wanted)
    if not good:
        raise Failure(f"JSON {path} is {json.dumps(value)}, not {wanted}")


def check_run(checks, code, out, err, folder, env):
    """Applies the lines below one `run`, then what holds for every run."""
    wanted = next((int(argument) for word, argument, _ in checks if word == "exit"), 0)
    if code != wanted:
        raise Failure(f"exit code {code}, expected {wanted}")
    for word, argument, line in checks:
        try:
            text = out if word.startswith("stdout") else err
            if word in ("stdout:", "stderr:") and not has_line(text, argument):
                raise Failure(f"{word[:-1]} has no line {argument}")
            if word in ("stdout-not:", "stderr-not:") and has_line(text, argument):
                raise Failure(f"{word[:6]} has a line {argument}")
            if word == "json":
                check_json(out, argument)
            if word == "check":
                check_code, check_out, check_err = shell(argument, folder, env, 180)
                if check_code != 0:
                    raise Failure(f"exit code {check_code}: {argument}\n{check_out}{check_err}")
        except Failure as failure:
            raise Failure(f"line {line}: {failure}") from None
    errors = sum(text.startswith("error: ") for text in err.splitlines())
    expected_errors = 1 if wanted in (1, 2) else 0
    if wanted in (0, 1, 2) and errors != expected_errors:
        raise Failure(f"{errors} lines of stderr start with 'error: ', expected {expected_errors}")
    if wanted < 128:
        left = [p for p in pathlib.Path(folder).rglob("*") if TEMPORARY.search(p.name)]
        if left:
            raise Failure(f"temporary files stay behind: {', '.join(str(p.relative_to(folder)) for p in left)}")


def parse_case(path):
    """(line number, word, argument) of each line that says something."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        word, _, argument = line.partition(" ")
        if word not in CHECKS + ("needs", "setup", "cleanup", "timeout", "run"):
            raise Failure(f"line {number}: unknown word {word!r}")
        yield number, word, argument.strip()


def run_case(path, env):
    timeout, cleanups, steps = 180.0, [], []
    for number, word, argument in parse_case(path):
        if word in CHECKS:
            if not steps or steps[-1][1] != "run":
                raise Failure(f"line {number}: {word} belongs below a run")
            steps[-1][4].append((word, argument, number))
        elif word == "cleanup":
            cleanups.append(argument)
        elif word == "timeout":
            timeout = float(argument)
        else:
            steps.append((number, word, argument, timeout, []))
    if not any(step[1] == "run" for step in steps):
        raise Failure("no line `run`")
    with tempfile.TemporaryDirectory(prefix="flexor-case-") as folder:
        try:
            for number, word, argument, limit, checks in steps:
                code, out, err = shell(argument, folder, env, limit if word == "run" else 120)
                if word == "needs" and code != 0:
                    raise Skip(f"needs {argument}")
                if word == "setup" and code != 0:
                    raise Failure(f"line {number}: setup ends with {code}: {argument}\n{out}{err}")
                if word == "run":
                    try:
                        check_run(checks, code, out, err, folder, env)
                    except Failure as failure:
                        tail = lambda text: "\n".join("    " + t for t in text.splitlines()[-25:])
                        raise Failure(f"line {number}: {argument}\n  {failure}\n  stdout:\n{tail(out)}\n  stderr:\n"
                                      f"{tail(err)}") from None
        finally:
            for command in cleanups:
                shell(command, folder, env, 180)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--flexor", type=pathlib.Path, required=True, help="the program under test")
    parser.add_argument("--python", default=sys.executable, help="a Python with pyarrow, for broken inputs")
    parser.add_argument("--slow", action="store_true", help="show the seconds of each case")
    parser.add_argument("cases", nargs="*", type=pathlib.Path, help="folders or .test files (default: all)")
    options = parser.parse_args()
    flexor = options.flexor.resolve()
    if flexor.name != "flexor" or not os.access(flexor, os.X_OK):
        parser.error(f"{flexor} is no program called flexor")
    python = os.path.abspath(shutil.which(options.python) or parser.error(f"no program {options.python}"))
    env = dict(os.environ, PATH=f"{flexor.parent}:{os.environ['PATH']}", DATA=str(HERE.parent / "data"),
               GOLDEN=str(HERE.parent / "golden"), CONFIGS=str(ROOT / "configs"), CLI=str(HERE), DOCS=str(ROOT / "docs"),
               PYTHON=python, SPOIL=f"{python} {HERE / 'spoil.py'}",
               TENSORS=f"{python} {HERE / 'tensors.py'}", FAKE=str(flexor.parent / "fake_device"), LC_ALL="C.UTF-8",
               COLUMNS="120", OMP_NUM_THREADS="1" if "SANITIZED" in os.environ else "2")
    paths = [p for argument in options.cases or [HERE]
             for p in (sorted(argument.rglob("*.test")) if argument.is_dir() else [argument])]
    passed = skipped = failed = 0
    for path in paths:
        name = f"{path.resolve().parent.name}/{path.stem}"
        begin, used = time.monotonic(), os.times()
        try:
            run_case(path, env)
            passed += 1
            if options.slow:
                now = os.times()
                cpu = now.children_user - used.children_user + now.children_system - used.children_system
                print(f"passed {name} {time.monotonic() - begin:.1f} s, {cpu:.1f} CPU s", flush=True)
        except Skip as reason:
            skipped += 1
            print(f"skipped {name}: {reason}", flush=True)
        except Failure as failure:
            failed += 1
            print(f"FAILED {path}: {failure}", flush=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
