#include "worker/client.h"

#include "base/clock.h"
#include "base/memory.h"
#include "walls/walls.h"
#include "worker/requests.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ==== stderr ================================================================================== */

enum { QUOTED_BYTES = 600 };

/* Read what there is, without waiting. */
static void keep_stderr(worker_link_t *link) {
    stderr_tail_t *tail = &link->tail;
    char chunk[STDERR_KEPT];
    ssize_t n;
    while ((n = read(link->child.err_fd, chunk, sizeof chunk)) > 0) {
        const size_t bytes = (size_t)n;
        if (tail->bytes + bytes > STDERR_KEPT) {
            const size_t drop = tail->bytes + bytes - STDERR_KEPT;
            memmove(tail->text, tail->text + drop, tail->bytes - drop);
            tail->bytes -= drop;
            tail->request -= drop < tail->request ? drop : tail->request;
        }
        memcpy(tail->text + tail->bytes, chunk, bytes);
        tail->bytes += bytes;
        tail->text[tail->bytes] = '\0';
    }
}

/* Those from a byte on, the last of which are where Python prints the exception. Valid until the next call. */
static const char *last_lines(stderr_tail_t *tail, size_t first) {
    while (tail->bytes > first && strchr("\n\r ", tail->text[tail->bytes - 1]) != NULL)
        tail->text[--tail->bytes] = '\0';
    const char *from = tail->text + first;
    if (tail->bytes - first > QUOTED_BYTES) {
        from = tail->text + tail->bytes - QUOTED_BYTES;
        const char *line = strchr(from, '\n');
        if (line != NULL)
            from = line + 1;
    }
    return from;
}

/* Those of the current request; "" if one of them is in `reason`, which then says the same. */
static const char *stderr_tail_beyond(stderr_tail_t *tail, const char *reason) {
    const char *lines = last_lines(tail, tail->request);
    AUTO(text_list_free) text_list_t each = text_split(lines, '\n');
    bool said = false;
    for (size_t i = 0; i < each.n; i++)
        said = said || (each.items[i][0] != '\0' && strstr(reason, each.items[i]) != NULL);
    return said ? "" : lines;
}

/* ==== the link ================================================================================ */

enum {
    LINE_MOST = 64 << 20,
    READ_BYTES = 64 * 1024,
    BYE_S = 5,
    EXIT_POLL_NS = 100000,
    SERVER_TAG_BYTES = 255, /* no worker's, with room for theirs: forks write it there */
};

void worker_link_init(worker_link_t *link, const char *label, text_list_t argv) {
    *link = (worker_link_t){.label = mem_text(label), .argv = argv};
}

void worker_link_free(worker_link_t *link) {
    worker_link_stop(link);
    free(link->label);
    free(link->cannot);
    free(link->unforked);
    free(link->folder);
    free(link->tag);
    bindings_free(&link->bindings);
    free(link->compiled);
    free(link->line);
    text_list_free(&link->argv);
}

/* ---- failures -------------------------------------------------------------------------------- */

/* Walls end with exit code 128 + N if signal N ended what is behind them. */
static void unwrap(char how[64]) {
    int code;
    if (sscanf(how, "exit code %d", &code) == 1 && code > 128 && code <= 128 + SIGRTMAX)
        snprintf(how, 64, "signal %d (%s)", code - 128, strsignal(code - 128));
}

/* Kill the process if it still runs; `how` gets how it ended. */
static void reap(worker_link_t *link, char how[64]) {
    subprocess_stop(&link->child, how);
    if (link->is_walled)
        unwrap(how);
    link->pid = 0;
    json_decref(link->hello);
    link->hello = NULL;
    link->running = false;
}

