#include "run/against/ab.h"

#include "base/clock.h"
#include "base/memory.h"
#include "compare/compare.h"
#include "cuda/nvtx.h"
#include "io/fs.h"
#include "io/output.h"
#include "run/state.h"
#include "workloads/described/described.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct ab {
    run_t *ours;
    run_t theirs;
    run_options_t options; /* theirs: a modified copy of ours */
    build_t build;         /* theirs */
    char *pair, *out;      /* run_t.pair of both sides; their folder */
} ab_t;

/* The same group in both builds; either may be empty. */
typedef struct ab_group {
    group_t ours, theirs;
    const text_list_t *recheck_ids; /* measure only these cases; NULL: all */
} ab_group_t;

/* One pass of an --against run: groups of paired cases of both builds. */

/* ---- groups ---------------------------------------------------------------------------------- */

static bool is_same_group(const group_t *a, const group_t *b) {
    AUTO_FREE char *left = workload_group(a->workload, &a->cases[0]);
    AUTO_FREE char *right = workload_group(b->workload, &b->cases[0]);
    return strcmp(left, right) == 0;
}

static status_t measure(ab_t *ab, const ab_group_t *group, error_t *err);

/* The group of sweep `s` with the same name; empty if it has none. The search starts at `*at` and
 * wraps around: both builds expand a sweep in the same order. */
static group_t counterpart(const run_t *run, size_t s, const group_t *group, size_t *at) {
    const size_t n = run->sweeps[s].n_cases, start = *at = *at < n ? *at : 0;
    while (n > 0) {
        group_t found = run_next_group(run, s, at);
        if (is_same_group(&found, group))
            return found;
        if (*at == n)
            *at = 0;
        if (*at == start)
            break;
    }
    return (group_t){.workload = group->workload, .measure = group->measure};
}

/* The next group of a sweep: our groups first, each with its counterpart, then the groups that only
 * the other build has. `*at` and `*at_theirs` start at 0. False when there are no more. */
static bool next_group(const ab_t *ab, size_t s, size_t *at, size_t *at_theirs, ab_group_t *group) {
    const size_t n = ab->ours->sweeps[s].n_cases;
    if (*at < n) {
        group->ours = run_next_group(ab->ours, s, at);
        group->theirs = counterpart(&ab->theirs, s, &group->ours, at_theirs);
        if (*at == n)
            *at_theirs = 0;
        return true;
    }
    for (size_t at_ours = 0; *at_theirs < ab->theirs.sweeps[s].n_cases;) {
        group->theirs = run_next_group(&ab->theirs, s, at_theirs);
        group->ours = counterpart(ab->ours, s, &group->theirs, &at_ours);
        if (group->ours.n == 0)
            return true;
    }
    return false;
}

/* ---- contenders ------------------------------------------------------------------------------ */

/* Index of the case; group->n if the group lacks it. */
static size_t find_case(const group_t *group, const char *id) {
    size_t i = 0;
    while (i < group->n && strcmp(group->cases[i].id, id) != 0)
        i++;
    return i;
}

static bool is_done(const run_t *side, const group_t *group, size_t i) {
    return i == group->n || case_is_done(side, &group->states[i]);
}

static bool is_dropped(const group_t *group, size_t i) {
    return i < group->n && group->states[i].dropped;
}

static status_t add_side(run_t *side, const group_t *group, size_t i, trial_t *trial,
                         error_t *err) {
    return i == group->n ? STATUS_OK : trial_add(trial, side, group, i, err);
}

/* The same case in both builds, by its index; either may lack it. A pair is measured together or not
 * at all: with --resume one side may be finished. */
static status_t add_pair(ab_t *ab, const ab_group_t *group, size_t ours, size_t theirs,
                         trial_t *trial, error_t *err) {
    const bool in_both = ours < group->ours.n && theirs < group->theirs.n;
    const case_t *either =
        ours < group->ours.n ? &group->ours.cases[ours] : &group->theirs.cases[theirs];
    if (group->recheck_ids != NULL && !text_list_has(group->recheck_ids, either->id))
        return STATUS_OK;
    const bool done =
        is_done(ab->ours, &group->ours, ours) && is_done(&ab->theirs, &group->theirs, theirs);
    if (done || is_dropped(&group->ours, ours) || is_dropped(&group->theirs, theirs)) {
        ab->ours->progress.done += ours < group->ours.n;
        ab->theirs.progress.done += theirs < group->theirs.n;
        return STATUS_OK;
    }
    TRY(add_side(ab->ours, &group->ours, ours, trial, err));
    TRY(add_side(&ab->theirs, &group->theirs, theirs, trial, err));
    if (in_both) {
        contender_t *last = &trial->contenders[trial->n - 1];
        last->paired = last - 1;
        last[-1].paired = last;
    }
    return STATUS_OK;
}

