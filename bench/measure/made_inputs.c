#include "measure/made_inputs.h"

#include "base/memory.h"
#include "io/fs.h"
#include "workloads/common/session_parts.h"
#include "workloads/described/described.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_input(const described_array_t *array, made_part_t part) {
    const fill_kind_t kind = array->fill.kind;
    const bool is_drawn = kind == FILL_UNIFORM || kind == FILL_NORMAL || kind == FILL_INTEGERS;
    return array->is_input &&
           (part == MADE_ALL || fill_is_made(kind) || (part == MADE_NOT_DRAWN && !is_drawn) ||
            (part == MADE_NOT_IN_PLACE && !array->is_output));
}

bool made_inputs_exist(const char *workload, made_part_t part) {
    const description_t *d = described_find(workload);
    for (size_t i = 0; d != NULL && i < d->n_arrays; i++)
        if (is_input(&d->arrays[i], part))
            return true;
    return false;
}

status_t made_inputs_open(const case_t *oracle, worker_link_t *worker, uint64_t seed,
                          double timeout_s, made_inputs_t *made, error_t *err) {
    const description_t *d = described_find(oracle->workload);
    size_t bytes = 0;
    *made = (made_inputs_t){.worker = worker, .seed = seed, .timeout_s = timeout_s};
    if (!made_inputs_exist(oracle->workload, MADE_ALL))
        return STATUS_OK;
    TRY(description_arrays(d, oracle, made->shapes, &made->n_shapes, err));
    for (size_t i = 0; i < made->n_shapes; i++)
        bytes += made->shapes[i].array->is_input ? 2 * made->shapes[i].bytes
                                                 : 0; /* as opened, refilled */
    TRY(worker->folder != NULL ? fs_temporary_folder_in(worker->folder, &made->folder, err)
                               : fs_temporary_folder_for(bytes, &made->folder, err));
    made->spec = case_copy(oracle);
    return STATUS_OK;
}

status_t made_inputs_fit(const made_inputs_t *made, made_part_t part, error_t *err) {
    double bytes = 0;
    for (size_t i = 0; i < made->n_shapes; i++)
        bytes += is_input(made->shapes[i].array, part) ? (double)made->shapes[i].bytes : 0;
    return host_room(bytes, err);
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
    AUTO_FREE char *folder = folder_of(made, refill);
    fs_remove_tree(folder, NULL);
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
    json_t *described;
    json_auto_t *answer = NULL;
    TRY(worker_link_start(made->worker, made->timeout_s, err));
    TRY(described_request(described_find(made->spec.workload), &made->spec, &described, err));
    json_t *request = json_pack("{s:s, s:o, s:I, s:I, s:o, s:s}", "op", "inputs", "case",
                                case_to_json(&made->spec), "seed", (json_int_t)made->seed, "refill",
                                (json_int_t)refill, "operator", described, "path", folder);
    TRY(worker_link_ask(made->worker, request, made->timeout_s, &answer, err));
    if (worker_answer_is_ok(answer))
        return STATUS_OK;
    AUTO_FREE char *failure = worker_failure(made->worker, answer);
    return error_set(err, STATUS_FAILED, "%s", failure);
}

/* Not while anything is timed: all cores may draw the first inputs. */
static void fill(const made_inputs_t *made, size_t i, uint64_t refill, void *values) {
    const described_shape_t *shape = &made->shapes[i];
    if (refill == 0)
        fill_array(values, shape->n, shape->element, &shape->fill, made->seed, (uint32_t)i);
    else
        fill_again(values, shape->n, shape->element, &shape->fill, fill_key(made->seed, refill),
                   (uint32_t)i);
}

static status_t draw(const made_inputs_t *made, size_t i, uint64_t refill, const char *path,
                     error_t *err) {
    void *values;
    const size_t bytes = made->shapes[i].bytes;
    TRY(fs_map_new(path, bytes, &values, err));
    if (bytes == 0)
        return STATUS_OK;
    fill(made, i, refill, values);
    munmap(values, bytes);
    return STATUS_OK;
}

static made_stamp_t stamp_of(const char *path) {
    struct stat info;
    return lstat(path, &info) == 0 && S_ISREG(info.st_mode)
               ? (made_stamp_t){info.st_ino, info.st_ctim}
               : (made_stamp_t){0};
}

/* Files of refills are those of one request, but for what a function makes: readers go back to it. */
static bool is_whole(const made_inputs_t *made, size_t i, uint64_t refill, const char *path) {
    const made_stamp_t found = stamp_of(path), made_as = made->stamps[i];
    if (refill != 0)
        return found.number != 0 && made->shapes[i].fill.kind == FILL_FUNCTION;
    return found.number != 0 && found.number == made_as.number &&
           found.changed.tv_sec == made_as.changed.tv_sec &&
           found.changed.tv_nsec == made_as.changed.tv_nsec;
}

