#include "plot/plot.h"

#include "plot/axes.h"
#include "plot/folder.h"
#include "plot/gnuplot.h"
#include "plot/source.h"

#include "analysis/learning.h"
#include "base/memory.h"
#include "io/fs.h"
#include "io/json.h"
#include "model/chart_kinds.h"
#include "results/record.h"

#include <stdlib.h>
#include <string.h>

typedef enum applies {
    ALWAYS,
    TO_RUNS,
    TO_RUNS_WITHOUT_CUDA,
    TO_TRAININGS,
    TO_PARTS,  /* cases with separately timed parts */
    TO_EPOCHS, /* trainings by whole epochs, with an allocator */
} applies_t;

/* The shapes of one workload, contiguous in their source. */
typedef struct workload_section {
    const workload_t *workload;
    const plot_data_t *shapes;
    text_list_t settings; /* of each: how it differs from the first; "": in nothing to draw apart */
    size_t n;
    text_list_t families; /* requested families of charts; none: all */
} workload_section_t;

static const struct chart_entry {
    const char *name;     /* of a chart_kind_t */
    chart_build_t *build; /* NULL: chart_phases() of `engine` */
    applies_t applies;
    bool each; /* of each setting, not only of the first that has one */
    const char *engine;
} CHARTS[] = {
    {"total", chart_total, ALWAYS, false, NULL},
    {"host_to_host", chart_host_to_host, TO_RUNS, false, NULL},
    {"speed", chart_speed, TO_RUNS, true, NULL},
    {"roofline", chart_roofline, TO_RUNS, false, NULL},
    {"difference", chart_difference, ALWAYS, false, NULL},
    {"ladder", chart_ladder, TO_RUNS, false, NULL},
    {"operations", chart_operations, TO_PARTS, false, NULL},
    {"loss", chart_loss, TO_TRAININGS, true, NULL},
    {"allocators", chart_allocators, TO_EPOCHS, false, NULL},
};
enum { N_CHARTS = sizeof CHARTS / sizeof *CHARTS, MOST_SETTINGS = 8 };

/* ---- a workload's part of a run --------------------------------------------------------------- */

static bool has_cuda_total(const workload_section_t *section) {
    for (size_t i = 0; i < section->n; i++)
        if (plot_fastest_series(&section->shapes[i], "cuda", "total") != NULL)
            return true;
    return false;
}

/* The shape of which the most contenders have parts, the first of equals; its number, or `n` for none. */
static size_t shape_with_parts(const workload_section_t *section) {
    size_t most = 0, found = section->n;
    for (size_t i = 0; i < section->n; i++) {
        int64_t size;
        const size_t n = operations_contenders(&section->shapes[i], &size);
        if (n > most) {
            most = n;
            found = i;
        }
    }
    return found;
}

/* Was this chart asked for, and is it one for such a workload? */
static bool section_allows(const workload_section_t *section, const char *chart,
                           applies_t applies) {
    if (section->families.n > 0 &&
        !text_list_has(&section->families, chart_kind_find(chart)->family))
        return false;
    const bool study_csv = section->n > 0 && section->shapes[0].study_csv;
    const bool by_epochs = workload_technique(section->workload, TECHNIQUE_ALLOCATOR) != NULL;
    const bool by_blocks = strcmp(section->workload->size_param, "live") == 0;
    switch (applies) {
    case TO_RUNS:
        return !study_csv;
    case TO_TRAININGS:
        return !study_csv && section->workload->has_loss;
    case TO_PARTS:
        return shape_with_parts(section) < section->n;
    case TO_EPOCHS:
        return by_epochs;
    case TO_RUNS_WITHOUT_CUDA:
        return !study_csv && !by_epochs && !has_cuda_total(section);
    case ALWAYS:
        break;
    }
    return !by_epochs && !by_blocks; /* their samples are not sums of phases */
}

/* The chart families that the run's sweeps request for a workload; none if one of the sweeps
 * requests none or cannot be read. */
