#include "measure/sanitizer.h"

#include "base/hash.h"
#include "base/memory.h"
#include "compile/toolchain.h"
#include "io/fs.h"
#include "io/json.h"
#include "io/subprocess.h"
#include "measure/contender.h"
#include "worker/requests.h"

#include <stdlib.h>
#include <string.h>

/* Part of every key: increment it when the format of entries or the requests change. */
static const char CACHE_FORMAT[] = "bench sanitize 2";
static const double VERSION_TIMEOUT_S = 60;

/* Without initcheck: copying a whole block that is partly uninitialised is no error. */
const char *const SANITIZER_TOOLS[] = {"memcheck", "racecheck", "synccheck", NULL};

status_t sanitizer_find(sanitizer_t *sanitizer, error_t *err) {
    *sanitizer = (sanitizer_t){.path = toolchain_find_program("compute-sanitizer")};
    if (sanitizer->path == NULL)
        return error_set(err, STATUS_FAILED,
                         "compute-sanitizer is neither on $PATH nor in the CUDA toolkit");
    const char *const argv[] = {sanitizer->path, "--version", NULL};
    AUTO(subprocess_result_free) subprocess_result_t result = {0};
    TRY(subprocess_run(argv, NULL, VERSION_TIMEOUT_S, &result, err));
    const char *line = strstr(result.out, "Version ");
    if (line == NULL || result.exit_code != 0)
        return error_set(err, STATUS_FAILED, "%s --version: found no version", sanitizer->path);
    sanitizer->version = mem_text_n(line + 8, strcspn(line + 8, " \r\n"));
    return STATUS_OK;
}

void sanitizer_free(sanitizer_t *sanitizer) {
    free(sanitizer->path);
    free(sanitizer->version);
    *sanitizer = (sanitizer_t){0};
}

/* ---- verdict --------------------------------------------------------------------------------- */

/* The largest number in a summary: some contain two, the total and the number suppressed. */
static long count_errors(const char *printed) {
    static const char *const SUMMARIES[] = {"ERROR SUMMARY: ", "RACECHECK SUMMARY: "};
    long most = -1;
    for (size_t i = 0; i < sizeof SUMMARIES / sizeof *SUMMARIES; i++)
        for (const char *at = printed; (at = strstr(at, SUMMARIES[i])) != NULL;) {
            at += strlen(SUMMARIES[i]);
            long n = strtol(at, NULL, 10);
            most = n > most ? n : most;
        }
    return most;
}

static json_t *next_answer(const char **at) {
    json_t *answer = NULL;
    while (answer == NULL && **at != '\0') {
        size_t length = strcspn(*at, "\n");
        if (**at == '{')
            answer = json_loadb(*at, length, 0, NULL);
        *at += length + ((*at)[length] != '\0');
    }
    return answer;
}

/* Why the case did not run to its end under the tool, or NULL; the caller frees it. */
static char *find_refusal(const char *printed, size_t expected) {
    const char *at = printed;
    char *refusal = NULL;
    size_t n_ok = 0;
    for (json_t *answer; refusal == NULL && (answer = next_answer(&at)) != NULL;) {
        const char *status = json_string_value(json_object_get(answer, "status"));
        const char *reason = json_string_value(json_object_get(answer, "reason"));
        if (status != NULL && strcmp(status, "ok") == 0)
            n_ok++;
        else
            refusal = mem_text(reason != NULL ? reason : "the worker gave no reason");
        json_decref(answer);
    }
    if (refusal == NULL && n_ok < expected)
        refusal = mem_format("the worker answered %zu of %zu requests", n_ok, expected);
    return refusal;
}

/* "========= Error: Target application terminated before first instrumented API call" */
static char *find_tool_error(const char *printed) {
    const char *line = strstr(printed, "= Error: ");
    return line != NULL ? mem_text_n(line + 9, strcspn(line + 9, "\r\n")) : NULL;
}

char *sanitize_verdict(const char *printed, size_t expected) {
    long errors = count_errors(printed);
    if (errors > 0)
        return mem_format("%ld error%s", errors, errors == 1 ? "" : "s");
    AUTO_FREE char *refusal = errors < 0 ? find_tool_error(printed) : NULL;
    if (refusal == NULL)
        refusal = find_refusal(printed, expected);
    if (refusal == NULL && errors < 0)
        refusal = mem_text("it printed no summary");
    char *verdict = refusal != NULL ? mem_format("not run: %.200s", refusal) : mem_text("clean");
    text_make_plain(verdict);
    return verdict;
}

/* ---- running it ------------------------------------------------------------------------------ */

