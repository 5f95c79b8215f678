#include "model/chart_kinds.h"

#include "base/memory.h"

#include <string.h>

static const chart_kind_t KINDS[] = {
    {"speed", "speed", "Speed-up by %s", "each engine's best against the strongest rival"},
    {"speed_SETTING", "speed", "Speed-up by %s", NULL},
    {"ladder", "ladder", "The ladder by %s", "compute time of rungs, and the limits"},
    {"phases_ENGINE", "phases", "Phases of a sample",
     "phases of one sample (rung 01; eager), stacked, by size"},
    {"total", "total", "Total time by %s", "each engine, as in the study and at its best"},
    {"host_to_host", "total", "Time from host to host by %s", NULL},
    {"difference", "difference", "Difference by %s", "ours minus a rival's, as in the study"},
    {"roofline", "roofline", "Roofline", "operations per second under the measured roofs"},
    {"operations", "operations", "Parts of a step", "time of each part of a step"},
    {"loss", "loss", "Loss of the training", "training: loss over epochs"},
    {"loss_SETTING", "loss", "Loss of the training", NULL},
    {"allocators", "allocators", "Time of an epoch by allocator",
     "whole epochs: cost of each allocator"},
    {"samples", NULL, "Samples", "with --case: its samples"},
};
enum { N_KINDS = sizeof KINDS / sizeof *KINDS };

/* Of earlier versions: a sweep may still ask for them. */
static const char *const RETIRED[] = {"size",   "epoch",      "accuracy", "driver_calls",
                                      "blocks", "techniques", "once"};

const chart_kind_t *chart_kinds(size_t *n) {
    *n = N_KINDS;
    return KINDS;
}

/* The part of a name that all charts of the kind share. */
static size_t fixed_length(const chart_kind_t *kind) {
    return strcspn(kind->name, "ES"); /* ENGINE, SETTING */
}

static bool is_named(const chart_kind_t *kind, const char *name) {
    const size_t fixed = fixed_length(kind);
    return kind->name[fixed] != '\0' ? strncmp(kind->name, name, fixed) == 0
                                     : strcmp(kind->name, name) == 0;
}

const chart_kind_t *chart_kind_find(const char *name) {
    for (size_t i = 0; i < N_KINDS; i++)
        if (is_named(&KINDS[i], name))
            return &KINDS[i];
    return NULL;
}

char *chart_title(const char *name, const char *size_noun) {
    const chart_kind_t *kind = chart_kind_find(name);
    if (kind == NULL)
        return mem_text(name);
    const char *noun = strstr(kind->title, "%s"), *setting = name + fixed_length(kind);
    char *title = mem_format(
        "%.*s%s%s%s", (int)(noun != NULL ? (size_t)(noun - kind->title) : strlen(kind->title)),
        kind->title, noun != NULL ? size_noun : "", *setting != '\0' ? ": " : "", setting);
    for (char *c = title; *setting != '\0' && *c != '\0'; c++)
        *c = *c == '_' ? ' ' : *c;
    return title;
}

text_list_t chart_families(void) {
    text_list_t families = {0};
    for (size_t i = 0; i < N_KINDS; i++)
        if (KINDS[i].family != NULL)
            text_list_add_new(&families, KINDS[i].family);
    for (size_t i = 0; i < sizeof RETIRED / sizeof *RETIRED; i++)
        text_list_add(&families, RETIRED[i]);
    return families;
}
