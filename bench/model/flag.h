/* Flags of a case: doubts about its numbers, and facts that affect them. A flag is a kind with
 * numbers; it is shown and saved as a sentence, which is parsed when a run is loaded. */
#ifndef BENCH_MODEL_FLAG_H
#define BENCH_MODEL_FLAG_H

#include <stddef.h>

typedef enum flag_kind {
    FLAG_OVER_LIMIT,        /* word: the bound; fraction of the limit reached */
    FLAG_GRAPH_SLOWER,      /* ns of kernel_graph, kernel_stream */
    FLAG_STREAM_SLOWER,     /* ns of kernel_stream, kernel */
    FLAG_WARM_SLOWER,       /* ns of kernel_graph, kernel_cold */
    FLAG_UNDER_EVENT_FLOOR, /* ns of kernel, of an empty pair of events */
    FLAG_FRESH_SLOWER,      /* word: the phase; ns on new inputs, on those of the sample before */
    FLAG_FRESH_INTERRUPTED, /* likewise, but its threads waited for cores meanwhile */
    FLAG_NEGATIVE_RESIDUAL,
    FLAG_POWER_LIMIT, /* lowest and highest SM clock in MHz */
    FLAG_LOW_CLOCK,   /* fraction of the highest clock; older runs only */
    FLAG_COLD_START,
    FLAG_SANITIZER,         /* number of errors; word: the tool */
    FLAG_RETRIED,           /* word: how the worker died in the first try */
    FLAG_WEIGHTS_UNCHECKED, /* word: why */
    FLAG_BESIDE,            /* word: what may have worked while no clock ran */
    FLAG_VOID_ROUNDS,       /* how many; word: what another program did, in the first */
    FLAG_BUSY,              /* share of the CPU time that other programs took */
    FLAG_OTHER,             /* word: the complete text, from another version */
} flag_kind_t;

typedef struct flag {
    flag_kind_t kind;
    double values[2];
    char *word; /* owned */
} flag_t;

/* An owned, growing list. Zero-initialise it; flag_list_free() empties it. */
typedef struct flag_list {
    flag_t *items;
    size_t n, capacity;
} flag_list_t;

/* `word` is copied. NULL and NaN: not used by the kind. */
void flag_list_add(flag_list_t *list, flag_kind_t kind, const char *word, double first,
                   double second);
/* The inverse of flag_text(); FLAG_OTHER for any other text. */
void flag_list_add_text(flag_list_t *list, const char *text);
/* Add those of `more`; of two with the same kind and word, the numbers of the more severe stay. */
void flag_list_merge(flag_list_t *list, const flag_list_t *more);
void flag_list_remove(flag_list_t *list, flag_kind_t kind);
const flag_t *flag_list_find(const flag_list_t *list, flag_kind_t kind); /* the first, or NULL */
void flag_list_free(flag_list_t *list);

/* "implausible: kernel 700 ns, under the event floor of 1.28 µs"; the caller frees it. */
char *flag_text(const flag_t *flag);
/* The text without numbers, to group flags: "implausible: kernel … ns, under the event floor of …
 * µs". The caller frees it. */
char *flag_name(const flag_t *flag);
/* Orders flags of one kind: the ratio of the two numbers, or the only number. */
double flag_severity(const flag_t *flag);

#endif
