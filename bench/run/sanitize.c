/* `bench run --sanitize`: run every CUDA program of the sweeps once under compute-sanitizer, before
 * anything is timed. */
#include "run/state.h"

#include "base/memory.h"
#include "io/fs.h"
#include "measure/sanitizer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Per tool and program; --timeout may lower it. */
static const double TIMEOUT_S = 120;

static double work_of(const case_t *spec) {
    const workload_t *workload = workload_find(spec->workload);
    return workload->cost != NULL ? workload->cost(spec).bytes : 0;
}

/* For each program the unmeasured case with the least work: kernels run far slower under a tool,
 * and a size that does not fill a block exposes missing bounds checks. */
static const case_t **choose_cases(run_t *run, error_t *err) {
    const case_t **chosen = mem_zeroed(run->programs.n + 1, sizeof *chosen);
    for (size_t s = 0; s < run->n_sweeps; s++)
        for (size_t i = 0; i < run->sweeps[s].n_cases; i++) {
            const case_t *spec = &run->sweeps[s].cases[i];
            const program_t *program;
            if (case_is_complete(&run->states[s][i], run->sweeps[s].measure.passes))
                continue;
            if (run_find_program(run, spec, &program, err) != STATUS_OK) {
                free(chosen);
                return NULL;
            }
            if (program == NULL || program->status != PROGRAM_OK)
                continue;
            size_t at = (size_t)(program - run->programs.items);
            if (chosen[at] == NULL || work_of(spec) < work_of(chosen[at]))
                chosen[at] = spec;
        }
    return chosen;
}

static status_t keep_log(run_t *run, const program_t *program, const char *tool,
                         const sanitize_output_t *output, error_t *err) {
    char *folder = fs_join(run->folder, "logs");
    char *path = mem_format("%s/sanitize-%s-%s-%.12s-%s.txt", folder, program->workload,
                            program->variant, program->code_hash, tool);
    status_t status = fs_make_folders(folder, err);
    if (status == STATUS_OK)
        status = fs_write_atomic(path, output->log, strlen(output->log), err);
    if (status == STATUS_OK && !text_starts(output->verdict, "clean"))
        progress_note(&run->progress, "%s of %s under compute-sanitizer: %s (%s)", tool,
                      output->example, output->verdict, path);
    free(path);
    free(folder);
    return status;
}

/* Without a sanitizer (NULL) every verdict is "not run". */
static status_t run_tools(run_t *run, const sanitizer_t *sanitizer, const sanitize_input_t *input,
                          sanitize_t *found, error_t *err) {
    size_t n;
    const char *const *tools = sanitizer_tools(&n);
    status_t status = STATUS_OK;
    if (sanitizer != NULL)
        found->version = mem_text(sanitizer->version);
    for (size_t i = 0; i < n && status == STATUS_OK; i++) {
        sanitize_output_t output;
        text_list_add(&found->tools, tools[i]);
        if (sanitizer == NULL) {
            text_list_add(&found->verdicts, "not run: no compute-sanitizer");
            continue;
        }
        char *now = mem_format("%s of %s", tools[i], input->spec->id);
        progress_now(&run->progress, now);
        free(now);
        sanitize_program(sanitizer, tools[i], input, &output);
        text_list_add(&found->verdicts, output.verdict);
        if (found->example == NULL)
            found->example = mem_text(output.example);
        if (output.log != NULL)
            status = keep_log(run, input->program, tools[i], &output, err);
        sanitize_output_free(&output);
    }
    return status;
}

static status_t sanitize_all(run_t *run, const case_t **chosen, const sanitizer_t *sanitizer,
                             error_t *err) {
    const compile_options_t compile = {.root = run->options->root};
    char *cache = compile_cache_folder(&compile);
    status_t status = STATUS_OK;
    for (size_t i = 0; i < run->programs.n && !*run->interrupted && status == STATUS_OK; i++) {
        const sanitize_input_t input = {.spec = chosen[i],
                                        .program = &run->programs.items[i],
                                        .cache = cache,
                                        .seed = run->options->seed,
                                        .device = run->options->device,
                                        .timeout_s = fmin(run->options->timeout_s, TIMEOUT_S)};
        if (chosen[i] != NULL)
            status = run_tools(run, sanitizer, &input, &run->sanitized[i], err);
    }
    free(cache);
    return status;
}

status_t run_sanitize(run_t *run, error_t *err) {
    if (!run->options->sanitize || run->arch == NULL || run->no_compiler != NULL)
        return STATUS_OK;
    const case_t **chosen = choose_cases(run, err);
    if (chosen == NULL)
        return STATUS_FAILED;
    sanitizer_t sanitizer;
    error_t why = ERROR_INIT;
    bool found = sanitizer_find(&sanitizer, &why) == STATUS_OK;
    if (!found)
        progress_note(&run->progress, "programs are not sanitized: %s", why.text);
    run->n_sanitized = run->programs.n;
    run->sanitized = mem_zeroed(run->n_sanitized, sizeof *run->sanitized);
    status_t status = sanitize_all(run, chosen, found ? &sanitizer : NULL, err);
    if (found)
        sanitizer_free(&sanitizer);
    free(chosen);
    return status;
}

bool run_note_sanitized(const run_t *run, contender_t *contender) {
    if (run->sanitized == NULL || contender->program == NULL)
        return false;
    size_t at = (size_t)(contender->program - run->programs.items);
    const sanitize_t *found = &run->sanitized[at];
    case_result_t *result = &contender->result;
    sanitize_free(&result->sanitize);
    result->sanitize.version = mem_text(found->version);
    result->sanitize.example = mem_text(found->example);
    bool unsound = false;
    for (size_t i = 0; i < found->tools.n; i++) {
        const char *tool = found->tools.items[i], *verdict = found->verdicts.items[i];
        text_list_add(&result->sanitize.tools, tool);
        text_list_add(&result->sanitize.verdicts, verdict);
        if (!sanitize_is_finding(verdict))
            continue;
        flag_list_add(&result->flags, FLAG_SANITIZER, tool, strtod(verdict, NULL), NAN);
        unsound = true;
    }
    return unsound;
}
