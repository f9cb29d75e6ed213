#!/usr/bin/env python3
"""What tools/bundle.py makes runs from any folder, takes only its own libraries and names their licences.

Usage: bundle_test.py PROGRAM. Stages the bundle with links to LibTorch and Arrow; tools/bundle_proof.sh is the proof of the whole tar.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else None
C_LIBRARY = re.compile(r"(libc|libm|libdl|libpthread|librt|libresolv)\.so\.\d+")


def run(*command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)


def bundle(*arguments):
    return run(sys.executable, ROOT / "tools/bundle.py", *arguments)


class Bundle(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = pathlib.Path(tempfile.mkdtemp(prefix="flexor-bundle-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.work)
        made = bundle(PROGRAM, "--stage", cls.work / "first", "--links")
        if made.returncode != 0:
            raise AssertionError(made.stderr)
        cls.folder = (cls.work / "first").rename(cls.work / "moved here")

    def test_takes_only_its_own_libraries_wherever_it_stands(self):
        text = run(self.folder / "bin/flexor", env={"LD_TRACE_LOADED_OBJECTS": "1"}).stdout
        taken = dict(re.findall(r"^\t(\S+) => (.+?)(?: \(0x[0-9a-f]+\))?$", text, re.M))
        self.assertGreater(len(taken), 10, text)
        strangers = {name: path for name, path in taken.items()
                     if not C_LIBRARY.fullmatch(name) and not path.startswith(f"{self.folder}/bin/../lib/")
                     and not path.startswith(f"{self.folder}/lib/")}
        self.assertEqual(strangers, {})

    def test_runs_without_an_environment(self):
        shown = run(self.folder / "bin/flexor", "--version", env={})
        self.assertRegex(shown.stdout, r"^flexor \d+\.\d+\.\d+\n$", shown.stderr)
        helped = run(self.folder / "bin/flexor", "doctor", env={"PATH": ""}, cwd="/")
        self.assertIn("LibTorch", helped.stdout, helped.stderr)

    def test_every_library_has_a_licence(self):
        notices = (self.folder / "NOTICES.md").read_text()
        named = set(re.findall(r"lib[\w.+-]+\.so[.\d]*", notices))
        self.assertEqual({path.name for path in (self.folder / "lib").iterdir()} - named, set())
        for component in re.findall(r"^\| ([\w.+-]+) \| \S.* \| (?:distribution package|Python wheel) \|", notices, re.M):
            texts = [path for path in (self.folder / "licences" / component).rglob("*") if path.is_file()]
            self.assertTrue(texts and all(path.stat().st_size > 100 for path in texts), component)

    def test_readme_is_filled_in_and_names_files_that_exist(self):
        readme = (self.folder / "README.md").read_text()
        self.assertNotRegex(readme, r"\{\w+\}")
        self.assertRegex(readme, r"glibc 2\.\d+ or newer")
        for name in re.findall(r"`((?:configs|docs|examples|lib|licences|bin)/[\w./]*|[A-Z]+\.md)`", readme):
            self.assertTrue((self.folder / name).exists(), name)

    def test_no_file_names_the_machine_it_was_built_on(self):
        self.assertNotIn(str(ROOT).encode(), (self.folder / "bin/flexor").read_bytes())


class Errors(unittest.TestCase):
    def setUp(self):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="flexor-bundle-test-"))
        self.addCleanup(shutil.rmtree, self.work)

    def test_a_library_that_the_loader_does_not_find_is_named(self):
        program = self.work / "program"
        shutil.copyfile("/bin/true", program)
        program.chmod(0o755)
        self.assertEqual(run("patchelf", "--add-needed", "libabsent.so.3", program).returncode, 0)
        made = bundle(program, "--stage", self.work / "out")
        self.assertEqual(made.returncode, 1)
        self.assertIn("needs libabsent.so.3, which the loader does not find", made.stderr)
        self.assertFalse((self.work / "out").exists())

    def test_a_library_of_no_package_has_no_licence(self):
        source = os.path.realpath("/usr/lib/x86_64-linux-gnu/libz.so.1" if os.uname().machine == "x86_64" else "/usr/lib/aarch64-linux-gnu/libz.so.1")
        shutil.copyfile(source, self.work / "libhomemade.so.1")
        program = self.work / "program"
        shutil.copyfile("/bin/true", program)
        program.chmod(0o755)
        for change in (["--add-needed", "libhomemade.so.1"], ["--set-rpath", self.work]):
            self.assertEqual(run("patchelf", *change, program).returncode, 0)
        made = bundle(program, "--stage", self.work / "out")
        self.assertEqual(made.returncode, 1)
        self.assertIn("libhomemade.so.1 belongs to no package and no wheel", made.stderr)

    def test_a_folder_that_exists_is_not_touched(self):
        made = bundle(PROGRAM, "--stage", self.work)
        self.assertEqual((made.returncode, list(self.work.iterdir())), (1, []))
        self.assertIn("is there already", made.stderr)

    def test_there_is_no_such_program(self):
        made = bundle(self.work / "absent")
        self.assertEqual(made.returncode, 1)
        self.assertIn("there is no program", made.stderr)


if __name__ == "__main__":
    unittest.main()
