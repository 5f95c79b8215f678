#include "model/chart_kinds.h"

#include <string.h>

static const chart_kind_t KINDS[] = {
    {"phases_ENGINE", "phases", "phases of one sample (rung 01; eager), stacked, by size"},
    {"total", "total", "each engine, as in the study and at its best"},
    {"host_to_host", "total", NULL},
    {"epoch", "epoch", "mlp_train: time of an epoch by contender"},
    {"epoch_SETTING", "epoch", NULL},
    {"size", "size", "every contender's time against size"},
    {"size_SETTING", "size", NULL},
    {"speed", "speed", "each engine's best against the strongest rival"},
    {"speed_SETTING", "speed", NULL},
    {"roofline", "roofline", "operations per second under the measured roofs"},
    {"difference", "difference", "ours minus a rival by size: as in the study; best"},
    {"difference_best", "difference", NULL},
    {"ladder", "ladder", "compute time of rungs, and the limits"},
    {"ladder_batch", "ladder", NULL},
    {"loss", "loss", "training: loss over epochs"},
    {"loss_SETTING", "loss", NULL},
    {"accuracy", "accuracy", "mlp_train: validation accuracy after each epoch"},
    {"accuracy_SETTING", "accuracy", NULL},
    {"allocators", "allocators", "mlp_train: cost of each allocator"},
    {"driver_calls", "driver_calls", NULL},
    {"operations", "operations", "training: time of each operation"},
    {"blocks", "blocks", "allocate: an allocation and a free"},
    {"techniques", "techniques", "combinations of host techniques"},
    {"once", "once", "one-time costs"},
    {"samples", NULL, "with --case: its samples"},
};
enum { N_KINDS = sizeof KINDS / sizeof *KINDS };

const chart_kind_t *chart_kinds(size_t *n) {
    *n = N_KINDS;
    return KINDS;
}

static bool is_named(const chart_kind_t *kind, const char *name) {
    const size_t fixed = strcspn(kind->name, "ES"); /* ENGINE, SETTING */
    return kind->name[fixed] != '\0' ? strncmp(kind->name, name, fixed) == 0
                                     : strcmp(kind->name, name) == 0;
}

const chart_kind_t *chart_kind_find(const char *name) {
    for (size_t i = 0; i < N_KINDS; i++)
        if (is_named(&KINDS[i], name))
            return &KINDS[i];
    return NULL;
}

const char *chart_kind_summary(const chart_kind_t *kind) {
    while (kind->summary == NULL)
        kind--;
    return kind->summary;
}

text_list_t chart_families(void) {
    text_list_t families = {0};
    for (size_t i = 0; i < N_KINDS; i++)
        if (KINDS[i].family != NULL)
            text_list_add_new(&families, KINDS[i].family);
    return families;
}

bool chart_names_are_plain(const char *workload) {
    return strcmp(workload, "mlp_infer") == 0;
}
