#include "run/devices/devices.h"

#include "base/memory.h"
#include "io/fs.h"
#include "io/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ==== cores for each GPU ====================================================================== */

/* Of these cores, as the system describes them. */
static void core_places(const cores_t *cores, core_place_t places[MOST_CORES]) {
    for (size_t i = 0; i < cores->n; i++) {
        AUTO_FREE char *path = mem_format(
            "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cores->allowed[i]);
        char text[64];
        places[i] = (core_place_t){cores->allowed[i], cores->allowed[i]};
        if (fs_first_line(path, text, sizeof text))
            places[i].physical = atoi(text);
    }
}

static int by_place(const void *a, const void *b) {
    const core_place_t *x = a, *y = b;
    return x->physical != y->physical ? (x->physical > y->physical) - (x->physical < y->physical)
                                      : (x->core > y->core) - (x->core < y->core);
}

static int by_number(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}

static bool is_near(const core_share_t *share, int core) {
    enum { WORD = 8 * sizeof *share->near };
    return (share->near[(size_t)core / WORD] >> (size_t)core % WORD & 1) != 0;
}

static bool is_like(const core_share_t *a, const core_share_t *b) {
    return memcmp(a->near, b->near, sizeof a->near) == 0;
}

/* Cores near the device that none has yet. */
static size_t find_free(const core_place_t *places, size_t n_places, const core_share_t *share,
                        const bool taken[MOST_CORES], core_place_t *found) {
    size_t n = 0;
    for (size_t i = 0; i < n_places; i++)
        if (is_near(share, places[i].core) && !taken[places[i].core])
            found[n++] = places[i];
    return n;
}

/* Divide them among the devices that are near the same cores. A physical core goes to the device that
 * has its first thread. */
static void divide(const core_place_t *found, size_t n_found, const core_share_t *like,
                   core_share_t *shares, size_t n_shares, bool taken[MOST_CORES]) {
    size_t n_alike = 0, number = 0, at = 0;
    for (size_t i = 0; i < n_shares; i++)
        n_alike += is_like(like, &shares[i]);
    for (size_t i = 0; i < n_shares; i++) {
        if (!is_like(like, &shares[i]))
            continue;
        const size_t end = ++number * n_found / n_alike;
        while (at < end ||
               (at > 0 && at < n_found && found[at].physical == found[at - 1].physical)) {
            taken[found[at].core] = true;
            shares[i].cores[shares[i].n++] = found[at++].core;
        }
    }
}

/* Cases on the CPU use all cores that they get, so every device gets as many. */
static status_t make_equal(core_share_t *shares, size_t n_shares, size_t n_places, error_t *err) {
    size_t fewest = MOST_CORES;
    for (size_t i = 0; i < n_shares; i++)
        fewest = shares[i].n < fewest ? shares[i].n : fewest;
    for (size_t i = 0; i < n_shares; i++) {
        if (shares[i].n < SHARE_FEWEST)
            return error_set(
                err, STATUS_USAGE,
                "--devices: device %d would have %zu of %zu cores, expected at least %d "
                "for each device: %zu cores would do, %d near each; measure on fewer "
                "devices at once",
                shares[i].device, shares[i].n, n_places, SHARE_FEWEST, n_shares * SHARE_FEWEST,
                SHARE_FEWEST);
        shares[i].n = fewest;
        qsort(shares[i].cores, fewest, sizeof *shares[i].cores, by_number);
    }
    return STATUS_OK;
}

status_t core_shares_make(core_place_t *places, size_t n_places, core_share_t *shares,
                          size_t n_shares, error_t *err) {
    bool taken[MOST_CORES] = {false};
    core_place_t found[MOST_CORES], best[MOST_CORES];
    qsort(places, n_places, sizeof *places, by_place);
    for (size_t i = 0; i < n_shares; i++)
        shares[i].n = 0;
    for (;;) { /* first those with the least choice */
        const core_share_t *chosen = NULL;
        size_t n_best = 0;
        for (size_t i = 0; i < n_shares; i++) {
            const size_t n = find_free(places, n_places, &shares[i], taken, found);
            if (shares[i].n > 0 || n == 0 || (chosen != NULL && n >= n_best))
                continue;
            chosen = &shares[i];
            n_best = n;
            memcpy(best, found, n * sizeof *best);
        }
        if (chosen == NULL)
            return make_equal(shares, n_shares, n_places, err);
        const core_share_t like = *chosen;
        divide(best, n_best, &like, shares, n_shares, taken);
    }
}

/* ==== children ================================================================================ */

/* Child programs that run side by side. What they write to stderr goes to ours, line by line with a
 * label in front; their stdout is dropped. */

typedef struct child {
    const char *label; /* "GPU 0" */
    subprocess_t process;
    pthread_t shows; /* its stderr */
    int exit_code;   /* of a child that has ended; -1: a signal killed it */
} child_t;

enum { WAIT_MS = 100 };

static void *show_lines(void *of) {
    const child_t *child = of;
    FILE *stream = fdopen(child->process.err_fd, "r");
    AUTO_FREE char *line = NULL;
    size_t capacity = 0;
    while (stream != NULL && getline(&line, &capacity, stream) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (*line != '\0')
            fprintf(stderr, "%s: %s\n", child->label, line);
    }
    if (stream != NULL)
        fclose(stream);
    return NULL;
}

/* Drops what it has printed; if it has ended, notes how. */
static void attend(child_t *child) {
    char chunk[1 << 12];
    while (read(child->process.out_fd, chunk, sizeof chunk) > 0)
        ;
    if (!subprocess_has_ended(&child->process))
        return;
    int wait_status = 0;
    while (waitpid(child->process.pid, &wait_status, 0) < 0 && errno == EINTR)
        ;
    child->process.pid = -1;
    child->exit_code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
    close(child->process.out_fd);
    pthread_join(child->shows, NULL); /* all that it wrote is shown */
    if (WIFSIGNALED(wait_status))
        fprintf(stderr, "%s: %s\n", child->label, strsignal(WTERMSIG(wait_status)));
}

static void interrupt(child_t *children, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (children[i].process.pid > 0)
            kill(children[i].process.pid, SIGTERM);
}

/* Wait until all have ended. An interrupt is passed on, and ends them; so does a child that ends with
 * an exit code above 1. Frees the children's parts. */
static void children_wait(child_t *children, size_t n, const volatile sig_atomic_t *interrupted) {
    bool reported = false;
    for (size_t n_running = n; n_running > 0;) {
        poll(NULL, 0, WAIT_MS);
        bool failed = *interrupted != 0;
        n_running = 0;
        for (size_t i = 0; i < n; i++) {
            if (children[i].process.pid > 0)
                attend(&children[i]);
            n_running += children[i].process.pid > 0;
            failed |= children[i].process.pid <= 0 &&
                      (children[i].exit_code < 0 || children[i].exit_code > STATUS_FAILED);
        }
        if (failed && !reported)
            interrupt(children, n);
        reported |= failed;
    }
}

/* ==== the run ================================================================================= */

enum { MOST_DEVICES = 64, HELLO_S = 60 };

typedef struct device {
    char *name, *folder; /* folder: OUT/devices/I */
    char label[32];
} device_t;

typedef struct devices {
    run_t *run;
    device_t items[MOST_DEVICES];
    core_share_t *shares; /* of each device, with its index */
    size_t n;
} devices_t;

/* ---- which devices --------------------------------------------------------------------------- */

static status_t read_list(devices_t *devices, error_t *err) {
    const char *list = devices->run->options->devices;
    AUTO(text_list_free) text_list_t words = text_split(list, ',');
    bool valid = words.n >= 2 && words.n <= MOST_DEVICES;
    devices->shares = mem_zeroed(words.n + 1, sizeof *devices->shares);
    for (size_t i = 0; i < words.n && valid; i++) {
        char *end;
        const long index = strtol(words.items[i], &end, 10);
        valid = *words.items[i] >= '0' && *words.items[i] <= '9' && *end == '\0' && index < 1024;
        for (size_t k = 0; k < devices->n; k++)
            valid &= devices->shares[k].device != (int)index;
        devices->shares[devices->n++].device = (int)index;
    }
    if (!valid)
        return error_set(err, STATUS_USAGE,
                         "--devices %s: expected at least two indices of CUDA devices, each once, "
                         "such as 0,1",
                         list);
    for (size_t i = 0; i < devices->n; i++)
        snprintf(devices->items[i].label, sizeof devices->items[i].label, "GPU %d",
                 devices->shares[i].device);
    return STATUS_OK;
}

static void find_near(const char *uuid, core_share_t *share) {
    nvml_t *nvml = NULL;
    memset(share->near, 0, sizeof share->near);
    const bool known = nvml_open(uuid != NULL ? uuid : "", &nvml, NULL) == STATUS_OK &&
                       nvml_cpu_affinity(nvml, share->near, SHARE_WORDS);
    if (!known)
        memset(share->near, 0xff, sizeof share->near);
    nvml_close(nvml);
}

/* From the device's own worker, as a run on it would. */
static status_t describe(const run_t *run, device_t *device, core_share_t *share, error_t *err) {
    json_auto_t *hello =
        workers_hello(run->options->root, "cuda", "cuda", share->device, HELLO_S, err);
    if (hello == NULL) {
        error_within(err, "--devices %s: device %d", run->options->devices, share->device);
        return STATUS_USAGE;
    }
    const json_t *facts = json_object_get(hello, "device");
    const char *name = json_string_value(json_object_get(facts, "name"));
    device->name = mem_text(name != NULL ? name : "");
    find_near(json_string_value(json_object_get(facts, "uuid")), share);
    return STATUS_OK;
}

static status_t survey(devices_t *devices, error_t *err) {
    for (size_t i = 0; i < devices->n; i++) {
        device_t *device = &devices->items[i], *first = &devices->items[0];
        TRY(describe(devices->run, device, &devices->shares[i], err));
        if (strcmp(device->name, first->name) != 0)
            return error_set(
                err, STATUS_INCOMPARABLE,
                "--devices %s: device %d is %s, but device %d is %s: a run has GPUs of "
                "one kind; make a run for each kind",
                devices->run->options->devices, devices->shares[i].device, device->name,
                devices->shares[0].device, first->name);
    }
    return STATUS_OK;
}

static status_t share_cores(devices_t *devices, error_t *err) {
    run_t *run = devices->run;
    core_place_t places[MOST_CORES];
    TRY(cores_init(&run->cores, run->options->cpus, err));
    core_places(&run->cores, places);
    TRY(core_shares_make(places, run->cores.n, devices->shares, devices->n, err));
    for (size_t i = 0; i < devices->n && !run->options->quiet; i++) {
        AUTO_FREE char *cores = cores_text(devices->shares[i].cores, devices->shares[i].n);
        fprintf(stderr, "%s: %s, cores %s\n", devices->items[i].label, devices->items[i].name,
                cores);
    }
    return STATUS_OK;
}

/* ---- folders --------------------------------------------------------------------------------- */

/* A folder of a device that is not in the list, or NULL; the caller frees it. */
static char *find_other(const devices_t *devices, const text_list_t *folders) {
    for (size_t i = 0; i < folders->n; i++) {
        bool known = false;
        for (size_t k = 0; k < devices->n; k++) {
            AUTO_FREE char *name = mem_format("%d", devices->shares[k].device);
            known |= strcmp(name, folders->items[i]) == 0;
        }
        if (!known)
            return mem_text(folders->items[i]);
    }
    return NULL;
}

static status_t check_folder(const devices_t *devices, const text_list_t *folders, bool has_header,
                             error_t *err) {
    const run_t *run = devices->run;
    if ((has_header || folders->n > 0) && !run->options->resume)
        return error_set(err, STATUS_USAGE,
                         "%s already holds a run: continue it with --resume, or choose another "
                         "--out",
                         run->folder);
    if (has_header && folders->n == 0)
        return error_set(err, STATUS_USAGE,
                         "%s was measured without --devices: resume it without it, or choose "
                         "another --out",
                         run->folder);
    AUTO_FREE char *other = find_other(devices, folders);
    if (other != NULL || (folders->n > 0 && folders->n < devices->n)) {
        AUTO_FREE char *list = text_list_join(folders, ",");
        return error_set(err, STATUS_USAGE,
                         "%s was measured with --devices %s, found --devices %s: resume it with "
                         "the same list, or choose another --out",
                         run->folder, list, run->options->devices);
    }
    return STATUS_OK;
}

/* All of them, so that a run that is interrupted early has the devices it was begun on. */
static status_t prepare_folders(devices_t *devices, error_t *err) {
    AUTO_FREE char *top = fs_join(devices->run->folder, "devices");
    AUTO(text_list_free) text_list_t folders = {0};
    TRY(fs_is_folder(top) ? fs_list(top, "", &folders, err) : STATUS_OK);
    TRY(check_folder(devices, &folders, fs_has(devices->run->folder, "run.json"), err));
    for (size_t i = 0; i < devices->n; i++) {
        devices->items[i].folder = mem_format("%s/%d", top, devices->shares[i].device);
        TRY(fs_make_folders(devices->items[i].folder, err));
    }
    return STATUS_OK;
}

/* ---- children -------------------------------------------------------------------------------- */

static text_list_t command_of(const devices_t *devices, size_t index, const char *program) {
    const run_options_t *options = devices->run->options;
    const core_share_t *share = &devices->shares[index];
    const char *folder = devices->items[index].folder;
    const bool is_begun = fs_has(folder, "run.json");
    AUTO_FREE char *cores = cores_text(share->cores, share->n);
    text_list_t argv = {0};
    text_list_add_words(&argv, program, "run", NULL);
    text_list_add_all(&argv, &options->passed_on);
    text_list_add_words(&argv, "--devices", options->devices, "--cpus", cores, "--out", folder,
                        NULL);
    text_list_add_format(&argv, "--device=%d", share->device);
    text_list_add_format(&argv, "--shard=%zu/%zu", index + 1, devices->n);
    if (is_begun)
        text_list_add(&argv, "--resume");
    if (is_begun && options->retry)
        text_list_add(&argv, "--retry");
    text_list_add(&argv, "--");
    for (size_t i = 0; i < options->n_sweeps; i++)
        text_list_add(&argv, options->sweeps[i]);
    return argv;
}

static status_t start(const devices_t *devices, size_t index, const char *program, child_t *child,
                      error_t *err) {
    AUTO(text_list_free) text_list_t command = command_of(devices, index, program);
    *child = (child_t){.label = devices->items[index].label, .exit_code = -1};
    TRY(subprocess_start(text_list_argv(&command), false, &child->process, err));
    close(child->process.in_fd);
    fcntl(child->process.err_fd, F_SETFL, 0); /* blocking */
    return pthread_create(&child->shows, NULL, show_lines, child) == 0
               ? STATUS_OK
               : error_set(err, STATUS_FAILED, "%s: no thread for its messages", child->label);
}

/* `*broken`: a case was wrong or failed, or passes are left. */
static status_t measure(const devices_t *devices, const char *program, bool *broken, error_t *err) {
    child_t children[MOST_DEVICES];
    size_t n = 0;
    status_t status = STATUS_OK;
    while (n < devices->n && status == STATUS_OK) {
        status = start(devices, n, program, &children[n], err);
        n += status == STATUS_OK;
    }
    static const volatile sig_atomic_t YES = 1;
    children_wait(children, n, status == STATUS_OK ? devices->run->interrupted : &YES);
    for (size_t i = 0; i < n && status == STATUS_OK; i++) {
        *broken |= children[i].exit_code == STATUS_FAILED;
        if (children[i].exit_code < 0 || children[i].exit_code > STATUS_FAILED)
            status = error_set(
                err, children[i].exit_code < 0 ? STATUS_FAILED : (status_t)children[i].exit_code,
                "%s: see above; finished cases are in %s: continue with the same "
                "command and --resume --out %s",
                children[i].label, devices->run->folder, devices->run->folder);
    }
    return status;
}

/* ---- merging --------------------------------------------------------------------------------- */

static status_t merge_into(const devices_t *devices, const char *program, const char *folder,
                           error_t *err) {
    AUTO(text_list_free) text_list_t command = {0};
    AUTO(subprocess_result_free) subprocess_result_t result = {0};
    text_list_add_words(&command, program, "merge", "--", folder, NULL);
    for (size_t i = 0; i < devices->n; i++)
        text_list_add(&command, devices->items[i].folder);
    TRY(subprocess_run(text_list_argv(&command), NULL, 0, &result, err));
    if (result.exit_code > STATUS_FAILED || result.exit_code < 0)
        return error_set(err, STATUS_USAGE, "%s", result.err);
    if (!devices->run->options->quiet)
        fputs(result.err, stderr);
    return STATUS_OK;
}

/* The command line of the whole run instead of the first child's. */
static status_t set_command_line(const run_t *run, const char *folder, error_t *err) {
    AUTO(record_free) record_t merged = {0};
    TRY(record_load_passes(folder, &merged, err));
    text_list_free(&merged.argv);
    for (size_t i = 0; i < run->options->n_argv; i++)
        text_list_add(&merged.argv, run->options->argv[i]);
    return record_write_header(&merged, err);
}

static status_t move_file(const char *from, const char *to, const char *name, error_t *err) {
    AUTO_FREE char *old = fs_join(from, name), *new = fs_join(to, name);
    return rename(old, new) == 0 ? STATUS_OK
                                 : error_set(err, STATUS_USAGE, "%s: cannot move to %s: %s", old,
                                             to, strerror(errno));
}

/* It, or what was cut off of it: the folder is ours if those of the devices are beside it. */
static status_t remove_merged(const devices_t *devices, const char *folder, error_t *err) {
    AUTO_FREE char *mark = mem_format("../%d/run.json", devices->shares[0].device);
    return fs_remove_marked(folder, mark, err);
}

/* run.json comes last: it makes the folder a run. */
static status_t move_files(const char *from, const char *to, error_t *err) {
    AUTO(text_list_free) text_list_t names = {0};
    AUTO_FREE char *packed =
        fs_join(to, "cases.jsonl.gz"); /* of an earlier merge: it would be read too */
    TRY(fs_remove_file(packed, err));
    TRY(fs_list(from, "", &names, err));
    for (size_t i = 0; i < names.n; i++)
        if (strcmp(names.items[i], "run.json") != 0)
            TRY(move_file(from, to, names.items[i], err));
    return move_file(from, to, "run.json", err);
}

static status_t merge(const devices_t *devices, const char *program, error_t *err) {
    AUTO_FREE char *folder = fs_join(devices->run->folder, "merging");
    TRY(remove_merged(devices, folder, err)); /* of a merge that was cut off */
    TRY(merge_into(devices, program, folder, err));
    TRY(set_command_line(devices->run, folder, err));
    TRY(move_files(folder, devices->run->folder, err));
    return remove_merged(devices, folder, err);
}

/* ---- all steps ------------------------------------------------------------------------------- */

static status_t steps(devices_t *devices, error_t *err) {
    run_t *run = devices->run;
    bool broken = false;
    AUTO_FREE char *program = NULL;
    TRY(read_list(devices, err));
    TRY(run_load_sweeps(run, err));
    run_note_load(run);
    run_choose_folder(run);
    TRY(survey(devices, err));
    TRY(share_cores(devices, err));
    TRY(prepare_folders(devices, err));
    TRY(fs_executable(&program, err));
    TRY(measure(devices, program, &broken, err));
    if (*run->interrupted)
        return STATUS_OK;
    TRY(merge(devices, program, err));
    TRY(run_print_workload(run, NULL, err));
    TRY(run_print(run, err));
    return broken ? error_set(err, STATUS_FAILED,
                              "a case was wrong or failed, or passes are left: see above (in %s)",
                              run->folder)
                  : STATUS_OK;
}

status_t run_on_devices(run_t *run, error_t *err) {
    AUTO_FREE devices_t *devices = mem_zeroed(1, sizeof *devices);
    devices->run = run;
    const status_t status = steps(devices, err);
    for (size_t i = 0; i < devices->n; i++) {
        free(devices->items[i].name);
        free(devices->items[i].folder);
    }
    free(devices->shares);
    return status;
}
