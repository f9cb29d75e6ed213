"""Runs the tests of a build folder with ctest and counts them one by one.

    tools/run_tests.py BUILD [--jobs N] [--sanitize] [--only REGEX]   run; the closing line is 'N passed, N failed[, N skipped]'
    tools/run_tests.py --sum LOG...                                   add up the closing lines of earlier runs

A GoogleTest program counts as its test cases, a Python test program as its tests or text cases, anything else as one.
A program that dies counts what it had finished, and one failure for the test it died in. The exit code is 0 only when
something passed and nothing failed.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLOSING = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.M)
UNITTEST = re.compile(r"^Ran (\d+) tests? in [\d.]+s\n\n(OK|FAILED)(?: \((.*)\))?$", re.M)
TIMEOUT_S = 900


class Count:
    """Tests passed, failed and skipped."""

    def __init__(self, passed=0, failed=0, skipped=0):
        self.passed, self.failed, self.skipped = passed, failed, skipped

    def __iadd__(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        return self

    def line(self):
        tail = f", {self.skipped} skipped" if self.skipped else ""
        return f"{self.passed} passed, {self.failed} failed{tail}"


def count_gtest(text):
    """Counts the per-test lines, so that a program which dies half-way is still counted truthfully."""
    number = lambda word: len(re.findall(rf"^\[{re.escape(word)}\] \S.* \(\d+ ms\)$", text, re.M))
    started = len(re.findall(r"^\[ RUN      \]", text, re.M))
    passed, failed, skipped = number("       OK "), number("  FAILED  "), number("  SKIPPED ")
    return Count(passed, failed + max(0, started - passed - failed - skipped), skipped)


def count_unittest(match):
    total, verdict, details = int(match[1]), match[2], dict(re.findall(r"(\w+)=(\d+)", match[3] or ""))
    skipped = int(details.get("skipped", 0))
    failed = sum(int(details.get(word, 0)) for word in ("failures", "errors"))
    return Count(total - failed - skipped, failed + (verdict == "FAILED" and failed == 0), skipped)


def count_output(text, ok):
    """The tests inside one ctest entry, from what it printed and whether it exited with 0."""
    if re.search(r"^\[ RUN      \]", text, re.M):
        result = count_gtest(text)
    elif closing := CLOSING.findall(text):
        result = Count(*(int(value or 0) for value in closing[-1]))
    elif unittest := list(UNITTEST.finditer(text)):
        result = count_unittest(unittest[-1])
    else:
        return Count(1, 0) if ok else Count(0, 1)
    if not ok and result.failed == 0:
        result.failed = 1
    return result


def count_junit(path):
    total = Count()
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        status = case.get("status")
        if status in ("disabled", "notrun") and case.find("failure") is None:
            total += Count(skipped=1)
            continue
        total += count_output(case.findtext("system-out") or "", status == "run")
    return total


def environment(sanitize):
    env = dict(os.environ, OMP_WAIT_POLICY="PASSIVE")  # spinning threads starve the tests that run beside them
    if sanitize:
        env["ASAN_OPTIONS"] = ("strict_string_checks=1:detect_stack_use_after_return=1:check_initialization_order=1:"
                               "malloc_context_size=3")  # short stacks: hashing long ones takes a fifth of the time
        env["LSAN_OPTIONS"] = f"suppressions={ROOT}/tools/lsan.supp:print_suppressions=0"
        env["OMP_NUM_THREADS"] = "1"  # LibTorch's own threads are not what is looked at
        env["SANITIZED"] = "1"  # the text cases of whole recipes say that they need a release build
        env["UBSAN_OPTIONS"] = "print_stacktrace=1:halt_on_error=1"
    return env


def run(options):
    junit = pathlib.Path(options.build).resolve() / "tests.xml"
    junit.unlink(missing_ok=True)
    command = ["ctest", "--test-dir", options.build, "--output-on-failure", "--output-junit", str(junit), "--timeout",
               str(TIMEOUT_S), "--test-output-size-passed", "16000000", "--test-output-size-failed", "16000000",
               "--no-tests=error", "-j", str(options.jobs)]
    if options.only:
        command += ["-R", options.only]
    code = subprocess.run(command, env=environment(options.sanitize)).returncode
    if not junit.exists():
        print(f"error: ctest wrote no {junit}", file=sys.stderr)
        return Count(0, 1), 1
    total = count_junit(junit)
    if code != 0 and total.failed == 0:
        total.failed = 1
    return total, code


def sum_logs(paths):
    total = Count()
    for path in paths:
        found = CLOSING.findall(pathlib.Path(path).read_text(errors="replace"))
        if found:
            total += Count(*(int(value or 0) for value in found[-1]))
        else:  # the phase ended before its tests did: a build that broke, for one
            print(f"error: no closing line in {path}", file=sys.stderr)
            total += Count(0, 1)
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", nargs="?", help="the build folder")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="test programs that run at once")
    parser.add_argument("--sanitize", action="store_true", help="the build has ASan and UBSan")
    parser.add_argument("--only", help="run the ctest entries whose name matches")
    parser.add_argument("--sum", nargs="+", metavar="LOG", help="add up the closing lines of these logs")
    options = parser.parse_args()
    if options.sum:
        total, code = sum_logs(options.sum), 0
    elif options.build:
        total, code = run(options)
    else:
        parser.error("name a build folder or --sum LOG...")
    print(total.line(), flush=True)
    return 0 if code == 0 and total.failed == 0 and total.passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
