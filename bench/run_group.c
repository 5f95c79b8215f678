/* One group: contenders that do the same work on the same data, opened together, checked, sampled
 * in turns, checked again, written down. */
#include "run_internal.h"

#include "doors/nvtx.h"
#include "ground/fs.h"
#include "ground/memory.h"
#include "steps/cold.h"
#include "steps/schedule.h"

#include <stdlib.h>
#include <string.h>

/* The buffer that calibration copies: far larger than any L2. */
enum { IN_DRAM_BYTES = 1 << 30 };

group_t run_next_group(const sweep_t *sweep, size_t *at) {
    group_t group = {
        .workload = sweep->workload, .cases = &sweep->cases[*at], .measure = &sweep->measure};
    char *first = workload_group(sweep->workload, &sweep->cases[*at]);
    bool same = true;
    while (same) {
        group.n++;
        if (++*at == sweep->n_cases)
            break;
        char *next = workload_group(sweep->workload, &sweep->cases[*at]);
        same = strcmp(first, next) == 0;
        free(next);
    }
    free(first);
    return group;
}

char *run_skip_reason(const run_state_t *run, const case_t *spec) {
    if (strcmp(spec->engine, "cuda") != 0)
        return NULL;
    if (run->no_gpu != NULL)
        return mem_text(run->no_gpu);
    return mem_text(run->no_compiler);
}

static status_t find_program(run_state_t *run, const case_t *spec, const program_t **program,
                             error_t *err) {
    const workload_t *workload = workload_find(spec->workload);
    *program = NULL;
    for (size_t i = 0; workload->cuda_builtin != NULL && workload->cuda_builtin[i] != NULL; i++)
        if (strcmp(workload->cuda_builtin[i], spec->variant) == 0)
            return STATUS_OK;
    size_t index = (size_t)-1, n = run->programs.n;
    if (strcmp(spec->engine, "cuda") != 0)
        return STATUS_OK;
    const compile_options_t options = {.root = run->options->root};
    TRY(compile_add(&options, spec, run->arch, &run->programs, &index, err));
    if (index >= n)
        return error_set(err, STATUS_FAILED, "%s: its program was not compiled", spec->id);
    *program = &run->programs.items[index];
    return STATUS_OK;
}

/* The oracle: float64 on the CPU, or `noop` for the null workload. False when there is none. */
static bool oracle_case(const group_t *group, case_t *oracle) {
    const workload_t *workload = group->workload;
    const char *variant = NULL, *engine = "cpu";
    if (workload->cpu_variants != NULL && strcmp(workload->cpu_variants[0], "ref") == 0)
        variant = "ref";
    else if (workload->null_variants != NULL && strcmp(group->cases[0].engine, "null") == 0)
        variant = workload->null_variants[0], engine = "null";
    if (variant == NULL)
        return false;
    *oracle = case_copy(&group->cases[0]);
    free(oracle->engine);
    free(oracle->device);
    free(oracle->variant);
    oracle->engine = mem_text(engine);
    oracle->device = mem_text("cpu");
    oracle->variant = mem_text(variant);
    return true;
}

static status_t ask_oracle_once(run_state_t *run, const case_t *spec, worker_link_t *worker,
                                reference_t *reference, error_t *err) {
    contender_t oracle;
    contender_init(&oracle, spec, worker, NULL, &run->settings);
    status_t status = worker_link_start(worker, run->options->timeout_s, err);
    if (status == STATUS_OK)
        status = contender_reference(&oracle, reference, err);
    contender_finish(&oracle);
    contender_free(&oracle);
    return status;
}

static status_t ask_oracle(run_state_t *run, const group_t *group, reference_t *reference,
                           error_t *err) {
    case_t spec;
    *reference = (reference_t){0};
    if (run->options->profile || !oracle_case(group, &spec))
        return STATUS_OK;
    worker_link_t *worker;
    status_t status = workers_find(&run->workers, &spec, "oracle", &worker, err);
    if (status == STATUS_OK) {
        error_t why = ERROR_INIT;
        status = ask_oracle_once(run, &spec, worker, reference, &why);
        /* A whole group waits for its word: one that was killed, by whatever takes memory back, is
         * asked again. */
        if (status != STATUS_OK && !worker->running) {
            progress_note(&run->progress, "the oracle is asked again: %s", why.text);
            error_clear(&why);
            status = ask_oracle_once(run, &spec, worker, reference, &why);
        }
        if (status != STATUS_OK)
            error_set(err, status, "%s", why.text);
    }
    case_free(&spec);
    return status == STATUS_OK ? status : error_within(err, "the oracle");
}

status_t run_enter(run_state_t *run, const case_t *spec, contender_t *contender, error_t *err) {
    const program_t *program = NULL;
    worker_link_t *worker = NULL;
    char *skip = run_skip_reason(run, spec);
    error_t why = ERROR_INIT;
    status_t status = STATUS_OK;
    if (skip == NULL)
        status = workers_find(&run->workers, spec, "", &worker, &why);
    if (skip == NULL && status == STATUS_OK)
        TRY(find_program(run, spec, &program, err));
    contender_init(contender, spec, worker, program, &run->settings);
    if (status != STATUS_OK)
        skip = mem_text(why.text);
    if (skip != NULL)
        contender_drop(contender, CASE_SKIPPED, skip);
    free(skip);
    return STATUS_OK;
}

