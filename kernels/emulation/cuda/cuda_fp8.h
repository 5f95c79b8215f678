// host_cuda.h has what the kernels use of it.
#pragma once
