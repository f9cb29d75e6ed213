#!/usr/bin/env python3
"""Starts the ranks of a run as real processes, for the cases: ranks.py WORLD [--kill RANK:FILE | --signal RANK:SIG:FILE] COMMAND...

Every rank gets RANK, WORLD_SIZE and the like; its output goes to rank<N>.out and rank<N>.err. `flexor` is the program
under test. {rank} in an argument is the rank. --kill ends a rank by SIGKILL as soon as FILE exists, --signal sends it
another one. Prints one line: the exit codes in order, 128 + signal for a rank that was killed.
"""
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main():
    arguments = sys.argv[1:]
    world, actions = int(arguments.pop(0)), []
    while arguments[0].startswith("--"):
        option, value = arguments.pop(0), arguments.pop(0).split(":")
        number = signal.SIGKILL if option == "--kill" else getattr(signal, value.pop(1))
        actions.append((int(value[0]), number, pathlib.Path(value[1])))
    port, processes = free_port(), []
    for rank in range(world):
        env = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(world), LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE=str(world),
                   MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), OMP_NUM_THREADS="1")
        command = [argument.replace("{rank}", str(rank)) for argument in arguments]
        processes.append(subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=open(f"rank{rank}.out", "wb"),
                                          stderr=open(f"rank{rank}.err", "wb")))
    while any(process.poll() is None for process in processes):
        for action in list(actions):
            if action[2].exists():
                processes[action[0]].send_signal(action[1])
                actions.remove(action)
        time.sleep(0.01)
    codes = [process.returncode for process in processes]
    print(*(code if code >= 0 else 128 - code for code in codes))


if __name__ == "__main__":
    main()
