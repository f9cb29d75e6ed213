"""Tests of the counting in run_tests.py."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import run_tests

GTEST = """[==========] Running 4 tests from 1 test suite.
[ RUN      ] A.One
[       OK ] A.One (0 ms)
[ RUN      ] A.Two
a.cpp:3: Failure
[  FAILED  ] A.Two (1 ms)
[ RUN      ] A.Three/0
[  SKIPPED ] A.Three/0 (0 ms)
"""
SUMMARY = "[  PASSED  ] 1 test.\n[  SKIPPED ] 1 test, listed below:\n[  FAILED  ] 1 test, listed below:\n[  FAILED  ] A.Two\n"


class CountOutput(unittest.TestCase):
    def count(self, text, ok):
        result = run_tests.count_output(text, ok)
        return result.passed, result.failed, result.skipped

    def test_google_tests_are_counted_one_by_one(self):
        self.assertEqual(self.count(GTEST + SUMMARY, False), (1, 1, 1))

    def test_the_test_a_program_died_in_has_failed(self):
        self.assertEqual(self.count(GTEST + "[ RUN      ] A.Four\nSegmentation fault\n", False), (1, 2, 1))

    def test_a_failure_after_the_last_test_is_counted(self):
        text = "[ RUN      ] A.One\n[       OK ] A.One (0 ms)\n==1==ERROR: LeakSanitizer\n"
        self.assertEqual(self.count(text, False), (1, 1, 0))

    def test_text_cases_close_with_their_counts(self):
        self.assertEqual(self.count("FAILED x\n3 passed, 1 failed, 2 skipped\n", False), (3, 1, 2))

    def test_python_unit_tests(self):
        self.assertEqual(self.count("Ran 5 tests in 0.01s\n\nOK (skipped=1)\n", True), (4, 0, 1))
        self.assertEqual(self.count("Ran 5 tests in 0.01s\n\nFAILED (failures=1, errors=1)\n", False), (3, 2, 0))

    def test_any_other_program_is_one_test(self):
        self.assertEqual(self.count("fine\n", True), (1, 0, 0))
        self.assertEqual(self.count("", False), (0, 1, 0))


class SumLogs(unittest.TestCase):
    def test_a_log_without_closing_line_counts_as_a_failure(self):
        with tempfile.TemporaryDirectory() as folder:
            good, bad = pathlib.Path(folder, "good"), pathlib.Path(folder, "bad")
            good.write_text("noise\n7 passed, 0 failed, 1 skipped\n")
            bad.write_text("ninja: build stopped\n")
            total = run_tests.sum_logs([good, bad])
        self.assertEqual((total.passed, total.failed, total.skipped), (7, 1, 1))


if __name__ == "__main__":
    unittest.main()
