#include "workloads/common/session_parts.h"

#include "base/memory.h"
#include "base/units.h"
#include "engine/gpu.h"
#include "engine/session.h"
#include "io/folders.h"
#include "io/npy.h"

#include <stdlib.h>
#include <string.h>

status_t session_open(session_t *session, const open_request_t *request, size_t state_bytes,
                      prepare_t *prepare, error_t *err) {
    session->state = mem_zeroed(1, state_bytes);
    *(gpu_t **)session->state = session->engine;
    const status_t status = prepare(session, request, err);
    if (status != STATUS_OK)
        session->ops->close(session);
    return status;
}

status_t session_open_program(session_t *session, const open_request_t *request, size_t state_bytes,
                              prepare_t *prepare, error_t *err) {
    if (request->cubin == NULL)
        return error_set(err, STATUS_FAILED, "a cuda case needs \"program\"");
    return session_open(session, request, state_bytes, prepare, err);
}

status_t session_skip(session_t *session, status_t status) {
    session->skipped = status != STATUS_OK;
    return status;
}

status_t session_open_cublaslt(session_t *session, cublaslt_api_t *api, error_t *err) {
    char *root, *path = NULL;
    TRY(folders_data(&root, err));
    const status_t status = cublaslt_open(root, api, &path, err);
    free(root);
    free(path);
    return session_skip(session, status);
}

status_t session_is_ref(session_t *session, const case_t *spec, bool *is_ref, error_t *err) {
    *is_ref = strcmp(spec->variant, "ref") == 0;
    if (!*is_ref && strcmp(spec->variant, "omp") != 0)
        return error_set(err, STATUS_FAILED, "no variant \"%s\" (known: ref, omp)", spec->variant);
    if (*is_ref || strcmp(spec->dtype, "f32") == 0)
        return STATUS_OK;
    return session_skip(session,
                        error_set(err, STATUS_FAILED, "dtype %s: only f32 is written for %s",
                                  spec->dtype, spec->variant));
}

void session_add_phases(session_t *session, clock_domain_t clock, const char *const *names) {
    for (; *names != NULL; names++)
        recorder_phase(&session->recorder, *names, clock);
}

status_t host_room(double need_bytes, error_t *err) {
    const double room_bytes = host_available_bytes();
    if (!(need_bytes > room_bytes)) /* also if it is unknown (NaN) */
        return STATUS_OK;
    char need[UNITS_TEXT], room[UNITS_TEXT];
    return error_set(err, STATUS_FAILED, "needs %s of host memory, %s are free",
                     units_bytes(need, need_bytes), units_bytes(room, room_bytes));
}

char *results_text(json_t *results) {
    char *text = json_dumps(results, JSON_COMPACT);
    json_decref(results);
    return text;
}

status_t output_write(const output_array_t *array, const char *folder, text_list_t *arrays,
                      error_t *err) {
    const size_t shape[2] = {array->rows, array->columns};
    const unsigned n_dimensions = array->columns > 0 ? 2 : 1;
    char *path = mem_format("%s/%s.npy", folder, array->name);
    const status_t status = array->f64 != NULL
                                ? npy_write_f64(path, array->f64, shape, n_dimensions, err)
                                : npy_write_f32(path, array->f32, shape, n_dimensions, err);
    free(path);
    if (status == STATUS_OK)
        text_list_add(arrays, array->name);
    return status;
}

status_t output_write_scale(const char *name, double scale, const char *folder, error_t *err) {
    const size_t one = 1;
    char *path = mem_format("%s/%s.scale.npy", folder, name);
    const status_t status = npy_write_f64(path, &scale, &one, 1, err);
    free(path);
    return status;
}
