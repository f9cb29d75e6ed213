#!/usr/bin/env python3
"""Listens on a port and runs a command meanwhile: listener.py silent|close|TEXT COMMAND...

Connections are accepted and get no answer (silent), are closed (close), or get TEXT. {port} in an argument is the port.
"""
import socket
import subprocess
import sys
import threading


def serve(server, manner, kept):
    while True:
        connection, _ = server.accept()
        if manner == "close":
            connection.close()
            continue
        if manner != "silent":
            connection.sendall(manner.encode())
        kept.append(connection)


def main():
    manner, command = sys.argv[1], sys.argv[2:]
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=serve, args=(server, manner, []), daemon=True).start()
        port = str(server.getsockname()[1])
        sys.exit(subprocess.run([argument.replace("{port}", port) for argument in command]).returncode)


if __name__ == "__main__":
    main()