/* Constants and data stay in a refill. */
static status_t make_one(made_inputs_t *made, size_t i, uint64_t refill, const char *folder,
                         bool *is_asked, error_t *err) {
    const fill_kind_t kind = made->shapes[i].fill.kind;
    const bool is_made = fill_is_made(kind);
    if (refill != 0 && (kind == FILL_CONSTANT || kind == FILL_DATA))
        return STATUS_OK;
    AUTO_FREE char *path = fs_join(folder, made->shapes[i].name);
    if (is_made && *is_asked) {
        /* The oracle has written it with the one before. */
    } else if (!is_whole(made, i, refill, path)) {
        fs_remove_tree(path, NULL);
        *is_asked |= is_made;
        TRY(is_made ? ask(made, refill, folder, err) : draw(made, i, refill, path, err));
    }
    if (refill == 0)
        made->stamps[i] = stamp_of(path);
    return STATUS_OK;
}

static status_t make(made_inputs_t *made, made_part_t part, uint64_t refill, const char *folder,
                     error_t *err) {
    bool is_asked = false;
    status_t status = fs_make_folders(folder, err);
    for (size_t i = 0; i < made->n_shapes && status == STATUS_OK; i++)
        if (is_input(made->shapes[i].array, part))
            status = make_one(made, i, refill, folder, &is_asked, err);
    if (status != STATUS_OK)
        fs_remove_tree(folder, NULL);
    return status;
}

static void remove_drawn(const made_inputs_t *made, const char *folder, uint64_t refill) {
    AUTO_FREE char *of_seed = mem_format("%s/%" PRIu64, folder, refill);
    for (size_t i = 0; i < made->n_shapes; i++)
        if (made->shapes[i].array->is_input && made->shapes[i].fill.kind != FILL_FUNCTION) {
            AUTO_FREE char *path = fs_join(of_seed, made->shapes[i].name);
            fs_remove_tree(path, NULL);
        }
    rmdir(of_seed); /* unless a function made others */
}

void made_inputs_drop(const made_inputs_t *made, uint64_t refill, const made_reader_t *reader) {
    if (made == NULL || made->folder == NULL || refill == 0)
        return;
    remove_drawn(made, made->folder, refill);
    if (reader->copy != NULL)
        remove_drawn(made, reader->copy, refill);
}

/* ---- behind walls ------------------------------------------------------------------------------ */

/* Those that are not there yet. */
static status_t copy_files(const char *from, const char *to, error_t *err) {
    AUTO(text_list_free) text_list_t names = {0};
    TRY(fs_make_folders(to, err));
    TRY(fs_list(from, "", &names, err));
    for (size_t i = 0; i < names.n; i++) {
        AUTO_FREE char *source = fs_join(from, names.items[i]), *path = fs_join(to, names.items[i]);
        if (!fs_exists(path))
            TRY(fs_copy_new(source, path, err));
    }
    return STATUS_OK;
}

/* Those that the reader has no more go. */
static status_t hand_over(const char *from, uint64_t refill, const made_reader_t *reader,
                          error_t *err) {
    AUTO_FREE char *to = mem_format("%s/%" PRIu64, reader->copy, refill);
    AUTO(text_list_free) text_list_t seeds = {0};
    TRY(fs_list(reader->copy, "", &seeds, err));
    for (size_t i = 0; i < seeds.n; i++) {
        const uint64_t seed = strtoull(seeds.items[i], NULL, 10);
        AUTO_FREE char *old = fs_join(reader->copy, seeds.items[i]);
        if (seed != 0 && seed != refill && seed != reader->refills[0] && seed != reader->refills[1])
            fs_remove_tree(old, NULL);
    }
    return copy_files(from, to, err);
}

status_t made_inputs_have(made_inputs_t *made, made_part_t part, uint64_t refill,
                          const worker_link_t *worker, made_reader_t *reader, error_t *err) {
    if (made->folder == NULL || !made_inputs_exist(made->spec.workload, part))
        return STATUS_OK;
    const bool is_walled = worker != made->worker && worker->folder != NULL;
    AUTO_FREE char *folder = folder_of(made, refill);
    note_reader(made, refill, reader);
    TRY(make(made, part, refill, folder, err));
    if (is_walled && reader->copy == NULL)
        TRY(fs_temporary_folder_in(worker->folder, &reader->copy, err));
    return is_walled ? hand_over(folder, refill, reader, err) : STATUS_OK;
}
