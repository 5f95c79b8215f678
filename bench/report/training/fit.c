/* What the trainings ended at, held against the float64 oracle. */
#include "report/training/training.h"

#include <math.h>
#include <string.h>

/* Of y = w·x + b. */
static const char *const FITTED[] = {"w", "b"};
enum { N_FITTED = 2 };

static bool is_oracle(const case_result_t *result) {
    return strcmp(result->spec.engine, "cpu") == 0 && strcmp(result->spec.variant, "ref") == 0 &&
           result_has_times(result);
}

static const case_result_t *oracle_at(const training_pair_t *pair, int64_t size) {
    return find_case(pair->either, OF_ANYONE, size, is_oracle);
}

/* |fitted − the oracle's|; NaN where one of them is not there, and for the oracle itself. */
static double distance(const training_pair_t *pair, const case_result_t *result, const char *key) {
    const case_result_t *oracle = oracle_at(pair, size_of_case(pair->either, &result->spec));
    return oracle != NULL && result_has_times(result) && !is_oracle(result)
               ? fabs(result_number(result, key) - result_number(oracle, key))
               : NAN;
}

typedef struct farthest {
    const case_result_t *result; /* NULL: there is none */
    double distance;             /* NaN then */
    size_t n;                    /* cases that have a distance */
} farthest_t;

/* Of one contender, or of all where `like` is NULL, at any size. */
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
        if (!(its_distance <= worst.distance)) { /* the first, too */
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
                  "- **The same fit everywhere:** over the %zu case%s that can be held against "
                  "the float64 oracle of the same size,",
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

/* The reference size, if the oracle was run there; else the largest that has one. */
static int64_t size_with_oracle(const training_pair_t *pair) {
    const comparison_set_t *set = pair->either;
    const size_row_t *reference = reference_row(set);
    if (reference != NULL && oracle_at(pair, reference->size) != NULL)
        return reference->size;
    for (size_t i = set->n_rows; i-- > 0;)
        if (oracle_at(pair, set->rows[i].size) != NULL)
            return set->rows[i].size;
    return reference != NULL ? reference->size : -1;
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
    const int64_t size = size_with_oracle(pair);
    const case_result_t *c = NULL;
    while ((c = next_case(pair->either, OF_ANYONE, size, c)) != NULL) {
        if (!result_has_times(c) || !isfinite(result_number(c, FITTED[0])))
            continue;
        const char *cells[N_COLUMNS];
        size_t n = 0;
        cells[n++] = report_text(report, "%s%s%s", contender_text(report, c), algorithmic_mark(c),
                                 is_oracle(c) ? " (the oracle)" : "");
        for (size_t k = 0; k < N_FITTED; k++) {
            cells[n++] = number_cell(report, "%.9f", result_number(c, FITTED[k]));
            cells[n++] = number_cell(report, "%.1e", distance(pair, c, FITTED[k]));
            cells[n++] = number_cell(report, "%.1e", farthest(pair, c, FITTED[k]).distance);
        }
        cells[n++] = number_cell(report, "%.9g", result_number(c, "test_loss"));
        columns_row(&table, cells);
    }
    columns_end_under(&table, "What was fitted",
                      "At %s. Distances are to the float64 oracle of the same size; "
                      "*at any size*: the largest over all sizes that have one.\n\n",
                      size_name(report, pair->either, size));
}
