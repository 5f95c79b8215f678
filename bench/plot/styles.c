#include "plot/styles.h"

#include "analysis/contenders.h"
#include "base/memory.h"

#include <fnmatch.h>
#include <string.h>

/* Line types that belong to a variant: of the first `pattern` that its name matches. Other variants
 * of rivals have those of style_of_rival(). */
static const struct variant_style {
    const char *label, *pattern;
    int style;
} VARIANTS[] = {
    {"cuda", "01*", 1},
    {"cuda", "02*", 2},
    {"cuda", "03*", 3},
    {"cuda", "04*", 4},
    {"cuda", "05*", 5},
    {"cuda", "06*", 6},
    {"cuda", "07*", 7},
    {"cuda", "08*", 8},
    {"cuda", "09*", 130},
    {"cuda", "10*", 131},
    {"cuda", "caching*", 65},
    {"cuda", "malloc*", 66},
    {"cuda", "async*", 67},
    {"cuda", "arena*", 68},
    {"cuda", "*", 132},
    {"cpu", "omp*", 14},
    {"cpu", "ref*", 15},
    {"cpu", "*", 16},
    {"pytorch-cuda", "eager", 9},
    {"pytorch-cuda", "inference", 10},
    {"pytorch-cuda", "compile", 11},
    {"pytorch-cuda", "graph", 12},
    {"pytorch-cuda", "compile_graph", 37},
    {"pytorch-cpu", "eager", 17},
    {"pytorch-cpu", "compile", 18},
};
enum { N_VARIANTS = sizeof VARIANTS / sizeof *VARIANTS };

/* Line types of rivals: a colour each; of a colour those of variants, on the GPU, then on the CPU. */
enum {
    FIRST_OF_RIVALS = 70,
    N_COLOURS = 6,
    N_OF_COLOUR = 4,
    FIRST_MIXED_OF_RIVALS = FIRST_OF_RIVALS + 2 * N_COLOURS * N_OF_COLOUR,
    MIXED_OF_OURS = 33,
};

static int is_on_cpu(const case_t *spec) {
    return spec->device == NULL || strcmp(spec->device, "cuda") != 0;
}

static int style_of_variant(const char *label, const char *variant) {
    for (size_t i = 0; i < N_VARIANTS; i++)
        if (strcmp(VARIANTS[i].label, label) == 0 && fnmatch(VARIANTS[i].pattern, variant, 0) == 0)
            return VARIANTS[i].style;
    return 0;
}

/* Engines without a name of their own: in their order in the whole run. */
static int colour_of(const record_t *run, const char *engine) {
    text_list_t before = {0};
    if (known_rival(engine) < KNOWN_RIVALS)
        return (int)known_rival(engine);
    for (size_t i = 0; i < run->n_cases; i++) {
        const char *other = run->cases[i].spec.engine;
        if (engine_is_rival(other) && known_rival(other) == KNOWN_RIVALS &&
            engine_order(other, engine) < 0)
            text_list_add_new(&before, other);
    }
    const int place = KNOWN_RIVALS + (int)(before.n % (N_COLOURS - KNOWN_RIVALS));
    text_list_free(&before);
    return place;
}

/* Variants in the order of their names in the whole run. */
static int style_of_rival(const record_t *run, const case_t *spec, const char *label) {
    AUTO(text_list_free) text_list_t before = {0};
    char other_label[32];
    for (size_t i = 0; i < run->n_cases; i++) {
        const case_t *other = &run->cases[i].spec;
        if (strcmp(case_engine_label(other, other_label), label) == 0 &&
            style_of_variant(label, other->variant) == 0 &&
            strcmp(other->variant, spec->variant) < 0)
            text_list_add_new(&before, other->variant);
    }
    const int place = (int)(before.n % N_OF_COLOUR);
    return FIRST_OF_RIVALS + N_OF_COLOUR * (2 * colour_of(run, spec->engine) + is_on_cpu(spec)) +
           place;
}

int style_of_case(const record_t *run, const case_t *spec) {
    char text[32];
    const char *label = case_engine_label(spec, text);
    const int style = style_of_variant(label, spec->variant);
    return style != 0 ? style : style_of_rival(run, spec, label);
}

int style_of_mixed(const record_t *run, const case_t *spec) {
    return engine_is_ours(spec->engine)
               ? MIXED_OF_OURS + is_on_cpu(spec)
               : FIRST_MIXED_OF_RIVALS + 2 * colour_of(run, spec->engine) + is_on_cpu(spec);
}
