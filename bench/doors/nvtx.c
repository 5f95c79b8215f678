#include "doors/nvtx.h"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>

bool nvtx_available(void) {
    return true;
}

void nvtx_push(const char *name) {
    nvtxRangePushA(name);
}

void nvtx_pop(void) {
    nvtxRangePop();
}
#else
bool nvtx_available(void) {
    return false;
}

void nvtx_push(const char *name) {
    (void)name;
}

void nvtx_pop(void) {}
#endif
