#!/usr/bin/env python3
"""What the back ends say and do without their devices; libflexor_npu.so runs on the stand-in CANN.

Usage: plugins_test.py --build BUILD --program FLEXOR --npu ENVIRONMENT --cuda-wheels FOLDER (tools/plugins.sh calls it)
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

import table

ROOT = pathlib.Path(__file__).resolve().parent.parent
OPTIONS = None
ADAMW, RMS_NORM, ROPE, ATTENTION, GEGLU = range(5)


def run(*command, env=None):
    clean = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "OMP_WAIT_POLICY": "PASSIVE", **(env or {})}
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, env=clean, timeout=300)


def dynamic(path):
    text = run("readelf", "--dynamic", "--wide", path).stdout
    return {kind: re.findall(rf"\({kind}\).*\[(.*?)\]", text) for kind in ("NEEDED", "RUNPATH", "RPATH")}


def plugin(name):
    return OPTIONS.build / f"libflexor_{name}.so"


def npu_python(code, **env):
    """What the code prints as JSON in the environment's Python, where `b` is the back end."""
    start = f"import json, sys\nsys.path.insert(0, {str(ROOT / 'plugins')!r})\nimport torch, torch_npu, table\n" \
            f"b = table.Backend({str(plugin('npu'))!r})\n"
    done = run(OPTIONS.npu / "bin/python", "-c", start + code, env={"LD_LIBRARY_PATH": str(OPTIONS.build / "cann"), **env})
    if done.returncode != 0:
        raise AssertionError(done.stdout[-500:] + done.stderr[-1500:])
    return json.loads(done.stdout.splitlines()[-1])


class Files(unittest.TestCase):
    def test_the_entry_is_the_only_exported_symbol(self):
        for name in ("cuda", "npu"):
            lines = run("nm", "--dynamic", "--defined-only", plugin(name)).stdout.splitlines()
            self.assertEqual([line.split()[-1] for line in lines], ["flexor_backend_entry"], name)

    def test_they_link_their_vendors_library_and_have_no_search_path(self):
        cuda, npu = dynamic(plugin("cuda")), dynamic(plugin("npu"))
        self.assertIn("libtorch_cuda.so", cuda["NEEDED"])
        self.assertIn("libtorch_npu.so", npu["NEEDED"])
        for found in (cuda, npu):
            self.assertEqual((found["RUNPATH"], found["RPATH"]), ([], []))
            self.assertFalse([name for name in found["NEEDED"] if re.search(r"/|libcuda\.|libpython|libtorch_python|gloo", name)])

    def test_torch_and_nccl_are_the_pinned_ones(self):
        wheels = (ROOT / "tools/device_wheels.txt").read_text()
        torch = re.search(r"^torch==(\S+)$", (ROOT / "requirements.txt").read_text(), re.M)[1]
        self.assertEqual(set(re.findall(r"torch(?:-npu)?===(\S+)", wheels)), {torch})
        metadata = next(OPTIONS.cuda_wheels.glob("torch-*.dist-info")).joinpath("METADATA").read_text()
        self.assertIn("nvidia-nccl-cu13==" + re.search(r"nvidia-nccl-cu13===(\S+)", wheels)[1], metadata)

    def test_the_boundary_is_the_headers(self):
        header = ROOT / "src/device/backend_plugin.h"
        self.assertEqual([name for name, _ in table.Table._fields_], table.header_fields(header))

    def test_without_its_vendors_library_a_back_end_names_it(self):
        for name, library in (("cuda", "libtorch_cuda.so"), ("npu", "libtorch_npu.so")):
            with self.assertRaisesRegex(OSError, f"{re.escape(library)}: cannot open shared object file"):
                table.Backend(plugin(name))


