/* An operator's input as fill_array() makes it, and as refills change it, on stdout; tests compare the bits with
 * NumPy's. Each line on stdin is one array, and its bytes follow those of the line before:
 *     ELEMENT KIND LOW HIGH SEED INPUT N [REFILL_SEED]...     KIND: as a number */
#include "base/memory.h"
#include "workloads/operator/fill.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int answer(char *line) {
    char name[8];
    unsigned kind;
    fill_t fill;
    uint64_t seed, before = 0, after;
    uint32_t input;
    size_t n;
    int used;
    element_t element;
    if (sscanf(line, "%7s %u %lf %lf %" SCNu64 " %" SCNu32 " %zu%n", name, &kind, &fill.low,
               &fill.high, &seed, &input, &n, &used) != 7 ||
        !element_find(name, &element) || kind > FILL_CONSTANT) {
        fprintf(stderr, "operator_fill: not understood: %s", line);
        return 2;
    }
    fill.kind = (fill_kind_t)kind;
    void *values = mem_zeroed(n, element_bytes(element));
    fill_array(values, n, element, &fill, seed, input);
    for (char *at = line + used; sscanf(at, "%" SCNu64 "%n", &after, &used) == 1; at += used) {
        fill_refill(values, n, element, &fill, before, after);
        before = after;
    }
    fwrite(values, element_bytes(element), n, stdout);
    free(values);
    return 0;
}

int main(void) {
    char line[512];
    int result = 0;
    while (result == 0 && fgets(line, sizeof line, stdin) != NULL)
        result = answer(line);
    return result;
}
