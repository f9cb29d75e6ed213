#!/usr/bin/env python3
"""Makes a stand-in for CANN, Ascend's run-time libraries, so that torch_npu can be linked and loaded on a machine without them.

    make.py SITE_PACKAGES_OF_TORCH_NPU FOLDER [CXX]      six libraries in FOLDER; LD_LIBRARY_PATH=FOLDER uses them

runtime.cpp is compiled against the wheel's headers; every other function that torch_npu imports, or that its headers declare and its
library looks up by name, does nothing and answers "success", those of HCCL "not supported". No operator computes. So this proves that
things link, load, register, allocate and copy, and nothing about numbers or speed.
"""

import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
LIBRARIES = ["libascendcl.so", "libhccl.so", "libacl_op_compiler.so", "libge_runner.so", "libgraph.so", "libacl_tdt_channel.so"]
HCCL_NOT_SUPPORTED = 5
OF_CANN = re.compile(r"(acl|Hccl|hccl|ge|prof|Msprof|MsProf|adx|rt|tdt)\w*")


def symbols(path, *flags):
    text = subprocess.run(["nm", "--dynamic", *flags, str(path)], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in text.splitlines() if " w " not in line}


def looked_up(library, headers):
    """Functions that the headers declare and whose names are among the library's texts."""
    declared = set()
    for header in headers.rglob("*.h"):
        declared |= set(re.findall(r"\b(acl\w+|Hccl\w+)\s*\(", header.read_text(errors="replace")))
    texts = {text.decode() for text in re.findall(rb"(?:acl|Hccl)\w+(?=\0)", library.read_bytes())}
    return declared & texts


def main():
    if len(sys.argv) not in (3, 4):
        print(__doc__, file=sys.stderr)
        return 2
    package, out = pathlib.Path(sys.argv[1]) / "torch_npu", pathlib.Path(sys.argv[2])
    compiler = sys.argv[3] if len(sys.argv) > 3 else "g++"
    headers = package / "include/third_party"
    out.mkdir(parents=True, exist_ok=True)
    wanted = looked_up(package / "lib/libtorch_npu.so", headers)
    for name in ("libtorch_npu.so", "libnpu_profiler.so", "libtensorpipe.so"):
        wanted |= {symbol for symbol in symbols(package / "lib" / name, "--undefined-only") if OF_CANN.fullmatch(symbol)}

    runtime = out / "runtime.o"
    subprocess.run([compiler, "-std=c++20", "-O1", "-fPIC", "-Wall", "-Wextra", "-Werror", "-isystem", str(headers / "acl/inc"), "-c",
                    str(HERE / "runtime.cpp"), "-o", str(runtime)], check=True)
    written = set(subprocess.run(["nm", "--defined-only", str(runtime)], check=True, capture_output=True, text=True).stdout.split())
    rest = sorted(wanted - written)
    stubs = {"libascendcl.so": [name for name in rest if not name.lower().startswith("hccl")],
             "libhccl.so": [name for name in rest if name.lower().startswith("hccl")]}
    for library in LIBRARIES:
        answer = HCCL_NOT_SUPPORTED if library == "libhccl.so" else 0
        source = "".join(f"long {name}(void) {{ return {answer}; }}\n" for name in stubs.get(library, []))
        # torch_npu asks each library by its handle, which also answers for those that it needs.
        objects = [str(runtime)] if library == "libascendcl.so" else ["-Wl,--no-as-needed,-rpath,$ORIGIN", str(out / "libascendcl.so")]
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(out / library), f"-Wl,-soname,{library}", *objects, "-x", "c",
                        "-fno-builtin", "-"], input=source, text=True, check=True)
    print(f"stand-in CANN: {len(wanted & written)} functions that do something, {len(stubs['libascendcl.so'])} that say success, "
          f"{len(stubs['libhccl.so'])} of HCCL that say not supported")
    return 0


if __name__ == "__main__":
    sys.exit(main())
