#include "plot/plot.h"

#include "plot/axes.h"
#include "plot/gnuplot.h"
#include "plot/source.h"

#include "base/memory.h"
#include "io/fs.h"
#include "model/chart_kinds.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

typedef enum applies {
    ALWAYS,
    TO_RUNS,
    TO_RUNS_WITHOUT_CUDA,
    TO_TRAININGS,
    TO_STEPS,  /* trainings with separately timed operations */
    TO_EPOCHS, /* trainings by whole epochs, with an allocator */
    TO_BLOCKS, /* allocators alone */
} applies_t;

static const struct chart_entry {
    const char *name;     /* of a chart_kind_t */
    chart_build_t *build; /* NULL: chart_phases() of `engine` */
    applies_t applies;
    const char *dtype; /* NULL: any; else only of shapes with this dtype */
    const char *engine;
} CHARTS[] = {
    {"total", chart_total, ALWAYS, NULL, NULL},
    {"host_to_host", chart_host_to_host, TO_RUNS, NULL, NULL},
    {"size", chart_times, TO_RUNS, NULL, NULL},
    {"size_mixed", chart_times, TO_RUNS, "mixed", NULL},
    {"speed", chart_speed, TO_RUNS, NULL, NULL},
    {"roofline", chart_roofline, TO_RUNS, NULL, NULL},
    {"difference", chart_difference, ALWAYS, NULL, NULL},
    {"difference_best", chart_difference_best, TO_RUNS, NULL, NULL},
    {"ladder", chart_ladder, TO_RUNS, NULL, NULL},
    {"ladder_batch", chart_ladder_batch, TO_RUNS, NULL, NULL},
    {"epoch", chart_epoch, TO_EPOCHS, NULL, NULL},
    {"epoch_tf32", chart_epoch, TO_EPOCHS, "tf32", NULL},
    {"operations", chart_operations, TO_STEPS, NULL, NULL},
    {"loss", chart_loss, TO_TRAININGS, NULL, NULL},
    {"loss_tf32", chart_loss, TO_EPOCHS, "tf32", NULL},
    {"loss_mixed", chart_loss, TO_TRAININGS, "mixed", NULL},
    {"accuracy", chart_accuracy, TO_EPOCHS, NULL, NULL},
    {"accuracy_tf32", chart_accuracy, TO_EPOCHS, "tf32", NULL},
    {"allocators", chart_allocators, TO_EPOCHS, NULL, NULL},
    {"driver_calls", chart_driver_calls, TO_EPOCHS, NULL, NULL},
    {"blocks", chart_blocks, TO_BLOCKS, NULL, NULL},
    {"techniques", chart_techniques, TO_RUNS, NULL, NULL},
    {"once", chart_once, TO_RUNS, NULL, NULL},
};
enum { N_CHARTS = sizeof CHARTS / sizeof *CHARTS };

/* Shared by all charts of one call. */
typedef struct plotter {
    const plot_options_t *options;
    text_list_t formats;
    const char *gnuplot, *scripts;
    chart_list_t *charts;
    arena_t texts;
} plotter_t;

/* The shapes of one workload, contiguous in their source. */
typedef struct workload_section {
    const workload_t *workload;
    const plot_data_t *shapes;
    size_t n;
    text_list_t families; /* requested families of charts; none: all */
} workload_section_t;

static bool has_cuda_total(const workload_section_t *section) {
    for (size_t i = 0; i < section->n; i++)
        if (plot_fastest_series(&section->shapes[i], "cuda", "total") != NULL)
            return true;
    return false;
}

static bool is_training(const workload_t *workload) {
    for (size_t i = 0; i < workload->n_params; i++)
        if (strcmp(workload->params[i].name, "rate") == 0)
            return true;
    return false;
}

static bool has_allocators(const workload_t *workload) {
    for (size_t t = 0; t < workload->n_techniques; t++)
        if (strcmp(workload->techniques[t].name, "allocator") == 0)
            return true;
    return false;
}

