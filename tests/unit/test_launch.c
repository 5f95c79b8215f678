/* Host and device share struct launch by layout alone: the text of both headers must declare the
 * same fields in the same order, and the same values for its constants; so with stages and plan. */
#include "base/text.h"
#include "checks.h"
#include "engine/launch.h"
#include "read_text.h"
#include "worker/cpu_use.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Replace comments by blanks, so that what is left is code. */
static void blank_comments(char *text) {
    for (char *at = text; (at = strstr(at, "//")) != NULL;)
        while (*at != '\n' && *at != '\0')
            *at++ = ' ';
}

/* The lines between `opening` and the next '}', each without blanks around and its end mark. */
static text_list_t block(char *text, const char *opening, char separator) {
    blank_comments(text);
    char *from = strstr(text, opening);
    if (from == NULL)
        fail_msg("no \"%s\"", opening);
    from = strchr(from, '{') + 1;
    AUTO_FREE char *body = mem_text_n(from, strcspn(from, "}"));
    text_list_t parts = text_split(body, separator), words = {0};
    for (size_t i = 0; i < parts.n; i++) {
        char *item = parts.items[i] + strspn(parts.items[i], " \n");
        size_t length = strlen(item);
        while (length > 0 && strchr(" \n", item[length - 1]) != NULL)
            item[--length] = '\0';
        if (length > 0)
            text_list_add(&words, item);
    }
    text_list_free(&parts);
    return words;
}

static void check_same(text_list_t *host, text_list_t *device) {
    AUTO_FREE char *a = text_list_join(host, "\n"), *b = text_list_join(device, "\n");
    assert_string_equal(a, b);
    text_list_free(host);
    text_list_free(device);
}

static void strip_type(text_list_t *fields, const char *type) {
    for (size_t i = 0; i < fields->n; i++) {
        if (!text_starts(fields->items[i], type))
            fail_msg("\"%s\" is not of type %s", fields->items[i], type);
        char *name = mem_text(fields->items[i] + strlen(type));
        free(fields->items[i]);
        fields->items[i] = name;
    }
}

static void test_fields(void **state) {
    AUTO_FREE char *host = read_text("bench/engine/launch.h");
    AUTO_FREE char *device = read_text("kernels/common/launch.cuh");
    text_list_t host_fields = block(host, "typedef struct launch", ';');
    text_list_t device_fields = block(device, "struct launch_t", ';');
    strip_type(&host_fields, "uint32_t ");
    strip_type(&device_fields, "unsigned ");
    assert_int_equal(host_fields.n * sizeof(uint32_t), sizeof(launch_t));
    check_same(&host_fields, &device_fields);
}

/* ---- Who changes the cores or the priority of another process. */

static pid_t start_waiting(void) {
    const pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* it must not outlive a test that fails */
        while (true)
            pause();
    }
    assert_true(pid > 0);
    return pid;
}

static void stop(pid_t pid) {
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void bind_to_first(pid_t pid) {
    cpu_set_t allowed, one;
    assert_int_equal(sched_getaffinity(pid, sizeof allowed, &allowed), 0);
    CPU_ZERO(&one);
    for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; core++)
        if (CPU_ISSET((size_t)core, &allowed))
            CPU_SET((size_t)core, &one);
    assert_int_equal(sched_setaffinity(pid, sizeof one, &one), 0);
}

static void a_change_of_cores_is_told_and_set_back(void **state) {
    cpu_set_t allowed;
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    if (CPU_COUNT(&allowed) < 2)
        skip();
    const pid_t pid = start_waiting();
    AUTO(bindings_free) bindings_t before = bindings_read(pid);
    assert_int_equal(before.n, 1);
    assert_null(bindings_changed(&before, true));
    bind_to_first(pid);
    assert_string_equal(bindings_changed(&before, false), "cores");
    assert_string_equal(bindings_changed(&before, true), "cores");
    assert_null(bindings_changed(&before, true));
    stop(pid);
}

static void a_change_of_priority_is_told(void **state) {
    const pid_t pid = start_waiting();
    AUTO(bindings_free) bindings_t before = bindings_read(pid);
    assert_int_equal(setpriority(PRIO_PROCESS, (id_t)pid, 19), 0);
    assert_string_equal(bindings_changed(&before, true), "priority");
    /* Only root may set it back. */
    const char *after = bindings_changed(&before, true);
    assert_true(geteuid() != 0 || after == NULL);
    stop(pid);
}

static void a_process_that_has_ended_has_not_changed(void **state) {
    const pid_t pid = start_waiting();
    AUTO(bindings_free) bindings_t before = bindings_read(pid);
    stop(pid);
    assert_null(bindings_changed(&before, true));
    AUTO(bindings_free) bindings_t none = bindings_read(0);
    assert_int_equal(none.n, 0);
}

#include "run_tests.h"
