
#include "workloads/common/workload.h"
#include "analysis/contenders.h"
#include "analysis/learning.h"
#include "base/memory.h"
#include "base/units.h"
#include "io/fs.h"
#include "model/chart_kinds.h"
#include "plot/folder.h"
#include "report/shown.h"

#include <math.h>
#include <string.h>

/* ==== findings ================================================================================= */

/* ---- who is faster --------------------------------------------------------------------------- */

/* "4.99 ms (CUDA 04_four_in_flight)" */
static const char *side_text(const report_t *report, const case_result_t *result,
                             const phase_t *phase) {
    return report_text(report, "%s (%s)", case_link(report, result, median_text(report, phase)),
                       who_and_name(report, result));
}

/* "- **SUBJECT**: CUDA 1.64× (1.58–1.70) at batch 64, 6.2 µs (CUDA …) against 10.2 µs (PyTorch …); faster at 8 of 9 …" */
static void print_comparison(const report_t *report, const comparison_set_t *set,
                             const char *subject) {
    const size_row_t *row = set_reference(set);
    if (row == NULL || !has_headline(row))
        return;
    const case_result_t *faster = standing_faster(&row->theirs, set->phase);
    print(report, "- **%s**: **%s** at %s, %s against %s; %s.", subject,
          faster_text(report, &row->headline, who(report, row->best), who(report, row->strongest)),
          size_name(report, set, row->size), side_text(report, row->best, row->headline.ours),
          side_text(report, row->strongest, row->headline.theirs), tally_text(report, set));
    if (faster != NULL)
        print(report, " %s takes %s and is not compared: it %s.",
              report_safe(report, contender_text(report, faster)),
              time_cell(report, faster, set->phase),
              report_keep(report, exclusion_text(faster, set->phase)));
    print(report, "\n");
}

/* ---- what host techniques bring --------------------------------------------------------------- */

static const char *choice_of(const case_t *spec, const technique_spec_t *technique) {
    const char *choice = case_technique(spec, technique->name);
    return choice != NULL ? choice : technique->choices[0]; /* of another version */
}

/* Has `after` the next choice of technique `t` after that of `before`, and no other difference? */
static bool is_step(const workload_t *workload, const case_t *before, const case_t *after, size_t t,
                    size_t choice) {
    bool same = strcmp(before->variant, after->variant) == 0;
    for (size_t i = 0; i < workload->n_techniques && same; i++) {
        const technique_spec_t *one = &workload->techniques[i];
        const char *from = choice_of(before, one), *to = choice_of(after, one);
        same = i == t ? strcmp(from, one->choices[choice - 1]) == 0 &&
                            strcmp(to, one->choices[choice]) == 0
                      : strcmp(from, to) == 0;
    }
    return same;
}

static bool is_of_rung(const case_result_t *result, const char *variant) {
    return strcmp(result->spec.engine, "cuda") == 0 && strcmp(result->spec.variant, variant) == 0 &&
           result_has_times(result);
}

static size_t n_of_rung(const comparison_set_t *set, int64_t size, const char *variant) {
    size_t n = 0;
    for (const case_result_t *result = NULL;
         (result = comparison_set_next(set, result, OURS, size)) != NULL;)
        n += is_of_rung(result, variant);
    return n;
}

/* Time before over time after: "batch 64 1.25–1.38× (3 pairs)"; NULL: no two cases there. */
static const char *step_text(const report_t *report, const comparison_set_t *set, int64_t size,
                             const char *variant, size_t t, size_t choice) {
    const workload_t *workload = workload_find(set->workload);
    tally_t step = {0};
    for (const case_result_t *a = NULL; (a = comparison_set_next(set, a, OURS, size)) != NULL;)
        for (const case_result_t *b = NULL; (b = comparison_set_next(set, b, OURS, size)) != NULL;)
            if (is_of_rung(a, variant) && is_of_rung(b, variant) &&
                is_step(workload, &a->spec, &b->spec, t, choice)) {
                const speedup_t speedup = speedup_make(b, set->phase, a, set->phase);
                tally_add(&step, &speedup);
            }
    const char *name = size_name(report, set, size);
    return step.n == 0 ? NULL
           : step.n == 1
               ? report_text(report, "%s %s", name, ratio_cell(report, &step.last))
               : report_text(report, "%s %s (%zu pairs)", name,
                             units_range(report_buffer(report), step.least, step.most), step.n);
}