static text_list_t requested_families(const record_t *run, const workload_t *workload) {
    text_list_t families = {0};
    for (size_t i = 0; i < run->n_sweeps; i++) {
        json_auto_t *sweep = json_loads(run->sweeps[i].text, 0, NULL);
        const char *of = json_string_value(json_object_get(sweep, "workload"));
        const json_t *names = json_object_get(sweep, "charts");
        if (of != NULL && strcmp(of, workload->name) != 0)
            continue;
        if (json_array_size(names) == 0) {
            text_list_free(&families);
            break;
        }
        for (size_t k = 0; k < json_array_size(names); k++)
            if (json_is_string(json_array_get(names, k)))
                text_list_add(&families, json_string_value(json_array_get(names, k)));
    }
    return families;
}

static void section_free(workload_section_t *section) {
    text_list_free(&section->settings);
    text_list_free(&section->families);
}

/* The caller frees it; the source must outlive it. */
static workload_section_t section_of(const plot_source_t *source, const workload_t *workload) {
    workload_section_t section = {.workload = workload,
                                  .families = requested_families(&source->run, workload)};
    for (size_t i = 0; i < source->n_shapes; i++)
        if (source->shapes[i].workload == workload) {
            section.shapes = section.n == 0 ? &source->shapes[i] : section.shapes;
            section.n++;
        }
    for (size_t i = 0; i < section.n; i++)
        text_list_take(&section.settings, plot_setting(&section.shapes[i], &section.shapes[0]));
    return section;
}

/* ---- drawing --------------------------------------------------------------------------------- */

/* Shared by all charts of one call. */
typedef struct plotter {
    const plot_options_t *options;
    text_list_t formats;
    const char *gnuplot, *scripts;
    chart_list_t *charts;
    arena_t texts;
} plotter_t;

static void plotter_free(plotter_t *plotter) {
    text_list_free(&plotter->formats);
    arena_free(&plotter->texts);
}

/* The destination of one set of charts. `prefix` precedes names of charts in messages: "" or "h200/". */
typedef struct chart_set {
    plotter_t *plotter;
    const plot_source_t *source;
    const char *folder, *prefix;
} chart_set_t;

/* A chart that is not drawn must not remain from an earlier call. */
static status_t remove_older(const chart_set_t *set, const char *name, error_t *err) {
    static const char *const ENDS[] = {"dat", "svg", "png"};
    arena_t *texts = &set->plotter->texts;
    for (size_t i = 0; i < sizeof ENDS / sizeof *ENDS; i++) {
        const char *file = arena_format(texts, "%s.%s", name, ENDS[i]);
        TRY(fs_remove_file(arena_keep(texts, fs_join(set->folder, file)), err));
    }
    return STATUS_OK;
}

static const char *file_name(const chart_set_t *set, const workload_t *workload,
                             const char *chart) {
    return workload->study != NULL
               ? chart
               : arena_format(&set->plotter->texts, "%s_%s", workload->name, chart);
}

/* Draw what a builder made, or record why it made nothing. `what`: the chart, without its workload's name. Frees `why` and
 * the chart. */
static status_t finish(const chart_set_t *set, const workload_t *workload, const char *what,
                       char *why, chart_t *chart, error_t *err) {
    plotter_t *plotter = set->plotter;
    const char *name = workload != NULL ? file_name(set, workload, what) : what;
    chart_list_t *charts = plotter->charts;
    status_t status = STATUS_OK;
    if (why != NULL) {
        text_list_add_format(&charts->skipped, "%s%s: %s", set->prefix, name, why);
        status = remove_older(set, name, err);
    } else {
        if (workload != NULL)
            chart->title = arena_keep(&plotter->texts, chart_title(what, workload->size_noun));
        const chart_target_t target = {.folder = set->folder,
                                       .name = name,
                                       .scripts = plotter->scripts,
                                       .gnuplot = plotter->gnuplot,
                                       .footer = set->source->footer,
                                       .size_label = workload != NULL ? workload->size_label : ""};
        status = chart_write(chart, &target, &plotter->formats, err);
        for (size_t i = 0; status == STATUS_OK && i < plotter->formats.n; i++) {
            char *path = mem_format("%s/%s.%s", set->folder, name, plotter->formats.items[i]);
            mem_grow(&charts->items, charts->n, &charts->capacity, sizeof *charts->items);
            charts->items[charts->n++] = (drawn_chart_t){mem_text(name), fs_from_here(path)};
            free(path);
        }
    }
    free(why);
    chart_free(chart);
    return status;
}

