/* Python and its packages, as a worker checks them. */
#include "cli/doctor.h"

#include "base/memory.h"
#include "io/subprocess.h"
#include "worker/pool.h"

#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_S = 120 };

json_t *doctor_ask_python(const char *root, const char *engine, error_t *err) {
    char *python = NULL, *script = mem_format("%s/reference_%s/worker.py", root, engine);
    subprocess_result_t result = {0};
    json_t *answer = NULL;
    status_t status = workers_find_python(root, NULL, engine, &python, err);
    if (status == STATUS_OK)
        status = subprocess_run((const char *const[]){python, script, "--needs", NULL}, NULL,
                                TIMEOUT_S, &result, err);
    if (status == STATUS_OK) {
        /* The last line: libraries may print as they are imported. */
        const char *line = result.out;
        for (const char *next; (next = strchr(line, '\n')) != NULL && next[1] != '\0';)
            line = next + 1;
        answer = json_loads(line, 0, NULL);
        if (!json_is_array(answer)) {
            json_decref(answer);
            answer = NULL;
            error_set(err, STATUS_FAILED, "%s %s --needs failed: %.300s", python, script,
                      result.err);
        }
        subprocess_result_free(&result);
    }
    free(script);
    free(python);
    return answer;
}