/* End the process and report what it did wrong. */
__attribute__((format(printf, 3, 4))) static status_t give_up(worker_link_t *link, error_t *err,
                                                              const char *format, ...) {
    char how[64] = "";
    va_list args;
    va_start(args, format);
    AUTO_FREE char *what = mem_format_args(format, args);
    va_end(args);
    keep_stderr(link);
    reap(link, how);
    link->killed_by_signal = text_starts(how, "signal ");
    const char *lines = last_lines(&link->tail, 0);
    return error_set(err, STATUS_FAILED, "worker %s %s (%s)%s%s", link->label, what, how,
                     lines[0] != '\0' ? "; stderr: " : "", lines);
}

static status_t give_up_dead(worker_link_t *link, error_t *err) {
    link->died = true;
    return give_up(link, err, "died");
}

/* ---- requests and answers -------------------------------------------------------------------- */

static int64_t deadline_in(double seconds) {
    return clock_ns() + (int64_t)(seconds * 1e9);
}

/* Some bytes of a request, the first with the files that go with it. */
static ssize_t send_some(worker_link_t *link, const char *line, size_t left) {
    enum { FILES = 3 * sizeof(int) };
    if (link->handed == NULL)
        return write(link->child.in_fd, line, left);
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(FILES)];
    } control = {0};
    struct iovec text = {(char *)(uintptr_t)line, left};
    struct msghdr message = {.msg_iov = &text,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    control.header = (struct cmsghdr){
        .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(FILES)};
    memcpy(CMSG_DATA(&control.header), link->handed, FILES);
    const ssize_t n = sendmsg(link->child.in_fd, &message, MSG_NOSIGNAL);
    if (n > 0)
        link->handed = NULL;
    return n;
}

static status_t send_line(worker_link_t *link, const char *line, error_t *err) {
    size_t left = strlen(line);
    while (left > 0) {
        ssize_t n = send_some(link, line, left);
        if (n > 0) {
            line += n;
            left -= (size_t)n;
            continue;
        }
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return give_up_dead(link, err);
        struct pollfd in = {.fd = link->child.in_fd, .events = POLLOUT};
        if (clock_ns() > link->deadline_ns)
            return give_up(link, err, "does not read its requests");
        poll(&in, 1, 100);
        keep_stderr(link);
    }
    return STATUS_OK;
}

/* Read what is available; true once link->line has a complete line (with NUL for newline). */
static bool read_some(worker_link_t *link, bool *ended) {
    for (;;) {
        if (link->line_capacity - link->line_bytes < READ_BYTES + 1) {
            link->line_capacity = 2 * link->line_capacity + 2 * READ_BYTES;
            link->line = mem_resize(link->line, link->line_capacity, 1);
        }
        ssize_t n = read(link->child.out_fd, link->line + link->line_bytes, READ_BYTES);
        if (n == 0)
            *ended = true;
        if (n <= 0)
            return false;
        char *newline = memchr(link->line + link->line_bytes, '\n', (size_t)n);
        link->line_bytes += (size_t)n;
        if (newline != NULL) {
            *newline = '\0';
            return true;
        }
        if (link->line_bytes > LINE_MOST)
            return false;
    }
}

/* Long enough for the answers of most requests, so that what has been measured is kept. */
enum { INTERRUPT_PATIENCE_S = 3 };

static const volatile sig_atomic_t *interrupted;

void worker_links_heed(const volatile sig_atomic_t *flag) {
    interrupted = flag;
}

static bool is_interrupted(void) {
    return interrupted != NULL && *interrupted;
}

static status_t receive_line(worker_link_t *link, error_t *err) {
    bool ended = false;
    int64_t interrupted_ns = INT64_MAX;
    link->line_bytes = 0;
    while (!read_some(link, &ended)) {
        if (ended)
            return give_up_dead(link, err);
        if (link->line_bytes > LINE_MOST)
            return give_up(link, err, "answered with a line of over 64 MiB");
        if (clock_ns() > link->deadline_ns)
            return give_up(link, err, "did not answer in time");
        if (clock_ns() > interrupted_ns)
            return give_up(link, err, "was interrupted");
        if (is_interrupted() && interrupted_ns == INT64_MAX)
            interrupted_ns = deadline_in(INTERRUPT_PATIENCE_S);
        struct pollfd both[2] = {{.fd = link->child.out_fd, .events = POLLIN},
                                 {.fd = link->child.err_fd, .events = POLLIN}};
        if (poll(both, 2, 100) == 0)
            subprocess_waiting();
        keep_stderr(link);
    }
    return STATUS_OK;
}

