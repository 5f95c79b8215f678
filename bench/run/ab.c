/* `bench run --against OTHER_BUILD`: the other build's side of the run. It is a run_t of its
 * own, with its own sweeps (its kernels may be others), workers and folder, OUT/against; rounds are
 * taken in turns by measure.c. */
#include "run/state.h"

#include "base/clock.h"
#include "base/memory.h"
#include "compare/compare.h"
#include "compare/comparison.h"
#include "io/fs.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- which build, which cases -------------------------------------------------------------------
 */

static bool has_program(const char *root, const sweep_t *sweep, const case_t *spec) {
    if (strcmp(spec->engine, "cuda") != 0 ||
        workload_is_cuda_builtin(sweep->workload, spec->variant))
        return true;
    char *path = mem_format("%s/kernels/%s/%s.cu", root, spec->workload, spec->variant);
    bool there = fs_exists(path);
    free(path);
    return there;
}

static void drop_missing(const char *root, sweep_t *sweep) {
    size_t kept = 0;
    for (size_t i = 0; i < sweep->n_cases; i++) {
        if (has_program(root, sweep, &sweep->cases[i]))
            sweep->cases[kept++] = sweep->cases[i];
        else
            case_free(&sweep->cases[i]);
    }
    sweep->n_cases = kept;
}

/* The sweep as the other build's folder has it: "*" stands for its rungs. A sweep that names a rung
 * or a worker that only we have is read as ours. */
static status_t load_cases(run_t *other, run_options_t *options, const char *own_root,
                           error_t *err) {
    error_t unknown = ERROR_INIT;
    options->root = other->build.root;
    if (run_load_sweeps(other, &unknown) == STATUS_OK)
        return STATUS_OK;
    for (size_t s = 0; s < other->n_sweeps; s++)
        sweep_free(&other->sweeps[s]);
    free(other->sweeps);
    other->sweeps = NULL;
    other->n_sweeps = 0;
    options->root = own_root;
    status_t status = run_load_sweeps(other, err);
    options->root = other->build.root;
    for (size_t s = 0; s < other->n_sweeps; s++)
        drop_missing(options->root, &other->sweeps[s]);
    return status;
}

status_t run_against_load(run_t *run, error_t *err) {
    char now[32];
    run_t *other = mem_zeroed(1, sizeof *other);
    *other = (run_t){.options = &other->own_options,
                     .own_options = *run->options,
                     .folder_lock = -1,
                     .rates = DEVICE_RATES_UNKNOWN};
    run_options_t *options = &other->own_options;
    options->against = NULL;
    options->out = NULL;
    options->quiet = true; /* one side tells of the progress of both */
    run->against = other;
    run->pair = mem_format("%s/%ld", clock_timestamp(now), (long)getpid());
    TRY(build_find(run->options->against, run->options->root, &other->build, err));
    return load_cases(other, options, run->options->root, err);
}

/* ---- the folder ---------------------------------------------------------------------------------
 */

/* Noise floors that an earlier run taught, for this verdict and for every later look at it. */
static status_t take_floors(const run_t *run, error_t *err) {
    const char *from = run->options->floor;
    if (from == NULL)
        return STATUS_OK;
    floors_t *floors;
    TRY(floors_load(from, &floors, err));
    if (floors == NULL)
        return error_set(err, STATUS_USAGE,
                         "--floor %s: no floor.json there; bench run --against self leaves one",
                         from);
    status_t status = floors_save(floors, run->against->folder, err);
    floors_free(floors);
    return status;
}

status_t run_against_prepare(run_t *run, error_t *err) {
    run_t *other = run->against;
    other->own_out = fs_join(run->folder, "against");
    other->own_options.out = other->own_out;
    other->pair = mem_text(environment_get(&run->record.environment, "measure.pair"));
    TRY(run_prepare_folder(other, err));
    TRY(take_floors(run, err));
    TRY(run_share_clocks(run, other, err));
    TRY(run_survey(other, err));
    other->workers.own_root = run->options->root;
    return run_compile(other, err);
}

/* ---- the verdict --------------------------------------------------------------------------------
 */

status_t run_against_close(run_t *run, error_t *err) {
    run->against->rates = run->rates; /* calibrations are of the device, and measured once */
    return run_close(run->against, err);
}

status_t run_verdict(const run_t *run, error_t *err) {
    const run_options_t *options = run->options;
    const compare_options_t compare = {.base = run->against->folder,
                                       .candidate = run->folder,
                                       .threshold_frac = options->threshold_frac,
                                       .json = options->json,
                                       .strict = options->strict,
                                       .learn_floor = run->against->build.self,
                                       .print = options->print};
    status_t status = compare_runs(&compare, err);
    if (!options->quiet)
        fprintf(stderr, "results: %s, %s\n", run->folder, run->against->folder);
    return status;
}
