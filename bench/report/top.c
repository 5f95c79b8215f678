
#include "analysis/boots.h"
#include "base/memory.h"
#include "limits/limits.h"
#include "report/shown.h"
#include "workloads/common/workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "[softmax]": its place is below the page, so that lines stay short. */
static const char *link_of(const report_t *report, const top_part_t *part) {
    return report_text(report, "[%s]", report_safe(report, part->name));
}

static const top_part_t *part_of(const top_t *top, const headline_part_t *headline) {
    for (size_t i = 0; i < top->n_parts; i++)
        if (&top->parts[i].part->sets == headline->sets)
            return &top->parts[i];
    return NULL;
}

/* ---- the picture ----------------------------------------------------------------------------- */

/* Of each workload what it would show first, in each precision and shape. */
static headline_t leads_of(const top_t *top) {
    enum { MOST = 40 };
    headline_t all = {0};
    for (size_t p = 0; p < top->n_parts; p++) {
        AUTO(headline_free) headline_t leads = headline_leads(&top->parts[p].part->headline);
        all.rows = mem_resize(all.rows, all.n + leads.n + 1, sizeof *all.rows);
        for (size_t i = 0; i < leads.n && all.n < MOST; i++)
            all.rows[all.n++] = leads.rows[i];
    }
    return all;
}

char *top_picture(const report_t *report, const top_t *top, bool in_html) {
    AUTO(headline_free) headline_t leads = leads_of(top);
    const char **hrefs = report_array(report, leads.n, sizeof *hrefs);
    for (size_t i = 0; i < leads.n; i++)
        hrefs[i] =
            report_text(report, "#" HTML_PART, part_of(top, leads.rows[i].part)->part->number);
    return picture_svg(report, &leads, in_html ? hrefs : NULL);
}

/* ---- the table ------------------------------------------------------------------------------- */

/* What the copies of a time with copies take at least, where that is more than the computation does; else
 * NaN. */
static double copies_ns(const headline_row_t *row) {
    const case_result_t *ours = row->row->best;
    if (strcmp(row->set->phase, "host_to_host") != 0 || ours == NULL || !isfinite(ours->limit.frac))
        return NAN;
    const device_rates_t rates = device_rates_of_record(row->part->run);
    const double ns = bus_limit_ns(&ours->spec, &rates);
    return ns > ours->limit.limit_ns ? ns : NAN;
}

/* How near ours comes to what the hardware allows the computation, or with copies to what the bus allows, if that
 * takes longer. */
static const char *nearness_cell(const report_t *report, const headline_row_t *row) {
    const double least_ns = copies_ns(row);
    if (isnan(least_ns))
        return limit_cell(report, row->row->best);
    return case_link(
        report, row->row->best,
        percent_text(report, least_ns / result_median(row->row->best, row->set->phase)));
}

/* "10.2 µs PyTorch": its mode is in the picture and on the page of the workload. */
static const char *rival_cell(const report_t *report, const case_result_t *rival,
                              const char *phase) {
    return rival == NULL ? "–"
                         : report_text(report, "%s %s%s", time_cell(report, rival, phase),
                                       who(report, rival), trust_mark(rival));
}

/* The setting without commas: with them the table would not fit 100 columns. */
static const char *setting_text(const report_t *report, const headline_row_t *row) {
    char *text = mem_text(headline_setting(report, row));
    size_t n = 0;
    for (const char *c = text; *c != '\0'; c++)
        if (*c != ',')
            text[n++] = *c;
    text[n] = '\0';
    return report_safe(report, report_keep(report, text));
}

static void add_row(const report_t *page, const top_t *top, rows_t *rows,
                    const headline_row_t *row) {
    const report_t of_run = report_on(page, row->part->run), *report = &of_run;
    const size_row_t *sized = row->row;
    const bool on_gpu = strcmp(row->set->platform->device, "cuda") == 0;
    const case_result_t *ours = standing_shown(&sized->ours),
                        *rival = standing_shown(&sized->theirs);
    const char **cells = rows_add(rows);
    cells[0] = report_text(report, "%s %s%s", link_of(report, part_of(top, row->part)),
                           setting_text(report, row), on_gpu ? "" : " CPU");
    cells[1] = size_name(report, row->set, sized->size);
    cells[2] = case_link(report, sized->best, ratio_cell(report, &sized->headline));
    cells[3] = time_cell(report, ours, row->set->phase);
    cells[4] = rival_cell(report, rival, row->set->phase);
    cells[5] = nearness_cell(report, row);
}

