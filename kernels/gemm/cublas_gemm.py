"""Matrix product by cuBLAS, through torch.mm.

As a program it prints the kernels that cuBLAS chose: python3 kernels/gemm/cublas_gemm.py M N K
"""

import sys

import torch

if torch.cuda.is_available():
    torch.backends.cuda.preferred_blas_library("cublas")
    # The sums of parts of k stay float32.
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False


def run(a, b):
    return torch.mm(a, b.t())


def kernels_of(m, n, k):
    """Return the names of the kernels of one product, which say tile, instruction and layout."""
    a, b = (torch.randn(rows, k, device="cuda").half() for rows in (m, n))
    run(a, b)  # cuBLAS chooses and loads them in the first call
    torch.cuda.synchronize()
    activity = torch.profiler.ProfilerActivity.CUDA
    with torch.profiler.profile(activities=[activity]) as profile:
        run(a, b)
        torch.cuda.synchronize()
    cuda = torch.autograd.DeviceType.CUDA
    return [event.name for event in profile.events() if event.device_type == cuda]


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: cublas_gemm.py M N K")
    if not torch.cuda.is_available():
        sys.exit("cublas_gemm.py: PyTorch finds no GPU")
    print("\n".join(kernels_of(*map(int, sys.argv[1:]))))
