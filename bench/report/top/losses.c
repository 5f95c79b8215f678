/* Where no lead of ours was found: never left out. */
#include "report/rivals.h"
#include "report/top/top.h"

#include "base/memory.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char NO_DIFFERENCE[] = "no difference found at ";

/* A rival leads: its time is the lower, decided or in too few passes to decide. */
static bool is_lost(const size_row_t *row) {
    return has_headline(row) && theirs_leads(&row->headline);
}
static bool is_even(const size_row_t *row) {
    return row->headline.verdict == VERDICT_NO_DIFFERENCE;
}
static bool is_claimed(const size_row_t *row) {
    return row->headline.self_reported;
}
static bool is_not_ours(const size_row_t *row) {
    return row->best == NULL && !is_claimed(row) &&
           (row->strongest != NULL || row->claimed != NULL);
}

/* "batch 64", "3 batch sizes (64–256)"; NULL if none is chosen. */
static const char *chosen_text(const report_t *report, const comparison_set_t *set,
                               const bool *chosen) {
    size_t n = 0, last = 0;
    for (size_t i = 0; i < set->n_rows; i++) {
        n += chosen[i];
        last = chosen[i] ? i : last;
    }
    return n == 0   ? NULL
           : n == 1 ? size_name(report, set, set->rows[last].size)
                    : report_text(report, "%zu %s (%s)", n, sizes_word(set, n),
                                  sizes_text(report, set, chosen));
}

static const char *sizes_where(const report_t *report, const comparison_set_t *set,
                               bool (*fits)(const size_row_t *row)) {
    bool *chosen = mem_zeroed(set->n_rows + 1, sizeof *chosen);
    for (size_t i = 0; i < set->n_rows; i++)
        chosen[i] = fits(&set->rows[i]);
    const char *sizes = chosen_text(report, set, chosen);
    free(chosen);
    return sizes;
}

/* Where ours is the faster in some boots only. */
static const char *sizes_disputed(const report_t *report, const comparison_set_t *set,
                                  const boots_t *boots) {
    bool *chosen = mem_zeroed(set->n_rows + 1, sizeof *chosen);
    for (size_t i = 0; i < set->n_rows; i++) {
        const size_row_t *row = &set->rows[i];
        const boots_range_t range = boots_range(boots, row->best, row->strongest, set->phase);
        chosen[i] = boots_disagree(&range);
    }
    const char *sizes = chosen_text(report, set, chosen);
    free(chosen);
    return sizes;
}

const char *top_sizes_lost(const report_t *report, const comparison_set_t *set) {
    return sizes_where(report, set, is_lost);
}

static const size_row_t *worst_of(const comparison_set_t *set) {
    const size_row_t *worst = NULL;
    for (size_t i = 0; i < set->n_rows; i++)
        if (is_lost(&set->rows[i]) &&
            (worst == NULL || set->rows[i].headline.ratio.centre < worst->headline.ratio.centre))
            worst = &set->rows[i];
    return worst;
}

static void add_lost(const report_t *report, const comparison_set_t *set, text_list_t *parts) {
    const size_row_t *worst = worst_of(set);
    const char *lost = top_sizes_lost(report, set);
    if (worst == NULL)
        return;
    const bool undecided = worst->headline.verdict == VERDICT_UNDECIDED;
    const char *theirs =
        case_link(report, worst->strongest,
                  report_safe(report, headline_contender(report, worst->strongest)));
    const char *ours = case_link(report, worst->best, set->platform->name);
    const char *at = size_name(report, set, worst->size);
    const char *verdict = verdict_text(report, &worst->headline, ours, theirs);
    if (strcmp(at, lost) == 0)
        text_list_add_format(parts, "at %s %s", at, verdict);
    else
        text_list_add_format(parts, "a rival %s at %s, most at %s, where %s",
                             undecided ? "has the lower time" : "is faster", lost, at, verdict);
}

/* What takes least on the CPU, of anyone; or NULL. */
static const case_result_t *best_of_host(const comparison_set_t *set, const size_row_t *row) {
    if (row->host == NULL || row->host_rival == NULL)
        return row->host != NULL ? row->host : row->host_rival;
    const double ours_ns = result_median(row->host, set->phase);
    return ours_ns <= result_median(row->host_rival, set->phase) ? row->host : row->host_rival;
}