static status_t check_answer(worker_link_t *link, const char *id, const json_t *answer,
                             error_t *err) {
    const char *status = json_string_value(json_object_get(answer, "status"));
    if (status == NULL || (strcmp(status, "ok") != 0 && strcmp(status, "skipped") != 0 &&
                           strcmp(status, "failed") != 0))
        return give_up(link, err, "gave an answer without a status");
    const char *answered = json_string_value(json_object_get(answer, "id"));
    if (id != NULL && strcmp(status, "failed") != 0 &&
        (answered == NULL || strcmp(id, answered) != 0))
        return give_up(link, err, "answered for case \"%.100s\" when asked for \"%.100s\"",
                       answered != NULL ? answered : "(none)", id);
    return STATUS_OK;
}

static status_t send_request(worker_link_t *link, const json_t *request, error_t *err) {
    AUTO_FREE char *text = json_dumps(request, JSON_COMPACT);
    AUTO_FREE char *line = mem_format("%s\n", text);
    return send_line(link, line, err);
}

static status_t printed(worker_link_t *link, const char *line, const char *when, error_t *err) {
    return give_up(link, err, "printed \"%.80s\" %s: stdout is for answers only, print to stderr",
                   line, when);
}

/* What begins as an answer is meant as one; Python's json writes numbers that are none in JSON. */
static status_t no_answer(worker_link_t *link, const json_error_t *why, error_t *err) {
    const bool no_number = strstr(why->text, "NaN") != NULL || strstr(why->text, "Inf") != NULL;
    if (link->line[strspn(link->line, " \t")] != '{' || why->text[0] == '\0')
        return printed(link, link->line, "instead of an answer", err);
    return give_up(link, err,
                   "gave an answer that is not JSON: %.120s, at column %d of \"%.80s\"%s",
                   why->text, why->column, link->line,
                   no_number ? ": JSON has no NaN or Infinity, expected a number or null" : "");
}

status_t worker_link_receive(worker_link_t *link, const json_t *request, json_t **answer,
                             error_t *err) {
    *answer = NULL;
    TRY(receive_line(link, err));
    const size_t length = strlen(link->line);
    json_error_t why = {.text = ""};
    *answer = json_loads(link->line, JSON_REJECT_DUPLICATES, &why);
    const char *id = json_string_value(json_object_get(request, "id"));
    if (id == NULL)
        id = json_string_value(json_object_get(json_object_get(request, "case"), "id"));
    status_t status;
    if (!json_is_object(*answer)) {
        status = no_answer(link, &why, err);
    } else if (link->line_bytes > length + 1) {
        link->line[link->line_bytes] = '\0';
        link->line[length + 1 + strcspn(link->line + length + 1, "\n")] = '\0';
        status = printed(link, link->line + length + 1, "after its answer", err);
    } else {
        status = check_answer(link, id, *answer, err);
    }
    if (status != STATUS_OK) {
        json_decref(*answer);
        *answer = NULL;
    }
    return status;
}

status_t worker_link_send(worker_link_t *link, const json_t *request, double timeout_s,
                          error_t *err) {
    if (!link->running)
        return error_set(err, STATUS_FAILED, "worker %s is not running", link->label);
    link->deadline_ns = deadline_in(timeout_s);
    keep_stderr(link);
    link->tail.request = link->tail.bytes;
    subprocess_waiting(); /* before the request: the answer may be a time */
    return send_request(link, request, err);
}

