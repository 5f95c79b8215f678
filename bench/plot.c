#include "plot.h"

#include "plot_charts.h"
#include "plot_data.h"
#include "plot_drawing.h"

#include "ground/fs.h"
#include "ground/memory.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* The charts, in the order of a report. */
typedef enum applies { ALWAYS, TO_RUNS, TO_RUNS_WITHOUT_CUDA } applies_t;

static const struct chart_entry {
    const char *name, *family; /* family: what a sweep's `charts` asks for */
    chart_build_t *build;
    applies_t applies;
} CHARTS[] = {
    {"phases_cuda", "phases", chart_phases_cuda, ALWAYS},
    {"phases_pytorch", "phases", chart_phases_pytorch, ALWAYS},
    {"phases_cpu", "phases", chart_phases_cpu, TO_RUNS_WITHOUT_CUDA},
    {"total", "total", chart_total, ALWAYS},
    {"host_to_host", "total", chart_host_to_host, TO_RUNS},
    {"difference", "difference", chart_difference, ALWAYS},
    {"difference_best", "difference", chart_difference_best, TO_RUNS},
    {"ladder", "ladder", chart_ladder, TO_RUNS},
    {"ladder_batch", "ladder", chart_ladder_batch, TO_RUNS},
    {"techniques", "techniques", chart_techniques, TO_RUNS},
    {"once", "once", chart_once, TO_RUNS},
};
enum { N_CHARTS = sizeof CHARTS / sizeof *CHARTS };

/* What stays the same for all charts of one call. */
typedef struct plotter {
    const plot_options_t *options;
    text_list_t formats;
    char *gnuplot, *scripts;
} plotter_t;

static bool applies(const struct chart_entry *entry, const plot_data_t *data) {
    switch (entry->applies) {
    case TO_RUNS:
        return !data->study_csv;
    case TO_RUNS_WITHOUT_CUDA:
        return !data->study_csv && plot_fastest_series(data, "cuda", "total") == NULL;
    case ALWAYS:
        break;
    }
    return true;
}

/* The families that a run's sweeps ask for together; none when one of them leaves the choice open
 * or cannot be read. */
static text_list_t families_asked_for(const run_record_t *run) {
    text_list_t families = {0};
    for (size_t i = 0; i < run->n_sweeps; i++) {
        json_t *sweep = json_loads(run->sweeps[i].text, 0, NULL);
        const json_t *names = json_object_get(sweep, "charts");
        size_t n = json_array_size(names);
        for (size_t k = 0; k < n; k++) {
            const char *name = json_string_value(json_array_get(names, k));
            if (name != NULL)
                text_list_add(&families, name);
        }
        json_decref(sweep);
        if (n == 0) {
            text_list_free(&families);
            break;
        }
    }
    return families;
}

/* A chart that is not drawn this time must not stay from another time. */
static status_t remove_older(const char *folder, const char *name, error_t *err) {
    static const char *const ENDS[] = {"dat", "svg", "png"};
    for (size_t i = 0; i < sizeof ENDS / sizeof *ENDS; i++) {
        char *file = mem_format("%s.%s", name, ENDS[i]), *path = fs_join(folder, file);
        status_t status = fs_remove_tree(path, err);
        free(file);
        free(path);
        TRY(status);
    }
    return STATUS_OK;
}

static void add_chart(chart_list_t *charts, const char *prefix, const char *name,
                      const char *format, const char *title) {
    mem_grow(&charts->items, charts->n, &charts->capacity, sizeof *charts->items);
    charts->items[charts->n++] = (chart_t){.name = mem_text(name),
                                           .file = mem_format("%s%s.%s", prefix, name, format),
                                           .title = mem_text(title)};
}

/* Draws what a builder made, or notes why it made nothing. `prefix` is what the folder adds to file
 * names: "" or "h200/". */
static status_t finish(const plotter_t *plotter, const plot_data_t *data, const char *folder,
                       const char *prefix, const char *name, char *why, drawing_t *drawing,
                       chart_list_t *charts, error_t *err) {
    status_t status = STATUS_OK;
    if (why != NULL) {
        text_list_add_format(&charts->skipped, "%s%s: %s", prefix, name, why);
        status = remove_older(folder, name, err);
    } else {
        drawing_target_t target = {folder, name, plotter->scripts, plotter->gnuplot, data->footer};
        status = drawing_write(drawing, &target, &plotter->formats, err);
        for (size_t i = 0; status == STATUS_OK && i < plotter->formats.n; i++)
            add_chart(charts, prefix, name, plotter->formats.items[i], drawing->title);
    }
    free(why);
    drawing_free(drawing);
    return status;
}

static status_t draw_samples(const plotter_t *plotter, const plot_data_t *data, const char *folder,
                             const char *prefix, chart_list_t *charts, error_t *err) {
    const char *case_id = plotter->options->case_id;
    const case_result_t *result = run_find(&data->run, case_id);
    if (result == NULL)
        return error_set(err, STATUS_USAGE, "%s: no case has the id %s", data->name, case_id);
    const char *phase = plotter->options->phase;
    if (phase != NULL && result_phase(result, phase) == NULL)
        return error_set(err, STATUS_USAGE, "%s: case %s has no phase %s", data->name, case_id,
                         phase);
    drawing_t drawing = {0};
    char *why = chart_samples(result, phase, &drawing);
    return finish(plotter, data, folder, prefix, "samples", why, &drawing, charts, err);
}

