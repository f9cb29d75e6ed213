#!/usr/bin/env python3
"""The program opens the back ends, without a Python around it: libflexor_npu.so on the stand-in CANN.

Usage: program_test.py with the options of plugins_test.py (tools/plugins.sh calls it)
"""

import json
import pathlib
import re
import sys
import tempfile
import unittest

from plugins_test import ROOT, options, run

OPTIONS = None


def flexor(*arguments, cann=True, torch=True, **env):
    """The program with the back ends beside it, in the environment that has torch_npu."""
    libraries = [next(OPTIONS.npu.glob("lib/python3*/site-packages/torch/lib"))] if torch else []
    libraries += [cann if cann is not True else OPTIONS.build / "cann"] if cann else []
    return run(OPTIONS.program, *arguments, env={"LD_LIBRARY_PATH": ":".join(map(str, libraries)), "FLEXOR_BACKEND_PATH": str(OPTIONS.build), **env})


def doctor_devices(**options):
    done = flexor("doctor", "--json", **options)
    if not done.stdout.startswith("{"):
        raise AssertionError(done.stdout + done.stderr)
    return json.loads(done.stdout)["sections"]["devices"]


class Program(unittest.TestCase):
    """The program opens them, without a Python around it."""

    def test_npu_opens_on_the_stand_in(self):
        said = doctor_devices()
        self.assertRegex(said["npu"]["value"], r"^1 device by .*/libflexor_npu\.so$")
        self.assertRegex(said["npu:0"]["value"], r"^Ascend910B2, 8\.0 GiB free of 16\.0 GiB")
        self.assertEqual(said["torch_npu"]["value"], "2.13.0")
        self.assertIn("hccl", said["npu ranks"]["value"])
        self.assertNotIn("(not there)", said["npu fused"]["value"])

    def test_npu_without_devices(self):
        said = doctor_devices(STAND_IN_DEVICES="0")
        self.assertRegex(said["npu"]["value"], r"^0 devices by ")
        self.assertEqual(said["npu"]["state"], "warning")

    def test_without_cann_one_message_names_the_library(self):
        said = doctor_devices(cann=False)
        self.assertRegex(said["npu"]["value"], r"libflexor_npu\.so needs libhccl\.so: not found$")
        self.assertIn("set_env.sh", said["npu"]["advice"])

    def test_of_a_cann_that_is_not_whole_the_missing_library_is_named(self):
        for missing in ("libgraph.so", "libacl_tdt_channel.so"):
            with tempfile.TemporaryDirectory() as folder:
                for library in (OPTIONS.build / "cann").glob("*.so"):
                    if library.name != missing:
                        (pathlib.Path(folder) / library.name).symlink_to(library)
                self.assertIn(f"libflexor_npu.so needs {missing}: not found", doctor_devices(cann=folder)["npu"]["value"])

    def test_cuda_without_the_cuda_build_of_libtorch(self):
        said = doctor_devices(cann=False)
        self.assertRegex(said["cuda"]["value"], r"libflexor_cuda\.so needs .*libtorch_cuda\.so: not found$")

    def test_a_command_on_a_device_that_cannot_open_ends_with_one_error(self):
        with tempfile.TemporaryDirectory() as folder:
            command = ["train", "--config", ROOT / "configs/pi05_tiny.yaml", f"dataset.root={ROOT}/examples/data/reach_blocks",
                       f"output_dir={folder}/run", "steps=1"]
            for device, library in (("npu", "libhccl.so"), ("cuda", "libtorch_cuda.so")):
                done = flexor(*command, f"device={device}", cann=False)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertEqual(len(re.findall(r"^error: ", done.stderr, re.M)), 1, done.stderr)
                self.assertRegex(done.stderr, rf"needs (\S*/)?{re.escape(library)}: not found")
                self.assertFalse((pathlib.Path(folder) / "run").exists())


if __name__ == "__main__":
    OPTIONS = options()
    unittest.main(argv=sys.argv[:1])
