/* One sentence per workload: who is faster, by how much, against whom, at which sizes. */
#include "report/rivals.h"
#include "report/top/top.h"

#include "workloads/common/workload.h"

#include <math.h>
#include <string.h>

/* "CUDA is **3.4× (3.3–3.6)** as fast as PyTorch graph", "in one pass, CUDA is about …" */
static const char *whole_verdict(const report_t *report, const size_row_t *row, const char *ours,
                                 const char *theirs) {
    const speedup_t *speedup = &row->headline;
    const bool undecided = speedup->verdict == VERDICT_UNDECIDED, lost = theirs_leads(speedup);
    if (speedup->verdict == VERDICT_NO_DIFFERENCE)
        return report_text(report, "no difference found between %s and %s, %s", ours, theirs,
                           case_link(report, row->best, lead_text(report, speedup)));
    return report_text(
        report, "%s%s%s is %s as fast as %s", undecided ? "in " : "",
        undecided ? report_text(report, "%s, ", passes_word(report, speedup->ratio.n_passes)) : "",
        lost ? theirs : ours, case_link(report, row->best, verdict_number(report, speedup)),
        lost ? ours : theirs);
}

/* "; CUDA is faster at 25 of 29 batch sizes, a rival at 4 batch sizes (2^17–2^20)"; of few passes only
 * which time was the lower. */
static void print_sizes(const report_t *report, const comparison_set_t *set) {
    const tally_t tally = tally_of(set, headline_of);
    const char *ours = set->platform->name, *lost = top_sizes_lost(report, set);
    const bool undecided = tally.of[VERDICT_UNDECIDED] == tally.n;
    const size_t ahead = undecided ? tally.n_lower : tally.of[VERDICT_OURS];
    const char *of_all = ahead < tally.n ? report_text(report, "%zu of %zu", ahead, tally.n)
                         : tally.n == 2  ? "both"
                                         : report_text(report, "all %zu", tally.n);
    if (tally.n > 1)
        print(report, "; %s %s at %s %s", ours, undecided ? "has the lower time" : "is faster",
              of_all, sizes_word(set, tally.n));
    print(report, lost != NULL && tally.n > 1 ? ", a rival at %s." : ".", lost);
}

static void print_uncompared(const report_t *report, const headline_row_t *row) {
    const case_result_t *best = row->row->best, *claimed = row->row->ours.claimed;
    const case_result_t *rival =
        row->row->strongest != NULL ? row->row->strongest : row->row->claimed;
    print(report, "not compared at %s: ", size_name(report, row->set, row->row->size));
    if (row->row->headline.self_reported || (best == NULL && rival == NULL))
        print(report, "the time of %s is self-reported.",
              report_safe(report, headline_contender(report, best != NULL ? rival : claimed)));
    else if (best != NULL)
        print(report, "%s takes %s, and no rival has a valid time.",
              report_safe(report, headline_contender(report, best)),
              time_cell(report, best, row->set->phase));
    else
        print(report, "%s takes %s, and ours has no valid time.",
              report_safe(report, headline_contender(report, rival)),
              time_cell(report, rival, row->set->phase));
}

/* " Both get 48 % of the test images right." A time to train a network that has not learned is one, too,
 * but whoever reads it should know. */
static void print_learned(const report_t *report, const size_row_t *row) {
    const double ours = result_number(row->best, "accuracy"),
                 theirs = result_number(row->strongest, "accuracy");
    if (isnan(ours) || isnan(theirs))
        return;
    const char *share = percent_text(report, ours), *other = percent_text(report, theirs);
    if (strcmp(share, other) == 0)
        print(report, " Both get %s of the test images right.", share);
    else
        print(report, " Ours gets %s of the test images right, the rival %s.", share, other);
}

static void print_first(const report_t *report, const headline_row_t *row) {
    const speedup_t *speedup = &row->row->headline;
    const comparison_set_t *set = row->set;
    print(report, " (%s, %s%s): ", report_safe(report, headline_setting(report, row)),
          set->platform->place, phase_is_call(set->phase) ? ", the computation alone" : "");
    if (speedup->verdict == VERDICT_NONE) {
        print_uncompared(report, row);
        return;
    }
    const char *ours = set->platform->name;
    const char *theirs =
        case_link(report, row->row->strongest,
                  report_safe(report, headline_contender(report, row->row->strongest)));
    print(report, "%s at %s", whole_verdict(report, row->row, ours, theirs),
          size_name(report, set, row->row->size));
    print_sizes(report, set);
    print_learned(report, row->row);
}

