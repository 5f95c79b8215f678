#include "run/against/ab.h"

#include "base/clock.h"
#include "base/memory.h"
#include "compare/compare.h"
#include "compare/comparison.h"
#include "io/fs.h"
#include "io/output.h"
#include "workloads/operator/operators.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool has_program(const sweep_t *sweep, const case_t *spec, const void *root) {
    if (strcmp(spec->engine, "cuda") != 0 ||
        workload_is_cuda_builtin(sweep->workload, spec->variant))
        return true;
    char *path =
        mem_format("%s/kernels/%s/%s.cu", (const char *)root, spec->workload, spec->variant);
    bool exists = fs_exists(path);
    free(path);
    return exists;
}

/* Load the sweeps relative to the other build's root, so that "*" expands to its kernels. A sweep
 * that names a kernel or a worker that only our build has is loaded relative to our root. */
static status_t load_cases(ab_t *ab, error_t *err) {
    run_t *other = &ab->theirs;
    run_options_t *options = &ab->options;
    error_t unknown = ERROR_INIT;
    options->root = ab->build.root;
    if (run_load_sweeps(other, &unknown) == STATUS_OK)
        return STATUS_OK;
    run_free_sweeps(other);
    options->root = ab->ours->options->root;
    status_t status = run_load_sweeps(other, err);
    options->root = ab->build.root;
    for (size_t s = 0; s < other->n_sweeps; s++)
        sweep_keep_cases(&other->sweeps[s], has_program, options->root);
    return status;
}

/* A build without this file changes only signs in the inputs of operators: its outputs would count as wrong. */
static status_t check_refills(const ab_t *ab, error_t *err) {
    char *refill = fs_join(ab->build.root, "kernels/common/refill.cu");
    const bool draws = fs_exists(refill);
    free(refill);
    for (size_t s = 0; s < ab->theirs.n_sweeps && !draws; s++)
        if (operators_find(ab->theirs.sweeps[s].workload->name) != NULL)
            return error_set(err, STATUS_USAGE,
                             "--against %s: it has no kernels/common/refill.cu, so it refills "
                             "operators' inputs in another way; expected a build that draws them "
                             "anew",
                             ab->ours->options->against);
    return STATUS_OK;
}

static status_t load(ab_t *ab, error_t *err) {
    char now[32];
    run_t *ours = ab->ours;
    ab->options = *ours->options;
    ab->options.against = NULL;
    ab->options.out = NULL;
    ab->options.quiet = true; /* our side reports the progress of both */
    ab->theirs = run_make(&ab->options, ours->interrupted);
    ab->theirs.build = &ab->build;
    ab->pair = mem_format("%s/%ld", clock_timestamp(now), (long)getpid());
    ours->pair = ab->pair;
    TRY(build_find(ours->options->against, ours->options->root, &ab->build, err));
    TRY(load_cases(ab, err));
    return check_refills(ab, err);
}

/* Store the noise floors of an earlier run in the folder, where `bench compare` finds them too. */
static status_t copy_floors(const ab_t *ab, error_t *err) {
    const char *from = ab->ours->options->floor;
    if (from == NULL)
        return STATUS_OK;
    floors_t *floors;
    TRY(floors_load(from, &floors, err));
    if (floors == NULL)
        return error_set(err, STATUS_USAGE,
                         "--floor %s: no floor.json found; bench run --against self writes one",
                         from);
    status_t status = floors_save(floors, ab->theirs.folder, err);
    floors_free(floors);
    return status;
}

static status_t prepare(ab_t *ab, error_t *err) {
    run_t *ours = ab->ours, *theirs = &ab->theirs;
    ab->out = fs_join(ours->folder, "against");
    ab->options.out = ab->out;
    theirs->pair = environment_get(&ours->record.environment, "measure.pair");
    TRY(run_prepare_folder(theirs, err));
    TRY(run_share_clocks(ours, theirs, err));
    TRY(run_survey(theirs, err));
    theirs->settings.cores = ours->settings.cores;
    theirs->settings.guard = ours->settings.guard;
    ours->guard.sides[1] = &theirs->workers;
    environment_set(&theirs->here, "host.cpus", environment_get(&ours->here, "host.cpus"));
    theirs->settings.compiled = ours->settings.compiled; /* no side has the luckier draw */
    free(theirs->isolation.hidden);                      /* it is in that of ours */
    theirs->isolation.hidden = mem_text(ours->isolation.hidden);
    theirs->isolation.compiled = ours->isolation.compiled;
    theirs->workers.own_root = ours->options->root;
    TRY(run_compile(theirs, err));
    TRY(run_begin(ours, err));
    TRY(run_begin(theirs, err));
    return copy_floors(ab, err);
}

static status_t measure_all(ab_t *ab, error_t *err) {
    const unsigned n_passes = run_passes(ab->ours);
    for (unsigned pass = 1; pass <= n_passes && !*ab->ours->interrupted; pass++)
        TRY(ab_measure_pass(ab, pass, NULL, 0, err));
    return ab_recheck(ab, err);
}

static status_t close_both(ab_t *ab, error_t *err) {
    TRY(run_close(ab->ours, err));
    ab->theirs.rates = ab->ours->rates; /* both sides use one device, calibrated once */
    TRY(run_close(&ab->theirs, err));
    const char *changed = ab->theirs.journal_changed;
    return changed == NULL ? STATUS_OK : error_set(err, STATUS_FAILED, "%s", changed);
}

static status_t verdict(const ab_t *ab, error_t *err) {
    const run_options_t *options = ab->ours->options;
    const compare_options_t compare = {.base = ab->theirs.folder,
                                       .candidate = ab->ours->folder,
                                       .threshold_frac = options->threshold_frac,
                                       .json = options->json,
                                       .strict = options->strict,
                                       .learn_floor = ab->build.self,
                                       .print = options->print};
    status_t status = compare_runs(&compare, err);
    if (!options->quiet)
        output_print(stderr, "results: %s, %s\n", ab->ours->folder, ab->theirs.folder);
    return status;
}

static status_t steps(ab_t *ab, error_t *err) {
    run_t *ours = ab->ours;
    TRY(run_load_sweeps(ours, err));
    run_note_load(ours);
    TRY(load(ab, err));
    TRY(cores_init(&ours->cores, ours->options->cpus, err));
    TRY(run_prepare_folder(ours, err));
    TRY(run_survey(ours, err));
    TRY(run_compile(ours, err));
    TRY(prepare(ab, err));
    TRY(run_sanitize(ours, err));
    status_t status = measure_all(ab, err);
    if (status == STATUS_OK)
        status = close_both(ab, err);
    if (status != STATUS_OK)
        return run_add_resume_hint(ours, err);
    return *ours->interrupted ? STATUS_OK : verdict(ab, err); /* no verdict on a partial run */
}

status_t run_against(run_t *run, error_t *err) {
    ab_t ab = {.ours = run};
    status_t status = steps(&ab, err);
    run->pair = NULL;
    run_free(&ab.theirs);
    build_free(&ab.build);
    free(ab.pair);
    free(ab.out);
    return status;
}
