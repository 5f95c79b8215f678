"""Does not say, when it opens, that it times what contenders are compared by."""

from __future__ import annotations

import honest

VERDICT = {"status": "failed", "reason": 'no phase "host_to_host"'}


class Contender(honest.Contender):
    phases = ("forward",)