static status_t unknown_phase(const record_t *run, const case_result_t *result, const char *phase,
                              error_t *err) {
    AUTO_FREE const char **names = mem_zeroed(result->n_phases + 1, sizeof *names);
    for (size_t p = 0; p < result->n_phases; p++)
        names[p] = result->phases[p].name;
    const vocabulary_t known = {"phase", "", names, result->n_phases};
    AUTO_FREE char *complaint = vocabulary_complaint(&known, phase);
    return error_set(err, STATUS_USAGE, "%s: case %s: %s", run->name, result->spec.id, complaint);
}

/* Are --case and --phase of the run? To be asked before anything in a folder changes. */
static status_t check_case(const plot_options_t *options, const record_t *run, error_t *err) {
    if (options->case_id == NULL)
        return STATUS_OK;
    const case_result_t *result = record_find(run, options->case_id);
    if (result == NULL) {
        AUTO_FREE char *hint = record_hint(run, options->case_id);
        return error_set(err, STATUS_USAGE, "%s: no case has the id %s%s", run->name,
                         options->case_id, hint);
    }
    return options->phase == NULL || result_phase(result, options->phase) != NULL
               ? STATUS_OK
               : unknown_phase(run, result, options->phase, err);
}

static status_t draw_samples(const chart_set_t *set, error_t *err) {
    const char *case_id = set->plotter->options->case_id, *phase = set->plotter->options->phase;
    const case_result_t *result = record_find(&set->source->run, case_id);
    chart_t chart = {0};
    char *why = chart_samples(result, phase, &chart);
    return finish(set, NULL, "samples", why, &chart, err);
}

static char *build_of_shape(const plot_data_t *shape, const struct chart_entry *entry,
                            chart_t *chart) {
    return entry->build != NULL ? entry->build(shape, chart)
                                : chart_phases(shape, entry->engine, chart);
}

/* From the first shape of a setting that allows it, or NULL: of any setting. A workload may have been
 * run at many sizes, and at one size for another question. Sets the index of the shape. If none allows
 * it, the reason of the first is returned. */
static char *build_chart(const workload_section_t *section, const struct chart_entry *entry,
                         const char *setting, size_t *used, chart_t *chart) {
    char *first_why = NULL;
    for (size_t i = 0; i < section->n; i++) {
        if (setting != NULL && strcmp(section->settings.items[i], setting) != 0)
            continue;
        if (entry->applies == TO_PARTS && i != shape_with_parts(section))
            continue;
        chart_free(chart);
        char *why = build_of_shape(&section->shapes[i], entry, chart);
        *used = i;
        if (why == NULL) {
            free(first_why);
            return NULL;
        }
        if (first_why == NULL)
            first_why = why;
        else
            free(why);
    }
    return first_why;
}

/* Of every setting but the one that the workload's own chart has shown, up to MOST_SETTINGS. A setting that
 * allows no chart has none. */
static status_t draw_settings(const chart_set_t *set, const workload_section_t *section,
                              const struct chart_entry *entry, const char *shown, error_t *err) {
    const workload_t *workload = section->workload;
    arena_t *texts = &set->plotter->texts;
    AUTO(text_list_free) text_list_t settings = {0};
    for (size_t i = 0; i < section->n; i++)
        if (*section->settings.items[i] != '\0' && strcmp(section->settings.items[i], shown) != 0)
            text_list_add_new(&settings, section->settings.items[i]);
    if (settings.n > MOST_SETTINGS)
        text_list_add_format(&set->plotter->charts->skipped,
                             "%s%s: of %zu further precisions and shapes %d are drawn", set->prefix,
                             file_name(set, workload, entry->name), settings.n, MOST_SETTINGS);
    for (size_t i = 0; i < settings.n && i < MOST_SETTINGS; i++) {
        chart_t chart = {0};
        size_t used;
        AUTO_FREE char *why = build_chart(section, entry, settings.items[i], &used, &chart);
        const char *name = arena_format(texts, "%s_%s", entry->name, settings.items[i]);
        if (why == NULL)
            TRY(finish(set, workload, name, NULL, &chart, err));
        chart_free(&chart);
    }
    return STATUS_OK;
}

