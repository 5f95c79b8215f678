"""The worker protocol's requests: one JSON object a line, checked here and nowhere else.

`docs/worker-protocol.md` is the contract. A request that passes `parse` has all required keys, no
unknown ones, and values of the right type. Callers check what the values mean (whether the workload
exists, whether the case is open).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from json_checks import ProtocolError, Shape, integer, kind_of, shape_of
from operator_request import OPERATOR, Operator

VERSION = 2
# Keys of requests that not every worker of this version knows.
REQUEST_KEYS = ("phase", "continues")
MAX_LINE_BYTES = 64 << 20

Answer = dict[str, Any]


class DeviceLost(Exception):
    """The device is unusable: the worker prints this error to stderr and exits."""


@dataclass(frozen=True)
class CaseSpec:
    """The identity of a case, as in the supervisor's `bench/model/case.h`."""

    id: str
    workload: str
    engine: str
    device: str
    variant: str
    dtype: str
    params: Mapping[str, Any]
    techniques: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class HelloRequest:
    """Describe the worker; the supervisor speaks version `protocol`."""

    protocol: int


@dataclass(frozen=True)
class OpenRequest:
    """Prepare a case to run."""

    case: CaseSpec
    seed: int
    program: Mapping[str, Any] | None = None
    profile: bool = False
    # The folder of what a tuning compiler chose; empty for a new choice.
    compile_cache: str | None = None
    # What `case.workload` names, if that is not a built-in workload.
    operator: Operator | None = None
    # Folder of the inputs: <inputs>/SEED/NAME of a refill's seed.
    inputs: str | None = None
    # The program that fills inputs of operators on the device: kernels/common/refill.cu.
    refill: str | None = None

    @property
    def id(self) -> str:
        """The id of the case."""
        return self.case.id


@dataclass(frozen=True)
class InputsRequest:
    """Write the inputs that a function makes for a refill's seed into the folder `path`."""

    case: CaseSpec
    seed: int
    refill: int
    operator: Operator
    path: str

    @property
    def id(self) -> str:
        """The id of the case, which need not be open."""
        return self.case.id


@dataclass(frozen=True)
class OutputRequest:
    """Fill outputs at random, run a case once and write its arrays into the folder `path`.

    With `continues` those in place are not written: the next run starts from them.
    """

    id: str
    path: str
    continues: bool = False


@dataclass(frozen=True)
class RefillRequest:
    """Have further runs use the inputs of this seed; 0: those as opened.

    With `continues` arrays in place start as the last output left them.
    """

    id: str
    seed: int
    continues: bool = False


@dataclass(frozen=True)
class SampleRequest:
    """Take one round of samples; a probe's last one with the inputs of the seed `fresh`.

    With a `phase`, only the probe that times it is asked; with both, only its fresh sample.
    """

    id: str
    budget_ns: int
    max_samples: int
    warmup_samples: int
    warmup_ns: int
    round: int = 0
    fresh: int | None = None
    phase: str | None = None


@dataclass(frozen=True)
class LastRequest:
    """Write what the last sample left into the folder `path`; run nothing."""

    id: str
    path: str


@dataclass(frozen=True)
class VerifyRequest:
    """Have a workload's own `verify` judge the outputs in the folder `path`."""

    id: str
    path: str


@dataclass(frozen=True)
class EvaluateRequest:
    """Have a workload's own `evaluate` say what a training has learned, which left `path`."""

    id: str
    path: str


@dataclass(frozen=True)
class AuditRequest:
    """Run what a phase, or else the compared one, times so many times, without clocks."""

    id: str
    runs: int
    phase: str | None = None


@dataclass(frozen=True)
class TraceStartRequest:
    """Prepare to trace the case that is opened next."""


@dataclass(frozen=True)
class TraceRequest:
    """Trace one run of a case to the file `path`; time 0 is `origin_ns` on the harness's clock."""

    id: str
    path: str
    origin_ns: int


