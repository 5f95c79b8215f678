/* Workers that a server forks (reference_common/fork_server.py) are processes like those that are started: children
 * of bench, with their own streams, environment and end. If there is no server, they are started. */
#include "checks.h"
#include "io/fs.h"
#include "io/subprocess.h"
#include "temporary_folder.h"
#include "worker/pool.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static const char TOLD[] = "tests/fixtures/workers/told.py";
static const double PATIENCE_S = 60;

typedef struct test {
    forks_t forks;
    worker_link_t link;
    text_list_t spared;
} test_t;

static int set_up(void **state) {
    test_t *test = *state = mem_zeroed(1, sizeof(test_t));
    test->spared = orphans_adopt();
    setenv("PYTHONPATH", "tests/fixtures/packages", 1);
    return 0;
}

static int tear_down(void **state) {
    AUTO_FREE test_t *test = *state;
    if (test->link.label != NULL)
        worker_link_free(&test->link);
    forks_free(&test->forks);
    text_list_free(&test->spared);
    unsetenv("TORCH_LEAVES_A_THREAD");
    unsetenv("TORCH_IS_BROKEN");
    unsetenv("TORCH_BINDS_ITS_PROCESS");
    unsetenv("TORCH_OPENS");
    unsetenv("COMPILER_OPENS");
    unsetenv("CUDA_VISIBLE_DEVICES");
    unsetenv("SET_LATE");
    return 0;
}

/* `words` are before the program, up to NULL. */
static worker_link_t *make_link(test_t *test, const char *const *words, const char *engine) {
    text_list_t argv = {0};
    while (*words != NULL)
        text_list_add(&argv, *words++);
    text_list_add(&argv, "python3");
    text_list_add(&argv, TOLD);
    text_list_add(&argv, "--device");
    worker_link_init(&test->link, "told", argv);
    forks_serve(&test->forks, ".", engine, false, &test->link);
    return &test->link;
}

static const char *const NONE[] = {NULL};

static void start(worker_link_t *link) {
    assert_ok(worker_link_start(link, PATIENCE_S, &err));
}

static const char *told(const worker_link_t *link, const char *key) {
    const char *text = json_string_value(json_object_get(link->hello, key));
    return text != NULL ? text : "(null)";
}

static long long number(const worker_link_t *link, const char *key) {
    return json_integer_value(json_object_get(link->hello, key));
}

static void assert_forked(const worker_link_t *link, bool is_forked) {
    if (link->forked != is_forked)
        fail_msg("forked: %d; %s", link->forked, link->unforked != NULL ? link->unforked : "");
    assert_int_equal(json_is_true(json_object_get(link->hello, "forked")), is_forked);
    assert_int_equal(link->unforked == NULL, is_forked || link->server == NULL);
}

/* As bench/io/subprocess.c reads whose a process is. */
static bool shows_tag(pid_t pid, const char *tag) {
    char *path = mem_format("/proc/%d/environ", (int)pid), text[1 << 16];
    AUTO_FREE char *wanted = mem_format(WORKER_TAG "=%s", tag);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    const size_t n = fread(text, 1, sizeof text, file);
    fclose(file);
    bool found = false;
    for (size_t at = 0; at < n && !found; at += strlen(text + at) + 1)
        found = strcmp(text + at, wanted) == 0;
    free(path);
    return found;
}

static void a_fork_is_as_if_it_had_been_started(void **state) {
    worker_link_t *link = make_link(*state, NONE, "pytorch");
    setenv("SET_LATE", "1", 1); /* the server has started, and must not be what decides */
    start(link);
    assert_forked(link, true);
    assert_int_equal(link->pid, link->child.pid);
    assert_int_equal(number(link, "parent"), getpid());
    assert_int_equal(number(link, "group"), link->child.pid);
    assert_int_equal(number(link, "seeds"), 1);
    assert_string_equal(json_string_value(json_array_get(json_object_get(link->hello, "argv"), 1)),
                        "--device");
    assert_string_equal(told(link, "tag"), "told 1");
    assert_string_equal(told(link, "late"), "'1'");
    assert_string_equal(told(link, "by_torch"), "1");
    assert_true(shows_tag(link->child.pid, "told 1"));
    AUTO_FREE char *here = getcwd(NULL, 0), *folder = fs_join(here, "tests/fixtures/workers");
    assert_string_equal(told(link, "folder"), here);
    assert_string_equal(told(link, "path"), folder);
    assert_true(text_starts(told(link, "main"), folder));
    assert_string_equal(told(link, "spawned_main"), told(link, "main"));
}

