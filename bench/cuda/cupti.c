#include "cuda/cupti.h"

#include "cuda/dynlib.h"

#define SYMBOL(field, name)                                                                        \
    { name, offsetof(cupti_api_t, field), false }

static const library_symbol_t SYMBOLS[] = {
    SYMBOL(get_version, "cuptiGetVersion"),
    SYMBOL(register_clock, "cuptiActivityRegisterTimestampCallback"),
    SYMBOL(register_callbacks, "cuptiActivityRegisterCallbacks"),
    SYMBOL(enable, "cuptiActivityEnable"),
    SYMBOL(disable, "cuptiActivityDisable"),
    SYMBOL(flush_all, "cuptiActivityFlushAll"),
    SYMBOL(next_record, "cuptiActivityGetNextRecord"),
    SYMBOL(callback_name, "cuptiGetCallbackName"),
    SYMBOL(result_text, "cuptiGetResultString"),
    {"cuptiFinalize", offsetof(cupti_api_t, finalize), true},
};

void cupti_candidates(const char *root, text_list_t *paths) {
    static const char *const SONAMES[] = {"libcupti.so.13", "libcupti.so.12", NULL};
    /* Beside NVRTC, in a toolkit's extras/, or before CUDA 13 in a separate wheel. */
    static const char *const FOLDERS[] = {"", "/../lib", "/../extras/CUPTI/lib64",
                                          "/../../cuda_cupti/lib", NULL};
    static const char *const FILES[] = {"libcupti.so.[0-9]*", NULL};
    library_candidates(&(library_places_t){"BENCH_CUPTI", SONAMES, FOLDERS, FILES}, root, paths);
}

status_t cupti_check(const cupti_api_t *api, cupti_result_t result, const char *what,
                     error_t *err) {
    const char *text = NULL;
    if (result == CUPTI_OK)
        return STATUS_OK;
    api->result_text(result, &text);
    return error_set(err, STATUS_FAILED, "%s: %s (%d)", what, text != NULL ? text : "unknown error",
                     result);
}

status_t cupti_open(const char *path, cupti_api_t *api, uint32_t *version, error_t *err) {
    const char *const names[] = {path, NULL};
    TRY(library_open(names, SYMBOLS, sizeof SYMBOLS / sizeof *SYMBOLS, api, err));
    TRY(cupti_check(api, api->get_version(version), "cuptiGetVersion", err));
    if (*version < CUPTI_VERSION_LEAST || *version > CUPTI_VERSION_MOST)
        return error_set(err, STATUS_FAILED,
                         "%s has CUPTI version %u; supported versions are %d to %d", path, *version,
                         CUPTI_VERSION_LEAST, CUPTI_VERSION_MOST);
    return STATUS_OK;
}