class Npu(unittest.TestCase):
    """In the process of a Python that has torch_npu."""

    def test_what_it_says_about_itself(self):
        said = npu_python("t = b.table\nprint(json.dumps([t.abi, t.device.decode(), t.collective.decode(), t.torch_version.decode(), "
                          "t.visible_variable.decode(), t.has_pinned_memory, t.size, b.fused(), [o.decode() for o in "
                          "t.fallback_ops[:t.num_fallback_ops]]]))")
        torch = re.search(r"^torch==(\S+)$", (ROOT / "requirements.txt").read_text(), re.M)[1]
        abi = int(re.search(r"FLEXOR_BACKEND_ABI (\d+)", (ROOT / "src/device/backend_plugin.h").read_text())[1])
        self.assertEqual(said[:6], [abi, "npu", "hccl", torch, "ASCEND_RT_VISIBLE_DEVICES", 1])
        self.assertEqual(said[6], table.ctypes.sizeof(table.Table))
        self.assertEqual(said[7], {str(ADAMW): "aten::_fused_adamw_", str(RMS_NORM): "npu::npu_rms_norm", str(ROPE): "npu::npu_rotary_mul",
                                   str(ATTENTION): "aten::scaled_dot_product_attention", str(GEGLU): "npu::npu_geglu"})
        self.assertEqual(said[8], ["aten::_sample_dirichlet"])

    def test_the_fused_operators_have_kernels(self):
        kernels = npu_python("b.call('init')\nd = lambda op: torch._C._dispatch_has_kernel_for_dispatch_key(op, 'PrivateUse1')\n"
                             "print(json.dumps({op: d(op) for op in b.fused().values()}))")
        self.assertTrue(all(kernels.values()), kernels)

    def test_a_device_starts_and_tells_its_memory(self):
        said = npu_python(
            "b.call('init')\n"
            "b.call('set_device', 0)\n"
            "x = torch.empty(1 << 20, dtype=torch.float32, device='npu:0')\n"
            "x.copy_(torch.full((1 << 20,), 3.0))\n"
            "b.call('synchronize', 0)\n"
            "m = b.value('memory', table.Memory, 0)\n"
            "total = float(x.cpu().sum())\n"
            "del x\n"
            "gone = b.value('memory', table.Memory, 0)\n"
            "b.call('reset_peak', 0); b.call('empty_cache')\n"
            "after = b.value('memory', table.Memory, 0)\n"
            "d = b.value('describe', table.Device, 0)\n"
            "n = b.value('device_count', table.c_int32).value\n"
            "f = lambda m: {k: getattr(m, k) for k, _ in m._fields_}\n"
            "print(json.dumps([f(m), f(gone), f(after), [d.name.decode(), d.capability.decode(), d.has_bf16], n, total, b.notes()]))")
        memory, gone, after, device, count, total, notes = said
        tensor = memory["allocated"]  # rounded up by torch_npu
        self.assertTrue(4 << 20 <= tensor <= (4 << 20) + 4096, memory)
        self.assertEqual((memory["free"], memory["total"]), (8 << 30, 16 << 30))
        self.assertGreaterEqual(memory["reserved"], tensor)
        self.assertEqual((gone["allocated"], gone["peak_allocated"]), (0, tensor))
        self.assertEqual((after["peak_allocated"], after["reserved"]), (0, 0))
        self.assertEqual((device, count, total), (["Ascend910B2", "", 1], 1, 3.0 * (1 << 20)))
        self.assertEqual(notes["torch_npu"][0], "2.13.0")
        self.assertIn("CANN", notes)

    def test_without_devices_it_starts_all_the_same(self):
        said = npu_python("b.call('init')\nprint(json.dumps([b.value('device_count', table.c_int32).value, b.notes()]))", STAND_IN_DEVICES="0")
        self.assertEqual(said[0], 0)
        self.assertIn("torch_npu", said[1])

    def test_an_error_is_one_sentence_without_a_stack(self):
        said = npu_python("b.call('init')\nwhy = ''\ntry: b.call('set_device', 7)\nexcept RuntimeError as e: why = str(e)\n"
                          "print(json.dumps(why))")
        self.assertNotRegex(said, r"frame #|Exception raised from")


def options():
    parser = argparse.ArgumentParser()
    for option in ("--build", "--program", "--npu", "--cuda-wheels"):
        parser.add_argument(option, type=pathlib.Path, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    OPTIONS = options()
    unittest.main(argv=sys.argv[:1])
