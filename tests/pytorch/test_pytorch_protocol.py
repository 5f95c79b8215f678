"""Requests: valid ones, and reasons for invalid ones."""

import json
import re
from pathlib import Path

import pytest

import protocol
from operator_request import Array, Fill, Operator, Scalar

DOCUMENT = Path(__file__).parents[2] / "docs" / "worker-protocol.md"

CASE = (
    '{"id":"c","workload":"w","engine":"pytorch","device":"cpu","variant":"eager","dtype":"f32",'
    '"params":{"batch":1},"techniques":{}}'
)
SAMPLE = '"round":0,"budget_ns":1,"max_samples":1,"warmup_samples":0,"warmup_ns":0'

ARRAY = '{"name":"x","shape":[2],"dtype":"f32","input":true,"output":false}'
OPERATOR = '{"folder":"/f","hash":"0","name":"w","arrays":[' + ARRAY + '],"types":{"T":"f16"}}'


def with_operator(old: str, new: str) -> str:
    """Return an open request whose operator has been changed in one place."""
    assert old in OPERATOR
    changed = OPERATOR.replace(old, new)
    return '{"op":"open","case":' + CASE + ',"seed":1,"operator":' + changed + "}"


BAD_LINES = [
    ("", None, "the line is not JSON"),
    ("{", None, "the line is not JSON"),
    ("[" * 100_000, None, "the line is not JSON"),
    ('{"op":"hello","protocol":NaN}', None, "NaN is not a JSON number"),
    ('{"op":"hello","protocol":' + "9" * 5000 + "}", None, "the line is not JSON"),
    ('"\xff"', None, "expected a JSON object, found a string"),
    ("[]", None, "expected a JSON object, found an array"),
    ("null", None, "expected a JSON object, found null"),
    ("3", None, "expected a JSON object, found a number"),
    (
        "{}",
        None,
        "op: expected one of hello, open, inputs, output, refill, sample, last, verify, evaluate, ",
    ),
    ('{"op":"dance"}', None, 'op: expected one of .*, found "dance"'),
    ('{"op":["bye"]}', None, r'op: expected one of .*, found \["bye"\]'),
    ('{"op":"dance","id":"c"}', "c", "op: expected one of"),
    ('{"op":"hello"}', None, "protocol: missing"),
    ('{"op":"hello","protocol":"1"}', None, "protocol: expected an integer, found a string"),
    ('{"op":"hello","protocol":2,"x":1}', None, "x: unknown key; known: protocol"),
    ('{"op":"bye","x":1}', None, "x: unknown key; known: none"),
    ('{"op":"close"}', None, "id: missing"),
    ('{"op":"close","id":7}', None, "id: expected a string, found a number"),
    ('{"op":"close","id":""}', "", "id: expected a string, found an empty string"),
    ('{"op":"output","id":"c"}', "c", "path: missing"),
    ('{"op":"open","case":3,"seed":1}', None, "case: expected an object, found a number"),
    ('{"op":"open","case":{"id":"c"},"seed":1}', "c", r"case\.workload: missing"),
    (
        '{"op":"open","case":' + CASE.replace('"params"', '"x":1,"params"') + ',"seed":1}',
        "c",
        r"case\.x: unknown key; known: id, workload, engine, device, variant, dtype, params",
    ),
    (
        '{"op":"open","case":' + CASE.replace('{"batch":1}', "[]") + ',"seed":1}',
        "c",
        r"case\.params: expected an object, found an array",
    ),
    ('{"op":"open","case":' + CASE + "}", "c", "seed: missing"),
    ('{"op":"open","case":' + CASE + ',"seed":-1}', "c", "seed: expected 0 … .*, found -1"),
    ('{"op":"open","case":' + CASE + ',"seed":1.5}', "c", "seed: expected an integer"),
    ('{"op":"open","case":' + CASE + ',"seed":true}', "c", "expected an integer, found true"),
    (
        '{"op":"open","case":' + CASE + ',"seed":1,"profile":0}',
        "c",
        "profile: expected true or false, found a number",
    ),
    (
        '{"op":"open","case":' + CASE + ',"seed":1,"program":"p"}',
        "c",
        "program: expected an object, found a string",
    ),
    (with_operator(OPERATOR, "[]"), "c", "operator: expected an object, found an array"),
    (with_operator('"hash":"0",', ""), "c", r"operator\.hash: missing"),
    (with_operator('"hash"', '"hush"'), "c", r"operator\.hush: unknown key; known: folder, hash, "),
    (with_operator("[" + ARRAY + "]", "7"), "c", r"operator\.arrays: expected an array, found a n"),
    (with_operator("[2]", "[2,-1]"), "c", r"operator\.arrays\[0\]\.shape\[1\]: expected 0 … "),
    (
        with_operator("f16", "f8"),
        "c",
        r"operator\.types\.T: expected one of f32, f16, bf16, .*, found f8",
    ),
    (
        with_operator("f32", "f8"),
        "c",
        r"operator\.arrays\[0\]\.dtype: expected one of f32, f16, bf16, .*, found f8",
    ),
    (
        with_operator('"input"', '"fill":{"kind":"sawtooth"},"input"'),
        "c",
        r"operator\.arrays\[0\]\.fill\.kind: expected one of uniform, .*, found sawtooth",
    ),
    (
        with_operator(
            '"name":"w"', '"name":"w","scalars":[{"name":"e","dtype":"f32","value":"1"}]'
        ),
        "c",
        r"operator\.scalars\[0\]\.value: expected a number, found a string",
    ),
    ('{"op":"bye","op":"hello"}', None, "duplicate key op"),
    ('{"op":"close","id":null}', None, "id: expected a string, found null"),
    ('{"op":"sample","id":"c"}', "c", "budget_ns: missing"),
    (
        '{"op":"sample","id":"c",' + SAMPLE.replace('max_samples":1', 'max_samples":-1') + "}",
        "c",
        "max_samples: expected 0 … .*, found -1",
    ),
]