/* From host to host, the copies may cost more than the GPU gains. */
static void add_host(const report_t *report, const comparison_set_t *set, const char *name,
                     text_list_t *hosts) {
    bool *chosen = mem_zeroed(set->n_rows + 1, sizeof *chosen);
    const char *first = NULL;
    size_t n_host = 0, n_lost = 0;
    const size_t n = strcmp(set->phase, "host_to_host") == 0 ? set->n_rows : 0;
    for (size_t i = 0; i < n; i++) {
        const size_row_t *row = &set->rows[i];
        const case_result_t *host = best_of_host(set, row);
        const case_result_t *gpu = theirs_leads(&row->headline) ? row->strongest : row->best;
        chosen[i] = host != NULL && gpu != NULL &&
                    result_median(host, set->phase) < result_median(gpu, set->phase);
        n_host += host != NULL;
        n_lost += chosen[i];
        if (chosen[i] && (first == NULL || row->size == set->reference_size))
            first =
                report_text(report, "%s %s at %s, %s on the GPU",
                            report_safe(report, headline_contender(report, host)),
                            time_cell(report, host, set->phase), size_name(report, set, row->size),
                            time_cell(report, gpu, set->phase));
    }
    const char *sizes = chosen_text(report, set, chosen);
    if (sizes != NULL)
        text_list_add_format(
            hosts, "%s at %s%s (%s)", name, sizes,
            n_lost > 1 && n_lost == n_host ? ", all that were measured on the CPU" : "", first);
    free(chosen);
}

/* What is compared without copies may be lost with them; on the CPU there are none. */
static void add_with_copies(const report_t *report, const comparison_set_t *set, const char *name,
                            const boots_t *boots, text_list_t *with_copies) {
    comparison_set_t whole = comparison_set_by_whole(set);
    if (boots != NULL)
        boots_widen_set(boots, &whole);
    const bool is_other =
        strcmp(whole.phase, set->phase) != 0 && strcmp(set->platform->device, "cpu") != 0;
    const char *sizes = is_other ? top_sizes_lost(report, &whole) : NULL;
    const size_row_t *worst = is_other ? worst_of(&whole) : NULL;
    if (sizes != NULL)
        text_list_add_format(with_copies, "%s at %s (%s %s)", name, sizes,
                             report_safe(report, headline_contender(report, worst->strongest)),
                             lead_text(report, &worst->headline));
    comparison_set_free_rows(&whole);
}

/* The rival that ours is compared with may be the wrong one. */
static void add_excluded(const report_t *report, const comparison_set_t *set, text_list_t *parts) {
    bool *chosen = mem_zeroed(set->n_rows + 1, sizeof *chosen);
    const char *first = NULL;
    for (size_t i = 0; i < set->n_rows; i++) {
        const case_result_t *result = standing_faster(&set->rows[i].theirs, set->phase);
        chosen[i] = result != NULL;
        if (result != NULL && first == NULL)
            first = report_text(report, "%s %s %s",
                                report_safe(report, headline_contender(report, result)),
                                case_link(report, result, time_cell(report, result, set->phase)),
                                report_keep(report, exclusion_text(result, set->phase)));
    }
    const char *sizes = chosen_text(report, set, chosen);
    if (sizes != NULL)
        text_list_add_format(parts, "a rival with a lower time is not compared at %s (%s)", sizes,
                             first);
    free(chosen);
}

/* NULL if ours is faster at every size that has a rival. */
static const char *loss_of(const report_t *report, const comparison_set_t *set,
                           const boots_t *boots) {
    const char *disputed = sizes_disputed(report, set, boots);
    const char *even = sizes_where(report, set, is_even);
    const char *claimed = sizes_where(report, set, is_claimed);
    const char *not_ours = sizes_where(report, set, is_not_ours);
    text_list_t parts = {0};
    add_lost(report, set, &parts);
    if (even != NULL)
        text_list_add_format(&parts, "%s%s", NO_DIFFERENCE, even);
    if (disputed != NULL)
        text_list_add_format(&parts, "the boots disagree at %s", disputed);
    if (claimed != NULL)
        text_list_add_format(&parts, "not compared at %s, where a time is self-reported", claimed);
    add_excluded(report, set, &parts);
    if (not_ours != NULL)
        text_list_add_format(&parts, "no valid time of ours at %s", not_ours);
    return report_join(report, &parts, "; ");
}

enum { UNKNOWN = 1, EVEN = 2 };

/* Its rank is the least ratio of a rival's time to ours, by its end nearer to 1; EVEN if there is no more
 * than no difference, UNKNOWN if some sizes have no ratio. */
typedef struct loss {
    const char *where, *text, *sizes; /* sizes: those without a lead of ours; or NULL */
    double rank;
    size_t at;
} loss_t;

/* What is found in all sets. */
typedef struct losses {
    loss_t *items;
    size_t n, capacity;
    text_list_t uncompared, hosts, with_copies;
    size_t n_compared, n_undecided; /* sizes; of them with too few passes to decide */
    const char *least_where;        /* the smallest lead of ours */
    double least;
} losses_t;

static void take_least(const report_t *report, const comparison_set_t *set, const char *name,
                       losses_t *losses) {
    for (size_t i = 0; i < set->n_rows; i++) {
        const size_row_t *row = &set->rows[i];
        if (!has_headline(row) ||
            (losses->least_where != NULL && row->headline.ratio.centre >= losses->least))
            continue;
        losses->least = row->headline.ratio.centre;
        losses->least_where =
            report_text(report, "%s, %s: %s over %s", name, size_name(report, set, row->size),
                        case_link(report, row->best, lead_text(report, &row->headline)),
                        case_link(report, row->strongest,
                                  report_safe(report, headline_contender(report, row->strongest))));
    }
}

