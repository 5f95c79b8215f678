"""A Python whose packages are imported already: a server imports them, and forks for each script.

Without --serve this file is the client, as a copy beside the server's socket: it hands its
arguments, environment, folder and standard streams to the server, and ends as the script ends.
If it is killed, so is the script. The server ends with its standard input.

    warm_python.py --serve FOLDER MODULE…
    FOLDER/python3 SCRIPT ARGUMENT…
"""

import json
import os
import signal
import socket
import sys

# In the server's folder, which is entered first: a socket's path has 107 bytes at most.
SOCKET = "socket"
LONGEST_REQUEST = 1 << 20


def be_client(folder: str) -> None:
    """Have the server run a script; end as it ends."""
    request = {"argv": sys.argv[1:], "environment": dict(os.environ), "folder": os.getcwd()}
    os.chdir(folder)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server.connect(SOCKET)
    socket.send_fds(server, [json.dumps(request).encode()], [0, 1, 2])
    os.closerange(0, 3)  # whoever reads what the script writes sees its end at once
    status = int(server.recv(16) or -signal.SIGKILL)
    if status < 0:
        os.kill(os.getpid(), -status)
    os._exit(status)


def serve(folder: str, modules: list[str]) -> dict:
    """Import the modules, then fork for each client; return its request in the new process."""
    import gc
    import importlib
    import select

    for module in modules:
        importlib.import_module(module)
    gc.freeze()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    os.chdir(folder)
    listener.bind(SOCKET)
    listener.listen()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that watch
    print("ready", flush=True)
    while listener in select.select([listener, 0], [], [])[0]:
        client, _ = listener.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            return start(client)
        client.close()
    os._exit(0)


def start(client: socket.socket) -> dict:
    """Fork; watch the new process for its client, or return the request in it."""
    import select

    text, streams, _, _ = socket.recv_fds(client, LONGEST_REQUEST, 3)
    process = os.fork()
    if process == 0:
        return {**json.loads(text), "streams": streams}
    for stream in (0, 1, 2, *streams):
        os.close(stream)
    ended = os.pidfd_open(process)
    if ended not in select.select([ended, client], [], [])[0]:
        os.kill(process, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    try:
        client.send(str(status).encode())
    finally:
        os._exit(0)


def be_script(request: dict) -> None:
    """Run the script as if Python had been started for it."""
    import runpy

    for stream, to in zip(request["streams"], (0, 1, 2), strict=True):
        os.dup2(stream, to)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = request["argv"]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
        status = 0
    except SystemExit as ended:
        if not isinstance(ended.code, int | None):
            raise
        status = ended.code or 0
    leave(status)


def leave(status: int) -> None:
    """End as Python does, but leave the memory of what is imported to the system: that saves half."""
    import atexit
    import threading

    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status & 0xFF)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        be_script(serve(sys.argv[2], sys.argv[3:]))
    else:
        be_client(os.path.dirname(sys.argv[0]))