static char *files_of(const worker_link_t *link) {
    return json_dumps(json_object_get(link->hello, "files"), 0);
}

/* Those of any process that bench starts, and nothing of the server's: no way to it. */
static void a_fork_has_only_its_own_files(void **state) {
    worker_link_t *link = make_link(*state, NONE, "python");
    start(link);
    assert_forked(link, true);
    AUTO_FREE char *forked = files_of(link);
    worker_link_stop(link);
    link->server = NULL;
    start(link);
    assert_forked(link, false);
    AUTO_FREE char *started = files_of(link);
    assert_string_equal(forked, started);
}

static void it_ends_as_others_do(void **state) {
    worker_link_t *link = make_link(*state, NONE, "pytorch");
    json_t *answer;
    start(link);
    assert_fails(worker_link_ask(link, json_pack("{s:s}", "op", "open"), PATIENCE_S, &answer, &err),
                 STATUS_FAILED, "worker told died (signal 11 (Segmentation fault))");
    start(link);
    assert_forked(link, true);
    assert_string_equal(told(link, "tag"), "told 2");
    worker_link_stop(link);
    assert_false(link->running);
}

/* Its supervisor's death ends it: here that of a process between. */
static void it_ends_with_bench(void **state) {
    int ends[2];
    pid_t worker = 0;
    assert_int_equal(pipe(ends), 0);
    const pid_t bench = fork();
    if (bench == 0) {
        orphans_adopt();
        worker_link_t *link = make_link(*state, NONE, "pytorch");
        start(link);
        if (link->forked && write(ends[1], &link->child.pid, sizeof worker) > 0)
            kill(getpid(), SIGKILL);
        _exit(1);
    }
    assert_int_equal(waitpid(bench, NULL, 0), bench);
    assert_int_equal(read(ends[0], &worker, sizeof worker), sizeof worker);
    int how;
    assert_int_equal(waitpid(worker, &how, 0), worker); /* ours now; it does not end otherwise */
    assert_true(WIFSIGNALED(how));
    assert_int_equal(WTERMSIG(how), SIGKILL);
    close(ends[0]);
    close(ends[1]);
}

static void variables_of_its_command_are_set(void **state) {
    static const char *const WORDS[] = {"env", "CUDA_VISIBLE_DEVICES=3", NULL};
    worker_link_t *link = make_link(*state, WORDS, "pytorch");
    start(link);
    assert_forked(link, true);
    assert_string_equal(told(link, "visible"), "3");
}

static void what_json_cannot_say_is_started(void **state) {
    worker_link_t *link = make_link(*state, NONE, "pytorch");
    setenv("SET_LATE", "\xff", 1);
    start(link);
    assert_forked(link, false);
    assert_has(link->unforked, "is not UTF-8");
}

static void users_engines_are_started(void **state) {
    worker_link_t *link = make_link(*state, NONE, "mine");
    assert_null(link->server);
    start(link);
    assert_forked(link, false);
}

static void check_unforked(test_t *test, const char *why) {
    worker_link_t *link = make_link(test, NONE, "pytorch");
    for (int turn = 0; turn < 2; turn++) { /* the second time from memory */
        start(link);
        assert_forked(link, false);
        assert_has(link->unforked, why);
        worker_link_stop(link);
    }
}

static void without_its_package_it_is_started(void **state) {
    setenv("TORCH_IS_BROKEN", "1", 1);
    check_unforked(*state, "ImportError: libtorch.so: cannot open shared object file");
}

static void threads_would_be_lost(void **state) {
    setenv("TORCH_LEAVES_A_THREAD", "1", 1);
    check_unforked(*state, "importing torch, numpy leaves threads running");
}

/* Have `variable` name a file that looks like the GPU's. The folder is to be removed. */
static char *make_device(const char *variable) {
    char *folder = temporary_folder();
    AUTO_FREE char *devices = fs_join(folder, "dev"), *device = fs_join(devices, "nvidiactl");
    assert_ok(fs_make_folders(devices, &err));
    assert_ok(fs_write_atomic(device, "", 0, &err));
    setenv(variable, device, 1);
    return folder;
}

/* CUDA does not work in forks of a process that has used it. */
static void a_package_may_open_the_gpu(void **state) {
    char *folder = make_device("TORCH_OPENS");
    check_unforked(*state, "importing torch, numpy opens the GPU");
    fs_remove_temporary(&folder);
}