static bool is_not_ahead(const size_row_t *row) {
    return is_lost(row) || is_even(row);
}

static void add_loss(const report_t *report, losses_t *losses, const comparison_set_t *set,
                     const char *name, const char *text) {
    const size_row_t *worst = worst_of(set);
    double rank = text_starts(text, NO_DIFFERENCE) ? EVEN : UNKNOWN;
    if (worst != NULL)
        rank = isfinite(worst->headline.ratio.high) ? worst->headline.ratio.high
                                                    : worst->headline.ratio.centre;
    mem_grow(&losses->items, losses->n, &losses->capacity, sizeof *losses->items);
    losses->items[losses->n] =
        (loss_t){name, text, sizes_where(report, set, is_not_ahead), rank, losses->n};
    losses->n++;
}

/* The worst first; equals stay in their order. */
static int by_rank(const void *a, const void *b) {
    const loss_t *x = a, *y = b;
    return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank)
                              : (x->at > y->at) - (x->at < y->at);
}

static void print_found(const report_t *report, const losses_t *losses) {
    text_list_t further = {0};
    bool all_even = true;
    if (losses->n > 0)
        qsort(losses->items, losses->n, sizeof *losses->items, by_rank);
    for (size_t i = 0; i < losses->n; i++)
        if (i < TOP_LOSSES)
            print(report, "- %s: %s.\n", losses->items[i].where, losses->items[i].text);
        else {
            const loss_t *loss = &losses->items[i];
            all_even = all_even && loss->rank == EVEN;
            text_list_add_format(&further, "%s%s%s", loss->where,
                                 loss->sizes != NULL ? ", at " : "",
                                 loss->sizes != NULL ? loss->sizes : "");
        }
    const char *names = report_join(report, &further, "; ");
    if (names != NULL)
        print(report, "- %s: %s.\n", all_even ? "No difference found, either, in" : "Also in",
              names);
}

static void add_set(const report_t *top, const top_part_t *part, const comparison_set_t *set,
                    losses_t *losses) {
    const report_t of_run = report_on(top, set->run), *report = &of_run;
    const tally_t tally = tally_of(set, headline_of);
    const headline_row_t row = {&part->headline, set, set->rows};
    const char *name =
        report_text(report, "%s %s, %s", part->link,
                    report_safe(report, headline_setting(report, &row)), set->platform->place);
    const char *loss = loss_of(report, set, part->headline.boots);
    losses->n_compared += tally.n;
    add_host(report, set, name, &losses->hosts);
    add_with_copies(report, set, name, part->headline.boots, &losses->with_copies);
    take_least(report, set, name, losses);
    losses->n_undecided += tally.of[VERDICT_UNDECIDED];
    if (loss == NULL && tally.n == 0)
        text_list_add(&losses->uncompared, name);
    else if (loss != NULL)
        add_loss(report, losses, set, name, loss);
}

static void print_no_loss(const report_t *report, const losses_t *losses) {
    const size_t n = losses->n_compared, undecided = losses->n_undecided;
    print(report, "- Nowhere in these runs: at all %zu sizes compared ours %s", n,
          undecided == 0 ? "is faster" : "has the lower time");
    if (undecided > 0)
        print(report, ", at %s of them in too few passes (under %d) to be called faster",
              undecided == n ? "all" : report_text(report, "%zu", undecided), STATS_FEWEST_PASSES);
    print(report, ". The smallest lead: %s.\n", losses->least_where);
}

void top_losses(const report_t *report, const top_t *top) {
    losses_t losses = {0};
    for (size_t p = 0; p < top->n_parts; p++) {
        const comparison_set_list_t *sets = &top->parts[p].part->sets;
        for (size_t i = 0; i < sets->n; i++)
            if (!headline_omits(sets, i))
                add_set(report, &top->parts[p], &sets->items[i], &losses);
    }
    print_found(report, &losses);
    free(losses.items);
    const char *uncompared = report_join(report, &losses.uncompared, "; ");
    const char *hosts = report_join(report, &losses.hosts, "; ");
    const char *with_copies = report_join(report, &losses.with_copies, "; ");
    if (losses.n == 0 && losses.n_compared > 0)
        print_no_loss(report, &losses);
    if (with_copies != NULL)
        print(report, "- With copies, a rival is faster: %s.\n", with_copies);
    if (hosts != NULL)
        print(report, "- The CPU alone takes less time: %s.\n", hosts);
    if (uncompared != NULL)
        print(report, "- Not compared, as no size has valid times of both sides: %s.\n",
              uncompared);
    if (losses.n_compared == 0 && uncompared == NULL)
        print(report, "- Nothing was compared.\n");
    print(report, "\n");
}
