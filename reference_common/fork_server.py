"""Worker processes without imports: this one imports packages, and workers are forks of it.

`bench run` starts it with its own process number and the names of the packages
(`bench/worker/pool.h`). It reads requests from the socket that is its stdin, one JSON object a
line. With the request `fork` come a worker's standard streams. Its process becomes a child of
bench, and runs the worker's script as if Python had been started for it; what differs is in
docs/measuring.md, "Forked processes".

It must work where a worker does not: with an old Python, or without the packages.
"""

from __future__ import annotations

import ctypes
import gc
import importlib.machinery
import importlib.util
import json
import os
import signal
import socket
import sys
from contextlib import suppress

import bytecode
import forked
from timing import now_ns

PR_SET_PDEATHSIG = 1
# PyTorch's compiler asks, as it is imported, whether there is a GPU, which opens it. With these
# PyTorch answers that there is none, opens nothing, and remembers nothing of it.
NO_GPU = {"CUDA_VISIBLE_DEVICES": "", "PYTORCH_NVML_BASED_CUDA_CHECK": "1"}
# By which bench knows whose a process is; read from what the kernel shows of the process's start.
TAG = "BENCH_WORKER"
STREAMS = 3


class Server:
    """What a fork needs to know of the process that it is a fork of."""

    def __init__(self, parent: int) -> None:
        if os.getppid() != parent:
            raise SystemExit("expected bench as the parent: $PATH or $BENCH_PYTHON has a wrapper")
        self.parent = parent
        self.tag_at = _address_of(TAG)
        self.before = dict(os.environ)
        self.requests = socket.socket(fileno=os.dup(0))
        self.answers = os.dup(1)
        os.dup2(2, 1)  # what packages print is no answer

    def load(self, modules: list[str]) -> None:
        """Import the packages; end if one leaves what a fork would lack: a thread, a GPU's context."""
        os.environ.update(NO_GPU)
        for module in modules:
            bytecode.keep(module)
            start_ns = now_ns()
            importlib.import_module(module)
            forked.import_ns[module] = now_ns() - start_ns
        for name in NO_GPU:
            os.environ.pop(name, None)
            if name in self.before:
                os.environ[name] = self.before[name]
        # NumPy's OpenBLAS ends its threads before a fork, and starts others when they are needed.
        process = os.fork()
        if process == 0:
            os._exit(0)
        os.waitpid(process, 0)
        if len(os.listdir("/proc/self/task")) > 1:
            raise SystemExit(f"importing {', '.join(modules)} leaves threads running")
        if any("/dev/nvidia" in path for path in _open_files()):
            raise SystemExit(f"importing {', '.join(modules)} opens the GPU")
        gc.collect()
        gc.freeze()

    def _answer(self, **more: int) -> None:
        os.write(self.answers, json.dumps({"status": "ok", **more}).encode() + b"\n")

    def serve(self) -> tuple[dict, list[int], int]:
        """Answer requests; return in each new process: the request, streams, a pipe to wait for."""
        while True:
            request, streams = self._receive()
            forked.requested_ns = now_ns()
            if request["op"] != "fork":
                self._answer()
                continue
            going, go = os.pipe()
            process = _fork_twice(go)
            if process == 0:
                return request, streams, going
            for file in (going, *streams):
                os.close(file)
            self._answer(process=process)
            os.close(go)  # bench is its parent now, and may wait for it

    def _receive(self) -> tuple[dict, list[int]]:
        line, streams = b"", []
        while not line.endswith(b"\n"):
            part, files, _, _ = socket.recv_fds(self.requests, 1 << 16, STREAMS)
            if not part:
                os._exit(0)
            line += part
            streams += files
        return json.loads(line), streams


def _fork_twice(go: int) -> int:
    """Fork a process whose parent ends at once, so that bench inherits it. Returns as fork does."""
    told, tell = os.pipe()
    between = os.fork()
    if between == 0:
        process = os.fork()
        if process == 0:
            os.close(go)
            os.close(told)
            os.setpgid(0, 0)
            os.write(tell, str(os.getpid()).encode())
            os.close(tell)
            return 0
        os._exit(0)
    os.close(tell)
    os.waitpid(between, 0)
    process = int(os.read(told, 16) or -1)
    os.close(told)
    return process


def _open_files() -> list[str]:
    found = []
    for file in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # that of the list itself
            found.append(os.readlink(f"/proc/self/fd/{file}"))
    return found


def _address_of(variable: str) -> int:
    libc = ctypes.CDLL(None)
    libc.getenv.restype = ctypes.c_void_p
    return libc.getenv(variable.encode()) or 0


# ---- in a fork -----------------------------------------------------------------------------------


def become_worker(server: Server, request: dict, streams: list[int], going: int) -> None:
    """Become what a worker's process is when Python starts in it."""
    os.read(going, 1)  # its end: the server has seen that our parent has ended
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != server.parent:  # it died before prctl() took effect
        os._exit(1)
    for to, stream in enumerate(streams):
        os.dup2(stream, to)
    for file in (going, server.answers, server.requests.detach(), *streams):
        os.close(file)
    _set_environment(server, request["environment"])
    _draw_anew()
    sys.argv = request["argv"]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))


def _set_environment(server: Server, wanted: dict) -> None:
    """Set the variables of the request, and what imports have changed of them."""
    changed = {
        name: os.environ.get(name)
        for name in {*os.environ, *server.before}
        if os.environ.get(name) != server.before.get(name)
    }
    for name in [name for name in os.environ if name not in wanted]:
        del os.environ[name]
    os.environ.update(wanted)
    for name, value in changed.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    if server.tag_at:  # for bench to read, where it reads that of a program that was started
        tag, room = os.fsencode(wanted.get(TAG, "")), len(os.fsencode(server.before[TAG]))
        ctypes.memmove(server.tag_at, tag[:room].ljust(room, b"\0"), room)


def _draw_anew() -> None:
    """Give generators of random numbers a state of their own; that of `random` has one already."""
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
    if "torch" in sys.modules:
        sys.modules["torch"].default_generator.seed()


def run_script(path: str) -> None:
    """Run a script as the module `__main__`."""
    loader = importlib.machinery.SourceFileLoader("__main__", path)
    spec = importlib.util.spec_from_file_location("__main__", path, loader=loader)
    script = importlib.util.module_from_spec(spec)
    script.__spec__ = None
    sys.modules["__main__"] = script
    if (
        "__mp_main__" in sys.modules
    ):  # the name that multiprocessing gave the server's, imported there
        sys.modules["__mp_main__"] = script
    exec(loader.source_to_code(loader.get_data(path), path), vars(script))


def main(parent: int, modules: list[str]) -> None:
    """Serve until the socket closes; in a fork, run the worker's script."""
    server = Server(parent)
    server.load(modules)
    request, streams, going = server.serve()
    become_worker(server, request, streams, going)
    run_script(sys.argv[0])


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
