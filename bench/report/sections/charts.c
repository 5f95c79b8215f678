/* The charts in plots/<run>/. */
#include "report/sections/sections.h"

#include "base/memory.h"
#include "io/fs.h"
#include "model/chart_kinds.h"
#include "plot/folder.h"
#include "workloads/common/workload.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

static const chart_kind_t *kind_of(const report_t *report, const char *file, const char *workload) {
    return chart_kind_find(report_keep(report, fs_stem(name_in(file, workload))));
}

/* A chart's position among its workload's charts: that of its kind; unknown kinds are last.
 * SIZE_MAX for charts of another workload. */
static size_t rank_of(const report_t *report, const char *file, const char *workload) {
    if (name_in(file, workload) == NULL)
        return SIZE_MAX;
    size_t n;
    const chart_kind_t *kinds = chart_kinds(&n), *kind = kind_of(report, file, workload);
    return kind != NULL ? (size_t)(kind - kinds) : n;
}

/* The pictures of the folder, sorted. */
static text_list_t pictures_in(const char *folder) {
    text_list_t names = {0};
    error_t none = ERROR_INIT; /* an unreadable folder has no charts */
    if (fs_is_folder(folder) && fs_list(folder, ".svg", &names, &none) != STATUS_OK)
        text_list_free(&names);
    return names;
}

static void print_chart(const report_t *report, const char *folder, const char *file,
                        const char *workload) {
    const char *path = report_keep(report, fs_join(folder, file));
    const char *stem = report_keep(report, fs_stem(file));
    const chart_kind_t *kind = kind_of(report, file, workload);
    print(report, "![%s%s%s](%s)\n\n", report_safe(report, stem), kind != NULL ? ": " : "",
          kind != NULL ? chart_kind_summary(kind) : "",
          report_keep(report, report_link(report, path)));
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

void section_charts(const report_t *report, const char *workload) {
    const record_t *run = report->whole != NULL ? report->whole : report->run;
    const char *folder = report_keep(report, charts_folder(report->root, NULL, run));
    text_list_t names = pictures_in(folder);
    size_t n_shown = 0, n_left_out = 0, n_kinds;
    chart_kinds(&n_kinds);
    for (size_t rank = 0; rank <= n_kinds; rank++)
        for (size_t i = 0; i < names.n; i++) {
            if (rank_of(report, names.items[i], workload) != rank)
                continue;
            if (!charts_have(folder, run, names.items[i])) {
                n_left_out++;
                continue;
            }
            if (n_shown++ == 0)
                report_heading(report, 2, "Charts");
            print_chart(report, folder, names.items[i], workload);
        }
    print_left_out(report, run, folder, n_left_out);
    text_list_free(&names);
}