static status_t draw_all(const plotter_t *plotter, const plot_data_t *data, const char *folder,
                         const char *prefix, chart_list_t *charts, error_t *err) {
    TRY(fs_make_folders(folder, err));
    if (plotter->options->case_id != NULL)
        return draw_samples(plotter, data, folder, prefix, charts, err);
    text_list_t families = families_asked_for(&data->run);
    status_t status = STATUS_OK;
    for (size_t i = 0; i < N_CHARTS && status == STATUS_OK; i++) {
        bool asked_for = families.n == 0 || text_list_has(&families, CHARTS[i].family);
        if (!asked_for || !applies(&CHARTS[i], data)) {
            status = remove_older(folder, CHARTS[i].name, err);
            continue;
        }
        drawing_t drawing = {0};
        char *why = CHARTS[i].build(data, &drawing);
        status = finish(plotter, data, folder, prefix, CHARTS[i].name, why, &drawing, charts, err);
    }
    text_list_free(&families);
    return status;
}

/* One set of charts: into the folder asked for, into a folder of its own there when there are
 * several sets, else into plots/<name>. Takes over `data`. */
static status_t draw_set(const plotter_t *plotter, plot_data_t *data, bool several,
                         chart_list_t *charts, error_t *err) {
    const char *out = plotter->options->out;
    char *parent = out != NULL ? mem_text(out) : mem_text("plots");
    bool own_folder = out == NULL || several;
    char *folder = own_folder ? fs_join(parent, data->name) : mem_text(parent);
    char *prefix = several ? mem_format("%s/", data->name) : mem_text("");
    status_t status = draw_all(plotter, data, folder, prefix, charts, err);
    free(parent);
    free(folder);
    free(prefix);
    plot_data_free(data);
    return status;
}

static status_t draw_inputs(const plotter_t *plotter, chart_list_t *charts, error_t *err) {
    const plot_options_t *options = plotter->options;
    const char **csvs = mem_zeroed(options->n_inputs, sizeof *csvs);
    size_t n_csvs = 0;
    for (size_t i = 0; i < options->n_inputs; i++)
        if (!fs_is_folder(options->inputs[i]))
            csvs[n_csvs++] = options->inputs[i];
    bool several = options->n_inputs - n_csvs + (n_csvs > 0) > 1;
    status_t status = STATUS_OK;
    plot_data_t data;
    for (size_t i = 0; i < options->n_inputs && status == STATUS_OK; i++) {
        if (!fs_is_folder(options->inputs[i]))
            continue;
        status = plot_data_from_run(options->inputs[i], &data, err);
        if (status == STATUS_OK)
            status = draw_set(plotter, &data, several, charts, err);
    }
    if (n_csvs > 0 && status == STATUS_OK) {
        status = plot_data_from_csvs(csvs, n_csvs, &data, err);
        if (status == STATUS_OK)
            status = draw_set(plotter, &data, several, charts, err);
    }
    free(csvs);
    return status;
}

static status_t check_formats(const text_list_t *formats, error_t *err) {
    if (formats->n == 0)
        return error_set(err, STATUS_USAGE, "--format: found nothing, expected svg, png or both");
    for (size_t i = 0; i < formats->n; i++)
        if (strcmp(formats->items[i], "svg") != 0 && strcmp(formats->items[i], "png") != 0)
            return error_set(err, STATUS_USAGE, "--format: found \"%s\", expected svg or png",
                             formats->items[i]);
    return STATUS_OK;
}

static status_t find_gnuplot(plotter_t *plotter, error_t *err) {
    plotter->gnuplot = fs_find_program("gnuplot");
    if (plotter->gnuplot == NULL)
        return error_set(
            err, STATUS_USAGE,
            "gnuplot is not installed and draws the charts: apt-get install gnuplot-nox");
    return STATUS_OK;
}

status_t plot_charts(const plot_options_t *options, chart_list_t *charts, error_t *err) {
    *charts = (chart_list_t){0};
    if (options->n_inputs == 0)
        return error_set(err, STATUS_USAGE, "nothing to plot: expected a run's folder or a CSV");
    if (options->phase != NULL && options->case_id == NULL)
        return error_set(err, STATUS_USAGE, "--phase: expected --case with it");
    plotter_t plotter = {
        .options = options,
        .formats = text_split(options->format != NULL ? options->format : "svg", ','),
        .scripts = fs_join(options->root, "plots"),
    };
    status_t status = check_formats(&plotter.formats, err);
    if (status == STATUS_OK)
        status = find_gnuplot(&plotter, err);
    if (status == STATUS_OK)
        status = draw_inputs(&plotter, charts, err);
    text_list_free(&plotter.formats);
    free(plotter.scripts);
    free(plotter.gnuplot);
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
