#include "model/chart_kinds.h"

#include <string.h>

static const chart_kind_t KINDS[] = {
    {"phases_cuda", "phases", "phases of one sample, stacked, by size"},
    {"phases_pytorch", "phases", NULL},
    {"phases_cpu", "phases", NULL},
    {"total", "total", "both sides, as in the study and at their best"},
    {"host_to_host", "total", NULL},
    {"epoch", "epoch", "of mlp_train: an epoch by contender"},
    {"epoch_tf32", "epoch", NULL},
    {"size", "size", "every contender's time against size"},
    {"speed", "speed", "each side's best against PyTorch's, by size"},
    {"difference", "difference", "CUDA - PyTorch by size: the study's; the best"},
    {"difference_best", "difference", NULL},
    {"ladder", "ladder", "compute time of rungs, and the limits"},
    {"ladder_batch", "ladder", NULL},
    {"loss", "loss", "of a training: the loss over epochs"},
    {"loss_tf32", "loss", NULL},
    {"accuracy", "accuracy", "of mlp_train: validation after each epoch"},
    {"accuracy_tf32", "accuracy", NULL},
    {"allocators", "allocators", "of mlp_train: what each allocator costs"},
    {"driver_calls", "driver_calls", NULL},
    {"operations", "operations", "of a training: time of each operation"},
    {"blocks", "blocks", "of allocate: an allocation and a free"},
    {"techniques", "techniques", "combinations of host techniques"},
    {"once", "once", "what is paid once"},
    {"samples", NULL, "with --case: its samples, one by one"},
};
enum { N_KINDS = sizeof KINDS / sizeof *KINDS };

const chart_kind_t *chart_kinds(size_t *n) {
    *n = N_KINDS;
    return KINDS;
}

const chart_kind_t *chart_kind_find(const char *name) {
    for (size_t i = 0; i < N_KINDS; i++)
        if (strcmp(KINDS[i].name, name) == 0)
            return &KINDS[i];
    return NULL;
}

text_list_t chart_families(void) {
    text_list_t families = {0};
    for (size_t i = 0; i < N_KINDS; i++)
        if (KINDS[i].family != NULL)
            text_list_add_new(&families, KINDS[i].family);
    return families;
}