/* It asks for a GPU as it is imported, and is told that there is none; its forks see those that there are. */
static void what_compiles_has_the_compiler(void **state) {
    test_t *test = *state;
    char *folder = make_device("COMPILER_OPENS");
    setenv("CUDA_VISIBLE_DEVICES", "3", 1);
    worker_link_t *link = make_link(test, NONE, "pytorch");
    forks_serve(&test->forks, ".", "pytorch", true, link);
    start(link);
    assert_forked(link, true);
    assert_true(json_is_true(json_object_get(link->hello, "has_compiler")));
    assert_string_equal(told(link, "visible"), "3");
    worker_link_stop(link);
    forks_serve(&test->forks, ".", "pytorch", false, link);
    start(link);
    assert_forked(link, true);
    assert_false(json_is_true(json_object_get(link->hello, "has_compiler")));
    fs_remove_temporary(&folder);
}

static void a_package_may_bind_its_process(void **state) {
    cpu_set_t all;
    sched_getaffinity(0, sizeof all, &all);
    if (CPU_COUNT(&all) < 2)
        skip();
    setenv("TORCH_BINDS_ITS_PROCESS", "1", 1);
    check_unforked(*state, "server torch has other cores or another priority than bench");
}

static void a_wrapper_is_no_parent(void **state) {
    test_t *test = *state;
    text_list_t argv = {0};
    text_list_add(&argv, "tests/fixtures/packages/python3");
    text_list_add(&argv, TOLD);
    worker_link_init(&test->link, "told", argv);
    forks_serve(&test->forks, ".", "pytorch", false, &test->link);
    start(&test->link);
    assert_forked(&test->link, false);
    assert_has(test->link.unforked, "expected bench as the parent");
}

static pid_t server_of(const worker_link_t *link) {
    return ((const worker_link_t *)link->server)->child.pid; /* its first member */
}

static void without_a_server_it_is_started(void **state) {
    worker_link_t *link = make_link(*state, NONE, "pytorch");
    start(link);
    assert_forked(link, true);
    worker_link_stop(link);
    assert_int_equal(kill(server_of(link), SIGKILL), 0);
    start(link);
    assert_forked(link, false);
    assert_non_null(strstr(link->unforked, "worker torch died (signal 9 (Killed))"));
}

/* Libraries count cores as they are imported. */
static void with_other_cores_another_server_imports(void **state) {
    worker_link_t *link = make_link(*state, NONE, "pytorch");
    cpu_set_t all, one;
    sched_getaffinity(0, sizeof all, &all);
    if (CPU_COUNT(&all) < 2)
        skip();
    start(link);
    const pid_t first = server_of(link);
    assert_int_equal(number(link, "cores"), CPU_COUNT(&all));
    worker_link_stop(link);
    CPU_ZERO(&one);
    for (size_t i = 0; CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    sched_setaffinity(0, sizeof one, &one);
    start(link);
    sched_setaffinity(0, sizeof all, &all);
    assert_forked(link, true);
    assert_int_equal(number(link, "cores"), 1);
    assert_int_not_equal(server_of(link), first);
}

static void one_server_for_all_of_its_packages(void **state) {
    test_t *test = *state;
    const struct fork_server *server = make_link(test, NONE, "pytorch")->server;
    forks_serve(&test->forks, ".", "python", false, &test->link);
    assert_ptr_equal(test->link.server, server);
    forks_serve(&test->forks, ".", "jax", false, &test->link);
    assert_ptr_not_equal(test->link.server, server);
    forks_serve(&test->forks, ".", "python", true, &test->link);
    assert_ptr_not_equal(test->link.server, server);
    const struct fork_server *compiler = test->link.server;
    forks_serve(&test->forks, ".", "pytorch", true, &test->link);
    assert_ptr_equal(test->link.server, compiler);
    test->link.server = test->forks.items[0];
    assert_true(forks_have(&test->forks, server_of(&test->link)));
    assert_false(forks_have(&test->forks, getpid()));
}

static void each_pass_has_another_server(void **state) {
    test_t *test = *state;
    worker_link_t *link = make_link(test, NONE, "pytorch");
    pid_t before = 0;
    start(link);
    forks_launch_next(&test->forks, 2);
    for (size_t pass = 1; pass <= 4; pass++) { /* the last one has no server that waits for it */
        forks_await(&test->forks, false);
        start(link);
        assert_forked(link, true);
        assert_int_not_equal(server_of(link), before);
        before = server_of(link);
        worker_link_stop(link);
        forks_take_next(&test->forks);
        assert_false(forks_have(&test->forks, before));
    }
}

#define SET_UP set_up
#define TEAR_DOWN tear_down
#include "run_tests.h"
