#!/usr/bin/env python3
"""Tests of the case runner: a case that should fail does, for the right reason."""
import pathlib
import subprocess
import sys
import tempfile

RUNNER = pathlib.Path(__file__).with_name("run_cases.py")
FAKE = """#!/bin/sh
case "$1" in
  good) echo "hello world"; echo '{"a": [1, {"b": "text"}]}' >&2 ;;
  json) echo '{"a": [1, {"b": "text"}]}' ;;
  bad) echo "error: it is broken (here)" >&2; echo "  hint: mend it" >&2; exit 1 ;;
  silent) exit 1 ;;
  crash) kill -SEGV $$ ;;
  leave) touch out.tmp.12 ;;
  hang) sleep 30 ;;
esac
"""
CASES = [  # (text of the case, expected line of the report, or None if it passes)
    ("run flexor good\nstdout: hello world\nstdout: /^hel+o/\nstdout-not: bye", None),
    ("run flexor good\nstdout: hello", "line 2: stdout has no line hello"),
    ("run flexor good\nstdout: /bye/", "line 2: stdout has no line /bye/"),
    ("run flexor good\nstdout-not: /world/", "line 2: stdout has a line /world/"),
    ("run flexor good\nstderr: hello world", "line 2: stderr has no line hello world"),
    ("run flexor good\nexit 1", "exit code 0, expected 1"),
    ("run flexor bad\nexit 1\nstderr: error: it is broken (here)\nstderr: hint: mend it", None),
    ("run flexor bad", "exit code 1, expected 0"),
    ("run flexor silent\nexit 1", "0 lines of stderr start with 'error: ', expected 1"),
    ("run flexor crash\nexit 1", "exit code 139, expected 1"),
    ("run flexor leave", "temporary files stay behind: out.tmp.12"),
    ("timeout 0.5\nrun flexor hang", "no end after 0.5 s: flexor hang"),
    ("run flexor json\njson a.0 1\njson a.1.b \"text\"\njson a.1.b /^te/\njson a /text/", None),
    ("run flexor json\njson a.0 2", "line 2: JSON a.0 is 1, not 2"),
    ("run flexor json\njson c 2", "line 2: JSON has no c (at 'c')"),
    ("run flexor good\njson a 1", "line 2: stdout is not one JSON value"),
    ("setup echo x > f\nrun flexor good\ncheck test -s f", None),
    ("run flexor good\ncheck test -e nothing", "line 2: exit code 1: test -e nothing"),
    ("setup false\nrun flexor good", "line 1: setup ends with 1: false"),
    ("needs false\nrun flexor good", "skipped"),
    ("exit 1\nrun flexor good", "line 1: exit belongs below a run"),
    ("runs flexor good", "line 1: unknown word 'runs'"),
    ("# nothing", "no line `run`"),
    ("run flexor good\ncleanup touch $MARK\ncheck false", "line 3: exit code 1: false"),
]


def main():
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "flexor"
        program.write_text(FAKE, encoding="ascii")
        program.chmod(0o755)
        for number, (text, expected) in enumerate(CASES):
            case = pathlib.Path(folder) / f"case{number}.test"
            case.write_text(text.replace("$MARK", f"{folder}/mark"), encoding="utf-8")
            done = subprocess.run([sys.executable, RUNNER, "--flexor", program, case], capture_output=True, text=True)
            skipped = expected == "skipped"
            good = (done.returncode == 0 and ("1 skipped" in done.stdout) == skipped if expected is None or skipped
                    else done.returncode == 1 and expected in done.stdout)
            if not good:
                failures += 1
                print(f"case {text!r}: expected {expected!r}, exit code {done.returncode}, report:\n{done.stdout}"
                      f"{done.stderr}")
        if not (pathlib.Path(folder) / "mark").exists():
            failures += 1
            print("cleanup did not run after a failure")
    print(f"{len(CASES) + 1 - failures} passed, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
