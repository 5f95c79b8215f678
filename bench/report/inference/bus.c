/* The finding on the bus: how near the fastest case of each side comes to what it allows. */
#include "report/columns.h"
#include "report/inference/inference.h"

#include "base/units.h"
#include "limits/limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "CUDA 04_four_in_flight 4.97 ms (97 %)" */
static void add_side(const report_t *report, text_list_t *sides, const case_result_t *result,
                     double least_ns) {
    const phase_t *phase = timed_phase(result, "host_to_host");
    if (phase != NULL)
        text_list_add_format(sides, "%s %s (%s)", who_and_name(report, result),
                             median_text(report, phase),
                             percent_text(report, least_ns / phase->summary.median));
}

/* At the largest size, where copies are nearly all of the time. */
void finding_bus(const report_t *report, const comparison_set_t *set) {
    const workload_t *workload = workload_find(set->workload);
    const device_rates_t rates = device_rates_of_record(set->run);
    for (size_t i = set->n_rows; i-- > 0 && strcmp(set->platform->device, "cuda") == 0;) {
        const int64_t size = set->rows[i].size;
        const case_result_t *ours = comparison_set_fastest(set, size, OURS, "host_to_host");
        if (ours == NULL)
            continue;
        const workload_cost_t cost = workload->cost(&ours->spec);
        const double least_ns = bus_limit_ns(&cost, &rates);
        if (isnan(least_ns))
            return;
        text_list_t sides = {0};
        add_side(report, &sides, ours, least_ns);
        for (size_t r = 0; r < set->n_rivals; r++)
            add_side(report, &sides,
                     comparison_set_fastest(set, size, set->rivals[r], "host_to_host"), least_ns);
        print(report,
              "- **Against the bus** at %s, host to host: %s in at %s and %s out at %s, both at "
              "once, take at least %s; %s.\n",
              size_name(report, set, size), units_bytes(report_buffer(report), cost.bus_in_bytes),
              units_rate(report_buffer(report), rates.bus_in_bytes_per_s),
              units_bytes(report_buffer(report), cost.bus_out_bytes),
              units_rate(report_buffer(report), rates.bus_out_bytes_per_s),
              time_text(report, least_ns), report_join(report, &sides, ", "));
        return;
    }
}
