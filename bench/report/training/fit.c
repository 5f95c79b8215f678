/* Fitted values compared with the float64 reference. */
#include "report/training/training.h"

#include <math.h>
#include <string.h>

/* Of y = w·x + b. */
static const char *const FITTED[] = {"w", "b"};
enum { N_FITTED = 2 };

static bool is_reference(const case_result_t *result) {
    return strcmp(result->spec.engine, "cpu") == 0 && strcmp(result->spec.variant, "ref") == 0 &&
           result_has_times(result);
}

static const case_result_t *reference_at(const training_pair_t *pair, int64_t size) {
    return find_case(pair->either, OF_ANYONE, size, is_reference);
}

/* |fitted − reference|; NaN if either is missing, and for the reference itself. */
static double distance(const training_pair_t *pair, const case_result_t *result, const char *key) {
    const case_result_t *reference = reference_at(pair, size_of_case(pair->either, &result->spec));
    return reference != NULL && result_has_times(result) && !is_reference(result)
               ? fabs(result_number(result, key) - result_number(reference, key))
               : NAN;
}

typedef struct farthest {
    const case_result_t *result; /* NULL: none */
    double distance;             /* NaN then */
    size_t n;                    /* cases that have a distance */
} farthest_t;

/* Of `like`'s contender, or of all (NULL), over all sizes. */
static farthest_t farthest(const training_pair_t *pair, const case_result_t *like,
                           const char *key) {
    farthest_t worst = {.distance = NAN};
    const case_result_t *c = NULL;
    while ((c = next_case(pair->either, OF_ANYONE, ANY_SIZE, c)) != NULL) {
        const double its_distance = distance(pair, c, key);
        if (!isfinite(its_distance) ||
            (like != NULL && !(same_contender(&c->spec, &like->spec) &&
                               result_is_algorithmic(c) == result_is_algorithmic(like))))
            continue;
        worst.n++;
        if (!(its_distance <= worst.distance)) { /* true for the first */
            worst.result = c;
            worst.distance = its_distance;
        }
    }
    return worst;
}

/* ---- the sentence ---------------------------------------------------------------------------- */

void finding_fit(const report_t *report, const training_pair_t *pair) {
    size_t n_printed = 0;
    for (size_t k = 0; k < N_FITTED; k++) {
        const farthest_t worst = farthest(pair, NULL, FITTED[k]);
        if (worst.result == NULL)
            continue;
        if (n_printed++ == 0)
            print(report,
                  "- **Same fit:** over the %zu case%s with a float64 reference of the same size,",
                  worst.n, worst.n == 1 ? "" : "s");
        else
            print(report, ",");
        print(report, " |%s − %s64| is at most %.1e (%s%s, %s)", FITTED[k], FITTED[k],
              worst.distance, contender_text(report, worst.result), algorithmic_mark(worst.result),
              size_name_of(report, pair->either, worst.result));
    }
    print(report, "%s", n_printed > 0 ? ".\n" : "");
}

/* ---- the table ------------------------------------------------------------------------------- */

/* The reference size if the float64 reference was run there, else the largest that has one. */
static int64_t size_with_reference(const training_pair_t *pair) {
    const comparison_set_t *set = pair->either;
    const size_row_t *row = reference_row(set);
    if (row != NULL && reference_at(pair, row->size) != NULL)
        return row->size;
    for (size_t i = set->n_rows; i-- > 0;)
        if (reference_at(pair, set->rows[i].size) != NULL)
            return set->rows[i].size;
    return row != NULL ? row->size : -1;
}

static const char *number_cell(const report_t *report, const char *format, double number) {
    return isfinite(number) ? report_text(report, format, number) : "–";
}

void table_of_fits(const report_t *report, const training_pair_t *pair) {
    static const column_t COLUMNS[] = {
        {"Contender", 'l', false},   {"w", 'r', false},         {"\\|w − w64\\|", 'r', false},
        {"at any size", 'r', false}, {"b", 'r', false},         {"\\|b − b64\\|", 'r', false},
        {"at any size", 'r', false}, {"test loss", 'r', false},
    };
    enum { N_COLUMNS = sizeof COLUMNS / sizeof *COLUMNS };
    columns_t table = columns_begin(report, COLUMNS, N_COLUMNS);
    const int64_t size = size_with_reference(pair);
    const case_result_t *c = NULL;
    while ((c = next_case(pair->either, OF_ANYONE, size, c)) != NULL) {
        if (!result_has_times(c) || !isfinite(result_number(c, FITTED[0])))
            continue;
        const char *cells[N_COLUMNS];
        size_t n = 0;
        cells[n++] = report_text(report, "%s%s%s", contender_text(report, c), algorithmic_mark(c),
                                 is_reference(c) ? " (reference)" : "");
        for (size_t k = 0; k < N_FITTED; k++) {
            cells[n++] = number_cell(report, "%.9f", result_number(c, FITTED[k]));
            cells[n++] = number_cell(report, "%.1e", distance(pair, c, FITTED[k]));
            cells[n++] = number_cell(report, "%.1e", farthest(pair, c, FITTED[k]).distance);
        }
        cells[n++] = number_cell(report, "%.9g", result_number(c, "test_loss"));
        columns_row(&table, cells);
    }
    columns_end_under(&table, 4, "Fitted values",
                      "At %s. Distances are to the float64 reference of the same size; *at any "
                      "size*: the largest over all sizes that have one.\n\n",
                      size_name(report, pair->either, size));
}
