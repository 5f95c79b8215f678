"""The naive kernel on PyTorch's current stream."""

import _inline

extension = _inline.built("multiply_add", "at::cuda::getCurrentCUDAStream()")


def run(a, b):
    return extension.run(a, b)
