#include "workloads/described/temporaries.h"

#include "allocators/allocator.h"
#include "base/memory.h"
#include "workloads/described/description_read.h"

#include <ctype.h>
#include <inttypes.h>
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
    return temporaries_count(temporaries) <= MOST_HELD
               ? STATUS_OK
               : error_set(err, STATUS_FAILED,
                           "its TEMPORARIES are %zu, expected at most %d with each of a list",
                           temporaries_count(temporaries), MOST_HELD);
}

size_t temporaries_count(const temporaries_t *temporaries) {
    size_t count = 0;
    for (size_t i = 0; i < temporaries->n; i++)
        count += temporaries->items[i].count > 0 ? temporaries->items[i].count : 1;
    return count;
}

status_t temporaries_read(const cubin_t *cubin, temporaries_t *temporaries, error_t *err) {
    const size_t bytes = cubin_object_size(cubin, "temporaries");
    AUTO_FREE char *table = mem_zeroed(bytes + 1, 1);
    if (bytes > 0)
        TRY(cubin_object(cubin, "temporaries", table, bytes, err));
    return temporaries_take(table, bytes, temporaries, err);
}

/* ---- their launches -------------------------------------------------------------------------- */

/* "forward[i + 1]": a kernel, or its number in LAUNCHES, and an expression, "" if there is none. */
typedef struct place_text {
    char launch[64], index[64];
} place_text_t;

static place_text_t split_place(const char *text) {
    place_text_t parts = {0};
    const size_t name = strcspn(text, "["), length = strlen(text);
    const bool has_index = text[name] == '[' && text[length - 1] == ']';
    memcpy(parts.launch, text, has_index ? name : length);
    if (has_index)
        memcpy(parts.index, text + name + 1, length - name - 2);
    return parts;
}

/* By number, or by kernel: its first launch, or its last one. */
static status_t find_launch(const char *text, const launches_t *launches, bool is_last,
                            size_t *launch, error_t *err) {
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
                           "found \"%s\", expected a kernel of LAUNCHES, or a number from 0 to %zu",
                           text, launches->n - 1);
}

/* Launches with their sizes, and what texts may name. */
typedef struct table {
    const launches_t *launches;
    const launch_size_t *sizes;
    const scope_t *scope;
} table_t;

/* Its position in a step. */
static status_t find_place(const table_t *table, const char *text, bool is_last, size_t *position,
                           error_t *err) {
    const place_text_t parts = split_place(text);
    launch_place_t place = LAUNCH_FIRST;
    size_t launch;
    int64_t index;
    TRY(find_launch(parts.launch, table->launches, is_last, &launch, err));
    const int64_t n = table->sizes[launch].repeat > 0 ? table->sizes[launch].repeat : 1;
    TRY(table_text_value(parts.index, table->scope, is_last ? n - 1 : 0, &index, err));
    if (index < 0 || index >= n)
        return error_set(err, STATUS_FAILED, "\"%s\": index %" PRId64 ", expected 0 to %" PRId64,
                         text, index, n - 1);
    while (launches_next(table->sizes, table->launches->n, 1, &place) &&
           (place.launch != launch || place.index != index)) {
    }
    *position = place.position;
    return STATUS_OK;
}

static const char *last_of(const described_temporary_t *temporary) {
    return temporary->last[0] != '\0' ? temporary->last : temporary->first;
}

static status_t expect_order(const described_temporary_t *temporary, size_t first, size_t last,
                             error_t *err) {
    return first <= last ? STATUS_OK
                         : error_set(err, STATUS_FAILED,
                                     "last: found \"%s\", launch %zu, expected launch %zu (\"%s\") "
                                     "or a later one",
                                     last_of(temporary), last, first, temporary->first);
}

static status_t find_places(const described_temporary_t *temporary, const table_t *table,
                            temporary_size_t *size, error_t *err) {
    if (find_place(table, temporary->first, false, &size->first, err) != STATUS_OK)
        return error_within(err, "first");
    if (find_place(table, last_of(temporary), true, &size->last, err) != STATUS_OK)
        return error_within(err, "last");
    return expect_order(temporary, size->first, size->last, err);
}

/* The last of those that may start before this one ends. A launch that is not in each step may be left out between them. */
static size_t last_beside(const table_t *table, size_t position) {
    launch_place_t place = LAUNCH_FIRST;
    size_t last = position;
    while (launches_next(table->sizes, table->launches->n, 1, &place)) {
        const described_launch_t *launch = &table->launches->items[place.launch];
        if (place.position <= position)
            continue;
        if (launch->overlaps)
            last = place.position;
        else if (launch->every[0] == '\0')
            break;
    }
    return last;
}

/* May a step start before the one before it ends? */
static bool steps_overlap(const launches_t *launches) {
    size_t i = 0;
    while (i < launches->n && launches->items[i].every[0] != '\0' && !launches->items[i].overlaps)
        i++;
    return i < launches->n && launches->items[i].overlaps;
}