static status_t add_all(ab_t *ab, const ab_group_t *group, trial_t *trial, error_t *err) {
    const group_t *ours = &group->ours, *theirs = &group->theirs;
    *trial = trial_make(ab->ours, ours->n > 0 ? ours : theirs, ours->n + theirs->n);
    for (size_t i = 0; i < ours->n; i++)
        TRY(add_pair(ab, group, i, find_case(theirs, ours->cases[i].id), trial, err));
    for (size_t i = 0; i < theirs->n; i++)
        if (find_case(ours, theirs->cases[i].id) == ours->n)
            TRY(add_pair(ab, group, ours->n, i, trial, err));
    return STATUS_OK;
}

/* ---- a pass ---------------------------------------------------------------------------------- */

/* On a GPU the process that starts first can be a few percent slower than the second
 * (docs/compare.md), so every second pass starts them in reverse. */
static status_t measure(ab_t *ab, const ab_group_t *group, error_t *err) {
    run_t *ours = ab->ours;
    const group_t *any = group->ours.n > 0 ? &group->ours : &group->theirs;
    ours->settings.measure = ab->theirs.settings.measure = stopping_share(any->measure);
    AUTO(trial_free) trial_t trial;
    status_t status = add_all(ab, group, &trial, err);
    nvtx_push(trial.name);
    if (group->recheck_ids != NULL)
        for (size_t i = 0; i < trial.n; i++)
            trial.sides[i]->progress.total++;
    if (status == STATUS_OK && trial.n > 0)
        status = trial_measure(&trial, ours->settings.pass % 2 == 0, err);
    nvtx_pop();
    return status;
}

static bool goes_on(const ab_t *ab, int64_t deadline_ns) {
    return !*ab->ours->interrupted && (deadline_ns == 0 || clock_ns() < deadline_ns);
}

/* Measure all groups in pass `number`, of `recheck_ids` unless NULL. Ends after the group during which
 * `deadline_ns` (0: none) passes. */
static status_t ab_measure_pass(ab_t *ab, unsigned number, const text_list_t *recheck_ids,
                                int64_t deadline_ns, error_t *err) {
    /* In turns, as in trial_measure(): it matters which process starts first. */
    run_start_pass(number % 2 == 0 ? &ab->theirs : ab->ours, number);
    run_start_pass(number % 2 == 0 ? ab->ours : &ab->theirs, number);
    if (recheck_ids == NULL)
        TRY(run_calibrate(ab->ours, err));
    for (size_t s = 0; s < ab->ours->n_sweeps; s++) {
        ab_group_t group = {.recheck_ids = recheck_ids};
        size_t at = 0, at_theirs = 0;
        while (goes_on(ab, deadline_ns) && next_group(ab, s, &at, &at_theirs, &group))
            TRY(measure(ab, &group, err));
    }
    TRY(run_end_pass(ab->ours, err));
    return run_end_pass(&ab->theirs, err);
}

/* `bench run --against`: re-measure undecided cases until they are decided or time is up. */

static size_t passes_of(const pair_t *pair) {
    size_t most = 0;
    for (size_t i = 0; i < pair->n_cells; i++) {
        const phase_t *const sides[] = {pair->cells[i].base, pair->cells[i].candidate};
        for (size_t k = 0; k < 2; k++)
            if (sides[k]->n_passes > most)
                most = sides[k]->n_passes;
    }
    return most;
}

static status_t verdict(const ab_t *ab, error_t *err) {
    const run_options_t *options = ab->ours->options;
    const compare_options_t compare = {.base = ab->theirs.folder,
                                       .candidate = ab->ours->folder,
                                       .threshold_frac = options->threshold_frac,
                                       .json = options->json,
                                       .strict = options->strict,
                                       .learn_floor = ab->build.self};
    status_t status = compare_runs(&compare, err);
    if (!options->quiet)
        output_print(stderr, "results: %s, %s\n", ab->ours->folder, ab->theirs.folder);
    return status;
}

/* Are all undecided cells so because a side has two values? More passes do not change that. */
static bool hangs_on_two_values(const pair_t *pair) {
    size_t n = 0;
    for (size_t i = 0; i < pair->n_cells; i++) {
        const cell_t *cell = &pair->cells[i];
        const bool two_values = cell->base->bimodal.found || cell->candidate->bimodal.found;
        if (cell->test->gate.verdict == GATE_UNDECIDED && !two_values)
            return false;
        n += cell->test->gate.verdict == GATE_UNDECIDED;
    }
    return n > 0;
}

static bool is_open(const pair_t *pair) {
    return pair->verdict == PAIR_UNDECIDED ||
           (pair->verdict != PAIR_REGRESSED && pair_has_undecided(pair));
}

unsigned recheck_choose(const comparison_t *comparison, text_list_t *ids) {
    size_t most = 0;
    for (size_t i = 0; i < comparison->n_pairs; i++) {
        const pair_t *pair = &comparison->pairs[i];
        size_t passes = passes_of(pair);
        if (!is_open(pair) || passes >= RECHECK_MOST_PASSES || hangs_on_two_values(pair))
            continue;
        text_list_add(ids, pair->id);
        if (passes > most)
            most = passes;
    }
    return (unsigned)(2 * most <= RECHECK_MOST_PASSES ? most : RECHECK_MOST_PASSES - most);
}

