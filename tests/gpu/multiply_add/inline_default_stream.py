"""The naive kernel on the default stream, of which no graph knows."""

import _inline

extension = _inline.built("multiply_add_default", "0")


def run(a, b):
    return extension.run(a, b)
