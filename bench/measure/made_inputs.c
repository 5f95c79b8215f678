#include "measure/made_inputs.h"

#include "base/memory.h"
#include "io/fs.h"
#include "workloads/described/described.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

bool made_inputs_exist(const char *workload) {
    const description_t *d = described_find(workload);
    for (size_t i = 0; d != NULL && i < d->n_arrays; i++)
        if (d->arrays[i].is_input && d->arrays[i].fill.kind == FILL_FUNCTION)
            return true;
    return false;
}

status_t made_inputs_open(const case_t *oracle, worker_link_t *worker, uint64_t seed,
                          double timeout_s, made_inputs_t *made, error_t *err) {
    *made = (made_inputs_t){.worker = worker, .seed = seed, .timeout_s = timeout_s};
    if (!made_inputs_exist(oracle->workload))
        return STATUS_OK;
    TRY(fs_temporary_folder_in(worker->folder, &made->folder, err));
    made->spec = case_copy(oracle);
    return STATUS_OK;
}

void made_inputs_free(made_inputs_t *made) {
    if (made->folder == NULL)
        return;
    fs_remove_temporary(&made->folder);
    free(made->files);
    case_free(&made->spec);
}

static char *folder_of(const made_inputs_t *made, uint64_t refill) {
    return mem_format("%s/%" PRIu64, made->folder, refill);
}

/* ---- who reads --------------------------------------------------------------------------------- */

static made_files_t *files_of(const made_inputs_t *made, uint64_t refill) {
    size_t i = 0;
    while (i < made->n_files && made->files[i].refill != refill)
        i++;
    return i < made->n_files ? &made->files[i] : NULL;
}

static void add_reader(made_inputs_t *made, uint64_t refill) {
    made_files_t *files = files_of(made, refill);
    if (files == NULL) {
        mem_grow(&made->files, made->n_files, &made->capacity, sizeof *made->files);
        files = &made->files[made->n_files++];
        *files = (made_files_t){.refill = refill};
    }
    files->readers++;
}

static void drop_reader(made_inputs_t *made, uint64_t refill) {
    made_files_t *files = refill != 0 ? files_of(made, refill) : NULL;
    if (files == NULL || --files->readers > 0)
        return;
    char *folder = folder_of(made, refill);
    fs_remove_tree(folder, NULL);
    free(folder);
    *files = made->files[--made->n_files];
}

void made_inputs_leave(made_inputs_t *made, made_reader_t *reader) {
    for (size_t i = 0; made != NULL && i < MADE_SEEDS; i++)
        drop_reader(made, reader->refills[i]);
    fs_remove_temporary(&reader->copy);
    *reader = (made_reader_t){0};
}

static void note_reader(made_inputs_t *made, uint64_t refill, made_reader_t *reader) {
    if (refill == 0 || refill == reader->refills[0])
        return;
    add_reader(made, refill);
    drop_reader(made, reader->refills[1]);
    reader->refills[1] = reader->refills[0];
    reader->refills[0] = refill;
}

/* ---- making ------------------------------------------------------------------------------------ */

static status_t ask(made_inputs_t *made, uint64_t refill, const char *folder, error_t *err) {
    json_t *described, *answer;
    TRY(worker_link_start(made->worker, made->timeout_s, err));
    TRY(described_request(described_find(made->spec.workload), &made->spec, &described, err));
    json_t *request = json_pack("{s:s, s:o, s:I, s:I, s:o, s:s}", "op", "inputs", "case",
                                case_to_json(&made->spec), "seed", (json_int_t)made->seed, "refill",
                                (json_int_t)refill, "operator", described, "path", folder);
    TRY(worker_link_ask(made->worker, request, made->timeout_s, &answer, err));
    status_t status = STATUS_OK;
    if (!worker_answer_is_ok(answer)) {
        char *failure = worker_failure(made->worker, answer);
        status = error_set(err, STATUS_FAILED, "%s", failure);
        free(failure);
    }
    json_decref(answer);
    return status;
}

static status_t make(made_inputs_t *made, uint64_t refill, const char *folder, error_t *err) {
    if (fs_exists(folder))
        return STATUS_OK;
    TRY(fs_make_folders(folder, err));
    const status_t status = ask(made, refill, folder, err);
    if (status != STATUS_OK)
        fs_remove_tree(folder, NULL);
    return status;
}

/* ---- behind walls ------------------------------------------------------------------------------ */

static status_t copy_file(const char *from, const char *to, const char *name, error_t *err) {
    char *source = fs_join(from, name), *path = fs_join(to, name), *data = NULL;
    size_t size;
    status_t status = fs_read_up_to(source, SIZE_MAX, &data, &size, err);
    if (status == STATUS_OK)
        status = fs_write_atomic(path, data, size, err);
    free(data);
    free(source);
    free(path);
    return status;
}

static status_t copy_files(const char *from, const char *to, error_t *err) {
    text_list_t names = {0};
    status_t status = fs_make_folders(to, err);
    if (status == STATUS_OK)
        status = fs_list(from, "", &names, err);
    for (size_t i = 0; i < names.n && status == STATUS_OK; i++)
        status = copy_file(from, to, names.items[i], err);
    text_list_free(&names);
    return status;
}

/* Those that the reader has no more go. */
static status_t hand_over(const char *from, uint64_t refill, const made_reader_t *reader,
                          error_t *err) {
    char *to = mem_format("%s/%" PRIu64, reader->copy, refill);
    text_list_t seeds = {0};
    status_t status = fs_list(reader->copy, "", &seeds, err);
    for (size_t i = 0; i < seeds.n; i++) {
        const uint64_t seed = strtoull(seeds.items[i], NULL, 10);
        char *old = fs_join(reader->copy, seeds.items[i]);
        if (seed != 0 && seed != refill && seed != reader->refills[0] && seed != reader->refills[1])
            fs_remove_tree(old, NULL);
        free(old);
    }
    if (status == STATUS_OK && !fs_exists(to))
        status = copy_files(from, to, err);
    text_list_free(&seeds);
    free(to);
    return status;
}

status_t made_inputs_have(made_inputs_t *made, uint64_t refill, const worker_link_t *worker,
                          made_reader_t *reader, error_t *err) {
    if (made->folder == NULL)
        return STATUS_OK;
    const bool is_walled = worker != made->worker && worker->folder != NULL;
    char *folder = folder_of(made, refill);
    note_reader(made, refill, reader);
    status_t status = make(made, refill, folder, err);
    if (status == STATUS_OK && is_walled && reader->copy == NULL)
        status = fs_temporary_folder_in(worker->folder, &reader->copy, err);
    if (status == STATUS_OK && is_walled)
        status = hand_over(folder, refill, reader, err);
    free(folder);
    return status;
}