bool temporary_is_held(const temporary_size_t *size, size_t position) {
    return size->bytes > 0 && size->first <= position && position <= size->last;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static size_t share_memory(temporary_size_t *sizes, size_t n) {
    arena_block_t blocks[MOST_HELD];
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

static status_t size_of(const described_temporary_t *temporary, const table_t *table,
                        temporary_size_t *size, error_t *err) {
    int64_t bytes;
    status_t status = table_text_value(temporary->bytes, table->scope, 0, &bytes, err);
    if (status == STATUS_OK && (bytes < 0 || bytes > MOST_BYTES))
        status = error_set(err, STATUS_FAILED, "\"%s\" is %lld, expected 0 to %lld",
                           temporary->bytes, (long long)bytes, (long long)MOST_BYTES);
    if (status != STATUS_OK)
        return error_within(err, "bytes");
    size->bytes = (size_t)bytes;
    TRY(find_places(temporary, table, size, err));
    if (table->launches->temporaries_after_wait)
        return STATUS_OK;
    size->last = last_beside(table, size->last);
    if (steps_overlap(table->launches))
        size->first = 0, size->last = SIZE_MAX / 4;
    return STATUS_OK;
}

/* The names that texts of a list may have, which has a number behind those of a table. */
static scope_t with_item(const scope_t *scope, bool is_list) {
    scope_t with = *scope;
    with.n += is_list;
    return with;
}

status_t temporaries_size(const temporaries_t *temporaries, const launches_t *launches,
                          const launch_size_t *launch_sizes, described_values_t *values,
                          temporary_size_t sizes[MOST_HELD], size_t *all_bytes, error_t *err) {
    size_t n = 0;
    for (size_t i = 0; i < temporaries->n; i++) {
        const described_temporary_t *temporary = &temporaries->items[i];
        const scope_t scope = with_item(&values->scope, temporary->count > 0);
        const table_t table = {launches, launch_sizes, &scope};
        for (uint32_t k = 0; k == 0 || k < temporary->count; k++) {
            values->params[values->scope.n] = k;
            if (size_of(temporary, &table, &sizes[n], err) != STATUS_OK)
                return within(temporaries, i, err);
            sizes[n++].starts = k == 0;
        }
    }
    *all_bytes = share_memory(sizes, n);
    return STATUS_OK;
}

/* ---- at compile time ------------------------------------------------------------------------- */

static status_t check_place(const char *key, const char *text, const launches_t *launches,
                            const scope_t *scope, size_t *launch, error_t *err) {
    const place_text_t parts = split_place(text);
    status_t status = find_launch(parts.launch, launches, key[0] == 'l', launch, err);
    if (status == STATUS_OK)
        status = table_text_check(parts.index, scope, err);
    return status == STATUS_OK ? status : error_within(err, "%s", key);
}

static status_t check_one(const described_temporary_t *temporary, const launches_t *launches,
                          const scope_t *scope, error_t *err) {
    size_t first, last;
    const scope_t names = with_item(scope, temporary->count > 0);
    for (size_t i = 0; temporary->count > 0 && i < scope->n; i++)
        if (strcmp(scope->names[i], DESCRIBED_ITEM) == 0)
            return error_set(err, STATUS_FAILED,
                             "\"" DESCRIBED_ITEM "\" is the number of each in its list: give the "
                             "param of this name another");
    if (table_text_check(temporary->bytes, &names, err) != STATUS_OK)
        return error_within(err, "bytes");
    TRY(check_place("first", temporary->first, launches, &names, &first, err));
    TRY(check_place("last", last_of(temporary), launches, &names, &last, err));
    /* Of those that take turns the last one's index may be larger. */
    return launches->items[first].in_turn ? STATUS_OK : expect_order(temporary, first, last, err);
}

status_t temporaries_check(const description_t *description, const cubin_t *cubin, error_t *err) {
    temporaries_t temporaries;
    launches_t launches;
    const char *names[DESCRIBED_VALUES];
    const scope_t scope = table_text_scope(description, names);
    TRY(temporaries_read(cubin, &temporaries, err));
    TRY(launches_read(cubin, &launches, err));
    for (size_t i = 0; i < temporaries.n; i++)
        if (check_one(&temporaries.items[i], &launches, &scope, err) != STATUS_OK)
            return within(&temporaries, i, err);
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

status_t temporaries_change(temporaries_held_t *held, gpu_sample_t *sample, size_t position,
                            error_t *err) {
    for (size_t i = 0; i < held->n; i++)
        if (held->at[i] != 0 && !temporary_is_held(&held->sizes[i], position))
            TRY(give_back(held, sample, i, err));
    for (size_t i = 0; i < held->n; i++)
        if (held->at[i] == 0 && temporary_is_held(&held->sizes[i], position))
            TRY(take(held, sample, i, err));
    return STATUS_OK;
}

status_t temporaries_end(temporaries_held_t *held, gpu_sample_t *sample, error_t *err) {
    for (size_t i = 0; i < held->n; i++)
        if (held->at[i] != 0)
            TRY(give_back(held, sample, i, err));
    return STATUS_OK;
}
