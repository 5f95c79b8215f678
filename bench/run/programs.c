/* Compile the programs of all cases before anything is measured; find the program of a case. */
#include "base/memory.h"
#include "io/fs.h"
#include "measure/sanitizer.h"
#include "run/state.h"
#include "workloads/described/described.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== compiling =============================================================================== */

case_t run_calibration_case(const char *workload, const char *variant) {
    return (case_t){.workload = mem_text(workload),
                    .engine = mem_text("cuda"),
                    .device = mem_text("cuda"),
                    .variant = mem_text(variant)};
}

static status_t add_calibration(run_t *run, const compile_options_t *compile, const char *workload,
                                const char *variant, error_t *err) {
    AUTO(case_free) case_t spec = run_calibration_case(workload, variant);
    workload_complete(workload_find(workload), &spec);
    size_t index;
    return compile_add(compile, &spec, run->arch, &run->programs, &index, err);
}

static bool is_in_c(const case_t *spec) {
    return workload_is_in_c(workload_find(spec->workload), spec->engine);
}

/* A reference in C. */
static status_t add_oracle(run_t *run, const compile_options_t *compile, const sweep_t *sweep,
                           const case_t *spec, error_t *err) {
    const group_t group = {.workload = sweep->workload, .cases = (case_t *)spec, .n = 1};
    AUTO(case_free) case_t oracle = {0};
    size_t index;
    if (sweep->workload->c_oracle == NULL || !run_oracle_of(&group, &oracle))
        return STATUS_OK;
    return compile_add(compile, &oracle, run->arch, &run->programs, &index, err);
}

static status_t add_programs(run_t *run, const compile_options_t *compile, error_t *err) {
    size_t index;
    if (run->build == NULL && run->arch != NULL) { /* else the other side calibrates for both */
        TRY(add_calibration(run, compile, "null", "01_empty", err));
        TRY(add_calibration(run, compile, "device", "02_barrier", err));
        TRY(add_calibration(run, compile, "device", "01_read", err));
    }
    for (run_case_t at = {0}; run_next_case(run, &at);) {
        TRY(add_oracle(run, compile, at.sweep, at.spec, err));
        if (run->arch != NULL || is_in_c(at.spec))
            TRY(compile_add(compile, at.spec, run->arch, &run->programs, &index, err));
    }
    return STATUS_OK;
}

static bool has_described_on_gpu(const run_t *run) {
    for (run_case_t at = {0}; run_next_case(run, &at);)
        if (strcmp(at.spec->device, "cuda") == 0 && described_find(at.spec->workload) != NULL)
            return true;
    return false;
}

/* It only saves time: without it the host fills the inputs. */
static void compile_refill(run_t *run, compile_options_t compile) {
    error_t why = ERROR_INIT;
    if (!has_described_on_gpu(run))
        return;
    compile.progress = NULL;
    status_t status = compile_add_common(&compile, "refill", run->arch, &run->refill, &why);
    if (status == STATUS_OK)
        status = compile_all(&compile, &run->refill, &why);
    const program_t *program = run->refill.items;
    if (status == STATUS_OK && program->status == PROGRAM_OK)
        run->settings.refill = program->cubin;
    else
        progress_note(&run->progress, "inputs of described workloads are filled by the host: %s",
                      status == STATUS_OK ? program->reason : why.text);
}

/* nvcc where there is no NVRTC; without both, cases of engine cuda are skipped, and some rates are not measured. */
static void find_cuda_compiler(run_t *run, compile_options_t *compile) {
    error_t why = ERROR_INIT, ignored = ERROR_INIT;
    AUTO_FREE char *described = NULL;
    if (compile_describe(compile, &described, &why) != STATUS_OK &&
        compile->compiler == COMPILER_NVRTC) {
        compile->compiler = COMPILER_NVCC;
        compile_describe(compile, &described, &ignored);
    }
    compile->without_cuda = described == NULL;
    if (described == NULL) {
        run->no_compiler = mem_text_n(why.text, strcspn(why.text, "\n"));
        progress_note(&run->progress, "%s: %s",
                      run_has_rungs(run) ? "CUDA cases are skipped" : "not all limits are known",
                      run->no_compiler);
        return;
    }
    environment_set(&run->here, "versions.cuda_compiler", described);
}

status_t run_compile(run_t *run, error_t *err) {
    compile_options_t compile = {.root = run->options->root,
                                 .compiler = run->options->compiler,
                                 .progress = progress_compiled,
                                 .context = &run->progress};
    TRY(add_programs(run, &compile, err));
    if (run->arch != NULL)
        find_cuda_compiler(run, &compile);
    if (run->programs.n == 0)
        return STATUS_OK;
    progress_step(&run->progress, "compile");
    if (run->arch != NULL && !compile.without_cuda)
        compile_refill(run, compile);
    return compile_all(&compile, &run->programs, err);
}

status_t run_find_program(run_t *run, const case_t *spec, const program_t **program, error_t *err) {
    size_t index = (size_t)-1, n = run->programs.n;
    *program = NULL;
    if ((strcmp(spec->engine, "cuda") != 0 && !is_in_c(spec)) ||
        workload_is_cuda_builtin(workload_find(spec->workload), spec->variant))
        return STATUS_OK;
    const compile_options_t options = {.root = run->options->root};
    TRY(compile_add(&options, spec, run->arch, &run->programs, &index, err));
    if (index >= n)
        return error_set(err, STATUS_FAILED, "%s: its program was not compiled", spec->id);
    *program = &run->programs.items[index];
    return STATUS_OK;
}