status_t worker_link_ask(worker_link_t *link, json_t *request, double timeout_s, json_t **answer,
                         error_t *err) {
    *answer = NULL;
    status_t status = worker_link_send(link, request, timeout_s, err);
    if (status == STATUS_OK)
        status = worker_link_receive(link, request, answer, err);
    json_decref(request);
    return status;
}

size_t worker_links_await(worker_link_t *const *links, size_t n) {
    AUTO_FREE struct pollfd *answers = mem_alloc(n * sizeof *answers);
    size_t found = n;
    while (found == n && !is_interrupted()) {
        for (size_t i = 0; i < n; i++)
            answers[i] = (struct pollfd){.fd = links[i]->child.out_fd, .events = POLLIN};
        if (poll(answers, n, 100) == 0)
            subprocess_waiting();
        for (size_t i = 0; i < n; i++) {
            keep_stderr(links[i]);
            if (found == n && (answers[i].revents != 0 || clock_ns() > links[i]->deadline_ns))
                found = i;
        }
    }
    return found;
}

bool worker_answer_is_ok(const json_t *answer) {
    return strcmp(json_string_value(json_object_get(answer, "status")), "ok") == 0;
}

const char *worker_answer_reason(const json_t *answer) {
    const char *reason = json_string_value(json_object_get(answer, "reason"));
    return reason != NULL ? reason : "the worker gave no reason";
}

char *worker_failure(worker_link_t *link, const json_t *answer) {
    const char *reason = worker_answer_reason(answer);
    keep_stderr(link);
    const char *lines = stderr_tail_beyond(&link->tail, reason);
    return mem_format("%s%s%s", reason, lines[0] != '\0' ? "; stderr: " : "", lines);
}

/* ---- start and stop -------------------------------------------------------------------------- */

static json_t *hello_request(void) {
    return json_pack("{s:s, s:i}", "op", "hello", "protocol", PROTOCOL_VERSION);
}

/* False: its server cannot, link->unforked says why. */
static bool fork_process(worker_link_t *link) {
    error_t why = ERROR_INIT;
    mem_set_text(&link->unforked, NULL);
    link->forked = link->server != NULL && link->fork(link, &why) == STATUS_OK;
    if (link->server != NULL && !link->forked)
        link->unforked = mem_text(why.text);
    return link->forked;
}

static status_t start_process(worker_link_t *link, error_t *err) {
    const char *const *argv = text_list_argv(&link->argv);
    setenv(WORKER_TAG, link->tag, 1);
    const status_t status = subprocess_start(argv, link->is_server, &link->child, err);
    unsetenv(WORKER_TAG);
    return status;
}

/* Start the process and send it hello; the answer may take seconds. */
static status_t launch(worker_link_t *link, error_t *err) {
    link->killed_by_signal = link->died = link->declined = false;
    link->tail = (stderr_tail_t){0};
    link->generation++;
    free(link->tag);
    link->tag = link->is_server ? mem_format("%*s", SERVER_TAG_BYTES, "")
                                : mem_format("%s %u", link->label, link->generation);
    if (!fork_process(link)) {
        if (link->unforked != NULL && is_interrupted())
            return error_set(err, STATUS_FAILED, "%s", link->unforked);
        TRY(start_process(link, err));
    }
    link->running = true;
    json_auto_t *request = hello_request();
    return send_request(link, request, err);
}

static status_t receive_hello(worker_link_t *link, error_t *err) {
    json_auto_t *answer = NULL, *request = hello_request();
    TRY(worker_link_receive(link, request, &answer, err));
    const json_t *version = json_object_get(answer, "protocol");
    link->declined = !worker_answer_is_ok(answer);
    if (link->declined)
        return error_set(err, STATUS_FAILED, "%s", worker_answer_reason(answer));
    if (json_is_integer(version) && json_integer_value(version) != PROTOCOL_VERSION)
        return error_set(
            err, STATUS_FAILED,
            "worker %s speaks protocol %lld, expected %d: add refill, last and the key fresh "
            "of sample (docs/worker-protocol.md)",
            link->label, (long long)json_integer_value(version), PROTOCOL_VERSION);
    link->hello = json_incref(answer);
    link->pid = link->is_walled ? walls_inside(link->child.pid) : link->child.pid;
    return STATUS_OK;
}

