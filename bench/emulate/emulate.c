/* `bench workload check --emulate`: are the rungs right? Each is compiled for this machine's CPU and run at small sizes, in
 * a process of its own; the reference and the tolerances are those of a measured case. */
#include "emulate/emulate.h"

#include "base/memory.h"
#include "compile/compile.h"
#include "emulate/program.h"
#include "io/fs.h"
#include "io/json.h"
#include "workloads/described/data.h"
#include "workloads/described/described.h"

#include <stdlib.h>
#include <string.h>

typedef struct rung {
    const char *name;
    const source_t *source;
    char *folder, *defines; /* those that `program` is compiled with; NULL: not yet */
    host_program_t program;
    size_t right, unlaunched;
    char *wrong, *left_out; /* the first case that is wrong; that cannot be emulated, or launched */
} rung_t;

typedef struct emulation {
    examples_t examples;
    host_tools_t tools;
    char *folder, *headers;
    source_set_t sources;
    rung_t *rungs;
    size_t n;
    size_t cases;
} emulation_t;

/* ---- a rung in a case -------------------------------------------------------------------------- */

/* Takes the reason. The first one stays. */
static void note(char **kept, const case_t *spec, char *reason) {
    AUTO_FREE char *sizes = example_sizes_text(spec);
    if (*kept == NULL)
        *kept = mem_format("%s: %s", sizes, reason);
    free(reason);
}

/* The program of this case: the last one, if nothing in it differs. */
static status_t build(const emulation_t *e, rung_t *rung, const case_t *spec, error_t *err) {
    AUTO(text_list_free) text_list_t defines = {0};
    e->examples.workload->constants(spec, &defines);
    AUTO_FREE char *joined = text_list_join(&defines, "\n");
    if (rung->defines != NULL && strcmp(rung->defines, joined) == 0)
        return STATUS_OK;
    host_program_free(&rung->program);
    mem_set_text(&rung->defines, joined);
    return host_program_build(&e->tools, rung->source, &defines, rung->folder, &rung->program, err);
}

/* Why CUDA's compiler refuses it; NULL: it does not, or there is none. The caller frees it. */
static char *why_not_compiled(const emulation_t *e, const rung_t *rung, const case_t *spec) {
    const compile_options_t options = {.root = e->examples.root};
    AUTO(program_list_free) program_list_t programs = {0};
    AUTO(case_free) case_t own = case_copy(spec);
    AUTO_FREE char *arch = mem_format("sm_%d", EMULATED_ARCH);
    const program_t *program;
    mem_set_text(&own.engine, "cuda");
    mem_set_text(&own.variant, rung->name);
    workload_complete(e->examples.workload, &own);
    if (compile_case(&options, &own, arch, &programs, &program, NULL) != STATUS_OK ||
        program->status != PROGRAM_FAILED)
        return NULL;
    return mem_format("for %s: %.*s", arch, (int)strcspn(program->reason, "\n"), program->reason);
}

typedef struct expected {
    contender_t *oracle;
    const reference_t *reference;
    described_data_t *data;
} expected_t;

static status_t run_in(rung_t *rung, const case_t *spec, const expected_t *expected,
                       const char *folder, error_t *err) {
    emulated_t how;
    char *reason = NULL;
    check_t check = {0};
    TRY(emulation_run(rung->program.path, spec, expected->data, folder, &how, &reason, err));
    const reference_t own = reference_for(expected->reference, spec);
    const status_t status =
        how == EMULATED_RUN ? contender_verify(expected->oracle, &own, folder, &check, &reason, err)
                            : STATUS_OK;
    free(own.bounds);
    TRY(status);
    rung->unlaunched += how == EMULATED_SKIPPED;
    if (reason == NULL)
        rung->right++;
    else
        note(how == EMULATED_SKIPPED ? &rung->left_out : &rung->wrong, spec, reason);
    return STATUS_OK;
}

static status_t try_rung(const emulation_t *e, rung_t *rung, const case_t *spec,
                         const expected_t *expected, error_t *err) {
    AUTO(fs_remove_temporary) char *folder = NULL;
    if (rung->wrong != NULL)
        return STATUS_OK;
    TRY(build(e, rung, spec, err));
    if (rung->program.path == NULL) {
        const host_program_t *program = &rung->program;
        AUTO_FREE char *why = program->lacks_name ? why_not_compiled(e, rung, spec) : NULL;
        const bool is_wrong = program->broken || why != NULL;
        const char *what = program->skips    ? "skipped:"
                           : why != NULL     ? "does not compile"
                           : program->broken ? "does not compile:"
                                             : "cannot be emulated:";
        note(is_wrong ? &rung->wrong : &rung->left_out, spec,
             mem_format("%s %s", what, why != NULL ? why : program->reason));
        return STATUS_OK;
    }
    TRY(fs_temporary_folder_in(e->folder, &folder, err));
    return run_in(rung, spec, expected, folder, err);
}

/* ---- all cases --------------------------------------------------------------------------------- */

