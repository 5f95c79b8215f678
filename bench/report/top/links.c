/* Where to go from the top page: charts, commands, raw samples, the pages of all workloads. */
#include "report/columns.h"
#include "report/command.h"
#include "report/sections/sections.h"
#include "report/top/top.h"

#include "base/memory.h"
#include "io/fs.h"
#include "model/chart_kinds.h"
#include "plot/folder.h"

#include <stdlib.h>
#include <string.h>

/* ---- charts ---------------------------------------------------------------------------------- */

/* The questions that charts answer, and the charts that do, the best first. */
enum { MOST_KINDS = 4 };
static const struct question {
    const char *title;
    const char *kinds[MOST_KINDS];
    bool all;          /* or the best of them alone */
    size_t n_pictures; /* of the first workload, shown: the time of ours beside that of a rival */
} QUESTIONS[] = {
    {"Speed-up over size", {"speed", "difference_best"}, false, 1},
    {"Where the time goes (phases: of rung 01 and eager)",
     {"phases_cuda", "phases_pytorch", "phases_jax", "operations"},
     true,
     2},
    {"Roofline", {"roofline"}, true, 1},
};
enum { N_QUESTIONS = sizeof QUESTIONS / sizeof *QUESTIONS };

/* Add a link to the chart, "[NAME](PATH)", or a picture's, "[WHOSE: NAME: what it shows](PATH)", if it was
 * drawn. */
static bool add_chart(const report_t *report, const top_part_t *part, const char *whose,
                      const char *kind, text_list_t *links) {
    const bool plain = chart_names_are_plain(part->part->workload);
    const char *stem =
        report_text(report, "%s%s%s", plain ? "" : part->part->workload, plain ? "" : "_", kind);
    const record_t *run = &part->shown->whole;
    const char *folder = report_keep(report, charts_folder(report->root, NULL, run));
    const char *file = report_text(report, "%s.svg", stem);
    const char *path = report_keep(report, fs_join(folder, file));
    if (!fs_exists(path) || !charts_have(folder, run, file))
        return false;
    const char *name = report_safe(report, stem);
    if (*whose != '\0')
        name = report_text(report, "%s: %s: %s", whose, name,
                           chart_kind_summary(chart_kind_find(kind)));
    text_list_add_format(links, "[%s](%s)", name, report_keep(report, report_link(report, path)));
    return true;
}

/* Add a workload's charts that answer the question, at most so many. */
static void add_answers(const report_t *report, const top_part_t *part, const char *whose,
                        const struct question *question, size_t most, text_list_t *links) {
    size_t n = 0;
    for (size_t k = 0; k < MOST_KINDS && question->kinds[k] != NULL && n < most; k++)
        n += add_chart(report, part, whose, question->kinds[k], links);
}

/* All on one line, to keep the page short. */
static void print_pictures(const report_t *report, const top_t *top) {
    text_list_t links = {0};
    const top_part_t *first = top->n_parts > 0 ? &top->parts[0] : NULL;
    for (size_t q = 0; q < N_QUESTIONS && first != NULL; q++)
        add_answers(report, first, report_safe(report, first->part->workload), &QUESTIONS[q],
                    QUESTIONS[q].n_pictures, &links);
    const char *list = report_join(report, &links, " !");
    if (list != NULL)
        print(report, "!%s\n\n", list);
}

void top_charts(const report_t *report, const top_t *top) {
    size_t n_shown = 0;
    print_pictures(report, top);
    for (size_t q = 0; q < N_QUESTIONS; q++) {
        const struct question *question = &QUESTIONS[q];
        text_list_t links = {0};
        for (size_t p = 0; p < top->n_parts; p++)
            add_answers(report, &top->parts[p], "", question, question->all ? MOST_KINDS : 1,
                        &links);
        const char *list = report_join(report, &links, ", ");
        n_shown += list != NULL;
        if (list != NULL)
            print(report, "- %s: %s\n", question->title, list);
    }
    print(report, n_shown > 0 ? "\n" : "No chart is drawn: `bench plot RUN` draws them.\n\n");
}

/* ---- commands -------------------------------------------------------------------------------- */

static bool is_on_first_machine(const report_t *report, const top_t *top, const record_t *run) {
    return strcmp(shown_machine(report, run), shown_machine(report, &top->runs->items[0].whole)) ==
           0;
}

/* As many as were asked for, "5-12" where the number is open, or else as there are. */
static void add_passes(text_list_t *command, const record_t *run, passes_t passes) {
    const sweep_text_t *sweep = run->n_sweeps > 0 ? &run->sweeps[0] : NULL;
    if (passes.quick)
        text_list_add(command, "--quick");
    else if (sweep != NULL && sweep->least_passes < sweep->passes)
        text_list_add_format(command, "--passes=%u-%u", sweep->least_passes, sweep->passes);
    else if (passes.most > 0)
        text_list_add_format(command, "--passes=%zu", passes.most);
}