/* Of further precisions and shapes only the ratio. */
static void print_further(const report_t *report, const headline_t *leads) {
    text_list_t further = {0};
    for (size_t i = 1; i < leads->n; i++)
        if (leads->rows[i].row->headline.verdict != VERDICT_NONE)
            text_list_add_format(
                &further, "%s: %s at %s",
                report_safe(report, headline_setting(report, &leads->rows[i])),
                case_link(report, leads->rows[i].row->best,
                          report_safe(report, headline_faster(report, &leads->rows[i]))),
                size_name(report, leads->rows[i].set, leads->rows[i].row->size));
    const char *list = report_join(report, &further, "; ");
    if (list != NULL)
        print(report, " Further, %s.", list);
}

static void print_lead_of(const report_t *top, const top_part_t *part) {
    const report_t of_run = report_on(top, &part->part->steady), *report = &of_run;
    const workload_t *known = workload_find(part->part->workload);
    const char *caveat = headline_caveat(part->part->workload);
    headline_t leads = headline_leads(&part->headline);
    print(report, "- **%s**%s%s", part->link, known != NULL ? ", " : "",
          known != NULL ? report_safe(report, known->summary) : "");
    if (leads.n > 0)
        print_first(report, &leads.rows[0]);
    else
        print(report, ": nothing to compare in its %zu cases.", part->part->n_cases);
    print_further(report, &leads);
    if (caveat != NULL)
        print(report, " (Mind: %s.)", report_safe(report, caveat));
    if (part->shown->whole.finished == NULL)
        print(report, " **The run did not finish:** it may lack sizes, contenders or passes.");
    print(report, "\n");
    headline_free(&leads);
}

static const char *machine_of(const report_t *report, const top_t *top, size_t part) {
    return shown_machine(report, &top->parts[part].shown->whole);
}

static bool stand_together(const report_t *report, const top_t *top, size_t a, size_t b) {
    return strcmp(machine_of(report, top, a), machine_of(report, top, b)) == 0;
}

/* Of several machines, each has a title; parts of one stand together. */
static bool has_title(const report_t *report, const top_t *top, size_t i) {
    return top->parts[top->n_parts - 1].elsewhere &&
           (i == 0 || !stand_together(report, top, i, i - 1));
}

static void print_title(const report_t *report, const top_t *top, size_t first) {
    text_list_t dates = {0};
    for (size_t i = first; i < top->n_parts && stand_together(report, top, i, first); i++)
        text_list_add_new(&dates, shown_date(report, &top->parts[i].shown->whole));
    const bool in_heading = first == 0 && dates.n == 1;
    const char *list = report_join(report, &dates, " and ");
    print(report, "%s**%s%s%s%s**\n\n", first > 0 ? "\n" : "",
          top->parts[first].elsewhere ? "Another machine: " : "", machine_of(report, top, first),
          in_heading ? "" : ", ", in_heading ? "" : list);
}

size_t top_n_leads(const report_t *report, const top_t *top, size_t *lines) {
    size_t n = 0;
    *lines = 0;
    for (; n < top->n_parts; n++) {
        const size_t needed = !has_title(report, top, n) ? 1 : n == 0 ? 3 : 4;
        if (*lines + needed > TOP_LEADS)
            break;
        *lines += needed;
    }
    *lines += n < top->n_parts; /* the links of the others */
    return n;
}

void top_leads(const report_t *report, const top_t *top) {
    size_t lines;
    const size_t n = top_n_leads(report, top, &lines);
    text_list_t further = {0};
    for (size_t i = 0; i < n; i++) {
        if (has_title(report, top, i))
            print_title(report, top, i);
        print_lead_of(report, &top->parts[i]);
    }
    for (size_t i = n; i < top->n_parts; i++)
        text_list_add(&further, top->parts[i].link);
    const char *list = report_join(report, &further, ", ");
    if (list != NULL)
        print(report, "- Further workloads: %s.\n", list);
    if (top->n_parts == 0)
        print(report, "%s\n",
              top->runs->items[0].whole.n_cases == 0
                  ? "Nothing was compared: no case finished in this run."
                  : "Nothing was compared: the run has only device measurements.");
    print(report, "\n");
}
