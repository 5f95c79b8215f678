#!/usr/bin/env python3
"""The PyTorch worker: runs cases of the engine `pytorch` for `bench run`.

It reads requests from stdin and writes answers to stdout, one JSON object a line
(`docs/worker-protocol.md`). To try it by hand:

    echo '{"op":"hello","protocol":1}' | python3 reference_pytorch/worker.py --device cpu
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO

import needs

if __name__ == "__main__" and (reason := needs.python_lacks()):
    # The imports below need a newer Python.
    sys.exit(needs.decline(reason))

import protocol
from protocol import Answer, DeviceLost, ProtocolError
from timing import now_ns

if TYPE_CHECKING:
    from session import Session


class Worker:
    """Answers one request after another."""

    def __init__(self, device_kind: str) -> None:
        self._device_kind = device_kind
        self._session: Session | None = None
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
            # No PyTorch, no GPU or an old driver. Any other error is a bug and ends the worker.
            return protocol.failed(str(error))
        return self._introduction

    def _start(self) -> None:
        if lacks := needs.packages_lack():
            raise needs.Unavailable(lacks)
        start_ns = now_ns()
        # Timed separately: every PyTorch program pays for this import.
        needs.expect_module("torch")
        import_ns = now_ns() - start_ns
        needs.expect_module("numpy")
        import torch

        if lacks := needs.torch_lacks(torch.__version__):
            raise needs.Unavailable(lacks)
        from session import Session

        session = Session(self._device_kind)
        about = session.describe()
        about["once_ns"] = {"import": import_ns, **about["once_ns"]}
        self._introduction = protocol.ok(protocol=protocol.VERSION, **about)
        self._session = session


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


def parse_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    about, _, more = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        description=about, epilog=more, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--device", choices=("cuda", "cpu"), default="cuda", help="where to run (default: cuda)"
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the worker and return its exit code."""
    options = parse_options(arguments)
    requests, answers = claim_stdio()
    if "BENCH_SCRATCH" in os.environ:  # for cases that are opened without `compile_cache`
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(
            os.environ["BENCH_SCRATCH"], "inductor"
        )
    try:
        serve(Worker(options.device), requests, answers)
    except DeviceLost as lost:
        print(f"worker: {lost}", file=sys.stderr, flush=True)
        # Skip clean-up: errors that libraries print while they fail to clean up would hide this.
        os._exit(1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
