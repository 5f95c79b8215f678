/* Folders of charts, plots/<run>/, and whose charts are in them: two runs may have the same name, and a run may be
 * measured anew. drawn_from.json there names the run, and the lines that its charts show. */
#ifndef BENCH_PLOT_FOLDER_H
#define BENCH_PLOT_FOLDER_H

#include "results/record.h"

/* Where a run's charts are: <out>/<name>, or <out>/<name>_<8 digits of a hash of its path> if the former has the charts
 * of another run. `out` NULL: <root>/plots. The caller frees it. */
char *charts_folder(const char *root, const char *out, const record_t *run);
/* The other run that has the folder of this one's name in <root>/plots; NULL: there is none. The caller frees it. */
char *charts_other_run(const char *root, const record_t *run);

/* Has the folder a drawn_from.json? */
bool charts_are_signed(const char *folder);
/* What is drawn into the folder from now on is of this run as it was loaded. Charts of another run, or of other lines of
 * this one, are removed. */
status_t charts_sign(const char *root, const char *folder, const record_t *run, error_t *err);
/* Is this file of the folder a chart of the run as it is: by the digests of a closed run, else by drawn_from.json? What
 * an older version drew of a run without digests is believed. */
bool charts_have(const char *folder, const record_t *run, const char *file);

#endif
