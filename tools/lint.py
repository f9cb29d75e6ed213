"""clang-tidy on the sources changed since the main branch (and in the work tree), or on all of them.

    tools/lint.py BUILD [all | FILE...]

BUILD is a configured build folder. Its compile commands are rewritten for clang first: without the compiler cache and
without GCC's precompiled header, which clang cannot read.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLANG_TIDY = ROOT / ".deps/venv/bin/clang-tidy"


def clang_commands(build):
    """Writes compile commands that clang understands; returns their folder and the files they name."""
    entries = json.loads((build / "compile_commands.json").read_text())
    kept = []
    for entry in entries:
        if "cmake_pch" in entry["file"]:
            continue
        command = re.sub(r"^.*?ccache\s+", "", entry["command"])
        command = re.sub(r"-include \S*cmake_pch\S*|-Winvalid-pch|-fpch-preprocess|-Wshadow=local", "", command)
        kept.append(dict(entry, command=command))
    folder = build / "lint"
    folder.mkdir(exist_ok=True)
    (folder / "compile_commands.json").write_text(json.dumps(kept, indent=1))
    return folder, {pathlib.Path(entry["file"]) for entry in kept}


def git_lines(*arguments):
    result = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True)
    return result.stdout.split("\n") if result.returncode == 0 else []


def changed_files():
    """Sources that differ from the main branch, or from the last commit but one on main itself."""
    base = (git_lines("merge-base", "HEAD", "origin/main") or ["HEAD"])[0]
    if base in (git_lines("rev-parse", "HEAD") or [""])[0]:
        base = "HEAD~1"
    names = git_lines("diff", "--name-only", base) + git_lines("ls-files", "--others", "--exclude-standard")
    return {ROOT / name for name in names if name}


def tidy(folder, file):
    result = subprocess.run([CLANG_TIDY, "--quiet", "-p", folder, file], capture_output=True, text=True)
    return file, result.returncode, result.stdout + (result.stderr if result.returncode else "")


def main():
    if len(sys.argv) < 2 or not (pathlib.Path(sys.argv[1]) / "compile_commands.json").exists():
        sys.exit("error: no configured build folder given\n  hint: make build, then make lint")
    folder, known = clang_commands(pathlib.Path(sys.argv[1]).resolve())
    wanted = sys.argv[2:]
    if wanted == ["all"]:
        files = sorted(known)
    else:
        files = sorted(known & ({pathlib.Path(name).resolve() for name in wanted} or changed_files()))
    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for file, code, text in pool.map(lambda name: tidy(folder, name), files):
            failed += code != 0
            print(f"{'FAILED' if code else 'clean '} {file.relative_to(ROOT)}", flush=True)
            if code:
                print(text)
    print(f"{len(files) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