/* Requests for one sample of the case, as in `bench run --profile`, one per line. */
static char *make_requests(const sanitize_input_t *input, size_t *n) {
    const char *id = input->spec->id;
    json_t *requests[] = {
        json_pack("{s:s, s:i}", "op", "hello", "protocol", PROTOCOL_VERSION),
        open_request_make(input->spec, input->program, input->seed, true),
        json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:i}", "op", "sample", "id", id, "round", 0,
                  "budget_ns", 0, "max_samples", 1, "warmup_samples", 0, "warmup_ns", 0),
        json_pack("{s:s, s:s}", "op", "close", "id", id),
        json_pack("{s:s}", "op", "bye"),
    };
    if (input->inputs != NULL)
        json_object_set_new(requests[1], "inputs", json_string(input->inputs));
    *n = sizeof requests / sizeof *requests;
    char *lines;
    size_t size;
    FILE *out = open_memstream(&lines, &size);
    for (size_t i = 0; i < *n; i++)
        json_print(requests[i], JSON_COMPACT, out);
    fclose(out);
    return lines;
}

static status_t make_command(const sanitizer_t *sanitizer, const char *tool, int device,
                             text_list_t *argv, error_t *err) {
    AUTO_FREE char *self = NULL;
    TRY(fs_executable(&self, err));
    /* Without CUPTI, which cannot be used under the sanitizer. By default synccheck tracks only a
     * few barriers in shared memory; 4096 were too few for a training of ten layers. */
    text_list_add_words(argv, "env", "BENCH_CUPTI=none", sanitizer->path, "--tool", tool, NULL);
    if (strcmp(tool, "synccheck") == 0)
        text_list_add_words(argv, "--num-cuda-barriers", "65536", NULL);
    text_list_add_words(argv, "--print-limit", "50", self, "worker", "--engine=cuda", NULL);
    text_list_add_format(argv, "--device=%d", device);
    return STATUS_OK;
}

static status_t run_tool(const sanitizer_t *sanitizer, const char *tool,
                         const sanitize_input_t *input, sanitize_output_t *output, error_t *err) {
    AUTO(text_list_free) text_list_t argv = {0};
    TRY(make_command(sanitizer, tool, input->device, &argv, err));
    size_t n_requests;
    AUTO_FREE char *requests = make_requests(input, &n_requests);
    AUTO(subprocess_result_free) subprocess_result_t result = {0};
    TRY(subprocess_run(text_list_argv(&argv), requests, input->timeout_s, &result, err));
    output->log = mem_format("%s%s", result.out, result.err);
    output->verdict = result.timed_out ? mem_format("not run: over %g s", input->timeout_s)
                                       : sanitize_verdict(output->log, n_requests);
    return STATUS_OK;
}

/* ---- the cache ------------------------------------------------------------------------------- */

/* Hash the whole cubin: code_hash does not cover its data, which holds the launch geometry. */
static status_t entry_path(const sanitizer_t *sanitizer, const char *tool,
                           const sanitize_input_t *input, char **path, error_t *err) {
    AUTO_FREE char *cubin = NULL;
    char key[HASH_TEXT];
    size_t bytes;
    TRY(fs_read(input->program->cubin, &cubin, &bytes, err));
    hash_t *hash = hash_new();
    hash_add_text(hash, CACHE_FORMAT);
    hash_add_text(hash, input->program->code_hash);
    hash_add(hash, cubin, bytes);
    hash_add_text(hash, tool);
    hash_add_text(hash, sanitizer->version);
    hash_finish(hash, key);
    *path = mem_format("%s/sanitize/%s.json", input->cache, key);
    return STATUS_OK;
}

static bool load_entry(const char *path, sanitize_output_t *output) {
    const char *verdict, *example, *log;
    json_auto_t *json = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    bool found = json != NULL && json_unpack(json, "{s:s, s:s, s:s}", "verdict", &verdict, "case",
                                             &example, "log", &log) == 0;
    if (found)
        *output = (sanitize_output_t){mem_text(verdict), mem_text(example), mem_text(log),
                                      .cached = true};
    return found;
}

/* "not run" is not stored, so that the next run retries. A failed write only costs time. */
static void store_entry(const char *path, const sanitize_input_t *input,
                        const sanitize_output_t *output) {
    if (text_starts(output->verdict, "not run"))
        return;
    AUTO_FREE char *folder = fs_join(input->cache, "sanitize"), *log = text_utf8(output->log);
    json_auto_t *json = json_pack("{s:s, s:s, s:s}", "verdict", output->verdict, "case",
                                  output->example, "log", log);
    if (json != NULL && fs_make_folders(folder, NULL) == STATUS_OK)
        json_save(json_incref(json), JSON_INDENT(2), path, NULL);
}

void sanitize_program(const sanitizer_t *sanitizer, const char *tool, const sanitize_input_t *input,
                      sanitize_output_t *output) {
    error_t why = ERROR_INIT;
    AUTO_FREE char *path = NULL;
    *output = (sanitize_output_t){0};
    status_t status = entry_path(sanitizer, tool, input, &path, &why);
    if (status == STATUS_OK && !load_entry(path, output)) {
        output->example = mem_text(input->spec->id);
        status = run_tool(sanitizer, tool, input, output, &why);
        if (status == STATUS_OK)
            store_entry(path, input, output);
    }
    if (status != STATUS_OK)
        output->verdict = mem_format("not run: %.200s", why.text);
}

void sanitize_output_free(sanitize_output_t *output) {
    free(output->verdict);
    free(output->example);
    free(output->log);
    *output = (sanitize_output_t){0};
}