@pytest.mark.parametrize(("line", "case_id", "reason"), BAD_LINES, ids=range(len(BAD_LINES)))
def test_bad_line_is_refused_with_its_reason(line, case_id, reason):
    with pytest.raises(protocol.ProtocolError, match=reason) as caught:
        protocol.parse(line.encode())
    assert caught.value.case_id == case_id


def test_bytes_that_are_not_utf8_are_refused():
    with pytest.raises(protocol.ProtocolError, match="not JSON"):
        protocol.parse(b'{"op":"close","id":"\xff"}')


def test_a_line_beyond_the_limit_is_refused_unread():
    line = b" " * protocol.MAX_LINE_BYTES + b'{"op":"bye"}'
    with pytest.raises(protocol.ProtocolError, match="longer than 67108864 bytes"):
        protocol.parse(line)


def test_open_is_read_in_full():
    line = f'{{"op":"open","case":{CASE},"seed":18446744073709551615,"profile":true}}'
    request = protocol.parse(line.encode())
    spec = protocol.CaseSpec("c", "w", "pytorch", "cpu", "eager", "f32", {"batch": 1}, {})
    assert request == protocol.OpenRequest(spec, seed=2**64 - 1, program=None, profile=True)
    assert request.id == "c"


def test_an_operator_is_read_in_full():
    fill = '"fill":{"kind":"uniform","low":-1.5,"high":2},"input"'
    line = with_operator('"input"', fill)[:-2]
    line += (
        ',"scalars":[{"name":"e","dtype":"f32","value":1e-5}],"deterministic":false,"tf32":true}}'
    )
    given = Array("x", (2,), "f32", True, False, Fill("uniform", -1.5, 2))
    scalars = (Scalar("e", "f32", 1e-5),)
    types = {"T": "f16"}
    expected = Operator("/f", "0", "w", (given,), types, scalars, deterministic=False, tf32=True)
    assert protocol.parse(line.encode()).operator == expected


def test_outputs_are_in_place_arrays_first():
    arrays = [Array(name, (), "f32", name in "ab", name in "bc", None) for name in ("c", "a", "b")]
    operator = Operator("/f", "0", "w", tuple(arrays), {"T": "f32"})
    assert [array.name for array in operator.outputs] == ["b", "c"]
    assert operator.parameters == ["a", "b"]


def test_sample_is_read_in_full():
    line = (
        '{"op":"sample","id":"c","round":1,"budget_ns":2,"max_samples":3,'
        '"warmup_samples":4,"warmup_ns":5}'
    )
    assert protocol.parse(line.encode()) == protocol.SampleRequest("c", 2, 3, 4, 5, round=1)


def test_requests_for_new_inputs_are_read_in_full():
    line = '{"op":"sample","id":"c",' + SAMPLE + ',"fresh":18446744073709551615}'
    assert protocol.parse(line.encode()).fresh == 2**64 - 1
    line = '{"op":"sample","id":"c",' + SAMPLE + ',"fresh":null}'
    assert protocol.parse(line.encode()).fresh is None
    for line, expected in (
        ('{"op":"refill","id":"c","seed":0}', protocol.RefillRequest("c", 0)),
        ('{"op":"last","id":"c","path":"/p"}', protocol.LastRequest("c", "/p")),
        ('{"op":"audit","id":"c","runs":16}', protocol.AuditRequest("c", 16)),
    ):
        assert protocol.parse(line.encode()) == expected


def test_optional_keys_may_be_null_or_absent():
    optional = ',"program":null,"profile":null'
    bare, full = (
        protocol.parse(f'{{"op":"open","case":{CASE},"seed":1{keys}}}'.encode())
        for keys in ("", optional)
    )
    assert bare == full
    assert (bare.program, bare.profile) == (None, False)


def test_every_request_in_the_document_is_accepted():
    blocks = re.findall(r"```json\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    requests = [block.split('\n{"status"')[0] for block in blocks]
    requests.append('{"op":"bye"}')
    ops = {json.loads(request)["op"] for request in requests}
    for request in requests:
        protocol.parse(request.encode())
    assert ops == set(protocol._REQUESTS)


def test_answers_are_one_line_of_strict_json():
    answer = protocol.failed("first\nsecond — 3 µs", "c")
    line = protocol.encode(answer)
    assert line.count(b"\n") == 1
    assert line.isascii()
    assert json.loads(line) == {"status": "failed", "id": "c", "reason": "first\nsecond — 3 µs"}
    with pytest.raises(ValueError, match="JSON compliant"):
        protocol.encode(protocol.ok(x=float("nan")))
