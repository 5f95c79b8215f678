/* Which weights of a timed training are right: the limit beside the oracle's losses, and what becomes
 * of an answer of its worker. */
#include "checks.h"
#include "made_case.h"
#include "measure/contender.h"

static double most_of(double start, double half, double end) {
    return loss_limit_most((double[]){start, half, end});
}

static void the_limit_lies_in_the_middle_of_the_second_half(void **state) {
    assert_near(most_of(2.3, 0.5, 0.3), 0.4, 1e-9);
    assert_near(most_of(2.3, 2.2, 2.1), 2.15, 1e-9);
    /* Nothing is gained in the second half: a part of what was gained in all. */
    assert_near(most_of(2.3, 0.3, 0.3), 0.36, 1e-9);
    assert_near(most_of(2.3, 0.2, 0.3), 0.36, 1e-9);
    /* What rounding changes. */
    assert_near(most_of(2 + 1e-7, 2, 2), 2 + 2e-5, 1e-9);
    assert_true(isnan(most_of(2.3, 2.3, 2.3)));
    assert_true(isnan(most_of(2.3, 2.4, 2.5)));
    assert_true(isnan(most_of(2.3, NAN, NAN)));
}

/* ---- with a worker that gives one answer ----------------------------------------------------- */

static const contender_settings_t SETTINGS = {.timeout_s = 60};

/* Every request gets `answer`, without its braces; NULL: the worker dies. */
static worker_link_t make_link(const char *answer) {
    text_list_t argv = {0};
    text_list_add(&argv, "/bin/sh");
    text_list_add(&argv, "-c");
    text_list_add_format(&argv,
                         "echo '{\"status\":\"ok\"}'; read l; read l; %s%s%s; read l; echo bye",
                         answer != NULL ? "echo '{\"id\":\"a case\"," : "exit 3",
                         answer != NULL ? answer : "", answer != NULL ? "}'" : "");
    worker_link_t link;
    worker_link_init(&link, "cpu", argv);
    return link;
}

static contender_t make_contender(worker_link_t *link) {
    AUTO(case_free) case_t spec = made_case("mnist_train", "cpu", "cpu", "ref");
    spec.id = mem_text("a case");
    contender_t contender;
    contender_init(&contender, &spec, link, NULL, &SETTINGS);
    contender.may_retry = false;
    return contender;
}

static loss_limit_t find(const char *answer) {
    AUTO(worker_link_free) worker_link_t link = make_link(answer);
    AUTO(contender_free) contender_t oracle = make_contender(&link);
    assert_ok(worker_link_start(&link, SETTINGS.timeout_s, &err));
    loss_limit_t loss_limit = loss_limit_find(&oracle);
    return loss_limit;
}

static void expect_unknown(const char *answer, const char *why) {
    AUTO(loss_limit_free) loss_limit_t loss_limit = find(answer);
    assert_non_null(loss_limit.worker);
    assert_string_equal(loss_limit.unknown, why);
}

static void the_oracle_says_what_it_learns(void **state) {
    loss_limit_t loss_limit = find("\"status\":\"ok\",\"losses\":[2.3,0.5,0.3]");
    assert_non_null(loss_limit.worker);
    assert_null(loss_limit.unknown);
    assert_near(loss_limit.most, 0.4, 1e-9);
    assert_null(find("\"status\":\"ok\"").worker); /* no training */
    expect_unknown("\"status\":\"ok\",\"losses\":[2.3,null,null]",
                   "the reference learns nothing in a sample");
    expect_unknown("\"status\":\"failed\",\"reason\":\"too slow\"", "too slow");
    expect_unknown(NULL, "learned: worker cpu died (exit code 3)");
}

typedef struct verdict {
    const char *answer; /* to `loss` */
    const char *reason; /* why it is wrong */
    const char *flag;
} verdict_t;

static void expect(const loss_limit_t *loss_limit, const char *folder, const char *reason,
                   const char *flag) {
    contender_t contender = make_contender(NULL);
    char *found = loss_limit_check(loss_limit, &contender, folder);
    assert_true((found == NULL) == (reason == NULL));
    if (reason != NULL && strstr(found, reason) == NULL)
        fail_msg("%s", found);
    const flag_list_t *flags = &contender.result.flags;
    assert_int_equal(flags->n, flag != NULL);
    if (flag != NULL) {
        assert_int_equal(flags->items[0].kind, FLAG_WEIGHTS_UNCHECKED);
        assert_string_equal(flags->items[0].word, flag);
    }
    free(found);
    contender_free(&contender);
}

static void weights_are_held_against_it(void **state) {
    static const verdict_t VERDICTS[] = {
        {"\"status\":\"ok\",\"loss\":0.4", NULL, NULL},
        {"\"status\":\"ok\",\"loss\":0.41",
         "its weights have the loss 0.41 on test images, allowed 0.4; the reference has 0.3 after "
         "all steps, 0.5 after half of them",
         NULL},
        {"\"status\":\"ok\",\"loss\":null", "the loss NaN", NULL},
        {"\"status\":\"failed\",\"reason\":\"weights has 3 elements\"", "weights has 3", NULL},
        {NULL, NULL, "worker cpu died (exit code 3)"},
    };
    for (size_t i = 0; i < COUNT_OF(VERDICTS); i++) {
        AUTO(worker_link_free) worker_link_t link = make_link(VERDICTS[i].answer);
        const loss_limit_t loss_limit = {
            .worker = &link, .timeout_s = 60, .losses = {2.3, 0.5, 0.3}, .most = 0.4};
        expect(&loss_limit, "/", VERDICTS[i].reason, VERDICTS[i].flag);
    }
}

static void what_is_not_compared(void **state) {
    AUTO(worker_link_free) worker_link_t link = make_link(NULL);
    expect(&(loss_limit_t){.worker = NULL}, "/", NULL, NULL);
    expect(&(loss_limit_t){.worker = &link, .unknown = (char[]){"too slow"}}, "/", NULL,
           "too slow");
    expect(&(loss_limit_t){.worker = &link, .most = 0.4}, NULL, "the worker writes no weights",
           NULL);
}

#include "run_tests.h"
