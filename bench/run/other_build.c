#include "run/other_build.h"

#include "base/memory.h"
#include "io/folders.h"
#include "io/fs.h"
#include "io/subprocess.h"
#include "version.h"
#include "worker/pool.h"

#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_S = 30, WORD_BYTES = 128 };

void build_free(build_t *build) {
    free(build->root);
    free(build->bench);
    free(build->version);
    free(build->revision);
    *build = (build_t){0};
}

/* The nearest data folder above the program, or what was installed with it. */
static char *root_above(const char *program) {
    char *path = mem_text(program), *root = NULL, *slash;
    while (root == NULL && (slash = strrchr(path, '/')) != NULL && slash != path) {
        *slash = '\0';
        root = folders_data_at(path);
    }
    free(path);
    return root != NULL ? root : folders_data_with(program);
}

static status_t find_self(const char *own_root, build_t *build, error_t *err) {
    TRY(fs_executable(&build->bench, err));
    build->self = true;
    build->root = mem_text(own_root);
    build->version = mem_text(BENCH_VERSION);
    build->revision = mem_text(BENCH_REVISION);
    build->dirty = BENCH_DIRTY;
    return STATUS_OK;
}

static status_t find_files(const char *given, build_t *build, error_t *err) {
    bool folder = fs_is_folder(given);
    char *path = folder ? fs_join(given, "build/bench") : mem_text(given);
    status_t status = STATUS_OK;
    build->bench = realpath(path, NULL);
    if (build->bench == NULL)
        status = error_set(err, STATUS_USAGE, "%s does not exist%s", path,
                           folder ? ": build it first (make)" : "");
    free(path);
    TRY(status);
    build->root = folder ? folders_data_at(given) : root_above(build->bench);
    if (build->root != NULL)
        return STATUS_OK;
    return error_set(err, STATUS_USAGE, "%s: no project folder with kernels/ and sweeps/ found",
                     given);
}

/* "bench 0.1.0 (0123456789ab, modified)" */
static status_t ask_version(build_t *build, error_t *err) {
    const char *const argv[] = {build->bench, "--version", NULL};
    subprocess_result_t result;
    TRY(subprocess_run(argv, NULL, TIMEOUT_S, &result, err));
    char version[WORD_BYTES], revision[WORD_BYTES], rest[WORD_BYTES] = "";
    int n = sscanf(result.out, "bench %127s (%127[^,)]%127[^\n]", version, revision, rest);
    status_t status = STATUS_OK;
    if (result.exit_code != 0 || n < 2) {
        result.out[strcspn(result.out, "\n")] = '\0';
        status = error_set(err, STATUS_USAGE,
                           "%s --version: found \"%.100s\" (exit code %d), expected a bench of "
                           "this project",
                           build->bench, result.out, result.exit_code);
    } else {
        build->version = mem_text(version);
        build->revision = mem_text(revision);
        build->dirty = strstr(rest, "modified") != NULL;
    }
    subprocess_result_free(&result);
    return status;
}

/* Check the protocol with the null engine, which needs no hardware. */
static status_t check_worker(const build_t *build, error_t *err) {
    text_list_t argv = {0};
    worker_link_t link;
    build_worker_argv(build->root, build->bench, &argv);
    text_list_add(&argv, "worker");
    text_list_add(&argv, "--engine=null");
    worker_link_init(&link, "null", argv);
    error_t why = ERROR_INIT;
    status_t status = worker_link_start(&link, TIMEOUT_S, &why);
    if (status != STATUS_OK)
        error_set(err, STATUS_USAGE, "%s has no compatible worker: %s", build->bench, why.text);
    worker_link_free(&link);
    return status == STATUS_OK ? STATUS_OK : STATUS_USAGE;
}

static bool is_this_program(const char *program) {
    char *own;
    error_t ignored = ERROR_INIT;
    if (fs_executable(&own, &ignored) != STATUS_OK)
        return false;
    bool same = strcmp(own, program) == 0;
    free(own);
    return same;
}

status_t build_find(const char *given, const char *own_root, build_t *build, error_t *err) {
    *build = (build_t){0};
    if (strcmp(given, "self") == 0)
        return find_self(own_root, build, err);
    status_t status = find_files(given, build, err);
    if (status == STATUS_OK)
        status = ask_version(build, err);
    if (status == STATUS_OK)
        status = check_worker(build, err);
    if (status != STATUS_OK) {
        build_free(build);
        return error_within(err, "--against");
    }
    build->self = is_this_program(build->bench) && strcmp(build->root, own_root) == 0;
    return STATUS_OK;
}