/* The rung with the most combinations of techniques at a size; NULL: none has two. */
static const char *rung_with_most(const comparison_set_t *set, size_t *most) {
    const char *variant = NULL;
    *most = 1;
    for (size_t i = 0; i < set->n_rows; i++)
        for (const case_result_t *result = NULL;
             (result = comparison_set_next(set, result, OURS, set->rows[i].size)) != NULL;) {
            const size_t n = n_of_rung(set, set->rows[i].size, result->spec.variant);
            variant = n > *most ? result->spec.variant : variant;
            *most = n > *most ? n : *most;
        }
    return variant;
}

/* At the smallest and the largest size with over half of the rung's combinations. */
static void finding_techniques(const report_t *report, const comparison_set_t *set) {
    const workload_t *workload = workload_find(set->workload);
    size_t most, n_ends = 0;
    const char *variant = rung_with_most(set, &most);
    int64_t ends[2] = {0};
    text_list_t lines = {0};
    for (size_t i = 0; i < set->n_rows && variant != NULL; i++)
        if (2 * n_of_rung(set, set->rows[i].size, variant) > most) {
            ends[n_ends > 0] = set->rows[i].size;
            n_ends = n_ends < 2 ? n_ends + 1 : 2;
        }
    for (size_t t = 0; t < workload->n_techniques && n_ends > 0; t++)
        for (size_t c = 1; workload->techniques[t].choices[c] != NULL; c++) {
            text_list_t steps = {0};
            for (size_t e = 0; e < n_ends; e++) {
                const char *text = step_text(report, set, ends[e], variant, t, c);
                if (text != NULL)
                    text_list_add(&steps, text);
            }
            const char *list = report_join(report, &steps, ", ");
            if (list != NULL)
                text_list_add_format(&lines, "  - `%s`, %s → %s: %s.\n",
                                     workload->techniques[t].name,
                                     workload->techniques[t].choices[c - 1],
                                     workload->techniques[t].choices[c], list);
        }
    const char *list = report_join(report, &lines, "");
    if (list != NULL)
        print(report,
              "- **Host techniques**, rung %s, `%s`: time before over time after, the range over "
              "all pairs of cases that differ only in it.\n%s",
              report_safe(report, variant), set->phase, list);
}

/* ---- driver calls of allocators --------------------------------------------------------------- */

/* "- **Calls of the driver's allocator**, f32, on the GPU, the most in a first epoch …: caching 30 and 0, …" */
static void finding_driver_calls(const report_t *report, const comparison_set_t *set) {
    text_list_t names = {0}, texts = {0};
    double(*most)[2] = report_array(report, set->run->n_cases, sizeof *most);
    for (const case_result_t *result = NULL;
         (result = comparison_set_next(set, result, ANYONE, EVERY_SIZE)) != NULL;) {
        double calls[2];
        driver_calls_of(result, calls);
        if (result->status != CASE_OK || !isfinite(calls[1]))
            continue;
        const char *own = case_allocator(&result->spec);
        const char *name =
            own != NULL ? own : report_text(report, "%s's own", engine_name(result->spec.engine));
        text_list_add_new(&names, name);
        size_t at = 0;
        while (strcmp(names.items[at], name) != 0)
            at++;
        for (size_t i = 0; i < 2; i++)
            most[at][i] = fmax(most[at][i], calls[i]);
    }
    for (size_t i = 0; i < names.n; i++)
        text_list_add_format(&texts, "%s %.0f and %.0f", report_safe(report, names.items[i]),
                             most[i][0], most[i][1]);
    text_list_free(&names);
    const char *list = report_join(report, &texts, ", ");
    if (list != NULL)
        print(report,
              "- **Calls of the driver's allocator**, %s, the most in a first epoch and in a later "
              "one: %s.\n",
              set_name(report, set), list);
}

/* ---- did all trainings learn the same? Only then can their times be compared ------------------ */

/* In saved runs contenders were 0.1 points apart, and 36 from one that rounded its weights less often. */
static const double SAME_ACCURACY = 0.03;
typedef struct training {
    const case_result_t *result;
    const char *name, *task; /* "PyTorch graph"; "width 128, seed 1" */
    double accuracy;
    bool plain; /* weights in the case's precision; a better one is a different training */
} training_t;

