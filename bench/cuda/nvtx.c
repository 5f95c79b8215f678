#include "cuda/nvtx.h"

#include <stddef.h>

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
static const bool AVAILABLE = true;
#else
static const bool AVAILABLE = false;
static void nvtxRangePushA(const char *name) {
    (void)name;
}
static void nvtxRangePop(void) {}
#endif

static void (*on_range)(void *context, const char *name);
static void *on_range_context;

void nvtx_listen(void (*listener)(void *context, const char *name), void *context) {
    on_range = listener;
    on_range_context = context;
}

bool nvtx_available(void) {
    return AVAILABLE;
}

void nvtx_push(const char *name) {
    nvtxRangePushA(name);
    if (on_range != NULL)
        on_range(on_range_context, name);
}

void nvtx_pop(void) {
    if (on_range != NULL)
        on_range(on_range_context, NULL);
    nvtxRangePop();
}
