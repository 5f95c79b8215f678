/* `bench workload check`: does what can run on the CPU compute what the reference does? At small sizes, in each
 * dtype. */
#include "analysis/contenders.h"
#include "base/memory.h"
#include "cli/workload.h"
#include "compile/compile.h"
#include "io/output.h"
#include "measure/progress.h"
#include "worker/pool.h"
#include "workloads/described/described.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Variants of one engine, of the user's functions or files. */
typedef struct kind {
    const char *engine;
    text_list_t variants;
} kind_t;

typedef struct tries {
    const examples_t *examples;
    workers_t workers;
    progress_t progress;
    kind_t kinds[3];
    text_list_t right, wrong;      /* "C omp" */
    text_list_t why_wrong;         /* "C omp, rows=1 f32: why" */
    text_list_t left_out, why_not; /* "C omp"; why */
} tries_t;

static void tries_free(tries_t *tries) {
    workers_free(&tries->workers);
    progress_free(&tries->progress);
    for (size_t k = 0; k < sizeof tries->kinds / sizeof *tries->kinds; k++)
        text_list_free(&tries->kinds[k].variants);
    text_list_t *const lists[] = {&tries->right, &tries->wrong, &tries->why_wrong, &tries->left_out,
                                  &tries->why_not};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        text_list_free(lists[i]);
}

static status_t find_variants(tries_t *tries, error_t *err) {
    const description_t *d = described_find(tries->examples->workload->name);
    tries->kinds[0].engine = "pytorch";
    tries->kinds[1].engine = "jax";
    tries->kinds[2].engine = "cpu";
    text_list_add(&tries->kinds[0].variants, "eager");
    if (d->has_dataloader)
        text_list_add(&tries->kinds[0].variants, "dataloader");
    if (d->has_jax)
        text_list_add(&tries->kinds[1].variants, "jit");
    return workload_variants(tries->examples->workload, "cpu", tries->examples->root,
                             &tries->kinds[2].variants, err);
}

/* ---- a variant --------------------------------------------------------------------------------- */

/* The first case of each that is wrong is told. */
static void note(tries_t *tries, const case_t *spec, case_status_t status, const char *reason) {
    AUTO_FREE char *sizes = example_sizes_text(spec);
    AUTO_FREE char *name = mem_format("%s %s", engine_name(spec->engine), spec->variant);
    if (status == CASE_OK) {
        text_list_add_new(&tries->right, name);
    } else if (status == CASE_SKIPPED) {
        text_list_add(&tries->left_out, name);
        text_list_add(&tries->why_not, reason);
    } else if (!text_list_has(&tries->wrong, name)) {
        text_list_add(&tries->wrong, name);
        text_list_add_format(&tries->why_wrong, "%s, %s: %s", name, sizes, reason);
    }
}

/* That of a file in C; NULL for others. */
static status_t find_program(const tries_t *tries, const case_t *spec, program_list_t *programs,
                             const program_t **program, error_t *err) {
    const compile_options_t options = {.root = tries->examples->root, .without_cuda = true};
    *program = NULL;
    return strcmp(spec->engine, "cpu") == 0
               ? compile_case(&options, spec, NULL, programs, program, err)
               : STATUS_OK;
}

static status_t try_variant(tries_t *tries, const case_t *spec, const contender_t *oracle,
                            const expectation_t *expected, error_t *err) {
    AUTO(program_list_free) program_list_t programs = {0};
    AUTO_FREE char *sizes = example_sizes_text(spec);
    const program_t *program;
    worker_link_t *worker;
    error_t why = ERROR_INIT;
    contender_t contender;
    progress_say(&tries->progress, "%s %s on the CPU, %s", engine_name(spec->engine), spec->variant,
                 sizes);
    TRY(find_program(tries, spec, &programs, &program, err));
    if (workers_start(&tries->workers, spec, "", EXAMPLE_TIMEOUT_S, &worker, &why) != STATUS_OK) {
        note(tries, spec, CASE_SKIPPED, why.text);
        return STATUS_OK;
    }
    contender_init(&contender, spec, worker, program, oracle->settings);
    contender.made = oracle->made;
    contender.may_retry = false;
    contender_open(&contender);
    contender_check(&contender, expected, &contender.result.before);
    contender_finish(&contender);
    note(tries, spec, contender.result.status, contender.result.reason);
    contender_free(&contender);
    return STATUS_OK;
}

static status_t try_variants(const case_t *spec, contender_t *oracle, const reference_t *reference,
                             void *with, error_t *err) {
    tries_t *tries = with;
    case_t bare = *spec;
    bare.n_techniques = 0; /* those of rungs */
    const expectation_t expected = {.reference = reference,
                                    .tolerance = tries->examples->workload->tolerance(&bare),
                                    .verifier = reference->verified ? oracle : NULL};
    for (size_t k = 0; k < sizeof tries->kinds / sizeof *tries->kinds; k++)
        for (size_t i = 0; i < tries->kinds[k].variants.n; i++) {
            AUTO(case_free) case_t own = case_copy(&bare);
            mem_set_text(&own.engine, tries->kinds[k].engine);
            mem_set_text(&own.variant, tries->kinds[k].variants.items[i]);
            workload_complete(tries->examples->workload, &own);
            TRY(try_variant(tries, &own, oracle, &expected, err));
        }
    return STATUS_OK;
}

/* ---- all --------------------------------------------------------------------------------------- */

/* What is right in no dtype, as a file may be for one, and wrong in none. */
static void print_left_out(const tries_t *tries) {
    AUTO(text_list_free) text_list_t told = {0};
    text_list_add_all(&told, &tries->right);
    text_list_add_all(&told, &tries->wrong);
    for (size_t i = 0; i < tries->left_out.n; i++) {
        const char *name = tries->left_out.items[i];
        if (!text_list_has(&told, name))
            output_print(stdout, "  %-16s %s: %s\n", "not tried", name, tries->why_not.items[i]);
        text_list_add(&told, name);
    }
}

static void print_tries(const tries_t *tries) {
    AUTO(text_list_free) text_list_t right = {0};
    for (size_t i = 0; i < tries->right.n; i++)
        if (!text_list_has(&tries->wrong, tries->right.items[i]))
            text_list_add(&right, tries->right.items[i]);
    AUTO_FREE char *names = text_list_join(&right, ", ");
    if (right.n > 0)
        output_print(stdout, "  %-16s %s, at small sizes\n", "right", names);
    print_left_out(tries);
    for (size_t i = 0; i < tries->why_wrong.n; i++)
        output_print(stdout, "  %-16s %s\n", "wrong", tries->why_wrong.items[i]);
}

status_t described_check_contenders(const examples_t *examples, error_t *err) {
    AUTO(tries_free) tries_t tries = {.examples = examples, .workers = {.root = examples->root}};
    size_t n = 0;
    progress_start(&tries.progress, false, 0);
    status_t status = find_variants(&tries, err);
    if (status == STATUS_OK)
        status = examples_each(examples, try_variants, &tries, &n, err);
    progress_end(&tries.progress);
    print_tries(&tries);
    TRY(status);
    if (n == 0)
        printf("  %-16s contenders: \"where\" allows no small sizes\n", "not tried");
    return tries.wrong.n == 0 ? STATUS_OK
                              : error_set(err, STATUS_FAILED, "%s: see what is wrong above",
                                          examples->workload->name);
}
