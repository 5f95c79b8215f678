/* A worker's answers: whatever it says, the supervisor has a result with a status and, where that
 * is not ok, a reason; and the journal's line of it can be read back. */
#include "fuzz.h"

#include "base/memory.h"
#include "measure/contender.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST_LINES = 16, MOST_LINE_BYTES = 8192, ROUNDS = 4 };

/* Packets, so that one read gives one line, as a worker that waits for its requests would. */
static int answers_of(const uint8_t *data, size_t size) {
    int ends[2];
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    for (size_t lines = 0; size > 0 && lines < MOST_LINES; lines++) {
        const uint8_t *newline = memchr(data, '\n', size);
        size_t bytes = newline != NULL ? (size_t)(newline + 1 - data) : size;
        if (send(ends[1], data, bytes < MOST_LINE_BYTES ? bytes : MOST_LINE_BYTES, 0) < 0)
            break;
        data += bytes;
        size -= bytes;
    }
    close(ends[1]);
    return ends[0];
}

static void check_journal_line(const case_result_t *result) {
    json_t *json = result_to_json(result), *again;
    FUZZ_CHECK(json != NULL);
    AUTO_FREE char *line = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(15));
    FUZZ_CHECK(line != NULL && strchr(line, '\n') == NULL);
    case_result_t copy;
    error_t err = ERROR_INIT;
    FUZZ_CHECK(result_from_text(line, strlen(line), &copy, &err) == STATUS_OK);
    FUZZ_CHECK(copy.status == result->status && copy.n_phases == result->n_phases);
    again = result_to_json(&copy);
    FUZZ_CHECK(json_object_size(json) == json_object_size(again));
    result_free(&copy);
    json_decref(again);
    json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const contender_settings_t SETTINGS = {
        .measure = MEASURE_DEFAULTS, .pass = 1, .seed = 1, .timeout_s = 60, .max_sm_mhz = NAN};
    AUTO(case_free)
    case_t spec = {.id = mem_text("null/null/steady"),
                   .workload = mem_text("null"),
                   .engine = mem_text("null"),
                   .device = mem_text("cpu"),
                   .variant = mem_text("steady"),
                   .dtype = mem_text("f32")};
    worker_link_t *link = mem_zeroed(1, sizeof *link);
    worker_link_init(link, "odd", (text_list_t){0});
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC), answers = answers_of(data, size);
    link->running = true;
    link->hello = json_object(); /* it has answered that already */
    link->generation = 1;
    link->child = (subprocess_t){.pid = 0, .in_fd = nothing, .out_fd = answers, .err_fd = nothing};

    contender_t contender;
    contender_init(&contender, &spec, link, NULL, &SETTINGS);
    contender.may_retry = false; /* there is no program to start again */
    contender_open(&contender);
    for (int i = 0; i < ROUNDS && contender.active && contender.result.stop == STOP_NONE; i++)
        contender_round(&contender);
    contender_finish(&contender);
    FUZZ_CHECK(contender.active == (contender.result.status == CASE_OK));
    FUZZ_CHECK(contender.active || contender.result.reason != NULL);
    check_journal_line(&contender.result);

    contender_free(&contender);
    json_decref(link->hello);
    link->running = false;
    worker_link_free(link);
    free(link);
    close(nothing);
    close(answers);
    return 0;
}