/* Those of engines and settings that are not in this run. */
static status_t remove_older_of(const chart_set_t *set, const workload_section_t *section,
                                const char *kind, error_t *err) {
    const char *start =
        file_name(set, section->workload, arena_format(&set->plotter->texts, "%s_", kind));
    AUTO(text_list_free) text_list_t files = {0};
    TRY(fs_list(set->folder, ".dat", &files, err)); /* no chart is without its table */
    for (size_t i = 0; i < files.n; i++)
        if (text_starts(files.items[i], start))
            TRY(remove_older(set, arena_keep(&set->plotter->texts, fs_stem(files.items[i])), err));
    return STATUS_OK;
}

static status_t draw_chart(const chart_set_t *set, const workload_section_t *section,
                           const struct chart_entry *entry, error_t *err) {
    const workload_t *workload = section->workload;
    const char *name = file_name(set, workload, entry->name);
    const bool drawn = section->n > 0 && section_allows(section, entry->name, entry->applies);
    if (entry->each)
        TRY(remove_older_of(set, section, entry->name, err));
    if (!drawn)
        return remove_older(set, name, err);
    chart_t chart = {0};
    size_t used = 0;
    char *why = build_chart(section, entry, NULL, &used, &chart);
    TRY(finish(set, workload, entry->name, why, &chart, err));
    return entry->each ? draw_settings(set, section, entry, section->settings.items[used], err)
                       : STATUS_OK;
}

/* One chart per engine, in the order of the series. */
static status_t draw_phases(const chart_set_t *set, const workload_section_t *section,
                            error_t *err) {
    AUTO(text_list_free) text_list_t engines = {0};
    for (size_t i = 0; i < section->n; i++)
        for (size_t s = 0; s < section->shapes[i].n_series; s++)
            text_list_add_new(&engines, section->shapes[i].series[s].engine);
    TRY(remove_older_of(set, section, "phases", err));
    for (size_t i = 0; i < engines.n; i++) {
        const char *engine = engines.items[i];
        if (!text_is_name(engine)) /* no name for a file */
            continue;
        const struct chart_entry entry = {
            .name = arena_format(&set->plotter->texts, "phases_%s", engine),
            .applies = strcmp(engine, "cpu") == 0 ? TO_RUNS_WITHOUT_CUDA : ALWAYS,
            .engine = engine};
        TRY(draw_chart(set, section, &entry, err));
    }
    return STATUS_OK;
}

/* The folder is there. Visits every workload, so that older charts of workloads outside this run are removed. */
static status_t draw_all(const chart_set_t *set, error_t *err) {
    if (set->plotter->options->case_id != NULL)
        return draw_samples(set, err);
    if (set->source->n_shapes == 0)
        text_list_add_format(&set->plotter->charts->skipped, "%s: no case to show in a chart",
                             set->source->run.name);
    const workload_t *workload;
    for (size_t w = 0; (workload = workload_at(w)) != NULL; w++) {
        if (workload->size_param == NULL)
            continue;
        AUTO(section_free) workload_section_t section = section_of(set->source, workload);
        TRY(draw_phases(set, &section, err));
        for (size_t i = 0; i < N_CHARTS; i++)
            TRY(draw_chart(set, &section, &CHARTS[i], err));
    }
    return STATUS_OK;
}

/* Where a report of the run looks for its charts: there they are what run.json has digests of. */
static bool is_of_reports(const chart_set_t *set) {
    AUTO_FREE char *folder = charts_folder(set->plotter->options->root, NULL, &set->source->run),
                   *there = realpath(folder, NULL), *here = realpath(set->folder, NULL);
    return there != NULL && here != NULL && strcmp(there, here) == 0;
}

/* Of those from number `first` on. They are drawn, whether or not the run's folder may be written. */
static void note_digests(const chart_set_t *set, size_t first) {
    chart_list_t *charts = set->plotter->charts;
    AUTO(text_list_free) text_list_t names = {0};
    error_t why = ERROR_INIT;
    for (size_t i = first; i < charts->n; i++)
        text_list_add_new(&names, charts->items[i].name);
    if (!set->source->study_csv && is_of_reports(set) &&
        record_note_charts(set->source->run.folder, set->folder, &names, &why) != STATUS_OK)
        text_list_add_format(&charts->skipped, "%sdigests of the charts: %s", set->prefix,
                             why.text);
}

