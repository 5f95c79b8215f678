/* Comparison sets as a page uses them: which it shows, its rows, and other comparisons of the same cases. */
#ifndef BENCH_REPORT_SETS_H
#define BENCH_REPORT_SETS_H

#include "report/words.h"

/* Are the trainings of the set timed by operation? */
bool set_is_by_operation(const comparison_set_t *set);
/* The row that findings show: at reference_size, else the largest that both sides have a time for,
 * else the largest. NULL for a set without rows. */
const size_row_t *set_reference(const comparison_set_t *set);
bool has_contender(const size_row_t *row); /* either side has a time */

/* The same set with the fastest that wait for the device instead of polling in `best`, `strongest` and `headline` of
 * its rows, which the report owns. */
comparison_set_t set_without_polling(const report_t *report, const comparison_set_t *set);
bool is_by_polling(const size_row_t *row); /* does our fastest poll? */

/* One comparison of a set: by its own phase, or by that of a whole sample. */
typedef struct view {
    const comparison_set_t *set;
    const char *name; /* "4-5-1, f32, on the GPU, `host_to_host`" */
} view_t;

typedef struct views {
    view_t *items; /* those and the sets of whole samples are the report's */
    size_t n;
} views_t;

/* Of all sets with times that no headline omits. Free their rows with views_free(). */
views_t views_of(const report_t *report, const comparison_set_list_t *sets);
void views_free(views_t *views);

#endif
