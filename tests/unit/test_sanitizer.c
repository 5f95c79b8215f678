/* What compute-sanitizer's output says of a program. */
#include "checks.h"
#include "measure/sanitizer.h"

#define BANNER "========= COMPUTE-SANITIZER\n"
#define OK "{\"status\":\"ok\"}\n"
#define RACES(n) "========= RACECHECK SUMMARY: " n " hazards displayed (1 error, 1 warning)\n"
#define ERRORS(n) "========= ERROR SUMMARY: " n "\n"

typedef struct known {
    const char *printed, *verdict;
} known_t;

static const known_t KNOWN[] = {
    {BANNER OK OK ERRORS("0 errors"), "clean"},
    {BANNER OK OK RACES("0"), "clean"},
    {BANNER OK OK ERRORS("1 error"), "1 error"},
    {BANNER OK OK RACES("2"), "2 errors"},
    /* What was found counts, whatever became of the worker by it. */
    {BANNER OK "{\"status\":\"failed\",\"reason\":\"launch\"}\n" ERRORS("3 errors"), "3 errors"},
    {BANNER OK OK ERRORS("112 errors") ERRORS("62 errors were not printed"), "112 errors"},
    {BANNER OK "{\"status\":\"skipped\",\"reason\":\"too large\"}\n" ERRORS("0 errors"),
     "not run: too large"},
    {BANNER OK "{\"status\":\"failed\"}\n" ERRORS("0 errors"),
     "not run: the worker gave no reason"},
    {BANNER OK ERRORS("0 errors"), "not run: the worker answered 1 of 2 requests"},
    {BANNER OK "{\"status\":\"o" ERRORS("0 errors"),
     "not run: the worker answered 1 of 2 requests"},
    {BANNER OK OK, "not run: it printed no summary"},
    {BANNER "========= Error: Device not supported. \r\n", "not run: Device not supported. "},
    {"", "not run: the worker answered 0 of 2 requests"},
};

static void test_verdicts(void **state) {
    for (size_t i = 0; i < COUNT_OF(KNOWN); i++) {
        AUTO_FREE char *verdict = sanitize_verdict(KNOWN[i].printed, 2);
        assert_string_equal(verdict, KNOWN[i].verdict);
    }
}

#include "run_tests.h"
