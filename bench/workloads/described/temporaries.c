#include "workloads/described/temporaries.h"

#include "allocators/allocator.h"
#include "base/memory.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const int64_t MOST_BYTES = 1LL << 40;

static status_t within(const temporaries_t *temporaries, size_t which, error_t *err) {
    return error_within(err, "TEMPORARIES[%zu] (%s)", which, temporaries->items[which].name);
}

/* ---- the table ------------------------------------------------------------------------------- */

static bool is_complete(const described_temporary_t *temporary) {
    return table_text_ends(temporary->name, sizeof temporary->name) && temporary->name[0] != '\0' &&
           table_text_ends(temporary->bytes, sizeof temporary->bytes) &&
           temporary->bytes[0] != '\0' &&
           table_text_ends(temporary->first, sizeof temporary->first) &&
           table_text_ends(temporary->last, sizeof temporary->last);
}

status_t temporaries_take(const void *table, size_t bytes, temporaries_t *temporaries,
                          error_t *err) {
    const size_t each = sizeof *temporaries->items;
    *temporaries = (temporaries_t){.n = bytes / each};
    if (bytes % each != 0 || temporaries->n > MOST_TEMPORARIES)
        return error_set(err, STATUS_FAILED,
                         "its TEMPORARIES take %zu bytes; expected 1 to %d of %zu bytes", bytes,
                         MOST_TEMPORARIES, each);
    memcpy(temporaries->items, table, bytes);
    for (size_t i = 0; i < temporaries->n; i++)
        if (!is_complete(&temporaries->items[i]))
            return error_set(err, STATUS_FAILED,
                             "its TEMPORARIES[%zu] lacks a name, bytes, or the end of a text", i);
    return STATUS_OK;
}

status_t temporaries_read(const cubin_t *cubin, temporaries_t *temporaries, error_t *err) {
    const size_t bytes = cubin_object_size(cubin, "temporaries");
    char *table = mem_zeroed(bytes + 1, 1);
    status_t status = bytes > 0 ? cubin_object(cubin, "temporaries", table, bytes, err) : STATUS_OK;
    if (status == STATUS_OK)
        status = temporaries_take(table, bytes, temporaries, err);
    free(table);
    return status;
}

/* ---- their launches -------------------------------------------------------------------------- */

/* By number, or by kernel: its first launch, or its last one. */
static status_t find_launch(const char *key, const char *text, const launches_t *launches,
                            bool is_last, size_t *launch, error_t *err) {
    size_t found = launches->n;
    if (isdigit((unsigned char)text[0])) {
        char *end;
        const unsigned long number = strtoul(text, &end, 10);
        if (*end == '\0' && number < launches->n)
            found = number;
    }
    for (size_t i = 0; i < launches->n; i++)
        if (strcmp(launches->items[i].entry, text) == 0 && (is_last || found == launches->n))
            found = i;
    *launch = found;
    return found < launches->n
               ? STATUS_OK
               : error_set(err, STATUS_FAILED,
                           "%s: found \"%s\", expected a kernel of LAUNCHES, or a number from 0 "
                           "to %zu",
                           key, text, launches->n - 1);
}

static status_t find_launches(const described_temporary_t *temporary, const launches_t *launches,
                              temporary_size_t *size, error_t *err) {
    const char *last = temporary->last[0] != '\0' ? temporary->last : temporary->first;
    TRY(find_launch("first", temporary->first, launches, false, &size->first, err));
    TRY(find_launch("last", last, launches, true, &size->last, err));
    return size->first <= size->last
               ? STATUS_OK
               : error_set(err, STATUS_FAILED,
                           "last: found \"%s\", launch %zu, expected launch %zu (\"%s\") or a "
                           "later one",
                           last, size->last, size->first, temporary->first);
}

/* The last of those that may start before this one ends. A launch that is not in each step may be left out between them. */
static size_t last_beside(const launches_t *launches, size_t launch) {
    for (size_t i = launch + 1; i < launches->n; i++)
        if (launches->items[i].overlaps)
            launch = i;
        else if (launches->items[i].every[0] == '\0')
            break;
    return launch;
}

/* May a step start before the one before it ends? */
static bool steps_overlap(const launches_t *launches) {
    size_t i = 0;
    while (i < launches->n && launches->items[i].every[0] != '\0' && !launches->items[i].overlaps)
        i++;
    return i < launches->n && launches->items[i].overlaps;
}