static void print_table(const report_t *report, const top_t *top) {
    column_t columns[] = {{"workload", 'l'}, {"size", 'l'},  {"speed-up", 'r'},
                          {"ours", 'r'},     {"rival", 'r'}, {"limit", 'r'}};
    AUTO_FREE headline_part_t *parts = mem_zeroed(top->n_parts + 1, sizeof *parts);
    passes_t passes = {0};
    for (size_t i = 0; i < top->n_parts; i++) {
        parts[i] = top->parts[i].part->headline;
        passes = passes_join(passes, passes_of(parts[i].run));
    }
    AUTO(headline_free) headline_t headline = headline_select(parts, top->n_parts, TOP_ROWS);
    rows_t rows = {.n_columns = sizeof columns / sizeof *columns};
    for (size_t i = 0; i < headline.n; i++)
        add_row(report, top, &rows, &headline.rows[i]);
    rows_end(report, &rows, columns, NULL,
             report_text(report,
                         "Medians; *speed-up*: the strongest rival's over ours, above 1 ours "
                         "has the lower time. *Limit*: how near ours comes to what the "
                         "hardware allows. %s",
                         passes_note(report, passes)));
}

/* ---- where we do not win --------------------------------------------------------------------- */

static bool is_claimed(const size_row_t *row) {
    return row->headline.self_reported;
}
static bool is_not_ours(const size_row_t *row) {
    return row->best == NULL && !is_claimed(row) &&
           (row->strongest != NULL || row->theirs.claimed != NULL);
}

static const size_row_t *worst_of(const comparison_set_t *set) {
    const size_row_t *worst = NULL;
    for (size_t i = 0; i < set->n_rows; i++)
        if (is_lost(&set->rows[i]) &&
            (worst == NULL || set->rows[i].headline.ratio.centre < worst->headline.ratio.centre))
            worst = &set->rows[i];
    return worst;
}

/* What is found in all sets: a list of places each. */
typedef struct losses {
    text_list_t lost, even, disputed, claimed, excluded, not_ours, with_copies, hosts, uncompared;
    size_t n_compared;
    const char *least_where; /* the smallest lead of ours */
    double least;
} losses_t;

static void add_where(const report_t *report, text_list_t *list, const char *name,
                      const comparison_set_t *set, row_fits_t *fits) {
    const char *sizes = sizes_where(report, set, fits);
    if (sizes != NULL)
        text_list_add_format(list, "%s, %s", name, sizes);
}

/* "[gemm] f16, 4 sizes (128–4096), most by PyTorch compile_graph: 2.20× (2.17–2.23) at m 128" */
static void add_lost(const report_t *report, text_list_t *list, const char *name,
                     const comparison_set_t *set) {
    const size_row_t *worst = worst_of(set);
    if (worst != NULL)
        text_list_add_format(
            list, "%s, %s, most by %s: **%s** at %s", name, sizes_where(report, set, is_lost),
            case_link(report, worst->strongest,
                      report_safe(report, contender_text(report, worst->strongest))),
            case_link(report, worst->best, lead_text(report, &worst->headline)),
            size_name(report, set, worst->size));
}

/* Where ours is the faster after some starts only. */
static void add_disputed(const report_t *report, losses_t *losses, const char *name,
                         const comparison_set_t *set, const boots_t *boots) {
    for (size_t i = 0; i < set->n_rows; i++) {
        const size_row_t *row = &set->rows[i];
        const boots_range_t range = boots_range(boots, row->best, row->strongest, set->phase);
        if (boots_disagree(&range))
            text_list_add_format(&losses->disputed, "%s, %s", name,
                                 size_name(report, set, row->size));
    }
}

