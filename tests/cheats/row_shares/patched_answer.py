"""Changes the times where the answer is written."""

import json

from _honest import row_shares

VERDICT = {"status": "failed", "reason": "has replaced json.dumps of the harness"}

dumps = json.dumps


def halved(answer, **keys):
    phases = {name: [x / 2 for x in ns] for name, ns in answer.get("phases", {}).items()}
    return dumps({**answer, "phases": phases} if phases else answer, **keys)


def run(x):
    json.dumps = halved
    return row_shares(x)
