#include "report/workload.h"

#include "base/memory.h"
#include "io/fs.h"
#include "model/chart_kinds.h"
#include "plot/folder.h"
#include "report/environment.h"
#include "report/findings.h"
#include "report/tables.h"
#include "report/warnings.h"
#include "workloads/common/workload.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- charts in plots/<run>/ ------------------------------------------------------------------- */

static const char *after_prefix(const char *name, const char *workload) {
    size_t length = strlen(workload);
    return strncmp(name, workload, length) == 0 && name[length] == '_' ? name + length + 1 : NULL;
}

static bool is_of_a_workload(const char *name) {
    const workload_t *workload;
    for (size_t i = 0; (workload = workload_at(i)) != NULL; i++)
        if (after_prefix(name, workload->name) != NULL)
            return true;
    return false;
}

/* A chart's name without that of its workload; NULL for charts of another one. */
static const char *name_in(const char *file, const char *workload) {
    const char *rest = after_prefix(file, workload);
    return rest == NULL && chart_names_are_plain(workload) && !is_of_a_workload(file) ? file : rest;
}

/* A chart's position among its workload's charts: that of its kind; unknown kinds are last.
 * SIZE_MAX for charts of another workload. */
static size_t rank_of(const report_t *report, const char *file, const char *workload) {
    size_t n;
    const char *name = name_in(file, workload);
    const chart_kind_t *kinds = chart_kinds(&n), *kind = NULL;
    if (name == NULL)
        return SIZE_MAX;
    kind = chart_kind_find(report_keep(report, fs_stem(name)));
    return kind != NULL ? (size_t)(kind - kinds) : n;
}

/* The pictures of the folder, sorted. */
/* The pictures of the folder, sorted. */
static text_list_t pictures_in(const char *folder) {
    text_list_t names = {0};
    error_t none = ERROR_INIT; /* an unreadable folder has no charts */
    if (fs_is_folder(folder) && fs_list(folder, ".svg", &names, &none) != STATUS_OK)
        text_list_free(&names);
    return names;
}

/* Why charts that a reader may look for are not shown, and how to get them. */
static void print_left_out(const report_t *report, const record_t *run, const char *folder,
                           size_t n_left_out) {
    char *draw = mem_format("%s plot %s", report->program, run->folder),
         *other = fs_is_folder(folder) ? NULL : charts_other_run(report->root, run);
    if (n_left_out > 0)
        print(report,
              "Left out: %zu chart%s in `plots/`, not drawn from this run as it is. %s draws its "
              "own.\n\n",
              n_left_out, n_left_out == 1 ? "" : "s", report_code(report, draw));
    else if (other != NULL)
        print(report,
              "Left out: the charts of its name in `plots/`, drawn from %s. %s draws its own.\n\n",
              report_code(report, other), report_code(report, draw));
    free(draw);
    free(other);
}

static void print_chart(const report_t *report, const char *folder, const char *file,
                        const char *workload) {
    const workload_t *known = workload_find(workload);
    const char *path = report_keep(report, fs_join(folder, file));
    const char *name = report_keep(report, fs_stem(name_in(file, workload)));
    const char *title = report_keep(
        report,
        chart_title(name, known != NULL && known->size_noun != NULL ? known->size_noun : "size"));
    print(report, "![%s](%s)\n\n", report_safe(report, title),
          report_keep(report, report_link(report, path)));
}

/* Those that come first on a page, or all others. */
static void section_charts(const report_t *report, const char *workload, bool first) {
    const char *const FIRST[] = {"speed.svg", "ladder.svg"};
    const record_t *run = report->whole;
    const char *folder = report_keep(report, charts_folder(report->root, NULL, run));
    text_list_t names = pictures_in(folder);
    size_t n_shown = 0, n_left_out = 0, n_kinds;
    chart_kinds(&n_kinds);
    for (size_t rank = 0; rank <= n_kinds; rank++)
        for (size_t i = 0; i < names.n; i++) {
            const char *file = names.items[i], *name = name_in(file, workload);
            if (rank_of(report, file, workload) != rank)
                continue;
            if (!charts_have(folder, run, file)) {
                n_left_out++;
                continue;
            }
            if ((strcmp(name, FIRST[0]) == 0 || strcmp(name, FIRST[1]) == 0) != first)
                continue;
            if (n_shown++ == 0 && !first)
                report_heading(report, 2, "Charts");
            print_chart(report, folder, file, workload);
        }
    if (!first)
        print_left_out(report, run, folder, n_left_out);
    text_list_free(&names);
}

/* ---- the page -------------------------------------------------------------------------------- */

static void print_title(const report_t *report, const shown_part_t *part) {
    const workload_t *known = workload_find(part->workload);
    const char *rivals = rivals_of_sets(report, &part->sets);
    const status_counts_t counts = count_statuses(report->run);
    const char *statuses = statuses_text(report, &counts);
    print(report, REPORT_TITLE "%s%s: %s on %s, %s\n\n", rivals != NULL ? " against " : "",
          rivals != NULL ? rivals : "", report_safe(report, part->workload),
          shown_machine(report, report->run), shown_date(report, report->run));
    if (known != NULL)
        print(report, "%s: %s. ", report_safe(report, part->workload),
              report_safe(report, known->summary));
    print(report, "From the run %s; cases: %s. %s\n\n", report_code(report, report->run->name),
          statuses != NULL ? statuses : "none", passes_note(report, passes_of(report->run)));
}

void workload_page(report_t *report, const shown_run_t *shown, const shown_part_t *part) {
    report->run = &part->steady;
    report->whole = &shown->whole;
    report->boots = &part->boots;
    views_t views = views_of(report, &part->sets);
    print_title(report, part);
    section_charts(report, part->workload, true);
    section_findings(report, &part->sets, &views);
    report_heading(report, 2, "Tables");
    table_by_size(report, &views);
    table_of_phases(report, &views);
    table_of_ladder(report, &views);
    table_of_parts(report, &part->sets);
    if (part->sets.n == 0)
        table_of_times(report, part->workload);
    table_of_contenders(report, part->workload);
    table_of_compilations(report);
    section_charts(report, part->workload, false);
    section_warnings(report);
    section_environment(report);
    section_device(report);
    section_reproduce(report);
    views_free(&views);
}
