#include "cuda/nvtx.h"

#include <stddef.h>

static void (*told)(void *context, const char *name);
static void *told_context;

void nvtx_listen(void (*listener)(void *context, const char *name), void *context) {
    told = listener;
    told_context = context;
}

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>

bool nvtx_available(void) {
    return true;
}

static void push(const char *name) {
    nvtxRangePushA(name);
}

static void pop(void) {
    nvtxRangePop();
}
#else
bool nvtx_available(void) {
    return false;
}

static void push(const char *name) {
    (void)name;
}

static void pop(void) {}
#endif

void nvtx_push(const char *name) {
    push(name);
    if (told != NULL)
        told(told_context, name);
}

void nvtx_pop(void) {
    if (told != NULL)
        told(told_context, NULL);
    pop();
}