/* All trainings of a set's shape at any size and seed. */
typedef struct trainings {
    training_t *items; /* owned by the report */
    size_t n;
    const char *name; /* "steps=5000, f16" */
} trainings_t;

static training_t training_of(const report_t *report, const comparison_set_t *set,
                              const case_result_t *result) {
    const char *weights = report_keep(report, weights_of(result));
    const char *size = size_name(report, set, size_of_case(set, &result->spec));
    const bool has_seed = case_param(&result->spec, "seed") != NULL;
    return (training_t){
        .result = result,
        .name = who_and_name(report, result),
        .task = has_seed ? report_text(report, "%s, seed %lld", size,
                                       (long long)case_param_int(&result->spec, "seed", 0))
                         : size,
        .accuracy = result_number(result, "accuracy"),
        .plain = weights != NULL && strcmp(weights, weights_dtype(&result->spec)) == 0,
    };
}

static trainings_t trainings_of(const report_t *report, const comparison_set_t *set) {
    const record_t *run = set->run;
    const case_result_t *like = comparison_set_next(set, NULL, ANYONE, EVERY_SIZE);
    trainings_t all = {report_array(report, run->n_cases, sizeof *all.items), 0,
                       report_safe(report, set->shape_label)};
    for (size_t i = 0; like != NULL && i < run->n_cases; i++) {
        const case_result_t *result = &run->cases[i];
        if (result_has_times(result) && isfinite(result_number(result, "accuracy")) &&
            same_but_seed_and(&result->spec, &like->spec, set->size_param))
            all.items[all.n++] = training_of(report, set, result);
    }
    return all;
}

/* ---- accuracy -------------------------------------------------------------------------------- */

/* The lowest and the highest of those with plain weights that do the task of `like`; false: there are not two, or
 * an earlier one has the same task. */
static bool extremes_at(const trainings_t *all, size_t like, const training_t *ends[2]) {
    size_t n = 0;
    for (size_t i = 0; i < all->n; i++) {
        const training_t *training = &all->items[i];
        if (strcmp(training->task, all->items[like].task) != 0)
            continue;
        if (i < like)
            return false;
        if (!training->plain)
            continue;
        if (n == 0 || training->accuracy < ends[0]->accuracy)
            ends[0] = training;
        if (n++ == 0 || training->accuracy >= ends[1]->accuracy)
            ends[1] = training;
    }
    return n > 1;
}

static void print_accuracies(const report_t *report, const trainings_t *all) {
    const training_t *widest[2] = {NULL, NULL};
    double most = -1;
    size_t n_tasks = 0;
    for (size_t i = 0; i < all->n; i++) {
        const training_t *ends[2];
        if (!extremes_at(all, i, ends))
            continue;
        n_tasks++;
        if (ends[1]->accuracy - ends[0]->accuracy > most) {
            most = ends[1]->accuracy - ends[0]->accuracy;
            memcpy(widest, ends, sizeof widest);
        }
    }
    if (n_tasks > 0)
        print(report,
              "- **%s accuracy**, %s: with %s weights, contenders are within **%.2f percentage "
              "points** on the test data, with equal size and seed (pairs: %zu); the widest at %s: "
              "%s %.2f %%, %s %.2f %%.\n",
              most <= SAME_ACCURACY ? "Same" : "Not the same", all->name,
              weights_dtype(&widest[0]->result->spec), 100 * most, n_tasks, widest[0]->task,
              widest[0]->name, 100 * widest[0]->accuracy, widest[1]->name,
              100 * widest[1]->accuracy);
}

/* Modes with more precise weights, or with weights of unknown precision. */
static void print_other_weights(const report_t *report, const trainings_t *all) {
    text_list_t names = {0};
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < all->n; i++) {
        const training_t *training = &all->items[i];
        if (training->plain)
            continue;
        text_list_add_new(&names, training->name);
        low = fmin(low, training->accuracy);
        high = fmax(high, training->accuracy);
    }
    const char *list = report_join(report, &names, ", ");
    if (list != NULL)
        print(
            report,
            "- **Different training**, %s: more precise weights between steps (autocast: float32), "
            "so that small updates are not rounded away: %s; their accuracies, %.2f %% to %.2f %%, "
            "are not compared with those above.\n",
            all->name, list, 100 * low, 100 * high);
}