/* The rival that ours is compared with may be the wrong one. */
static void add_excluded(const report_t *report, losses_t *losses, const char *name,
                         const comparison_set_t *set) {
    for (size_t i = 0; i < set->n_rows; i++) {
        const case_result_t *result = standing_faster(&set->rows[i].theirs, set->phase);
        if (result == NULL)
            continue;
        text_list_add_format(&losses->excluded, "%s, %s (%s %s %s)", name,
                             size_name(report, set, set->rows[i].size),
                             report_safe(report, contender_text(report, result)),
                             case_link(report, result, time_cell(report, result, set->phase)),
                             report_keep(report, exclusion_text(result, set->phase)));
        return;
    }
}

/* From host to host, the copies may cost more than the GPU gains. */
static bool is_faster_on_host(const comparison_set_t *set, const size_row_t *row) {
    const case_result_t *gpu = is_lost(row) ? row->strongest : row->best;
    const double gpu_ns = gpu != NULL ? result_median(gpu, set->phase) : NAN;
    const case_result_t *const hosts[] = {row->host, row->host_rival};
    bool faster = false;
    for (size_t i = 0; i < 2; i++)
        faster = faster || (hosts[i] != NULL && result_median(hosts[i], set->phase) < gpu_ns);
    return faster;
}

static void add_hosts(const report_t *report, losses_t *losses, const char *name,
                      const comparison_set_t *set) {
    bool *chosen = report_array(report, set->n_rows, sizeof *chosen);
    size_t n = 0;
    for (size_t i = 0; i < set->n_rows && strcmp(set->phase, "host_to_host") == 0; i++)
        n += chosen[i] = is_faster_on_host(set, &set->rows[i]);
    if (n > 0)
        text_list_add_format(&losses->hosts, "%s, %zu sizes (%s)", name, n,
                             sizes_text(report, set, chosen));
}

/* What is compared without copies may be lost with them; on the CPU there are none. */
static void add_with_copies(const report_t *report, losses_t *losses, const char *name,
                            const comparison_set_t *set, const boots_t *boots) {
    comparison_set_t whole = comparison_set_by_whole(set);
    boots_widen_set(boots, &whole);
    if (strcmp(whole.phase, set->phase) != 0 && strcmp(set->platform->device, "cpu") != 0)
        add_lost(report, &losses->with_copies, name, &whole);
    comparison_set_free_rows(&whole);
}

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
                        lead_text(report, &row->headline),
                        report_safe(report, contender_text(report, row->strongest)));
    }
}

static void add_set(const report_t *page, const top_part_t *part, const comparison_set_t *set,
                    losses_t *losses) {
    const report_t of_run = report_on(page, set->run), *report = &of_run;
    const tally_t tally = tally_of(set);
    const bool on_cpu = strcmp(set->platform->device, "cpu") == 0;
    const headline_row_t row = {&part->part->headline, set, set->rows};
    const char *name = report_text(report, "%s %s%s", link_of(report, part),
                                   report_safe(report, headline_setting(report, &row)),
                                   on_cpu ? " on the CPU" : "");
    const boots_t *boots = &part->part->boots;
    losses->n_compared += tally.n;
    take_least(report, set, name, losses);
    add_lost(report, &losses->lost, name, set);
    add_where(report, &losses->even, name, set, is_even);
    add_disputed(report, losses, name, set, boots);
    add_where(report, &losses->claimed, name, set, is_claimed);
    add_excluded(report, losses, name, set);
    if (tally.n == 0 && set->n_rivals > 0)
        text_list_add(&losses->uncompared,
                      report_text(report, "%s%s", name, on_cpu ? "" : " on the GPU"));
    else if (tally.n > 0)
        add_where(report, &losses->not_ours, name, set, is_not_ours);
    add_with_copies(report, losses, name, set, boots);
    add_hosts(report, losses, name, set);
}

static bool print_places(const report_t *report, const char *what, text_list_t *places) {
    const char *list = report_join(report, places, "; ");
    if (list != NULL)
        print(report, "- %s: %s.\n", what, list);
    return list != NULL;
}

