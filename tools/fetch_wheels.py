#!/usr/bin/env python3
"""Downloads the wheels of a set in tools/device_wheels.txt with pip and keeps the parts that are named there.

    tools/fetch_wheels.py SET [FOLDER]     into FOLDER, by default .deps/wheels/SET; instant when it is there already

pip's own settings (PIP_INDEX_URL, PIP_FIND_LINKS, a proxy) are honoured. A download that fails is tried three times.
"""

import fnmatch
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "tools/device_wheels.txt"
TRIES, WAIT_S, LIMIT_S = 3, 5, 900


class FetchError(Exception):
    """What is wrong, and what to do about it."""

    def __init__(self, what, hint):
        super().__init__(f"error: {what}\n  hint: {hint}")


def wheels_of(name):
    """[(requirement, patterns)] of a set."""
    lines = [line.split() for line in LIST.read_text().splitlines() if line.strip() and not line.startswith("#")]
    found = [(words[1], words[2:]) for words in lines if words[0] == name]
    if not found:
        raise FetchError(f"there is no set {name} of wheels", f"one of {', '.join(sorted({words[0] for words in lines}))}")
    return found


def platforms(machine):
    """Options of pip for wheels of another machine; none for those of this one."""
    if machine == platform.machine():
        return []
    tags = [f"manylinux_2_{minor}_{machine}" for minor in (28, 27, 26, 17)] + [f"manylinux2014_{machine}"]
    return [option for tag in tags for option in ("--platform", tag)]


def download(requirement, machine, folder):
    """The wheel's file. pip may be slow or fail for a moment: three tries."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:",
               "--progress-bar", "off", "--dest", str(folder), *platforms(machine), requirement]
    why = ""
    for attempt in range(TRIES):
        if attempt:
            print(f"[wheels] {requirement}: trying again", flush=True)
            time.sleep(WAIT_S * attempt)
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            why = f"it took longer than {LIMIT_S} s"
            continue
        found = sorted(folder.glob("*.whl"))
        if done.returncode == 0 and found:
            return found[0]
        why = done.stderr.strip()[-600:] or f"pip ended with {done.returncode}"
        if "No matching distribution" in why:
            break
    raise FetchError(f"pip could not download {requirement} for {machine}: {why}",
                     "the index of Python packages must be reachable; offline: PIP_FIND_LINKS=FOLDER with these wheels")


def extract(wheel, patterns, folder):
    """Unpacks the members that match; every pattern must match one."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        for pattern in patterns:
            chosen = fnmatch.filter(names, pattern)
            if not chosen:
                raise FetchError(f"{wheel.name} has no {pattern}", f"its layout changed: correct {LIST.name}")
            archive.extractall(folder, chosen)


def fetch(name, folder, machine):
    wanted = wheels_of(name)
    stamp = f"{machine} {sys.version_info[:2]} {wanted}\n"
    if (folder / "stamp").exists() and (folder / "stamp").read_text() == stamp:
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"{name}-", dir=folder.parent) as work:
        made = pathlib.Path(work) / "made"
        for requirement, patterns in wanted:
            started = time.monotonic()
            with tempfile.TemporaryDirectory(dir=work) as here:
                wheel = download(requirement, machine, pathlib.Path(here))
                extract(wheel, patterns, made)
                size = wheel.stat().st_size / 1e6
            print(f"[wheels] {requirement}: {size:.0f} MB in {time.monotonic() - started:.0f} s", flush=True)
        (made / "stamp").write_text(stamp)
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(made, folder)


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    name = sys.argv[1]
    folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else ROOT / ".deps/wheels" / name)
    try:
        fetch(name, folder, "aarch64" if name == "aarch64" else platform.machine())
    except FetchError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
