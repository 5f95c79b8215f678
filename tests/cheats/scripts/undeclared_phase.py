"""Does not say, when it opens, that it times what contenders are compared by."""

import honest

VERDICT = {"status": "failed", "reason": 'no phase "host_to_host"'}


class Contender(honest.Contender):
    phases = ("forward",)
