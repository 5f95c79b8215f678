/* Compile the programs of all cases before anything is measured; find the program of a case. */
#include "run/state.h"

#include "base/memory.h"
#include "workloads/operator/operators.h"

#include <stdlib.h>
#include <string.h>

case_t run_calibration_case(const char *workload, const char *variant) {
    return (case_t){.workload = mem_text(workload),
                    .engine = mem_text("cuda"),
                    .device = mem_text("cuda"),
                    .variant = mem_text(variant)};
}

static status_t add_calibration(run_t *run, const compile_options_t *compile, const char *workload,
                                const char *variant, error_t *err) {
    case_t spec = run_calibration_case(workload, variant);
    workload_complete(workload_find(workload), &spec);
    size_t index;
    status_t status = compile_add(compile, &spec, run->arch, &run->programs, &index, err);
    case_free(&spec);
    return status;
}

static status_t add_programs(run_t *run, const compile_options_t *compile, error_t *err) {
    size_t index;
    status_t status = STATUS_OK;
    if (run->build == NULL) { /* else the other side calibrates for both */
        TRY(add_calibration(run, compile, "null", "01_empty", err));
        TRY(add_calibration(run, compile, "device", "02_barrier", err));
        TRY(add_calibration(run, compile, "device", "01_read", err));
    }
    for (size_t s = 0; s < run->n_sweeps && status == STATUS_OK; s++)
        for (size_t i = 0; i < run->sweeps[s].n_cases && status == STATUS_OK; i++)
            status = compile_add(compile, &run->sweeps[s].cases[i], run->arch, &run->programs,
                                 &index, err);
    return status;
}

static bool has_rungs_of_operators(const run_t *run) {
    for (size_t s = 0; s < run->n_sweeps; s++)
        for (size_t i = 0; i < run->sweeps[s].n_cases; i++) {
            const case_t *spec = &run->sweeps[s].cases[i];
            if (strcmp(spec->engine, "cuda") == 0 && operators_find(spec->workload) != NULL)
                return true;
        }
    return false;
}

/* It only saves time: without it the host fills the inputs. */
static void compile_refill(run_t *run, compile_options_t compile) {
    error_t why = ERROR_INIT;
    if (!has_rungs_of_operators(run))
        return;
    compile.progress = NULL;
    status_t status = compile_add_common(&compile, "refill", run->arch, &run->refill, &why);
    if (status == STATUS_OK)
        status = compile_all(&compile, &run->refill, &why);
    const program_t *program = run->refill.items;
    if (status == STATUS_OK && program->status == PROGRAM_OK)
        run->settings.refill = program->cubin;
    else
        progress_note(&run->progress, "inputs of operators are filled by the host: %s",
                      status == STATUS_OK ? program->reason : why.text);
}

status_t run_compile(run_t *run, error_t *err) {
    if (run->arch == NULL)
        return STATUS_OK;
    compile_options_t compile = {.root = run->options->root,
                                 .compiler = run->options->compiler,
                                 .progress = progress_compiled,
                                 .context = &run->progress};
    TRY(add_programs(run, &compile, err));
    error_t why = ERROR_INIT;
    char *described = NULL;
    if (compile_describe(&compile, &described, &why) != STATUS_OK &&
        compile.compiler == COMPILER_NVRTC) {
        compile.compiler = COMPILER_NVCC;
        error_t ignored = ERROR_INIT;
        compile_describe(&compile, &described, &ignored);
    }
    if (described == NULL) {
        run->no_compiler = mem_text_n(why.text, strcspn(why.text, "\n"));
        progress_note(&run->progress, "CUDA cases are skipped: %s", run->no_compiler);
        return STATUS_OK;
    }
    environment_set(&run->here, "versions.cuda_compiler", described);
    free(described);
    progress_step(&run->progress, STEP_OTHER, "", 1, "compile");
    compile_refill(run, compile);
    return compile_all(&compile, &run->programs, err);
}

status_t run_find_program(run_t *run, const case_t *spec, const program_t **program, error_t *err) {
    size_t index = (size_t)-1, n = run->programs.n;
    *program = NULL;
    if (strcmp(spec->engine, "cuda") != 0 ||
        workload_is_cuda_builtin(workload_find(spec->workload), spec->variant))
        return STATUS_OK;
    const compile_options_t options = {.root = run->options->root};
    TRY(compile_add(&options, spec, run->arch, &run->programs, &index, err));
    if (index >= n)
        return error_set(err, STATUS_FAILED, "%s: its program was not compiled", spec->id);
    *program = &run->programs.items[index];
    return STATUS_OK;
}