static void finding_dataset(const report_t *report) {
    text_list_t names = {0};
    for (const case_result_t *result = NULL; (result = record_next(report->run, result)) != NULL;) {
        const char *name =
            result_has_times(result) ? report_keep(report, result_string(result, "dataset")) : NULL;
        if (name != NULL)
            text_list_add_new(&names, name);
    }
    const bool synthetic = text_list_has(&names, "synthetic");
    const char *list = report_join(report, &names, ", ");
    if (list != NULL)
        print(report, "- Data set: dataset=%s.%s\n", report_safe(report, list),
              synthetic ? " **Synthetic**: accuracies say nothing about real data." : "");
}

/* Of the trainings that do a set's work, at any size and seed and on any device. */
static void findings_on_learning(const report_t *report, const comparison_set_t *set) {
    const trainings_t all = trainings_of(report, set);
    print_accuracies(report, &all);
    print_other_weights(report, &all);
}

/* ---- boots ----------------------------------------------------------------------------------- */

/* "`boot2`, 14 cases, 6 passes, on GPUs 0,1 at once, git 1a2b3c". */
static const char *boot_text(const report_t *report, const record_t *boot) {
    const passes_t passes = passes_of(boot);
    return report_text(report, "%s, %zu cases, %s%s, %s", report_code(report, boot->name),
                       boots_shared_cases(report->run, boot, NULL), passes_counted(report, passes),
                       passes.devices != NULL ? "" : ", on one GPU at a time",
                       revision_text(report, boot));
}

static void finding_boots(const report_t *report) {
    const boots_t *boots = report->boots;
    text_list_t names = {0};
    if (boots == NULL || boots->n == 0)
        return;
    for (size_t i = 0; i < boots->n; i++)
        text_list_add(&names, boot_text(report, boots->runs[i]));
    print(report,
          "- **%zu starts** of machines of this kind. All times are of the first; the interval "
          "of a ratio over a rival covers that ratio in all. The others: %s.\n",
          boots->n + 1, report_join(report, &names, "; "));
}

static void finding_disagreement(const report_t *report, const view_t *view) {
    const comparison_set_t *set = view->set;
    for (size_t i = 0; i < set->n_rows && report->boots != NULL; i++) {
        const size_row_t *row = &set->rows[i];
        const boots_range_t range =
            boots_range(report->boots, row->best, row->strongest, set->phase);
        if (boots_disagree(&range))
            print(report, "- **The starts disagree** on the faster side: %s, %s: %s.\n", view->name,
                  size_name(report, set, row->size),
                  units_range(report_buffer(report), range.least, range.most));
    }
}

/* ---- the section ----------------------------------------------------------------------------- */

static bool is_first_of_shape(const comparison_set_list_t *sets, size_t index) {
    for (size_t i = 0; i < index; i++)
        if (strcmp(sets->items[i].shape, sets->items[index].shape) == 0)
            return false;
    return true;
}

void section_findings(const report_t *report, const comparison_set_list_t *sets,
                      const views_t *views) {
    report_heading(report, 2, "Findings");
    finding_boots(report);
    finding_dataset(report);
    if (sets->common != NULL)
        print(report, "- All cases: %s.\n", report_safe(report, sets->common));
    for (size_t v = 0; v < views->n; v++) {
        print_comparison(report, views->items[v].set, views->items[v].name);
        finding_disagreement(report, &views->items[v]);
        if (v + 1 < views->n && views->items[v + 1].set->key == views->items[v].set->key)
            continue; /* the same cases by the whole sample */
        finding_techniques(report, views->items[v].set);
        finding_driver_calls(report, views->items[v].set);
    }
    for (size_t i = 0; i < sets->n; i++) {
        const comparison_set_t *set = &sets->items[i];
        const comparison_set_count_t count = comparison_set_count(set);
        if (count.timed == 0)
            print(report, "- %s: none of the %zu cases has a valid time. See the warnings.\n",
                  set_name(report, set), count.n);
        else if (is_first_of_shape(sets, i))
            findings_on_learning(report, set);
    }
    print(report, "\n");
}