@dataclass(frozen=True)
class CloseRequest:
    """Free a case."""

    id: str


@dataclass(frozen=True)
class ByeRequest:
    """End the worker."""


CaseRequest = (
    OpenRequest
    | InputsRequest
    | OutputRequest
    | RefillRequest
    | SampleRequest
    | LastRequest
    | VerifyRequest
    | EvaluateRequest
    | AuditRequest
    | TraceRequest
    | CloseRequest
)
Request = HelloRequest | TraceStartRequest | CaseRequest | ByeRequest


def ok(case_id: str | None = None, **keys: Any) -> Answer:
    """Return the answer to a request that succeeded."""
    return _answer("ok", case_id, keys)


def skipped(reason: str, case_id: str) -> Answer:
    """Return the answer for a case that does not apply here."""
    return _answer("skipped", case_id, {"reason": reason})


def failed(reason: str, case_id: str | None = None) -> Answer:
    """Return the answer to a request that failed."""
    return _answer("failed", case_id, {"reason": reason})


def encode(answer: Answer) -> bytes:
    """Return an answer as one line of strict JSON (no NaN) in ASCII."""
    return json.dumps(answer, allow_nan=False, separators=(",", ":")).encode("ascii") + b"\n"


def parse(line: bytes) -> Request:
    """Return the request on a line, or raise `ProtocolError`."""
    if len(line) > MAX_LINE_BYTES:
        raise ProtocolError(f"the line is longer than {MAX_LINE_BYTES} bytes")
    try:
        message = json.loads(
            line.decode("utf-8"),
            parse_constant=_refuse_constant,
            object_pairs_hook=_without_duplicates,
        )
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"the line is not JSON: {error}") from error
    if not isinstance(message, dict):
        raise ProtocolError(f"expected a JSON object, found {kind_of(message)}")
    case_id = _case_id_of(message)
    try:
        return _request(message)
    except ProtocolError as error:
        raise ProtocolError(str(error), case_id) from error


_SEED = integer(0, (1 << 64) - 1)
_CASE = shape_of(CaseSpec)

_REQUESTS: Mapping[str, Shape] = {
    "hello": shape_of(HelloRequest),
    "open": shape_of(OpenRequest, case=_CASE, seed=_SEED, operator=OPERATOR),
    "inputs": shape_of(InputsRequest, case=_CASE, seed=_SEED, refill=_SEED, operator=OPERATOR),
    "output": shape_of(OutputRequest),
    "refill": shape_of(RefillRequest, seed=_SEED),
    "sample": shape_of(SampleRequest, fresh=_SEED),
    "last": shape_of(LastRequest),
    "verify": shape_of(VerifyRequest),
    "evaluate": shape_of(EvaluateRequest),
    "audit": shape_of(AuditRequest),
    "trace_start": shape_of(TraceStartRequest),
    "trace": shape_of(TraceRequest),
    "close": shape_of(CloseRequest),
    "bye": shape_of(ByeRequest),
}


def _request(message: dict[str, Any]) -> Request:
    op = message.pop("op", None)
    if not isinstance(op, str) or op not in _REQUESTS:
        shown = "none" if op is None else json.dumps(op)[:80]
        raise ProtocolError(f"op: expected one of {', '.join(_REQUESTS)}, found {shown}")
    return _REQUESTS[op](message, "")


def _case_id_of(message: dict[str, Any]) -> str | None:
    """Return the case id of a request, also of a bad one: the answer repeats it."""
    case = message.get("case")
    for holder in (message, case if isinstance(case, dict) else {}):
        if isinstance(holder.get("id"), str):
            return holder["id"]
    return None


def _answer(status: str, case_id: str | None, keys: Mapping[str, Any]) -> Answer:
    return {"status": status, **({} if case_id is None else {"id": case_id}), **keys}


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = dict(pairs)
    if len(keys) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"duplicate key {twice}")
    return keys


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")
