"""A naive kernel through load_inline: an element per thread."""

from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/extension.h>
__global__ void multiply_add(const float *a, const float *b, float *y, long n) {
    const long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a[i] * b[i] + a[i];
}
torch::Tensor run(torch::Tensor a, torch::Tensor b) {
    auto y = torch::empty_like(a);
    const long n = a.numel();
    multiply_add<<<(n + 255) / 256, 256, 0, STREAM>>>(
        a.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""


def built(name, stream):
    """Return the extension that launches on a stream."""
    return load_inline(
        name=name,
        cpp_sources="torch::Tensor run(torch::Tensor a, torch::Tensor b);",
        cuda_sources=SOURCE.replace("STREAM", stream),
        functions=["run"],
    )
