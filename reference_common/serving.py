"""The part of a worker that no engine changes: requests from stdin, answers to stdout."""

from __future__ import annotations

import argparse
import gc
import importlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import bytecode
import forked
import needs
import protocol
from protocol import Answer, DeviceLost, ProtocolError
from timing import now_ns

if TYPE_CHECKING:
    from engine_session import EngineSession


class Engine(NamedTuple):
    """What a worker needs to know of its engine; nothing is imported before hello."""

    module: str
    """The module whose import is timed: every program of this engine pays for it."""
    packages_lack: Callable[[], str | None]
    """Returns which package is not installed, without importing any; None: all are."""
    version_lacks: Callable[[str], str | None]
    """Returns why this version of the module does not do; None: it does."""
    set_environment: Callable[[str], None]
    """Sets what the module reads as it is imported, for a kind of device."""


class Worker:
    """Answers one request after another."""

    def __init__(self, engine: Engine, device_kind: str) -> None:
        self._engine = engine
        self._device_kind = device_kind
        self._session: EngineSession | None = None
        self._introduction: Answer = {}

    def answer(self, line: bytes) -> tuple[Answer, bool]:
        """Return the answer to a request line, and whether the worker continues after it."""
        try:
            request = protocol.parse(line)
        except ProtocolError as error:
            return protocol.failed(str(error), error.case_id), True
        if isinstance(request, protocol.ByeRequest):
            return protocol.ok(), False
        if isinstance(request, protocol.HelloRequest):
            return self._hello(request), True
        if self._session is None:
            case_id = getattr(request, "id", None)
            return protocol.failed("op: expected hello first", case_id), True
        if isinstance(request, protocol.TraceStartRequest):
            return self._session.start_trace(), True
        return self._session.handle(request), True

    def _hello(self, request: protocol.HelloRequest) -> Answer:
        if request.protocol != protocol.VERSION:
            return protocol.failed(
                f"protocol: this worker speaks {protocol.VERSION}, found {request.protocol}"
            )
        try:
            if self._session is None:
                self._start()
        except needs.Unavailable as error:
            # A missing package, no GPU or an old driver. Any other error is a bug and ends the worker.
            return protocol.failed(str(error))
        return self._introduction

    def _start(self) -> None:
        engine = self._engine
        if lacks := engine.packages_lack():
            raise needs.Unavailable(lacks)
        engine.set_environment(self._device_kind)
        bytecode.keep(engine.module)
        start_ns = now_ns()
        needs.expect_module(engine.module)
        import_ns = now_ns() - start_ns
        needs.expect_module("numpy")
        if lacks := engine.version_lacks(importlib.import_module(engine.module).__version__):
            raise needs.Unavailable(lacks)
        import host_memory  # needs NumPy

        host_memory.keep_freed()
        # Beside the worker's script; raises `needs.Unavailable` if the device is missing.
        session = importlib.import_module("session").Session(self._device_kind)
        about = session.describe()
        once_ns = {"import": forked.import_ns.get(engine.module, import_ns)}
        if forked.import_ns:
            once_ns["fork"] = start_ns - forked.requested_ns
        about["once_ns"] = {**once_ns, **about["once_ns"]}
        self._introduction = protocol.ok(protocol=protocol.VERSION, **about)
        self._session = session
        # Modules stay: without this every collection looks at all that they define.
        gc.freeze()


def claim_stdio() -> tuple[BinaryIO, BinaryIO]:
    """Reserve stdin and stdout for the protocol and return them as private streams.

    What libraries and child processes print goes to stderr, and they cannot read requests. Child
    processes do not inherit the copies.
    """
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    _redirect(0, os.O_RDONLY)
    return requests, answers


def read_lines(stream: BinaryIO) -> Iterator[bytes]:
    """Yield lines, each cut off where `parse` can tell that it is too long."""
    while line := stream.readline(protocol.MAX_LINE_BYTES + 1):
        rest = line
        while not rest.endswith(b"\n") and len(line) > protocol.MAX_LINE_BYTES:
            rest = stream.readline(1 << 20)
            if not rest:
                break
        yield line


def serve(worker: Worker, requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until bye, end of input, or a closed answer pipe."""
    for line in read_lines(requests):
        answer, continues = worker.answer(line)
        try:
            answers.write(protocol.encode(answer))
            answers.flush()
        except BrokenPipeError:
            # The reader is gone: same as end of input. The stream still buffers the answer and
            # would fail again when closed, so let it flush to /dev/null.
            _redirect(answers.fileno(), os.O_WRONLY)
            return
        if not continues:
            return


def _redirect(descriptor: int, flags: int) -> None:
    null = os.open(os.devnull, flags)
    os.dup2(null, descriptor)
    os.close(null)


def parse_options(about: str, arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    about, _, more = about.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=about, epilog=more, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--device", choices=("cuda", "cpu"), default="cuda", help="where to run (default: cuda)"
    )
    parser.add_argument(
        "--needs",
        action="store_true",
        help="print what is installed and what is missing as JSON, and end (`needs.start`)",
    )
    return parser.parse_args(arguments)


def main(engine: Engine, about: str, arguments: Sequence[str] | None = None) -> int:
    """Run an engine's worker, described by `about`, and return its exit code."""
    options = parse_options(about, arguments)
    requests, answers = claim_stdio()
    try:
        serve(Worker(engine, options.device), requests, answers)
    except DeviceLost as lost:
        print(f"worker: {lost}", file=sys.stderr, flush=True)
        # Skip clean-up: errors that libraries print while they fail to clean up would hide this.
        os._exit(1)
    return 0