static bool has_dtype(const plot_data_t *data, const char *dtype) {
    return dtype == NULL || strcmp(data->series[0].cases[0]->spec.dtype, dtype) == 0;
}

static bool applies(const struct chart_entry *entry, const workload_section_t *section) {
    if (section->families.n > 0 &&
        !text_list_has(&section->families, chart_kind_find(entry->name)->family))
        return false;
    bool any = false;
    for (size_t i = 0; i < section->n; i++)
        any = any || has_dtype(&section->shapes[i], entry->dtype);
    if (!any)
        return false;
    const bool study_csv = section->n > 0 && section->shapes[0].study_csv;
    const bool by_epochs = has_allocators(section->workload);
    const bool by_blocks = strcmp(section->workload->size_param, "live") == 0;
    switch (entry->applies) {
    case TO_RUNS:
        return !study_csv;
    case TO_TRAININGS:
        return !study_csv && is_training(section->workload);
    case TO_STEPS:
        return !study_csv && is_training(section->workload) && !by_epochs;
    case TO_EPOCHS:
        return by_epochs;
    case TO_BLOCKS:
        return by_blocks;
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
        json_t *sweep = json_loads(run->sweeps[i].text, 0, NULL);
        const char *of = json_string_value(json_object_get(sweep, "workload"));
        const json_t *names = json_object_get(sweep, "charts");
        bool matches = of == NULL || strcmp(of, workload->name) == 0;
        bool requests_all = json_array_size(names) == 0;
        for (size_t k = 0; matches && k < json_array_size(names); k++) {
            const char *name = json_string_value(json_array_get(names, k));
            if (name != NULL)
                text_list_add(&families, name);
        }
        json_decref(sweep);
        if (matches && requests_all) {
            text_list_free(&families);
            break;
        }
    }
    return families;
}

static workload_section_t section_of(const plot_source_t *source, const workload_t *workload) {
    workload_section_t section = {.workload = workload,
                                  .families = requested_families(&source->run, workload)};
    for (size_t i = 0; i < source->n_shapes; i++)
        if (source->shapes[i].workload == workload) {
            section.shapes = section.n == 0 ? &source->shapes[i] : section.shapes;
            section.n++;
        }
    return section;
}

/* The destination of one set of charts. `prefix` precedes file names in messages: "" or "h200/". */
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
        TRY(fs_remove_tree(arena_keep(texts, fs_join(set->folder, file)), err));
    }
    return STATUS_OK;
}

/* Draw what a builder made, or record why it made nothing. Frees `why` and the chart. */
static status_t finish(const chart_set_t *set, const char *name, const char *size_title, char *why,
                       chart_t *chart, error_t *err) {
    const plotter_t *plotter = set->plotter;
    chart_list_t *charts = plotter->charts;
    status_t status = STATUS_OK;
    if (why != NULL) {
        text_list_add_format(&charts->skipped, "%s%s: %s", set->prefix, name, why);
        status = remove_older(set, name, err);
    } else {
        const chart_target_t target = {.folder = set->folder,
                                       .name = name,
                                       .scripts = plotter->scripts,
                                       .gnuplot = plotter->gnuplot,
                                       .footer = set->source->footer,
                                       .size_title = size_title};
        status = chart_write(chart, &target, &plotter->formats, err);
        for (size_t i = 0; status == STATUS_OK && i < plotter->formats.n; i++) {
            mem_grow(&charts->items, charts->n, &charts->capacity, sizeof *charts->items);
            charts->items[charts->n++] = (drawn_chart_t){
                mem_text(name), mem_format("%s%s.%s", set->prefix, name, plotter->formats.items[i]),
                mem_text(chart->title)};
        }
    }
    free(why);
    chart_free(chart);
    return status;
}

