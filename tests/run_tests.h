/* main() of a unit program, at the end of its file. It runs all `static void NAME(void **state)` of the file, in order:
 * the Makefile lists them in UNIT_TESTS. Before it are defined, where needed, SET_UP and TEAR_DOWN of each test, and
 * GROUP_SET_UP and GROUP_TEAR_DOWN of all. All know the workloads of kernels/. */
void workload_search_described(const char *root, void (*left_out)(const char *why));

#ifndef SET_UP
#define SET_UP NULL
#define TEAR_DOWN NULL
#endif
#ifndef GROUP_SET_UP
#define GROUP_SET_UP NULL
#define GROUP_TEAR_DOWN NULL
#endif
#define TEST(name) cmocka_unit_test_setup_teardown(name, SET_UP, TEAR_DOWN),

int main(void) {
    const struct CMUnitTest tests[] = {
#include UNIT_TESTS
    };
    workload_search_described(".", NULL);
    return cmocka_run_group_tests(tests, GROUP_SET_UP, GROUP_TEAR_DOWN);
}
