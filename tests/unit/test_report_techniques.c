/* What the report says about host techniques, polling and the batch as a constant. */
#include "planted_run.h"
#include "printed_section.h"
#include "report/inference/inference.h"

#include <stdlib.h>

/* A CUDA case at batch 64 with its techniques as "name=choice/name=choice". */
static case_result_t *plant_techniques(record_t *run, const char *variant, double median_ns,
                                       const char *techniques) {
    plant(run, (planted_t){"cuda", "cuda", variant, 64, median_ns, CASE_OK, NULL}, run->n_cases);
    case_result_t *result = &run->cases[run->n_cases - 1];
    if (*techniques != '\0') {
        char *id = mem_format("%s/%s", result->spec.id, techniques);
        free(result->spec.id);
        result->spec.id = id;
    }
    text_list_t parts = text_split(techniques, '/');
    for (size_t i = 0; i < parts.n; i++) {
        char *choice = strchr(parts.items[i], '=');
        if (choice == NULL)
            continue;
        *choice = '\0';
        case_add_technique(&result->spec, parts.items[i], choice + 1);
    }
    text_list_free(&parts);
    return result;
}

static record_t run_with_techniques(void) {
    record_t run = {.name = mem_text("planted")};
    plant_techniques(&run, "02_x", 8000, "");
    plant_techniques(&run, "02_x", 4000, "alloc=arena");
    plant_techniques(&run, "02_x", 16000, "copy=pinned");
    plant_techniques(&run, "02_x", 1000, "alloc=arena/copy=mapped");
    plant_techniques(&run, "02_x", 500, "alloc=arena/copy=mapped/wait=poll");
    plant(&run, (planted_t){"pytorch", "cuda", "graph", 64, 3000, CASE_OK, NULL}, 99);
    return run;
}

static void each_technique_is_told_with_all_else_fixed(void **state) {
    (void)state;
    record_t run = run_with_techniques();
    char *text = printed_sets(inference_findings, &run, "mlp_infer");
    assert_has(text, "**What host techniques buy** (rung 02_x, host to host). One at a time");
    assert_has(text, "  - All together, at batch 64: from ");
    assert_has(text,
               "  - `copy`, pageable → pinned: at batch 64 **0.5"); /* the study's alloc alone */
    assert_has(text, "  - `wait`, sync → poll: at batch 64 **");
    assert_has_not(text, "malloc → async"); /* no pair differs in that alone */
    assert_has_not(text, "`launch`, ");
    free(text);
    text = printed_sets(inference_tables, &run, "mlp_infer");
    assert_has(text, "#### Host techniques");
    assert_has(text, "| malloc | pageable | upload  | stream | sync |");
    assert_has(text, "| arena  | mapped   | upload  | stream | poll | **");
    free(text);
    record_free(&run);
}

static void what_polling_wins_is_also_told_without_it(void **state) {
    (void)state;
    record_t run = run_with_techniques();
    char *text = printed_sets(inference_findings, &run, "mlp_infer");
    assert_has(text, "**Without polling:** at 1 batch size the fastest CUDA case has `wait=poll`");
    assert_has(text, "With synchronisation on both sides");
    assert_has_not(text, "polls, too");
    assert_has(text, "CUDA is faster at the one batch size compared");
    assert_has(text, "  - At batch 64 CUDA is **3.0");
    free(text);
    text = printed_sets(inference_tables, &run, "mlp_infer");
    assert_has(text, "sync vs PyTorch |");
    free(text);
    plant(&run, (planted_t){"pytorch", "cuda", "mapped", 64, 600, CASE_OK, NULL}, 98);
    text = printed_sets(inference_findings, &run, "mlp_infer");
    assert_has(text,
               "  - At 1 of these the strongest rival polls, too.\n  - With synchronisation on");
    assert_has(text, "against 3.00 µs (graph"); /* not mapped's 600 ns */
    free(text);
    record_free(&run);
    run = plant_ratios((double[]){2}, 1);
    text = printed_sets(inference_findings, &run, "mlp_infer");
    assert_has_not(text, "polling");
    free(text);
    record_free(&run);
}

static void batch_as_a_constant_gets_one_sentence(void **state) {
    (void)state;
    record_t run = {.name = mem_text("planted")};
    plant_device_phase(plant_techniques(&run, "04_y", 9000, ""), "kernel_graph", 1000);
    plant_device_phase(plant_techniques(&run, "06_batch_constant", 9000, ""), "kernel_graph", 500);
    char *text = printed_sets(inference_findings, &run, "mlp_infer");
    assert_has(text, "**The batch as a compile-time constant** (06_batch_constant) against a "
                     "run-time value (04_y");
    assert_has(text, "2.0–2.0× as fast; the constant is faster at the one batch size "
                     "compared.");
    free(text);
    record_free(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_technique_is_told_with_all_else_fixed),
        cmocka_unit_test(what_polling_wins_is_also_told_without_it),
        cmocka_unit_test(batch_as_a_constant_gets_one_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
