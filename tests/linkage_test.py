#!/usr/bin/env python3
"""Of LibTorch the program links only libtorch_cpu and libc10: device libraries come in at run time, or not at all.

Usage: linkage_test.py PROGRAM; reads the dynamic section with readelf.
"""
import re
import subprocess
import sys

ALLOWED = {"libtorch_cpu.so", "libc10.so"}
FORBIDDEN = re.compile(r"torch|c10|cuda|cudnn|cublas|nccl|nvrtc|nvToolsExt|hccl|ascend|npu|shm|python")


def main():
    text = subprocess.run(["readelf", "--dynamic", "--wide", sys.argv[1]], check=True, capture_output=True, text=True).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.+?)\]", text)
    if not needed:
        print(f"{sys.argv[1]} has no dynamic section that names libraries")
        return 1
    extra = [name for name in needed if FORBIDDEN.search(name) and name not in ALLOWED]
    missing = sorted(ALLOWED - set(needed))
    for name in extra:
        print(f"{sys.argv[1]} links {name}; of LibTorch it may link {', '.join(sorted(ALLOWED))} only")
    for name in missing:
        print(f"{sys.argv[1]} does not link {name}: is this the program?")
    return 1 if extra or missing else 0


if __name__ == "__main__":
    sys.exit(main())
