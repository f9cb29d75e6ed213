"""Calls the flexor program and other programs that answer with one JSON object."""

import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
FLEXOR = HERE.parent.parent / "build/flexor"


def answer(command, threads=2):
    """Runs a command and returns the JSON object of its last line that holds one."""
    env = dict(os.environ, OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads), OMP_WAIT_POLICY="PASSIVE",
               HF_HUB_OFFLINE="1")
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=env)
    if result.returncode != 0:
        sys.exit(f"error: exit {result.returncode} of {' '.join(map(str, command))}\n{result.stderr[-3000:]}")
    text = result.stdout.strip()
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return json.loads([line for line in text.splitlines() if line.startswith("{")][-1])


def run(command):
    """Runs a command, showing what it prints only when it fails."""
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"error: exit {result.returncode} of {' '.join(map(str, command))}\n{result.stdout[-2000:]}"
                 f"{result.stderr[-3000:]}")
    return result.stdout


def median(values):
    values = sorted(values)
    return values[len(values) // 2]
