/* Which machines and software may measure parts of one run: see record.h. */
#include "results/record.h"

#include "base/text.h"

#include <string.h>

/* Facts that must agree. Host names and GPU UUIDs may differ between the nodes of a cluster. A key
 * that ends in a dot stands for all below it. Keys that only one side has (a node without PyTorch)
 * are ignored. */
static const char *const SAME_MACHINE[] = {
    "gpu.name",  "gpu.driver", "gpu.ecc", "gpu.mig",  "gpu.power_limit_w", "host.cpu",
    "versions.", "workers.",   "git.",    "measure.", "operators."};

static bool must_match(const char *key) {
    for (size_t i = 0; i < sizeof SAME_MACHINE / sizeof *SAME_MACHINE; i++)
        if (text_ends(SAME_MACHINE[i], ".") ? text_starts(key, SAME_MACHINE[i])
                                            : strcmp(key, SAME_MACHINE[i]) == 0)
            return true;
    return false;
}

const char *record_other_kind(const environment_t *first, const environment_t *other) {
    for (size_t i = 0; i < first->n; i++) {
        const char *value = environment_get(other, first->facts[i].key);
        if (must_match(first->facts[i].key) && value != NULL &&
            strcmp(value, first->facts[i].value) != 0)
            return first->facts[i].key;
    }
    return NULL;
}

static bool has_sweep(const record_t *run, const char *text) {
    for (size_t i = 0; i < run->n_sweeps; i++)
        if (strcmp(run->sweeps[i].text, text) == 0)
            return true;
    return false;
}

const char *record_other_sweep(const record_t *first, const record_t *other) {
    for (size_t i = 0; i < other->n_sweeps; i++)
        if (!has_sweep(first, other->sweeps[i].text))
            return other->sweeps[i].path;
    return NULL;
}
