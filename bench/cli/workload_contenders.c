/* `bench workload check`: does what can run on the CPU compute what the reference does? At small sizes, in each dtype. */
#include "analysis/contenders.h"
#include "base/memory.h"
#include "base/rng.h"
#include "cli/workload.h"
#include "compile/compile.h"
#include "emulate/emulate.h"
#include "measure/contender.h"
#include "measure/progress.h"
#include "worker/pool.h"
#include "workloads/described/described.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_S = 300, NTH_SMALL = 1 };

/* Variants of one engine, which has them of functions or files of the user's. */
typedef struct kind {
    const char *engine;
    text_list_t variants;
} kind_t;

typedef struct tries {
    const workload_t *workload;
    workers_t workers;
    progress_t progress;
    kind_t kinds[3];
    text_list_t right, left_out, why; /* "C omp"; why a variant was left out */
    text_list_t wrong;                /* "C omp, rows=1 f32: why" */
} tries_t;

static void tries_free(tries_t *tries) {
    workers_free(&tries->workers);
    progress_free(&tries->progress);
    for (size_t k = 0; k < sizeof tries->kinds / sizeof *tries->kinds; k++)
        text_list_free(&tries->kinds[k].variants);
    text_list_free(&tries->right);
    text_list_free(&tries->wrong);
    text_list_free(&tries->left_out);
    text_list_free(&tries->why);
}

static status_t find_variants(tries_t *tries, error_t *err) {
    const description_t *d = described_find(tries->workload->name);
    tries->kinds[0].engine = "pytorch";
    tries->kinds[1].engine = "jax";
    tries->kinds[2].engine = "cpu";
    text_list_add(&tries->kinds[0].variants, "eager");
    if (d->has_dataloader)
        text_list_add(&tries->kinds[0].variants, "dataloader");
    if (d->has_jax)
        text_list_add(&tries->kinds[1].variants, "jit");
    return workload_variants(tries->workload, "cpu", tries->workers.root, &tries->kinds[2].variants,
                             err);
}

static case_t variant_of(const tries_t *tries, const case_t *spec, const char *engine,
                         const char *variant) {
    case_t own = case_copy(spec);
    mem_set_text(&own.engine, engine);
    mem_set_text(&own.variant, variant);
    workload_complete(tries->workload, &own);
    return own;
}

/* ---- a variant --------------------------------------------------------------------------------- */

static void note(tries_t *tries, const case_result_t *result) {
    AUTO_FREE char *sizes = example_sizes_text(&result->spec);
    AUTO_FREE char *name =
        mem_format("%s %s", engine_name(result->spec.engine), result->spec.variant);
    if (result->status == CASE_OK) {
        text_list_add_new(&tries->right, name);
    } else if (result->status == CASE_SKIPPED) {
        text_list_add(&tries->left_out, name);
        text_list_add(&tries->why, result->reason);
    } else {
        text_list_add_format(&tries->wrong, "%s, %s: %s", name, sizes, result->reason);
    }
}

static const program_t *program_of(const tries_t *tries, const case_t *spec,
                                   program_list_t *programs, error_t *err) {
    const compile_options_t options = {.root = tries->workers.root, .without_cuda = true};
    size_t index;
    if (strcmp(spec->engine, "cpu") != 0 ||
        compile_add(&options, spec, NULL, programs, &index, err) != STATUS_OK ||
        compile_all(&options, programs, err) != STATUS_OK)
        return NULL;
    return &programs->items[index];
}

static status_t try_variant(tries_t *tries, const case_t *spec, const contender_t *oracle,
                            const expectation_t *expected, error_t *err) {
    AUTO(program_list_free) program_list_t programs = {0};
    error_t why = ERROR_INIT;
    const program_t *program = program_of(tries, spec, &programs, &why);
    worker_link_t *worker;
    contender_t contender;
    AUTO_FREE char *sizes = example_sizes_text(spec);
    progress_say(&tries->progress, "%s %s on the CPU, %s", engine_name(spec->engine), spec->variant,
                 sizes);
    TRY(why.text[0] == '\0' ? STATUS_OK : error_set(err, STATUS_FAILED, "%s", why.text));
    TRY(workers_start(&tries->workers, spec, "", TIMEOUT_S, &worker, err));
    contender_init(&contender, spec, worker, program, oracle->settings);
    contender.made = oracle->made;
    contender.may_retry = false;
    contender_drop_unbuilt(&contender);
    if (contender.active)
        contender_open(&contender);
    contender_check(&contender, expected, &contender.result.before);
    contender_finish(&contender);
    note(tries, &contender.result);
    contender_free(&contender);
    return STATUS_OK;
}