/* Draw one set of charts into the requested folder, into a subfolder of it if there are several
 * sets, else into plots/<name> of the project. */
static status_t draw_set(plotter_t *plotter, const plot_source_t *source, bool several,
                         error_t *err) {
    const char *out = plotter->options->out, *root = plotter->options->root;
    const bool chosen = out == NULL || several;
    chart_set_t set = {.plotter = plotter, .source = source, .folder = out, .prefix = ""};
    if (chosen) {
        set.folder = arena_keep(&plotter->texts, charts_folder(root, out, &source->run));
        const char *last = strrchr(set.folder, '/') + 1,
                   *name = arena_keep(&plotter->texts, fs_file_name(source->run.name));
        if (several || strcmp(last, name) != 0) /* else it is where the run's name says */
            set.prefix = arena_format(&plotter->texts, "%s/", last);
    }
    const size_t first = plotter->charts->n;
    TRY(check_case(plotter->options, &source->run, err));
    TRY(fs_make_folders(set.folder, err));
    if (chosen || is_of_reports(&set) || charts_are_signed(set.folder))
        TRY(charts_sign(root, set.folder, &source->run, err));
    TRY(draw_all(&set, err));
    note_digests(&set, first);
    return STATUS_OK;
}

static status_t draw_inputs(plotter_t *plotter, error_t *err) {
    const plot_options_t *options = plotter->options;
    AUTO_FREE const char **csvs = mem_zeroed(options->n_inputs, sizeof *csvs);
    size_t n_csvs = 0;
    for (size_t i = 0; i < options->n_inputs; i++)
        if (!fs_is_folder(options->inputs[i]))
            csvs[n_csvs++] = options->inputs[i];
    bool several = options->n_inputs - n_csvs + (n_csvs > 0) > 1;
    for (size_t i = 0; i < options->n_inputs; i++) {
        AUTO(plot_source_free) plot_source_t source = {0};
        if (!fs_is_folder(options->inputs[i]))
            continue;
        TRY(plot_source_from_run(options->inputs[i], &source, err));
        TRY(plot_source_add_boots(&source, &options->boots, err));
        TRY(draw_set(plotter, &source, several, err));
    }
    if (n_csvs == 0)
        return STATUS_OK;
    AUTO(plot_source_free) plot_source_t source = {0};
    TRY(plot_source_from_csvs(csvs, n_csvs, &source, err));
    return draw_set(plotter, &source, several, err);
}

status_t plot_charts(const plot_options_t *options, chart_list_t *charts, error_t *err) {
    *charts = (chart_list_t){0};
    if (options->n_inputs == 0)
        return error_set(err, STATUS_USAGE, "nothing to plot: expected a run's folder or a CSV");
    if (options->phase != NULL && options->case_id == NULL)
        return error_set(err, STATUS_USAGE, "--phase: expected --case with it");
    if (options->boots.n > 0 && (options->n_inputs > 1 || !fs_is_folder(options->inputs[0])))
        return error_set(err, STATUS_USAGE, "--boot: expected one run's folder beside it");
    AUTO(plotter_free) plotter_t plotter = {.options = options, .charts = charts};
    AUTO_FREE char *gnuplot = NULL, *scripts = fs_join(options->root, "plots");
    TRY(chart_formats(options->format, &plotter.formats, err));
    if (plotter.formats.n == 0)
        return error_set(err, STATUS_USAGE, "--format: found nothing, expected svg, png or both");
    TRY(chart_find_gnuplot(&gnuplot, err));
    plotter.gnuplot = gnuplot;
    plotter.scripts = scripts;
    return draw_inputs(&plotter, err);
}

void chart_list_free(chart_list_t *charts) {
    for (size_t i = 0; i < charts->n; i++) {
        free(charts->items[i].name);
        free(charts->items[i].file);
    }
    free(charts->items);
    text_list_free(&charts->skipped);
    *charts = (chart_list_t){0};
}
