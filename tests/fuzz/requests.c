/* Requests to a worker: every line gets one line back, a JSON object with a status. The null engine
 * serves them, except where that would take long, write outside of the folder, or end as asked
 * ("crash"): then only the parser reads them. */
#include "fuzz.h"

#include "base/memory.h"
#include "worker/requests.h"
#include "worker/server.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST_DIGITS = 4 };

static bool has_long_number(const char *text) {
    size_t digits = 0;
    for (; *text != '\0'; text++) {
        digits = isdigit((unsigned char)*text) ? digits + 1 : 0;
        if (digits > MOST_DIGITS)
            return true;
    }
    return false;
}

static bool is_harmless(const char *text, size_t size) {
    static const char *const WORDS[] = {"\\", "crash", "hang", "trace", "cpu", "cuda"};
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (strstr(text, WORDS[i]) != NULL)
            return false;
    const char *path = strstr(text, "path");
    return strlen(text) == size && size > 0 && !has_long_number(text) &&
           (path == NULL || (strchr(path, '/') == NULL && strstr(path, "..") == NULL));
}

static void parse_lines(const char *text, size_t size) {
    for (const char *line = text; line <= text + size; line += strlen(line) + 1) {
        protocol_op_t op;
        error_t err = ERROR_INIT;
        json_auto_t *request = protocol_parse_request(line, &op, &err);
        if (request == NULL)
            fuzz_check_refusal(err.status, &err);
    }
}

static size_t count_lines(const char *text) {
    size_t n = 0;
    for (; *text != '\0'; n++) {
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return n;
}

/* The answers, of which there are fewer than requests only after a bye. */
static void check_answers(FILE *answers, size_t n_requests) {
    AUTO_FREE char *line = NULL;
    size_t capacity = 0, n = 0;
    rewind(answers);
    while (getline(&line, &capacity, answers) > 0) {
        json_auto_t *answer = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
        FUZZ_CHECK(json_is_object(answer));
        FUZZ_CHECK(json_is_string(json_object_get(answer, "status")));
        n++;
    }
    FUZZ_CHECK(n <= n_requests && (n > 0 || n_requests == 0));
}

static void serve(char *text, size_t size) {
    static int answers_fd = -1, home = -1;
    if (answers_fd < 0) {
        home = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        answers_fd = memfd_create("answers", MFD_CLOEXEC);
    }
    FUZZ_CHECK(chdir(fuzz_folder()) == 0);
    int kept_stdout = dup(STDOUT_FILENO);
    FILE *kept_stdin = stdin;
    FUZZ_CHECK(ftruncate(answers_fd, 0) == 0 && lseek(answers_fd, 0, SEEK_SET) == 0 &&
               dup2(answers_fd, STDOUT_FILENO) >= 0);
    stdin = fmemopen(text, size, "r");
    error_t err = ERROR_INIT;
    status_t status = worker_serve(&(worker_options_t){.engine = "null"}, &err);
    FUZZ_CHECK(status == STATUS_OK);
    fclose(stdin);
    stdin = kept_stdin;
    FUZZ_CHECK(dup2(kept_stdout, STDOUT_FILENO) >= 0 && fchdir(home) == 0);
    close(kept_stdout);
    FILE *answers = fdopen(dup(answers_fd), "r");
    check_answers(answers, count_lines(text));
    fclose(answers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    AUTO_FREE char *text = fuzz_text(data, size);
    parse_lines(text, size);
    if (is_harmless(text, size))
        serve(text, size);
    return 0;
}
