/* Python and its packages, as the PyTorch worker checks them: reference_pytorch/needs.py. */
#include "cli/doctor.h"

#include "base/memory.h"
#include "base/text.h"
#include "io/subprocess.h"
#include "worker/pool.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_S = 120 };

/* Reported if needs.py fails. */
static const finding_t UNKNOWN[] = {
    {.what = "NumPy", .costs = "PyTorch cases are skipped"},
    {.what = "PyTorch", .costs = "nothing to compare CUDA with: PyTorch cases are skipped"},
    {.what = "torch.compile", .costs = "PyTorch's compile modes are skipped"},
};

static json_t *ask(const char *root, error_t *err) {
    char *python = NULL, *script = mem_format("%s/reference_pytorch/needs.py", root);
    subprocess_result_t result = {0};
    json_t *answer = NULL;
    status_t status = workers_find_python(root, NULL, &python, err);
    if (status == STATUS_OK)
        status = subprocess_run((const char *const[]){python, script, NULL}, NULL, TIMEOUT_S,
                                &result, err);
    if (status == STATUS_OK) {
        /* The last line: libraries may print as they are imported. */
        const char *line = result.out;
        for (const char *next; (next = strchr(line, '\n')) != NULL && next[1] != '\0';)
            line = next + 1;
        answer = json_loads(line, 0, NULL);
        if (!json_is_array(answer))
            error_set(err, STATUS_FAILED, "%s %s printed no answer: %.300s", python, script,
                      result.err);
        subprocess_result_free(&result);
    }
    free(script);
    free(python);
    return answer;
}

static const char *text_of(finding_list_t *findings, const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return arena_format(&findings->texts, "%s", text != NULL ? text : "");
}

void doctor_ask_python(finding_list_t *findings, const char *root) {
    error_t why = ERROR_INIT;
    json_t *answer = ask(root, &why), *item;
    size_t i;
    json_array_foreach(answer, i, item) {
        const finding_t finding = {.what = text_of(findings, item, "what"),
                                   .costs = text_of(findings, item, "costs"),
                                   .install = text_of(findings, item, "install")};
        findings_add(findings, &finding, json_is_true(json_object_get(item, "found")),
                     text_of(findings, item, "detail"));
    }
    if (!json_is_array(answer))
        for (i = 0; i < sizeof UNKNOWN / sizeof *UNKNOWN; i++) {
            finding_t *finding = findings_add(findings, &UNKNOWN[i], false, why.text);
            finding->install = "./run_all.sh sets up .venv with it";
        }
    json_decref(answer);
}