/* Of several runs one that measures all of them. Empty if one was not of sweep files, or two were not on
 * the same GPUs. */
static text_list_t joint_command(const report_t *report, const top_t *top) {
    text_list_t command = {0};
    passes_t passes = {0};
    bool all_files = true;
    text_list_add(&command, report->program);
    text_list_add(&command, "run");
    for (size_t r = 0; r < top->runs->n; r++) {
        const record_t *run = &top->runs->items[r].whole;
        if (!is_on_first_machine(report, top, run))
            continue;
        passes = passes_join(passes, passes_of(run));
        all_files = all_files && run->n_sweeps > 0 && !passes.devices_differ;
        for (size_t i = 0; i < run->n_sweeps; i++) {
            text_list_add_new(&command, run->sweeps[i].path);
            all_files = all_files && run->sweeps[i].path[0] != '(';
        }
    }
    add_passes(&command, &top->runs->items[0].whole, passes);
    if (passes.devices != NULL) /* "0,1 at once" */
        text_list_add_format(&command, "--devices=%.*s", (int)strcspn(passes.devices, " "),
                             passes.devices);
    text_list_add(&command, "--out=results/again");
    if (!all_files)
        text_list_free(&command);
    return command;
}

static size_t n_on_first_machine(const report_t *report, const top_t *top) {
    size_t n = 0;
    for (size_t r = 0; r < top->runs->n; r++)
        n += is_on_first_machine(report, top, &top->runs->items[r].whole);
    return n;
}

static void print_measure(const report_t *report, const top_t *top) {
    text_list_t shown = {0};
    const record_t *first = &top->runs->items[0].whole;
    const size_t n = n_on_first_machine(report, top);
    const char *what = n == top->runs->n
                           ? "All of it"
                           : report_text(report, "The runs on %s", shown_machine(report, first));
    if (n > 1)
        shown = joint_command(report, top);
    if (shown.n == 0) {
        shown = command_again(report->program, first);
        what = report_text(report, "%s (%s)", n > 1 ? report_code(report, first->folder) : what,
                           revision_text(report, first));
    }
    print(report,
          "%s again, on the same kind of machine, and this report with its pages from "
          "the files of the runs, without a GPU:\n\n",
          what);
    if (shown.n > 0)
        print_command(report, shown.items, shown.n);
    else
        print(report, "    (the run did not record its command)\n");
    text_list_free(&shown);
}

void top_reproduce(const report_t *report, const top_t *top) {
    text_list_t folders = {0};
    for (size_t r = 0; r < top->runs->n; r++) {
        const shown_run_t *shown = &top->runs->items[r];
        text_list_add(&folders, report_code(report, shown->whole.folder));
        for (size_t i = 0; i < shown->boots.n; i++) /* it may be a boot of several */
            text_list_add_new(&folders, report_code(report, shown->boots.runs[i]->folder));
    }
    print_measure(report, top);
    print_command(report, top->command, top->n_command);
    print(report, "\nRaw samples of every case, with its checks: %s.\n\n",
          report_join(report, &folders, ", "));
}

/* ---- all workloads --------------------------------------------------------------------------- */

void section_workloads(const report_t *report, const top_t *top) {
    enum { N_BEFORE = 3, N = N_BEFORE + CASE_IMPLAUSIBLE + 1 };
    status_counts_t *counts = mem_zeroed(top->n_parts + 1, sizeof *counts);
    column_t columns[N] = {{"Workload", 'l', false}, {"run", 'l', false}, {"cases", 'r', false}};
    for (size_t s = 0; s <= CASE_IMPLAUSIBLE; s++)
        columns[N_BEFORE + s] = (column_t){case_status_name((case_status_t)s), 'r', s != CASE_OK};
    for (size_t p = 0; p < top->n_parts; p++) {
        counts[p] = count_statuses(&top->parts[p].part->steady);
        for (size_t s = 0; s <= CASE_IMPLAUSIBLE; s++)
            if (counts[p].of[s] > 0)
                columns[N_BEFORE + s].hidden = false;
    }
    columns_t table = columns_begin(report, columns, N);
    for (size_t p = 0; p < top->n_parts; p++) {
        const char *cells[N] = {top->parts[p].link,
                                report_code(report, top->parts[p].shown->whole.folder),
                                count_cell(report, (double)counts[p].all)};
        for (size_t s = 0; s <= CASE_IMPLAUSIBLE; s++)
            cells[N_BEFORE + s] = count_cell(report, (double)counts[p].of[s]);
        columns_row(&table, cells);
    }
    columns_end_under(&table, 2, "All workloads", "%s",
                      "Each page has its findings, every table, charts, checks, warnings, and "
                      "the machine and command of its run.\n\n");
    free(counts);
}
