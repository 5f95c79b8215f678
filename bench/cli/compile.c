#include "cli/compile.h"

#include "base/clock.h"
#include "cli/compile_print.h"
#include "compile/compile.h"
#include "sweep/sweep.h"

#include <stdlib.h>
#include <string.h>

static bool is_native(const char *arch) {
    return strcmp(arch, "native") == 0;
}

/* The architectures to build a sweep for. "native" means nothing here: there may be no GPU. */
static status_t choose_archs(const compile_command_options_t *options, const sweep_t *sweep,
                             text_list_t *archs, error_t *err) {
    const text_list_t *asked = options->arch.n > 0 ? &options->arch : &sweep->arch;
    for (size_t i = 0; i < asked->n; i++)
        if (!is_native(asked->items[i]) && !text_list_has(archs, asked->items[i]))
            text_list_add(archs, asked->items[i]);
    if (archs->n == 0)
        return error_set(err, STATUS_USAGE,
                         "%s: no architecture to compile for; say --arch sm_90, or a list such as "
                         "--arch sm_75,sm_80,sm_90",
                         sweep->path);
    return STATUS_OK;
}

static status_t add_sweep(const compile_command_options_t *options,
                          const compile_options_t *compile, const char *path,
                          program_list_t *programs, error_t *err) {
    sweep_t sweep = {0};
    text_list_t archs = {0};
    status_t status = sweep_load(path, options->root, &sweep, err);
    if (status != STATUS_OK)
        return status;
    status = choose_archs(options, &sweep, &archs, err);
    for (size_t a = 0; a < archs.n && status == STATUS_OK; a++) {
        for (size_t c = 0; c < sweep.n_cases && status == STATUS_OK; c++) {
            size_t index;
            status = compile_add(compile, &sweep.cases[c], archs.items[a], programs, &index, err);
            if (status != STATUS_OK)
                error_within(err, "%s: %s", path, sweep.cases[c].id);
        }
    }
    text_list_free(&archs);
    sweep_free(&sweep);
    return status;
}

static void show_progress(void *context, size_t done, size_t total) {
    (void)context;
    fprintf(stderr, "\rcompiled %zu/%zu%s", done, total, done == total ? "\n" : "");
    fflush(stderr);
}

status_t compile_command(const compile_command_options_t *options, error_t *err) {
    const compile_options_t compile = {
        .root = options->root,
        .cache = options->cache,
        .compiler = options->compiler,
        .jobs = options->jobs,
        .progress = options->progress ? show_progress : NULL,
    };
    program_list_t programs = {0};
    compile_answer_t answer = {.programs = &programs};
    status_t status = STATUS_OK;
    int64_t start_ns = clock_ns();
    for (size_t i = 0; i < options->n_sweeps && status == STATUS_OK; i++)
        status = add_sweep(options, &compile, options->sweeps[i], &programs, err);
    if (status != STATUS_OK ||
        (status = compile_describe(&compile, &answer.compiler, err)) != STATUS_OK ||
        (status = compile_all(&compile, &programs, err)) != STATUS_OK)
        goto cleanup;
    answer.seconds = (double)(clock_ns() - start_ns) * 1e-9;

    if (options->json)
        compile_print_json(&answer, options->out);
    else
        compile_print_tables(&answer, options->out);
    size_t n_failed = compile_count(&programs).failed;
    if (n_failed > 0)
        status = error_set(err, STATUS_FAILED, "%zu of %zu programs do not compile", n_failed,
                           programs.n);
cleanup:
    free(answer.compiler);
    program_list_free(&programs);
    return status;
}
