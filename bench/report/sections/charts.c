/* Charts that are in plots/<run>/, whoever drew them there: a workload's own (`<workload>_….svg`)
 * in its section, all others in one of theirs. */
#include "report/page.h"

#include "base/memory.h"
#include "io/fs.h"
#include "model/chart_kinds.h"
#include "workloads/common/workload.h"

#include <stdlib.h>
#include <string.h>

static const char *after_prefix(const char *name, const char *workload) {
    size_t length = strlen(workload);
    return strncmp(name, workload, length) == 0 && name[length] == '_' ? name + length + 1 : NULL;
}

static bool is_of_a_workload(const char *name) {
    size_t n;
    const workload_t *const *all = workload_all(&n);
    for (size_t i = 0; i < n; i++)
        if (after_prefix(name, all[i]->name) != NULL)
            return true;
    return false;
}

/* Sorted names; the caller frees them and `folder`. */
static text_list_t charts_in(const report_t *report, char **folder) {
    char *parent = fs_join(report->root, "plots");
    *folder = fs_join(parent, report->run->name);
    text_list_t names = {0};
    error_t none = ERROR_INIT; /* no folder is no charts */
    if (fs_is_folder(*folder) && fs_list(*folder, ".svg", &names, &none) != STATUS_OK)
        text_list_free(&names);
    free(parent);
    return names;
}

static void print_chart(const report_t *report, const char *folder, const char *name) {
    char *path = fs_join(folder, name), *link = report_link(report, path);
    char *stem = fs_stem(name), *alt = markdown_text(stem);
    fprintf(report->out, "![%s](%s)\n\n", alt, link);
    free(path);
    free(link);
    free(stem);
    free(alt);
}

void section_charts(const report_t *report) {
    char *folder;
    text_list_t names = charts_in(report, &folder);
    size_t n = 0;
    for (size_t i = 0; i < names.n; i++) {
        if (is_of_a_workload(names.items[i]))
            continue;
        if (n++ == 0)
            report_heading(report, 2, "Charts");
        print_chart(report, folder, names.items[i]);
    }
    text_list_free(&names);
    free(folder);
}

/* "loss.svg": its place among all charts; behind them what somebody else put there. */
static size_t rank_of(const char *file) {
    size_t n;
    char *stem = fs_stem(file);
    const chart_kind_t *kinds = chart_kinds(&n), *kind = chart_kind_find(stem);
    free(stem);
    return kind != NULL ? (size_t)(kind - kinds) : n;
}

void section_charts_of(const report_t *report, const char *workload) {
    char *folder;
    text_list_t names = charts_in(report, &folder);
    size_t n = 0, n_kinds;
    chart_kinds(&n_kinds);
    for (size_t rank = 0; rank <= n_kinds; rank++)
        for (size_t i = 0; i < names.n; i++) {
            const char *kind = after_prefix(names.items[i], workload);
            if (kind == NULL || rank_of(kind) != rank)
                continue;
            if (n++ == 0)
                report_heading(report, 3, "Charts");
            print_chart(report, folder, names.items[i]);
        }
    text_list_free(&names);
    free(folder);
}
