/* The device as the run measured it: cases of `device` and `null` on the GPU are no contenders but
 * the yardstick for all others, so they get one short section in place of a workload's. */
#include "report_page.h"

#include "ground/memory.h"
#include "ground/units.h"

#include <stdlib.h>
#include <string.h>

static const struct gauge {
    const char *workload, *variant, *phase, *name;
    double passes; /* over `bytes`: a copy reads and writes; 0: the figure is the time itself */
    const char *meaning;
} GAUGES[] = {
    {"device", "copy", "kernel", "DRAM, copying", 2,
     "the limit of whatever streams through DRAM: *of the limit* is held against it"},
    {"device", "01_read", "kernel", "L2, reading", 1, "the limit of data that stays in the L2"},
    {"null", "01_empty", "event_pair", "Two events, nothing between", 0,
     "the least that `kernel` and `forward_device` can read"},
    {"null", "01_empty", "kernel", "Empty kernel, one launch", 0,
     "a `kernel` near it says little about the kernel"},
    {"null", "01_empty", "kernel_stream", "Empty kernel, back to back", 0,
     "the floor of `kernel_stream`: what the driver takes for a launch"},
    {"null", "01_empty", "kernel_graph", "Empty kernel, in a graph", 0,
     "the floor of `kernel_graph`, and the limit *launch* of small batches"},
    {"null", "01_empty", "launch_sync", "Launch and wait, host clock", 0,
     "the floor of `host_to_host` with one launch and a synchronisation"},
};

bool is_calibration(const case_t *spec) {
    return strcmp(spec->engine, "cuda") == 0 &&
           (strcmp(spec->workload, "device") == 0 || strcmp(spec->workload, "null") == 0);
}

static void add_gauge(table_t *table, const struct gauge *gauge, const case_result_t *result) {
    const phase_t *phase = result_has_times(result) ? result_phase(result, gauge->phase) : NULL;
    if (phase == NULL || phase->summary.n == 0)
        return;
    const summary_t *s = &phase->summary;
    char text[UNITS_TEXT], low[UNITS_TEXT], high[UNITS_TEXT];
    if (gauge->passes > 0) {
        double bytes = (double)case_param_int(&result->spec, "bytes", 0);
        double moved = gauge->passes * bytes;
        table_add_format(table, "%s %s", gauge->name, units_bytes(text, bytes));
        table_add(table, units_rate(text, moved / s->median * 1e9));
        table_add_format(table, "%s – %s", units_rate(low, moved / s->ci95[1] * 1e9),
                         units_rate(high, moved / s->ci95[0] * 1e9));
    } else {
        table_add(table, gauge->name);
        table_add(table, units_time(text, s->median));
        table_add_format(table, "%s – %s", units_time(low, s->ci95[0]),
                         units_time(high, s->ci95[1]));
    }
    table_add_format(table, "%zu", s->n);
    table_add(table, gauge->meaning);
}

void section_device(const page_t *page) {
    static const char *const HEADINGS[] = {"What", "median", "95 % interval", "samples",
                                           "For reading the other numbers"};
    const run_record_t *run = page->run;
    table_t table;
    table_init(&table, HEADINGS, 5);
    table_set_align(&table, "lrrrl");
    for (size_t g = 0; g < sizeof GAUGES / sizeof *GAUGES; g++)
        for (size_t i = 0; i < run->n_cases; i++) {
            const case_t *spec = &run->cases[i].spec;
            if (is_calibration(spec) && strcmp(spec->workload, GAUGES[g].workload) == 0 &&
                strcmp(spec->variant, GAUGES[g].variant) == 0)
                add_gauge(&table, &GAUGES[g], &run->cases[i]);
        }
    if (table_rows(&table) == 0) {
        table_free(&table);
        return;
    }
    page_heading(page, 2, "The device, measured in this run");
    page_table(page, &table);
}
