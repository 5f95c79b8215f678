/* The device as the run measured it: cases of `device` and `null` on the GPU are no contenders but
 * the yardstick for all others, so they get one short section in place of a workload's. */
#include "report/page.h"

#include "base/memory.h"
#include "base/units.h"
#include "limits/device_rates.h"

#include <stdlib.h>
#include <string.h>

/* No L2 is so large, and what is calibrated in DRAM is larger. */
enum { LARGEST_L2_BYTES = 1 << 28 };

typedef enum buffer { ANY_SIZE, IN_L2, IN_DRAM } buffer_t;

static const struct gauge {
    const char *workload, *variant, *phase;
    buffer_t buffer;
    const char *name;
    double passes; /* over `bytes`: a copy reads and writes; 0: the figure is the time itself */
    const char *meaning; /* NULL: none of the limits comes from it */
} GAUGES[] = {
    {"device", "copy", "kernel", ANY_SIZE, "DRAM, copying", 2,
     "the limit of whatever streams through DRAM: *of the limit* is held against it"},
    {"device", "01_read", "kernel", IN_DRAM, "DRAM, reading", 1, NULL}, /* of older runs */
    {"device", "01_read", "kernel", IN_L2, "L2, reading", 1,
     "the limit of data that stays in the L2"},
    {"device", "02_barrier", "barrier", ANY_SIZE, "Barrier of the whole grid", 0,
     "one block a multiprocessor: the floor of an epoch or step of a persistent kernel"},
    {"null", "01_empty", "event_pair", ANY_SIZE, "Two events, nothing between", 0,
     "the least that `kernel` and `forward_device` can read"},
    {"null", "01_empty", "kernel", ANY_SIZE, "Empty kernel, one launch", 0,
     "a `kernel` near it says little about the kernel"},
    {"null", "01_empty", "kernel_stream", ANY_SIZE, "Empty kernel, back to back", 0,
     "the floor of `kernel_stream`: what the driver takes for a launch"},
    {"null", "01_empty", "kernel_graph", ANY_SIZE, "Empty kernel, in a graph", 0,
     "the floor of `kernel_graph`, and the limit *launch* of small sizes"},
    {"null", "01_empty", "launch_sync", ANY_SIZE, "Launch and wait, host clock", 0,
     "the floor of `host_to_host` with one launch and a synchronisation"},
};

static bool is_gauge(const struct gauge *gauge, const case_t *spec) {
    bool small = case_param_int(spec, "bytes", 0) < LARGEST_L2_BYTES;
    return is_calibration(spec) && strcmp(spec->workload, gauge->workload) == 0 &&
           strcmp(spec->variant, gauge->variant) == 0 &&
           (gauge->buffer == ANY_SIZE || small == (gauge->buffer == IN_L2));
}

/* A kernel that reads a buffer far larger than the L2 again and again was timed in older runs. Some
 * found it faster than the memory's pins are. */
static const char *why_not_used(double read_bytes_per_s, double copied_bytes_per_s) {
    return read_bytes_per_s > 1.25 * copied_bytes_per_s
               ? "not used: more than copying by over a quarter, so not DRAM's rate"
               : "not used: the limits are drawn from copying";
}

static void add_gauge(table_t *table, const struct gauge *gauge, const case_result_t *result,
                      double copied_bytes_per_s) {
    const phase_t *phase = result_has_times(result) ? result_phase(result, gauge->phase) : NULL;
    if (phase == NULL || phase->summary.n == 0)
        return;
    const summary_t *s = &phase->summary;
    char text[UNITS_TEXT], low[UNITS_TEXT], high[UNITS_TEXT];
    const char *meaning = gauge->meaning;
    if (gauge->passes > 0) {
        double bytes = (double)case_param_int(&result->spec, "bytes", 0);
        double moved = gauge->passes * bytes;
        table_add_format(table, "%s %s", gauge->name, units_bytes(text, bytes));
        table_add(table, units_rate(text, moved / s->median * 1e9));
        table_add_format(table, "%s – %s", units_rate(low, moved / s->ci95[1] * 1e9),
                         units_rate(high, moved / s->ci95[0] * 1e9));
        if (meaning == NULL)
            meaning = why_not_used(moved / s->median * 1e9, copied_bytes_per_s);
    } else {
        table_add(table, gauge->name);
        table_add(table, units_time(text, s->median));
        table_add_format(table, "%s – %s", units_time(low, s->ci95[0]),
                         units_time(high, s->ci95[1]));
    }
    table_add_format(table, "%zu", s->n);
    table_add(table, meaning);
}

void section_device(const report_t *report) {
    static const char *const HEADINGS[] = {"What", "median", "95 % interval", "samples",
                                           "For reading the other numbers"};
    const record_t *run = report->run;
    const device_rates_t rates = device_rates_of_record(run);
    table_t table;
    table_init(&table, HEADINGS, 5);
    table_set_align(&table, "lrrrl");
    for (size_t g = 0; g < sizeof GAUGES / sizeof *GAUGES; g++)
        for (size_t i = 0; i < run->n_cases; i++)
            if (is_gauge(&GAUGES[g], &run->cases[i].spec))
                add_gauge(&table, &GAUGES[g], &run->cases[i], rates.dram_bytes_per_s);
    if (table_rows(&table) == 0) {
        table_free(&table);
        return;
    }
    report_heading(report, 2, "The device, measured in this run");
    report_table(report, &table);
}
