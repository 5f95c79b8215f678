/* Commands that measure a run or a case again. */
#include "report/environment.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A call, and what measures the run again, and its case. */
typedef struct example {
    const char *call, *again, *of_case;
} example_t;

#define CASE " --engine python --variant a --set=device=cpu --set=n=4"

static void commands_are_those_of_the_run(void **state) {
    (void)state;
    static const example_t EXAMPLES[] = {
        {"/x/bench run --workload=mine --quick --out r", "bench run --workload=mine --quick",
         "bench run --workload mine" CASE},
        {"/x/bench run s.json --resume --budget 2min", "bench run s.json",
         "bench run --workload mine" CASE},
        {"/x/bench run --operator ../own --out=r --json", "bench run --operator ../own",
         "bench run --operator ../own" CASE},
        {"/x/bench run --operator=own", "bench run --operator=own",
         "bench run --operator own" CASE},
        /* Before "--" are options of import, whose --out is another folder. */
        {"/x/bench operator import p.py --candidate c.py --out kept",
         "bench operator import p.py --candidate c.py --",
         "bench operator import p.py --candidate c.py --" CASE},
        {"/x/bench operator import p.py --out=kept -- --quick --out r",
         "bench operator import p.py -- --quick", "bench operator import p.py --" CASE},
    };
    case_t spec = {.id = mem_text("mine/python-cpu/a/n=4"),
                   .workload = mem_text("mine"),
                   .engine = mem_text("python"),
                   .device = mem_text("cpu"),
                   .variant = mem_text("a")};
    for (size_t i = 0; i < sizeof EXAMPLES / sizeof EXAMPLES[0]; i++) {
        record_t run = {.name = (char *)"h", .argv = text_split(EXAMPLES[i].call, ' ')};
        text_list_t words = command_again("bench", &run);
        char *again = text_list_join(&words, " "), *of_case = command_of_case("bench", &run, &spec),
             *wanted = mem_format("%s --out=results/again/h", EXAMPLES[i].again);
        assert_string_equal(again, wanted);
        assert_string_equal(of_case, EXAMPLES[i].of_case);
        text_list_free(&words);
        text_list_free(&run.argv);
        free(again);
        free(of_case);
        free(wanted);
    }
    case_free(&spec);
}

static void a_run_without_a_command_has_none(void **state) {
    (void)state;
    const record_t run = {.name = NULL};
    assert_int_equal(command_again("bench", &run).n, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_are_those_of_the_run),
        cmocka_unit_test(a_run_without_a_command_has_none),
    };
    return cmocka_run_group_tests_name("report_command", tests, NULL, NULL);
}