static status_t draw_samples(const chart_set_t *set, error_t *err) {
    const char *case_id = set->plotter->options->case_id, *phase = set->plotter->options->phase;
    const case_result_t *result = record_find(&set->source->run, case_id);
    if (result == NULL)
        return error_set(err, STATUS_USAGE, "%s: no case has the id %s", set->source->name,
                         case_id);
    if (phase != NULL && result_phase(result, phase) == NULL)
        return error_set(err, STATUS_USAGE, "%s: case %s has no phase %s", set->source->name,
                         case_id, phase);
    chart_t chart = {0};
    char *why = chart_samples(result, phase, &chart);
    return finish(set, "samples", "", why, &chart, err);
}

/* From the first shape that allows it: a workload may have been run at many sizes, and at one size
 * for another question. If none does, the reason of the first is returned. */
static char *build_chart(const workload_section_t *section, const struct chart_entry *entry,
                         chart_t *chart) {
    char *first_why = NULL;
    for (size_t i = 0; i < section->n; i++) {
        if (!has_dtype(&section->shapes[i], entry->dtype))
            continue;
        chart_free(chart);
        const plot_data_t *shape = &section->shapes[i];
        char *why = entry->build != NULL ? entry->build(shape, chart)
                                         : chart_phases(shape, entry->engine, chart);
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

static const char *file_name(const chart_set_t *set, const workload_t *workload,
                             const char *chart) {
    const bool plain = chart_names_are_plain(workload->name);
    return arena_format(&set->plotter->texts, "%s%s%s", plain ? "" : workload->name,
                        plain ? "" : "_", chart);
}

static status_t draw_chart(const chart_set_t *set, const workload_section_t *section,
                           const struct chart_entry *entry, error_t *err) {
    const workload_t *workload = section->workload;
    const char *name = file_name(set, workload, entry->name);
    if (section->n == 0 || !applies(entry, section))
        return remove_older(set, name, err);
    chart_t chart = {0};
    char *why = build_chart(section, entry, &chart);
    return finish(set, name, workload->size_title, why, &chart, err);
}

/* Those of engines that are not in this run. */
static status_t remove_older_phases(const chart_set_t *set, const workload_section_t *section,
                                    error_t *err) {
    const char *start = file_name(set, section->workload, "phases_");
    text_list_t files = {0};
    status_t status = fs_list(set->folder, "", &files, err);
    for (size_t i = 0; i < files.n && status == STATUS_OK; i++)
        if (text_starts(files.items[i], start))
            status =
                remove_older(set, arena_keep(&set->plotter->texts, fs_stem(files.items[i])), err);
    text_list_free(&files);
    return status;
}

/* One chart per engine, in the order of the series. */
static status_t draw_phases(const chart_set_t *set, const workload_section_t *section,
                            error_t *err) {
    text_list_t engines = {0};
    for (size_t i = 0; i < section->n; i++)
        for (size_t s = 0; s < section->shapes[i].n_series; s++)
            text_list_add_new(&engines, section->shapes[i].series[s].engine);
    status_t status = remove_older_phases(set, section, err);
    for (size_t i = 0; i < engines.n && status == STATUS_OK; i++) {
        const char *engine = engines.items[i];
        if (!text_is_name(engine)) /* no name for a file */
            continue;
        const struct chart_entry entry = {
            .name = arena_format(&set->plotter->texts, "phases_%s", engine),
            .applies = strcmp(engine, "cpu") == 0 ? TO_RUNS_WITHOUT_CUDA : ALWAYS,
            .engine = engine};
        status = draw_chart(set, section, &entry, err);
    }
    text_list_free(&engines);
    return status;
}

/* Visits every workload, so that older charts of workloads outside this run are removed. */
static status_t draw_all(const chart_set_t *set, error_t *err) {
    TRY(fs_make_folders(set->folder, err));
    if (set->plotter->options->case_id != NULL)
        return draw_samples(set, err);
    if (set->source->n_shapes == 0)
        text_list_add_format(&set->plotter->charts->skipped, "%s: no case to show in a chart",
                             set->source->name);
    status_t status = STATUS_OK;
    const workload_t *workload;
    for (size_t w = 0; (workload = workload_at(w)) != NULL && status == STATUS_OK; w++) {
        if (workload->size_param == NULL)
            continue;
        workload_section_t section = section_of(set->source, workload);
        status = draw_phases(set, &section, err);
        for (size_t i = 0; i < N_CHARTS && status == STATUS_OK; i++)
            status = draw_chart(set, &section, &CHARTS[i], err);
        text_list_free(&section.families);
    }
    return status;
}

/* Draw one set of charts into the requested folder, into a subfolder of it if there are several
 * sets, else into plots/<name>. Frees `source`. */
static status_t draw_set(plotter_t *plotter, plot_source_t *source, bool several, error_t *err) {
    const char *out = plotter->options->out;
    chart_set_t set = {.plotter = plotter, .source = source, .folder = out, .prefix = ""};
    if (out == NULL || several)
        set.folder =
            arena_keep(&plotter->texts, fs_join(out != NULL ? out : "plots", source->name));
    if (several)
        set.prefix = arena_format(&plotter->texts, "%s/", source->name);
    status_t status = draw_all(&set, err);
    plot_source_free(source);
    return status;
}

static status_t draw_inputs(plotter_t *plotter, error_t *err) {
    const plot_options_t *options = plotter->options;
    const char **csvs = mem_zeroed(options->n_inputs, sizeof *csvs);
    size_t n_csvs = 0;
    for (size_t i = 0; i < options->n_inputs; i++)
        if (!fs_is_folder(options->inputs[i]))
            csvs[n_csvs++] = options->inputs[i];
    bool several = options->n_inputs - n_csvs + (n_csvs > 0) > 1;
    status_t status = STATUS_OK;
    plot_source_t source;
    for (size_t i = 0; i < options->n_inputs && status == STATUS_OK; i++) {
        if (!fs_is_folder(options->inputs[i]))
            continue;
        status = plot_source_from_run(options->inputs[i], &source, err);
        if (status == STATUS_OK)
            status = draw_set(plotter, &source, several, err);
    }
    if (n_csvs > 0 && status == STATUS_OK) {
        status = plot_source_from_csvs(csvs, n_csvs, &source, err);
        if (status == STATUS_OK)
            status = draw_set(plotter, &source, several, err);
    }
    free(csvs);
    return status;
}

status_t plot_charts(const plot_options_t *options, chart_list_t *charts, error_t *err) {
    *charts = (chart_list_t){0};
    if (options->n_inputs == 0)
        return error_set(err, STATUS_USAGE, "nothing to plot: expected a run's folder or a CSV");
    if (options->phase != NULL && options->case_id == NULL)
        return error_set(err, STATUS_USAGE, "--phase: expected --case with it");
    plotter_t plotter = {.options = options, .charts = charts};
    char *gnuplot = NULL;
    status_t status = chart_formats(options->format, &plotter.formats, err);
    if (plotter.formats.n == 0)
        status = error_set(err, STATUS_USAGE, "--format: found nothing, expected svg, png or both");
    if (status == STATUS_OK)
        status = chart_find_gnuplot(&gnuplot, err);
    plotter.gnuplot = arena_keep(&plotter.texts, gnuplot);
    plotter.scripts = arena_keep(&plotter.texts, fs_join(options->root, "plots"));
    if (status == STATUS_OK)
        status = draw_inputs(&plotter, err);
    text_list_free(&plotter.formats);
    arena_free(&plotter.texts);
    return status;
}

void chart_list_free(chart_list_t *charts) {
    for (size_t i = 0; i < charts->n; i++) {
        free(charts->items[i].name);
        free(charts->items[i].file);
        free(charts->items[i].title);
    }
    free(charts->items);
    text_list_free(&charts->skipped);
    *charts = (chart_list_t){0};
}
