/* What a reader of a run is told on stderr: see record.h. */
#include "base/memory.h"
#include "io/output.h"
#include "results/digest.h"
#include "results/record_internal.h"

#include <stdlib.h>

void record_tell_dropped(const record_t *run) {
    if (run->n_dropped_lines > 0)
        output_print(stderr, "%s: dropped the half-written last line of " JOURNAL "\n",
                     run->folder);
}

/* ": it has only the finished cases", or what its cases lack. The caller frees it. */
static char *what_lacks(const record_t *run) {
    unsigned asked = 0;
    size_t n = 0, n_fewer = 0, fewest = 0;
    for (size_t i = 0; i < run->n_sweeps; i++)
        asked = run->sweeps[i].least_passes > asked ? run->sweeps[i].least_passes : asked;
    for (const case_result_t *result = NULL; (result = record_next(run, result)) != NULL;) {
        const phase_t *whole = result_whole_phase(result);
        if (is_calibration(&result->spec) || result->pass > 0 || whole == NULL)
            continue; /* it has no passes to come, or they are not joined */
        n++;
        n_fewer += whole->n_passes < asked;
        fewest = fewest == 0 || whole->n_passes < fewest ? whole->n_passes : fewest;
    }
    return n_fewer == 0
               ? mem_text("it has only the finished cases")
               : mem_format("%zu of its %zu cases with times %s fewer than %u passes, %zu or more",
                            n_fewer, n, n_fewer == 1 ? "has" : "have", asked, fewest);
}

void record_tell_incomplete(const record_t *run) {
    record_tell_dropped(run);
    if (run->finished == NULL) {
        char *lacks = what_lacks(run);
        output_print(stderr, "%s: the run did not finish: %s\n", run->folder, lacks);
        free(lacks);
    }
    if (record_seal(run) == SEAL_BROKEN)
        output_print(stderr, "%s: lines were edited after the run was closed\n", run->folder);
}