/* Choose cases by the current verdict. For incomparable runs choose none: the verdict reports it.
 */
static unsigned choose(const run_t *run, const record_t *theirs, const record_t *ours,
                       text_list_t *ids) {
    AUTO(comparison_free) comparison_t comparison = {0};
    AUTO(floors_free) floors_t floors = {0};
    const bool compared =
        floors_load(theirs->folder, &floors, NULL) == STATUS_OK &&
        comparison_make(theirs, ours,
                        &(comparison_options_t){.floors = &floors,
                                                .threshold_frac = run->options->threshold_frac},
                        &comparison, NULL) == STATUS_OK;
    return compared ? recheck_choose(&comparison, ids) : 0;
}

static unsigned last_pass(const record_t *run) {
    unsigned last = 0;
    for (size_t i = 0; i < run->n_passes; i++) {
        const unsigned pass = record_pass_number(&run->passes[i]);
        last = pass > last ? pass : last;
    }
    return last;
}

/* Clears `*more` when nothing is undecided any more or time is up. */
static status_t recheck_once(ab_t *ab, const record_t *theirs, const record_t *ours,
                             int64_t deadline_ns, bool *more, error_t *err) {
    AUTO(text_list_free) text_list_t ids = {0};
    const unsigned in_theirs = last_pass(theirs), in_ours = last_pass(ours);
    const unsigned last = in_theirs > in_ours ? in_theirs : in_ours;
    unsigned more_passes = choose(ab->ours, theirs, ours, &ids);
    if (more_passes > STATS_MOST_PASSES - last)
        more_passes = STATS_MOST_PASSES - last;
    *more = more_passes > 0;
    if (*more)
        progress_note(&ab->ours->progress, "undecided: measuring %zu cases in %u more passes",
                      ids.n, more_passes);
    for (unsigned i = 1; i <= more_passes && *more; i++) {
        TRY(ab_measure_pass(ab, last + i, &ids, deadline_ns, err));
        *more = clock_ns() < deadline_ns && !*ab->ours->interrupted;
    }
    return STATUS_OK;
}

/* Re-measure undecided cases, for up to options->recheck_limit_s. */
static status_t ab_recheck(ab_t *ab, error_t *err) {
    const double limit_s = ab->ours->options->recheck_limit_s;
    int64_t deadline_ns = clock_ns() + (int64_t)(limit_s * 1e9);
    bool more = limit_s > 0;
    while (more && !*ab->ours->interrupted) {
        AUTO(record_free) record_t theirs = {0}, ours = {0};
        TRY(record_load(ab->theirs.folder, &theirs, err));
        TRY(record_load(ab->ours->folder, &ours, err));
        TRY(recheck_once(ab, &theirs, &ours, deadline_ns, &more, err));
    }
    return STATUS_OK;
}

static bool has_program(const sweep_t *sweep, const case_t *spec, const void *root) {
    const bool in_c = workload_is_in_c(sweep->workload, spec->engine);
    if ((!in_c && strcmp(spec->engine, "cuda") != 0) ||
        workload_is_cuda_builtin(sweep->workload, spec->variant))
        return true;
    AUTO_FREE char *folder = workload_folder(root, sweep->workload);
    AUTO_FREE char *name = mem_format("%s.%s", spec->variant, in_c ? "c" : "cu");
    return fs_has(folder, name);
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

/* Our inputs and workload.json say nothing to a build that has a workload compiled in, or knows no such file. */
static status_t check_described(const ab_t *ab, error_t *err) {
    const char *given = ab->ours->options->against;
    for (size_t s = 0; s < ab->theirs.n_sweeps; s++) {
        const workload_t *workload = ab->theirs.sweeps[s].workload;
        if (described_find(workload->name) == NULL)
            continue;
        if (!fs_has(ab->build.root, "kernels/workload.schema.json"))
            return error_set(err, STATUS_USAGE,
                             "--against %s: it reads no workload.json: expected a newer build",
                             given);
        AUTO_FREE char *folder = mem_format("%s/kernels/%s", ab->build.root, workload->name);
        AUTO_FREE char *path = description_path(folder);
        if (workload->is_of_project && fs_is_folder(folder) && !fs_exists(path))
            return error_set(
                err, STATUS_USAGE,
                "--against %s: it has no %s/workload.json: %s is compiled into it, and "
                "ours is described; measure the two one after the other",
                given, folder, workload->name);
    }
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
    return check_described(ab, err);
}

/* Store the noise floors of an earlier run in the folder, where `bench compare` finds them too. */
static status_t copy_floors(const ab_t *ab, error_t *err) {
    const char *from = ab->ours->options->floor;
    if (from == NULL)
        return STATUS_OK;
    AUTO(floors_free) floors_t floors = {0};
    TRY(floors_load(from, &floors, err));
    if (floors.cells == NULL)
        return error_set(err, STATUS_USAGE,
                         "--floor %s: no floor.json found; bench run --against self writes one",
                         from);
    return floors_save(&floors, ab->theirs.folder, err);
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
    mem_set_text(&theirs->isolation.hidden, ours->isolation.hidden); /* it is in that of ours */
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