static status_t start_once(worker_link_t *link, double timeout_s, error_t *err) {
    link->deadline_ns = deadline_in(timeout_s);
    status_t status = link->running ? STATUS_OK : launch(link, err);
    if (status == STATUS_OK)
        status = receive_hello(link, err);
    if (status != STATUS_OK)
        worker_link_stop(link);
    return status;
}

static const char *starting;

const char *worker_link_starting(void) {
    return starting;
}

static void set_starting(const char *label) {
    starting = label;
    subprocess_waiting();
}

status_t worker_link_start(worker_link_t *link, double timeout_s, error_t *err) {
    if (link->cannot != NULL)
        return error_set(err, STATUS_FAILED, "%s", link->cannot);
    if (link->hello != NULL)
        return STATUS_OK;
    error_t why = ERROR_INIT;
    const char *outer = starting; /* a worker whose server is started */
    set_starting(outer != NULL ? outer : link->label);
    status_t status = start_once(link, timeout_s, &why);
    if (status != STATUS_OK && link->killed_by_signal && !link->has_run) {
        error_clear(&why);
        status = start_once(link, timeout_s, &why);
    }
    set_starting(outer);
    link->has_run = link->has_run || status == STATUS_OK;
    if (status == STATUS_OK)
        return STATUS_OK;
    if (!link->has_run)
        link->cannot = mem_text(why.text);
    else
        link->declined = false; /* it lacks nothing, and a later start may succeed */
    return error_set(err, STATUS_FAILED, "%s", why.text);
}

void worker_link_launch(worker_link_t *link, double timeout_s) {
    if (link->running || link->cannot != NULL)
        return;
    link->deadline_ns = deadline_in(timeout_s);
    launch(link, NULL);
}

void worker_links_add(worker_link_t ***links, size_t *n, worker_link_t *link) {
    for (size_t i = 0; i < *n; i++)
        if ((*links)[i] == link)
            return;
    *links = mem_resize(*links, *n + 1, sizeof(worker_link_t *));
    (*links)[(*n)++] = link;
}

void worker_links_start(worker_link_t *const *links, size_t n, double timeout_s) {
    for (size_t i = 0; i < n; i++)
        worker_link_launch(links[i], timeout_s);
    for (size_t i = 0; i < n; i++)
        worker_link_start(links[i], timeout_s, NULL);
}

/* After bye a process still writes a profiler's report. */
static void wait_for_exit(worker_link_t *link, int64_t deadline_ns) {
    while (!subprocess_has_ended(&link->child) && clock_ns() <= deadline_ns) {
        keep_stderr(link); /* a full pipe would block it */
        clock_sleep_ns(EXIT_POLL_NS);
    }
}

void worker_links_stop(worker_link_t *const *links, size_t n) {
    const int64_t deadline_ns = deadline_in(BYE_S);
    for (size_t i = 0; i < n; i++) {
        json_auto_t *answer = NULL;
        if (links[i]->running)
            worker_link_ask(links[i], json_pack("{s:s}", "op", "bye"), BYE_S, &answer,
                            NULL); /* a failure ends it */
    }
    for (size_t i = 0; i < n; i++) {
        char how[64];
        if (!links[i]->running)
            continue;
        if (!links[i]->ends_at_once)
            wait_for_exit(links[i], deadline_ns);
        reap(links[i], how);
    }
}

void worker_link_kill(worker_link_t *link) {
    char how[64];
    if (link->running)
        reap(link, how);
}

void worker_link_stop(worker_link_t *link) {
    worker_links_stop(&link, 1);
}