static void section_losses(const report_t *report, const top_t *top) {
    losses_t losses = {0};
    for (size_t p = 0; p < top->n_parts; p++) {
        const comparison_set_list_t *sets = &top->parts[p].part->sets;
        for (size_t i = 0; i < sets->n; i++)
            if (!headline_omits(sets, i))
                add_set(report, &top->parts[p], &sets->items[i], &losses);
    }
    report_heading(report, 2, "Where we do not win");
    bool any = print_places(report, "A rival has the lower time", &losses.lost);
    any = print_places(report, "No difference", &losses.even) || any;
    any = print_places(report, "The starts disagree", &losses.disputed) || any;
    any = print_places(report, "Not compared, a time is self-reported", &losses.claimed) || any;
    any =
        print_places(report, "A rival with a lower time is not compared", &losses.excluded) || any;
    any = print_places(report, "No valid time of ours", &losses.not_ours) || any;
    if (!any && losses.n_compared > 0)
        print(report,
              "- Nowhere in these runs: at all %zu sizes compared ours has the lower time. The "
              "smallest lead: %s.\n",
              losses.n_compared, losses.least_where);
    print_places(report, "With copies, a rival has the lower time", &losses.with_copies);
    print_places(report, "The CPU alone takes less time", &losses.hosts);
    if (!print_places(report, "Not compared, no size has valid times of both sides",
                      &losses.uncompared) &&
        losses.n_compared == 0)
        print(report, "- Nothing was compared.\n");
    print(report, "\n");
}

/* ---- machine and method ---------------------------------------------------------------------- */

/* Facts of all runs of one kind of machine. */
typedef struct machine {
    const char *name;
    text_list_t hosts, software, revisions, measured;
    status_counts_t counts;
    size_t right, unchecked, partly, two_values, trust[TRUST_SELF_REPORTED + 1];
    const record_t **runs;
    size_t n_runs;
} machine_t;

static void add_fact(const report_t *report, text_list_t *list, const record_t *run,
                     const char *before, const char *key) {
    const char *value = environment_get(&run->environment, key);
    if (value != NULL)
        text_list_add_new(list, report_text(report, "%s%s", before, report_safe(report, value)));
}

static void add_software(const report_t *report, machine_t *machine, const record_t *run) {
    text_list_t *list = &machine->software;
    add_fact(report, list, run, "driver ", "gpu.driver");
    add_fact(report, list, run, "CUDA ", "versions.cuda_driver");
    for (const case_result_t *result = NULL; (result = record_next(run, result)) != NULL;) {
        const char *engine = result->spec.engine;
        const char *version =
            engine_is_rival(engine) ? rival_version(&run->environment, &result->spec) : NULL;
        if (version != NULL)
            text_list_add_new(list,
                              report_text(report, "%s %s", report_safe(report, engine_name(engine)),
                                          report_safe(report, version)));
    }
    add_fact(report, list, run, "bench ", "versions.bench");
}

static void add_cases(machine_t *machine, const record_t *run) {
    for (const case_result_t *result = NULL; (result = record_next(run, result)) != NULL;) {
        count_status(&machine->counts, result);
        if (!result_has_times(result) || is_calibration(&result->spec))
            continue;
        const bool checked = result->before.done || result->after.done;
        machine->right += checked;
        machine->unchecked += !checked;
        /* what a timed training learned was not compared, as the reference would take too long */
        machine->partly +=
            checked && flag_list_find(&result->flags, FLAG_WEIGHTS_UNCHECKED) != NULL;
        machine->two_values += has_two_values(result);
        machine->trust[result->trust]++;
    }
}

/* "2026-11-26, 6 passes, on GPUs 0,1 at once, 3 starts" */
static const char *when_of(const report_t *report, const record_t *run, size_t n_boots) {
    const passes_t passes = passes_of(run);
    const char *starts = n_boots > 0 ? report_text(report, ", %zu starts", n_boots + 1) : "";
    return report_text(report, "%s%s%s%s%s", shown_date(report, run),
                       run->finished == NULL ? " (**it did not finish**)" : "",
                       passes.most > 0 ? ", " : "",
                       passes.most > 0 ? passes_counted(report, passes) : "", starts);
}

