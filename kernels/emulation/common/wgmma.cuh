// kernels/common/wgmma.cuh on the host (PTX ISA, "Matrix Descriptor Format"): rows of 128 bytes, eight of them every
// 1024 bytes, and bits 4 to 6 of an address are swizzled with bits 7 to 9.
#pragma once
#include "tensor_cores.cuh"

inline unsigned long long operand_at(unsigned address, unsigned sixteenth) {
    return address + sixteenth * 32;
}
#if WORKLOAD_BF16
typedef __nv_bfloat16 wgmma_element_t;
#else
typedef half wgmma_element_t;
#endif
inline float element_of(unsigned long long operand, unsigned row, unsigned k) {
    const unsigned address = (unsigned)operand + row / 8 * 1024 + row % 8 * 128 + k * 2;
    wgmma_element_t value;
    memcpy((void *)&value, from_shared(address ^ (address >> 7 & 7) << 4), 2);
    return (float)value;
}

inline void show_to_products() {}
inline void begin_products() {}
inline void end_products() {}
// Products are of a warpgroup: when one of its threads has waited for them, none of the others reads operands any more.
static thread_local meeting_t product_meetings[8];
template <unsigned LEFT> void wait_for_products() {
    meet(product_meetings[running / 128], [] { return 128; });
}
template <unsigned REGISTERS> void give_registers() {}
template <unsigned REGISTERS> void take_registers() {}

template <unsigned FRAGMENTS>
void multiply_64(float (&d)[FRAGMENTS][4], unsigned long long a, unsigned long long b, unsigned add) {
    const unsigned lane = running % 32, row = threadIdx.x % 128 / 32 * 16 + lane / 4;
    for (unsigned j = 0; j < FRAGMENTS; j++)
        for (unsigned i = 0; i < 4; i++) {
            float sum = add ? d[j][i] : 0;
            for (unsigned k = 0; k < 16; k++)
                sum += element_of(a, row + i / 2 * 8, k) * element_of(b, j * 8 + lane % 4 * 2 + i % 2, k);
            d[j][i] = sum;
        }
}