/* ==== the page ================================================================================= */

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

/* A chart's name without that of its workload; NULL: it is another one's, or no chart that this program draws. */
static const char *name_in(const report_t *report, const char *file, const char *workload) {
    const workload_t *known = workload_find(workload);
    const char *rest = after_prefix(file, workload);
    if (rest == NULL && known != NULL && known->study != NULL && !is_of_a_workload(file))
        rest = file;
    return rest != NULL ? report_keep(report, fs_stem(rest)) : NULL;
}

typedef struct charts {
    const char *folder; /* plots/<run> */
    text_list_t files;  /* of the page, in the order of their kinds; unknown kinds are last */
    size_t n_left_out;
} charts_t;

static charts_t charts_of(const report_t *report, const char *workload) {
    const record_t *run = report->whole;
    charts_t charts = {.folder = report_keep(report, charts_folder(report->root, NULL, run))};
    AUTO(text_list_free) text_list_t all = {0};
    size_t n;
    error_t none = ERROR_INIT; /* an unreadable folder has no charts */
    const chart_kind_t *kinds = chart_kinds(&n);
    if (fs_is_folder(charts.folder))
        fs_list(charts.folder, ".svg", &all, &none);
    for (size_t k = 0; k <= n; k++)
        for (size_t i = 0; i < all.n; i++) {
            const char *name = name_in(report, all.items[i], workload);
            if (name == NULL || chart_kind_find(name) != (k < n ? &kinds[k] : NULL))
                continue;
            if (charts_have(charts.folder, run, all.items[i]))
                text_list_add(&charts.files, all.items[i]);
            else
                charts.n_left_out++;
        }
    return charts;
}

/* Why charts that a reader may look for are not shown, and how to get them. */
static void print_left_out(const report_t *report, const charts_t *charts) {
    const record_t *run = report->whole;
    const char *draw = report_text(report, "%s plot %s", report->program, run->folder);
    AUTO_FREE char *other =
        fs_is_folder(charts->folder) ? NULL : charts_other_run(report->root, run);
    if (charts->n_left_out > 0)
        print(report,
              "Left out: charts in `plots/` that were not drawn from this run as it is (%zu). %s "
              "draws its own.\n\n",
              charts->n_left_out, report_code(report, draw));
    else if (other != NULL)
        print(report,
              "Left out: the charts of its name in `plots/`, drawn from %s. %s draws its own.\n\n",
              report_code(report, other), report_code(report, draw));
}

/* Those that come first on a page, or all others. */
static void print_charts(const report_t *report, const charts_t *charts, const char *workload,
                         bool first) {
    const workload_t *known = workload_find(workload);
    const char *noun = known != NULL && known->size_noun != NULL ? known->size_noun : "size";
    bool any = false;
    for (size_t i = 0; i < charts->files.n; i++) {
        const char *file = charts->files.items[i], *name = name_in(report, file, workload);
        if ((strcmp(name, "speed") == 0 || strcmp(name, "ladder") == 0) != first)
            continue;
        if (!first && !any)
            report_heading(report, 2, "Charts");
        any = true;
        const char *title = report_keep(report, chart_title(name, noun)),
                   *path = report_keep(report, fs_join(charts->folder, file));
        print(report, "![%s](%s)\n\n", report_safe(report, title),
              report_keep(report, report_link(report, path)));
    }
}

static void print_title(const report_t *report, const shown_part_t *part) {
    const workload_t *known = workload_find(part->workload);
    text_list_t names = {0};
    add_rivals(report, &names, &part->sets);
    const char *rivals = report_join(report, &names, ", ");
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

void workload_page(report_t *report, const shown_part_t *part) {
    report->run = &part->steady;
    report->whole = part->whole;
    report->boots = &part->boots;
    AUTO(views_free) views_t views = views_of(report, &part->sets);
    print_title(report, part);
    charts_t charts = charts_of(report, part->workload);
    print_charts(report, &charts, part->workload, true);
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
    print_charts(report, &charts, part->workload, false);
    print_left_out(report, &charts);
    text_list_free(&charts.files);
    section_warnings(report);
    section_environment(report);
    section_device(report);
    section_reproduce(report);
}