static void add_run(const report_t *report, machine_t *machine, const shown_run_t *shown) {
    const record_t *run = shown->whole;
    add_fact(report, &machine->hosts, run, "", "host.name");
    add_fact(report, &machine->hosts, run, "", "host.cpu");
    if (environment_get(&run->environment, "gpu.name") == NULL)
        text_list_add_new(&machine->hosts, "without a GPU");
    add_software(report, machine, run);
    text_list_add_new(&machine->revisions, revision_text(report, run));
    for (size_t i = 0; i < shown->boots.n; i++)
        text_list_add_new(&machine->revisions, revision_text(report, shown->boots.runs[i]));
    text_list_add_new(&machine->measured, when_of(report, run, shown->boots.n));
    add_cases(machine, run);
    machine->runs = mem_resize(machine->runs, machine->n_runs + 1, sizeof(record_t *));
    machine->runs[machine->n_runs++] = run;
}

static const char *trust_text(const report_t *report, const machine_t *machine) {
    text_list_t parts = {0};
    for (trust_t trust = TRUST_SEALED; trust <= TRUST_SELF_REPORTED; trust++)
        text_list_add_format(&parts, "%zu %s", machine->trust[trust], trust_name(trust));
    if (machine->trust[TRUST_UNKNOWN] > 0)
        text_list_add_format(&parts, "%zu not recorded (an older run)",
                             machine->trust[TRUST_UNKNOWN]);
    const char *precision = report_keep(report, precision_text(machine->runs, machine->n_runs));
    if (precision != NULL)
        text_list_add(&parts, report_safe(report, precision));
    return report_join(report, &parts, ", ");
}

/* Four lines: with the method, five. */
static void print_machine(const report_t *report, machine_t *machine) {
    const char *hosts = report_join(report, &machine->hosts, ", "),
               *software = report_join(report, &machine->software, ", "),
               *revisions = report_join(report, &machine->revisions, ", "),
               *statuses = statuses_text(report, &machine->counts);
    print(report, "- **%s**%s%s; %s%s%s.\n", machine->name, hosts != NULL ? ", " : "",
          hosts != NULL ? hosts : "", software != NULL ? software : "",
          software != NULL ? ", " : "", revisions);
    print(report, "- Measured: %s.\n", report_join(report, &machine->measured, "; "));
    text_list_t more = {0};
    if (machine->partly > 0)
        text_list_add_format(&more, "of %zu trainings only the first steps", machine->partly);
    if (machine->unchecked > 0)
        text_list_add_format(&more, "%zu have no output to check", machine->unchecked);
    text_list_add_format(&more, "%zu with two values", machine->two_values);
    print(report, "- Cases: %zu (%s); %zu agree with a float64 reference, %s.\n",
          machine->counts.all, statuses != NULL ? statuses : "none", machine->right,
          report_join(report, &more, ", "));
    print(report, "- Trust: %s (%s).\n", trust_text(report, machine),
          doc_link(report, "docs/cheating.md", "#trust", "docs/cheating.md#trust"));
}

static void section_machines(const report_t *report, const top_t *top) {
    AUTO_FREE machine_t *machines = mem_zeroed(top->runs->n, sizeof *machines);
    size_t n = 0;
    for (size_t r = 0; r < top->runs->n; r++) {
        const shown_run_t *shown = &top->runs->items[r];
        const char *name = shown_machine(report, shown->whole);
        size_t m = 0;
        while (m < n && strcmp(machines[m].name, name) != 0)
            m++;
        if (m == n)
            machines[n++].name = name;
        add_run(report, &machines[m], shown);
    }
    report_heading(report, 2, "Machine and method");
    for (size_t m = 0; m < n; m++) {
        print_machine(report, &machines[m]);
        free(machines[m].runs);
    }
    print(report,
          "- Method: steady state, contenders in turn, every pass in new processes; intervals of "
          "95 %% over passes; each side by its fastest case; every output checked before and after "
          "timing (%s).\n\n",
          doc_link(report, "docs/measuring.md", "", "docs/measuring.md"));
}

/* ---- the commands ---------------------------------------------------------------------------- */