static status_t try_rungs(const case_t *spec, contender_t *oracle, const reference_t *reference,
                          void *with, error_t *err) {
    emulation_t *e = with;
    described_data_t *data = described_data_take(described_find(spec->workload), spec,
                                                 oracle->made->seed, oracle->made->folder);
    const expected_t expected = {oracle, reference, data};
    status_t status = described_data_check(data, err);
    for (size_t i = 0; i < e->n && status == STATUS_OK; i++)
        status = try_rung(e, &e->rungs[i], spec, &expected, err);
    described_data_release(data);
    return status;
}

/* ---- the command ------------------------------------------------------------------------------- */

static void print_rung(const rung_t *rung, size_t cases, int width) {
    printf("  %-*s  ", width, rung->name);
    if (rung->wrong != NULL)
        printf("wrong at %s\n", rung->wrong);
    else if (rung->left_out == NULL)
        printf("right in %zu case%s\n", rung->right, rung->right == 1 ? "" : "s");
    else if (rung->right > 0)
        printf("right in %zu of %zu cases; not at %s\n", rung->right, cases, rung->left_out);
    else
        printf("not tried: at %s\n", rung->left_out);
}

static status_t print_rungs(const emulation_t *e, error_t *err) {
    size_t wrong = 0, width = 0;
    for (size_t i = 0; i < e->n; i++)
        width = strlen(e->rungs[i].name) > width ? strlen(e->rungs[i].name) : width;
    for (size_t i = 0; i < e->n; i++) {
        if (e->rungs[i].unlaunched == e->cases) { /* at no size: its LAUNCHES are wrong */
            e->rungs[i].wrong = e->rungs[i].left_out;
            e->rungs[i].left_out = NULL;
        }
        print_rung(&e->rungs[i], e->cases, (int)width);
        wrong += e->rungs[i].wrong != NULL;
    }
    return wrong == 0 ? STATUS_OK
                      : error_set(err, STATUS_FAILED, "%s: %zu of %zu rungs wrong, see above",
                                  e->examples.workload->name, wrong, e->n);
}

static status_t choose_rungs(const emulation_t *e, const char *variant, text_list_t *names,
                             error_t *err) {
    TRY(workload_variants(e->examples.workload, "cuda", e->examples.root, names, err));
    if (variant == NULL)
        return STATUS_OK;
    if (!text_list_has(names, variant)) {
        const vocabulary_t known = {"rung", "", (const char *const *)names->items, names->n};
        AUTO_FREE char *complaint = vocabulary_complaint(&known, variant);
        return error_set(err, STATUS_USAGE, "--variant: %s", complaint);
    }
    text_list_free(names);
    text_list_add(names, variant);
    return STATUS_OK;
}

status_t emulate_check_options(const emulate_options_t *options, error_t *err) {
    const emulation_t e = {.examples = options->examples};
    AUTO(text_list_free) text_list_t names = {0};
    return choose_rungs(&e, options->variant, &names, err);
}

static status_t open_rungs(emulation_t *e, const text_list_t *names, error_t *err) {
    AUTO_FREE char *folder = workload_folder(e->examples.root, e->examples.workload);
    e->rungs = mem_zeroed(names->n + 1, sizeof *e->rungs);
    for (size_t i = 0; i < names->n; i++) {
        AUTO_FREE char *path = mem_format("%s/%s.cu", folder, names->items[i]);
        e->rungs[i].name = names->items[i];
        e->rungs[e->n++].folder = mem_format("%s/rung_%s", e->folder, names->items[i]);
        TRY(source_get(&e->sources, e->examples.root, path, &e->rungs[i].source, err));
    }
    return STATUS_OK;
}

static void close_emulation(emulation_t *e) {
    for (size_t i = 0; i < e->n; i++) {
        rung_t *rung = &e->rungs[i];
        host_program_free(&rung->program);
        free(rung->folder);
        free(rung->defines);
        free(rung->wrong);
        free(rung->left_out);
    }
    fs_remove_temporary(&e->folder);
    free(e->rungs);
    free(e->headers);
    host_tools_close(&e->tools);
    source_set_free(&e->sources);
}

status_t emulate_rungs(const emulate_options_t *options, error_t *err) {
    AUTO(close_emulation)
    emulation_t e = {.examples = options->examples};
    AUTO(text_list_free) text_list_t names = {0};
    TRY(host_tools_open(e.examples.root, &e.tools, err));
    TRY(choose_rungs(&e, options->variant, &names, err));
    TRY(fs_temporary_folder(&e.folder, err));
    TRY(open_rungs(&e, &names, err));
    TRY(host_tools_prepare(&e.tools, e.headers = fs_join(e.folder, "headers"), err));
    printf("rungs on the CPU, at small sizes:\n");
    fflush(stdout);
    TRY(examples_each(&e.examples, try_rungs, &e, &e.cases, err));
    const char *condition = e.examples.workload->condition;
    return e.cases > 0 ? print_rungs(&e, err)
                       : error_set(err, STATUS_USAGE, "no case at these sizes: %s",
                                   condition != NULL ? condition : "see above");
}
