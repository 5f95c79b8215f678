// What a tensor map holds on the host: of kernels/common/tensor_maps.cuh's 128 bytes.
#pragma once

struct emulated_map_t {
    unsigned char *data;
    uint64_t sizes[5], strides[4];  // elements; bytes
    uint16_t box[5];
    uint8_t steps[5], rank, element_bytes, swizzle;
};
static_assert(sizeof(emulated_map_t) <= 128, "it stands in a tensor_map_t");