static void print_again(const report_t *report, const record_t *run, const char *machine) {
    AUTO(text_list_free) text_list_t again = command_again(report->program, run);
    if (again.n > 0 && strcmp(shown_machine(report, run), machine) == 0)
        print_command(report, again.items, again.n);
}

static void section_commands(const report_t *report, const top_t *top) {
    text_list_t folders = {0};
    const char *machine = shown_machine(report, top->runs->items->whole);
    report_heading(report, 2, "Commands and samples");
    print(
        report,
        "Each run on %s again, and this report with its pages from the files of the runs, without "
        "a GPU:\n\n",
        machine);
    for (size_t r = 0; r < top->runs->n; r++) {
        const shown_run_t *shown = &top->runs->items[r];
        text_list_add(&folders, report_code(report, shown->whole->folder));
        print_again(report, shown->whole, machine);
        for (size_t i = 0; i < shown->boots.n; i++) {
            const size_t n = folders.n; /* it may be a boot of several */
            text_list_add_new(&folders, report_code(report, shown->boots.runs[i]->folder));
            if (folders.n > n)
                print_again(report, shown->boots.runs[i], machine);
        }
    }
    print_command(report, top->command, top->n_command);
    print(report, "\nRaw samples of every case, with its checks: %s.\n\n",
          report_join(report, &folders, ", "));
}

/* ---- all workloads --------------------------------------------------------------------------- */

static void section_workloads(const report_t *report, const top_t *top) {
    report_heading(report, 2, "All workloads");
    for (size_t p = 0; p < top->n_parts; p++) {
        const top_part_t *part = &top->parts[p];
        const workload_t *known = workload_find(part->part->workload);
        const char *caveat = headline_caveat(part->part->workload);
        const status_counts_t counts = count_statuses(&part->part->steady);
        const char *statuses = statuses_text(report, &counts);
        print(report, "- %s%s%s: %s%s%s.%s\n", link_of(report, part), known != NULL ? ", " : "",
              known != NULL ? report_safe(report, known->summary) : "",
              statuses != NULL ? statuses : "no case finished", caveat != NULL ? "; mind: " : "",
              caveat != NULL ? report_safe(report, caveat) : "",
              part->part->whole->finished == NULL
                  ? " **The run did not finish:** it may lack sizes, contenders or passes."
                  : "");
    }
    if (top->n_parts == 0)
        print(report, "- None: the runs have no case of a workload.\n");
    print(report, "\n");
    for (size_t p = 0; p < top->n_parts; p++)
        print(report, "%s: %s\n", link_of(report, &top->parts[p]), top->parts[p].href);
}

/* ---- the page -------------------------------------------------------------------------------- */

/* A run without a workload has no page: what is known of it stands here. */
static void print_pageless(const report_t *report, const top_t *top) {
    report_t shown = *report;
    for (size_t r = 0; r < top->runs->n; r++) {
        if (top->runs->items[r].n_parts > 0)
            continue;
        shown.run = shown.whole = top->runs->items[r].whole;
        section_environment(&shown);
        section_device(&shown);
        section_warnings(&shown);
    }
}

void top_page(const report_t *report, const top_t *top) {
    text_list_t rivals = {0}, dates = {0};
    const shown_run_t *runs = top->runs->items;
    for (size_t p = 0; p < top->n_parts; p++)
        add_rivals(report, &rivals, &top->parts[p].part->sets);
    for (size_t r = 0; r < top->runs->n; r++)
        text_list_add_new(&dates, shown_date(report, runs[r].whole));
    const char *names = report_join(report, &rivals, ", ");
    print(report, REPORT_TITLE "%s%s: %s, %s\n\n", names != NULL ? " against " : "",
          names != NULL ? names : "", shown_machine(report, runs->whole),
          report_dates(report, &dates));
    if (top->picture != NULL)
        print(report, "[![Speed-up over the strongest rival](%s)](#all-workloads)\n\n",
              top->picture);
    print_table(report, top);
    section_losses(report, top);
    section_machines(report, top);
    section_commands(report, top);
    print_pageless(report, top);
    section_workloads(report, top);
}
