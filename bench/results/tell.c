/* What a reader of a run is told on stderr: see record.h. */
#include "io/output.h"
#include "results/digest.h"
#include "results/record_internal.h"

void record_tell_dropped(const record_t *run) {
    if (run->n_dropped_lines > 0)
        output_print(stderr, "%s: dropped the half-written last line of " JOURNAL "\n",
                     run->folder);
}

void record_tell_incomplete(const record_t *run) {
    record_tell_dropped(run);
    if (run->finished == NULL)
        output_print(stderr, "%s: the run did not finish: it has only the finished cases\n",
                     run->folder);
    if (record_seal(run) == SEAL_BROKEN)
        output_print(stderr, "%s: lines were edited after the run was closed\n", run->folder);
}