bool temporary_is_held(const temporary_size_t *size, size_t launch) {
    return size->bytes > 0 && size->first <= launch && launch <= size->last;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static size_t share_memory(temporary_size_t *sizes, size_t n) {
    arena_block_t blocks[MOST_TEMPORARIES];
    for (size_t i = 0; i < n; i++)
        blocks[i] =
            (arena_block_t){.bytes = (sizes[i].bytes + ALLOCATOR_ALIGNMENT - 1) /
                                     ALLOCATOR_ALIGNMENT * ALLOCATOR_ALIGNMENT,
                            .from = 2 * sizes[i].first, /* taken after what ends is given back */
                            .to = 2 * sizes[i].last + 1};
    const size_t all_bytes = arena_plan(blocks, n);
    for (size_t i = 0; i < n; i++)
        sizes[i].offset = blocks[i].offset;
    return all_bytes;
}

static status_t size_of(const described_temporary_t *temporary, const launches_t *launches,
                        const described_values_t *values, temporary_size_t *size, error_t *err) {
    int64_t bytes;
    status_t status = table_text_value(temporary->bytes, values, 0, &bytes, err);
    if (status == STATUS_OK && (bytes < 0 || bytes > MOST_BYTES))
        status = error_set(err, STATUS_FAILED, "\"%s\" is %lld, expected 0 to %lld",
                           temporary->bytes, (long long)bytes, (long long)MOST_BYTES);
    if (status != STATUS_OK)
        return error_within(err, "bytes");
    TRY(find_launches(temporary, launches, size, err));
    size->bytes = (size_t)bytes;
    size->last = last_beside(launches, size->last);
    if (steps_overlap(launches))
        size->first = 0, size->last = launches->n - 1;
    return STATUS_OK;
}

status_t temporaries_size(const temporaries_t *temporaries, const launches_t *launches,
                          const described_values_t *values,
                          temporary_size_t sizes[MOST_TEMPORARIES], size_t *all_bytes,
                          error_t *err) {
    for (size_t i = 0; i < temporaries->n; i++)
        if (size_of(&temporaries->items[i], launches, values, &sizes[i], err) != STATUS_OK)
            return within(temporaries, i, err);
    *all_bytes = share_memory(sizes, temporaries->n);
    return STATUS_OK;
}

/* ---- at compile time ------------------------------------------------------------------------- */

status_t temporaries_check(const description_t *description, const cubin_t *cubin, error_t *err) {
    temporaries_t temporaries;
    launches_t launches;
    const char *names[DESCRIBED_PARAMS + 1];
    const scope_t scope = table_text_scope(description, names);
    TRY(temporaries_read(cubin, &temporaries, err));
    TRY(launches_read(cubin, &launches, err));
    for (size_t i = 0; i < temporaries.n; i++) {
        const described_temporary_t *temporary = &temporaries.items[i];
        temporary_size_t size;
        status_t status = table_text_check(temporary->bytes, &scope, err);
        if (status != STATUS_OK)
            error_within(err, "bytes");
        else
            status = find_launches(temporary, &launches, &size, err);
        if (status != STATUS_OK)
            return within(&temporaries, i, err);
    }
    return STATUS_OK;
}

/* ---- during a call --------------------------------------------------------------------------- */

static status_t give_back(temporaries_held_t *held, gpu_sample_t *sample, size_t i, error_t *err) {
    const cu_pointer_t at = held->at[i];
    held->at[i] = 0;
    return held->fixed->current == 0 ? gpu_sample_give_back(sample, at, err) : STATUS_OK;
}

static status_t take(temporaries_held_t *held, gpu_sample_t *sample, size_t i, error_t *err) {
    const size_t bytes = held->sizes[i].bytes;
    if (held->fixed->current != 0) {
        held->at[i] = held->fixed->current + held->sizes[i].offset;
        return STATUS_OK;
    }
    TRY(gpu_sample_take(sample, bytes, &held->at[i], err));
    return sample->fill_outputs
               ? gpu_random_fill(sample->gpu, held->at[i], bytes, held->fixed->random, err)
               : STATUS_OK;
}

status_t temporaries_change(temporaries_held_t *held, gpu_sample_t *sample, size_t launch,
                            error_t *err) {
    for (size_t i = 0; i < held->n; i++)
        if (held->at[i] != 0 && !temporary_is_held(&held->sizes[i], launch))
            TRY(give_back(held, sample, i, err));
    for (size_t i = 0; i < held->n; i++)
        if (held->at[i] == 0 && temporary_is_held(&held->sizes[i], launch))
            TRY(take(held, sample, i, err));
    return STATUS_OK;
}

status_t temporaries_end(temporaries_held_t *held, gpu_sample_t *sample, error_t *err) {
    for (size_t i = 0; i < held->n; i++)
        if (held->at[i] != 0)
            TRY(give_back(held, sample, i, err));
    return STATUS_OK;
}
