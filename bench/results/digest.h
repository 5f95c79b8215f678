/* What a run's files were when it was closed: digests in its run.json (XXH3-128), which tell later edits. They are no
 * signature: who edits a file can compute another digest. */
#ifndef BENCH_RESULTS_DIGEST_H
#define BENCH_RESULTS_DIGEST_H

#include "results/record.h"

typedef enum seal {
    SEAL_NONE,   /* run.json has no digest: the run is older, or was not closed */
    SEAL_WHOLE,  /* the lines are those that the run was closed with */
    SEAL_BROKEN, /* they are not, or were not when the run was resumed or merged */
} seal_t;

/* By the lines as they were loaded. */
seal_t record_seal(const record_t *run);

/* Digest the lines of `joined`, which is the run as it was read, and may be `run`, and the derived tables in the run's
 * folder. The header is not written. */
void record_close(record_t *run, const record_t *joined);
/* Lines will be added: forget the digests, but not that lines were edited. */
void record_reopen(record_t *run);

/* Note in the header that a case is algorithmic, before its line is written: is that new? */
bool record_declare(record_t *run, const case_result_t *result);
/* The same of all cases that the run has. */
void record_declare_all(record_t *run);

/* Note the charts of these names, which were drawn into the folder `charts`, in the run.json of a closed run. */
status_t record_note_charts(const char *folder, const char *charts, const text_list_t *names,
                            error_t *err);

/* Is it one of these, and as it was drawn? `charts` is the folder that it is in. */
bool record_has_chart(const record_t *run, const char *charts, const char *file);

/* What is not as it was: "cases.jsonl", "timings.csv", "plots/h200/size.svg", each with what is wrong. `charts` is the
 * folder of the run's charts, which may be missing. */
text_list_t record_edits(const record_t *run, const char *charts);

#endif