/* ==== --sanitize ============================================================================== */

/* `bench run --sanitize`: run every CUDA program of the sweeps once under compute-sanitizer, before
 * anything is timed. */

/* Per tool and program; --timeout may lower it. */
static const double TIMEOUT_S = 120;

static double work_of(const case_t *spec) {
    const workload_t *workload = workload_find(spec->workload);
    return workload->cost != NULL ? workload->cost(spec).bytes : 0;
}

/* For each program the unmeasured case with the least work: kernels run far slower under a tool,
 * and a size that does not fill a block exposes missing bounds checks. `chosen`: one for each, NULL. */
static status_t choose_cases(run_t *run, const case_t **chosen, error_t *err) {
    for (run_case_t at = {0}; run_next_case(run, &at);) {
        const program_t *program;
        if (case_is_complete(at.state, at.sweep->measure.passes))
            continue;
        TRY(run_find_program(run, at.spec, &program, err));
        if (program == NULL || program->status != PROGRAM_OK || is_in_c(at.spec))
            continue;
        const case_t **least = &chosen[program - run->programs.items];
        if (*least == NULL || work_of(at.spec) < work_of(*least))
            *least = at.spec;
    }
    return STATUS_OK;
}

static status_t keep_log(run_t *run, const program_t *program, const char *tool,
                         const sanitize_output_t *output, error_t *err) {
    AUTO_FREE char *folder = fs_join(run->folder, "logs");
    AUTO_FREE char *path = mem_format("%s/sanitize-%s-%s-%.12s-%s.txt", folder, program->workload,
                                      program->variant, program->code_hash, tool);
    TRY(fs_make_folders(folder, err));
    TRY(fs_write_atomic(path, output->log, strlen(output->log), err));
    if (!text_starts(output->verdict, "clean"))
        progress_note(&run->progress, "%s of %s under compute-sanitizer: %s (%s)", tool,
                      output->example, output->verdict, path);
    return STATUS_OK;
}

/* Without a sanitizer (NULL) every verdict is "not run". */
static status_t run_tools(run_t *run, const sanitizer_t *sanitizer, const sanitize_input_t *input,
                          sanitize_t *found, error_t *err) {
    status_t status = STATUS_OK;
    if (sanitizer != NULL)
        found->version = mem_text(sanitizer->version);
    for (const char *const *tool = SANITIZER_TOOLS; *tool != NULL && status == STATUS_OK; tool++) {
        sanitize_output_t output;
        text_list_add(&found->tools, *tool);
        if (sanitizer == NULL) {
            text_list_add(&found->verdicts, "not run: no compute-sanitizer");
            continue;
        }
        progress_now(&run->progress, "%s of %s", *tool, input->spec->id);
        sanitize_program(sanitizer, *tool, input, &output);
        text_list_add(&found->verdicts, output.verdict);
        if (found->example == NULL)
            found->example = mem_text(output.example);
        if (output.log != NULL)
            status = keep_log(run, input->program, *tool, &output, err);
        sanitize_output_free(&output);
    }
    return status;
}

/* Without inputs that it needs, its worker says so. */
static status_t sanitize_one(run_t *run, const sanitizer_t *sanitizer, sanitize_input_t *input,
                             sanitize_t *found, error_t *err) {
    AUTO(made_inputs_free) made_inputs_t made = {0};
    made_reader_t reader = {0};
    if (run_make_inputs(run, input->spec, &made, NULL) == STATUS_OK &&
        made_inputs_have(&made, MADE_BY_FUNCTION, 0, made.worker, &reader, NULL) == STATUS_OK)
        input->inputs = made.folder;
    return run_tools(run, sanitizer, input, found, err);
}

static status_t sanitize_all(run_t *run, const case_t **chosen, const sanitizer_t *sanitizer,
                             error_t *err) {
    const compile_options_t compile = {.root = run->options->root};
    AUTO_FREE char *cache = compile_cache_folder(&compile);
    for (size_t i = 0; i < run->programs.n && !*run->interrupted; i++) {
        sanitize_input_t input = {.spec = chosen[i],
                                  .program = &run->programs.items[i],
                                  .cache = cache,
                                  .seed = run->options->seed,
                                  .device = run->options->device,
                                  .timeout_s = fmin(run->options->timeout_s, TIMEOUT_S)};
        if (chosen[i] != NULL)
            TRY(sanitize_one(run, sanitizer, &input, &run->sanitized[i], err));
    }
    return STATUS_OK;
}

status_t run_sanitize(run_t *run, error_t *err) {
    if (!run->options->sanitize || run->arch == NULL || run->no_compiler != NULL)
        return STATUS_OK;
    AUTO_FREE const case_t **chosen = mem_zeroed(run->programs.n + 1, sizeof *chosen);
    TRY(choose_cases(run, chosen, err));
    AUTO(sanitizer_free) sanitizer_t sanitizer = {0};
    error_t why = ERROR_INIT;
    bool found = sanitizer_find(&sanitizer, &why) == STATUS_OK;
    if (!found)
        progress_note(&run->progress, "programs are not sanitized: %s", why.text);
    run->n_sanitized = run->programs.n;
    run->sanitized = mem_zeroed(run->n_sanitized, sizeof *run->sanitized);
    return sanitize_all(run, chosen, found ? &sanitizer : NULL, err);
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