static status_t write_down(run_state_t *run, const group_t *group, contender_t *contenders,
                           size_t n, const volatile sig_atomic_t *interrupted, error_t *err) {
    for (size_t i = 0; i < n; i++) {
        case_result_t *result = &contenders[i].result;
        if (*interrupted && !contender_is_finished(&contenders[i]))
            continue;
        judge_limit(result, group->workload, &run->rates);
        judge_plausible(result, &run->rates);
        judge_calibrate(result, &run->rates);
        run->n_bad += result->status == CASE_WRONG || result->status == CASE_FAILED;
        TRY(journal_append(&run->journal, result, err));
        progress_case(&run->progress, result);
    }
    return STATUS_OK;
}

/* Open every contender and ask the oracle; without its word nothing can be checked, so nothing is
 * timed. True when there is something to measure. */
static bool open_all(run_state_t *run, const group_t *group, contender_t *contenders, size_t n,
                     reference_t *reference, const volatile sig_atomic_t *interrupted) {
    bool any = false;
    for (size_t i = 0; i < n && !*interrupted; i++) {
        if (contenders[i].live)
            contender_open(&contenders[i]);
        any = any || contenders[i].live;
    }
    *reference = (reference_t){0};
    error_t why = ERROR_INIT;
    if (!any || ask_oracle(run, group, reference, &why) == STATUS_OK)
        return any;
    for (size_t i = 0; i < n; i++)
        if (contenders[i].live)
            contender_drop(&contenders[i], CASE_FAILED, why.text);
    return false;
}

static void check_all(contender_t *contenders, size_t n, const group_t *group,
                      const reference_t *reference, bool after,
                      const volatile sig_atomic_t *interrupted) {
    for (size_t i = 0; i < n && !*interrupted; i++) {
        case_result_t *result = &contenders[i].result;
        contender_check(&contenders[i], reference, group->workload->tolerance(&result->spec),
                        after ? &result->after : &result->before);
    }
}

static status_t measure_contenders(run_state_t *run, const group_t *group, contender_t *contenders,
                                   size_t n, const volatile sig_atomic_t *interrupted,
                                   error_t *err) {
    reference_t reference;
    bool check = !run->options->profile;
    if (open_all(run, group, contenders, n, &reference, interrupted)) {
        if (check)
            check_all(contenders, n, group, &reference, false, interrupted);
        if (run->options->cold)
            cold_rounds(contenders, n, &run->workers, run->options->seed, run->n_groups++,
                        interrupted);
        else
            schedule_rounds(contenders, n, run->options->seed, run->n_groups++, interrupted);
        if (check)
            check_all(contenders, n, group, &reference, true, interrupted);
    }
    reference_free(&reference);
    for (size_t i = 0; i < n; i++)
        if (contenders[i].worker != NULL)
            contender_finish(&contenders[i]);
    run_note_workers(run);
    return write_down(run, group, contenders, n, interrupted, err);
}

status_t run_measure(run_state_t *run, const group_t *group,
                     const volatile sig_atomic_t *interrupted, error_t *err) {
    contender_t *contenders = mem_zeroed(group->n, sizeof *contenders);
    size_t n = 0;
    status_t status = STATUS_OK;
    char *name = workload_group(group->workload, &group->cases[0]);
    progress_now(&run->progress, name);
    nvtx_push(name);
    run->settings.measure = *group->measure;
    for (size_t i = 0; i < group->n && status == STATUS_OK; i++) {
        if (run_find(&run->record, group->cases[i].id) != NULL) {
            run->progress.done++; /* finished before: --resume */
            continue;
        }
        status = run_enter(run, &group->cases[i], &contenders[n], err);
        n += status == STATUS_OK;
    }
    if (status == STATUS_OK && n > 0)
        status = measure_contenders(run, group, contenders, n, interrupted, err);
    nvtx_pop();
    free(name);
    for (size_t i = 0; i < n; i++)
        contender_free(&contenders[i]);
    free(contenders);
    return status;
}

static status_t calibrate_with(run_state_t *run, const char *workload_name, const char *variant,
                               const char *param, int64_t value,
                               const volatile sig_atomic_t *interrupted, error_t *err) {
    static const measure_options_t MEASURE = MEASURE_DEFAULTS;
    measure_options_t measure = MEASURE;
    measure.time_limit_s = 2;
    const workload_t *workload = workload_find(workload_name);
    case_t spec = {.workload = mem_text(workload_name),
                   .engine = mem_text("cuda"),
                   .device = mem_text("cuda"),
                   .variant = mem_text(variant)};
    case_add_param(&spec, param, &(value_t){.kind = VALUE_INT, .integer = value});
    workload_complete(workload, &spec);
    const group_t group = {.workload = workload, .cases = &spec, .n = 1, .measure = &measure};
    run->progress.total++;
    status_t status = STATUS_OK;
    const case_result_t *before = run_find(&run->record, spec.id);
    if (before != NULL)
        judge_calibrate(before, &run->rates);
    status = run_measure(run, &group, interrupted, err);
    case_free(&spec);
    return status;
}

status_t run_calibrate(run_state_t *run, const volatile sig_atomic_t *interrupted, error_t *err) {
    if (run->arch == NULL || run->options->profile || run->options->cold)
        return STATUS_OK; /* nothing will be held against them */
    int64_t in_l2 = (int64_t)(run->rates.l2_bytes / 4);
    TRY(calibrate_with(run, "device", "copy", "bytes", IN_DRAM_BYTES, interrupted, err));
    if (run->no_compiler != NULL)
        return STATUS_OK;
    if (in_l2 > 0)
        TRY(calibrate_with(run, "device", "01_read", "bytes", in_l2, interrupted, err));
    TRY(calibrate_with(run, "device", "02_barrier", "bytes", 1, interrupted, err));
    TRY(calibrate_with(run, "null", "01_empty", "work_ns", 0, interrupted, err));
    return STATUS_OK;
}