/* ---- a case ------------------------------------------------------------------------------------ */

static status_t try_variants(tries_t *tries, const case_t *spec, contender_t *oracle,
                             error_t *err) {
    AUTO(reference_free) reference_t reference = {0};
    if (!oracle->active)
        return error_set(err, STATUS_FAILED, "%s", oracle->result.reason);
    TRY(contender_reference(oracle, 0, &reference, err));
    const expectation_t expected = {.reference = &reference,
                                    .tolerance = tries->workload->tolerance(spec),
                                    .verifier = reference.verified ? oracle : NULL};
    for (size_t k = 0; k < sizeof tries->kinds / sizeof *tries->kinds; k++)
        for (size_t i = 0; i < tries->kinds[k].variants.n; i++) {
            const kind_t *kind = &tries->kinds[k];
            AUTO(case_free)
            case_t own = variant_of(tries, spec, kind->engine, kind->variants.items[i]);
            TRY(try_variant(tries, &own, oracle, &expected, err));
        }
    return STATUS_OK;
}

static status_t try_case(tries_t *tries, const case_t *spec, error_t *err) {
    const contender_settings_t settings = {
        .measure = MEASURE_DEFAULTS, .pass = 1, .seed = secret_seed(), .timeout_s = TIMEOUT_S};
    AUTO(case_free)
    case_t own = variant_of(tries, spec, "pytorch", tries->workload->pytorch_oracle);
    AUTO(made_inputs_free) made_inputs_t made = {0};
    worker_link_t *worker;
    contender_t oracle;
    TRY(workers_start(&tries->workers, &own, "", TIMEOUT_S, &worker, err));
    TRY(made_inputs_open(&own, worker, settings.seed, TIMEOUT_S, &made, err));
    contender_init(&oracle, &own, worker, NULL, &settings);
    oracle.made = &made;
    oracle.may_retry = false;
    contender_open(&oracle);
    const status_t status = try_variants(tries, spec, &oracle, err);
    contender_finish(&oracle);
    contender_free(&oracle);
    return status;
}

/* ---- all --------------------------------------------------------------------------------------- */

/* Of what was left out only that which is right nowhere: a file may be for one dtype. */
static void print_tries(const tries_t *tries) {
    AUTO_FREE char *right = text_list_join(&tries->right, ", ");
    AUTO(text_list_free) text_list_t named = {0};
    printf("  %-16s %s%s\n", "right", tries->right.n > 0 ? right : "none",
           tries->right.n > 0 ? ", at small sizes" : "");
    for (size_t i = 0; i < tries->left_out.n; i++) {
        const char *name = tries->left_out.items[i];
        if (!text_list_has(&tries->right, name) && !text_list_has(&named, name))
            printf("  %-16s %s: %s\n", "not tried", name, tries->why.items[i]);
        text_list_add(&named, name);
    }
    for (size_t i = 0; i < tries->wrong.n; i++)
        printf("  %-16s %s\n", "wrong", tries->wrong.items[i]);
}

status_t described_check_contenders(const workload_t *workload, const char *root, error_t *err) {
    const description_t *d = described_find(workload->name);
    AUTO(tries_free) tries_t tries = {.workload = workload, .workers = {.root = root}};
    progress_start(&tries.progress, false, 0);
    status_t status = find_variants(&tries, err);
    for (size_t i = 0; i < d->dtypes.n && status == STATUS_OK; i++) {
        AUTO(case_free) case_t spec = example_small(workload, d->dtypes.items[i], NTH_SMALL);
        if (example_is_possible(workload, &spec))
            status = try_case(&tries, &spec, err);
    }
    progress_end(&tries.progress);
    TRY(status);
    print_tries(&tries);
    return tries.wrong.n == 0
               ? STATUS_OK
               : error_set(err, STATUS_FAILED, "%s: see what is wrong above", d->name);
}
