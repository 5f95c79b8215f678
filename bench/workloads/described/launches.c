#include "workloads/described/launches.h"

#include "base/memory.h"
#include "engine/launch.h"
#include "workloads/described/description_read.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ==== texts of a table ======================================================================== */

bool table_text_ends(const char *text, size_t size) {
    return memchr(text, '\0', size) != NULL;
}

status_t table_text_value(const char *text, const scope_t *scope, int64_t otherwise, int64_t *value,
                          error_t *err) {
    expression_t *expression;
    *value = otherwise;
    if (text[0] == '\0')
        return STATUS_OK;
    TRY(expression_parse(text, scope, &expression, err));
    const status_t status = expression_value(expression, scope, value, err);
    expression_free(expression);
    return status;
}

scope_t table_text_scope(const description_t *description, const char *names[DESCRIBED_VALUES]) {
    const size_t n = description->params.n;
    for (size_t i = 0; i < n; i++)
        names[i] = description->params.items[i];
    names[n] = "sm_count";
    names[n + 1] = DESCRIBED_ITEM;
    return (scope_t){.names = names,
                     .n = n + 1,
                     .itemsizes = description->types[0].itemsizes,
                     .lists = description->lists};
}

status_t table_text_check(const char *text, const scope_t *scope, error_t *err) {
    expression_t *expression;
    if (text[0] == '\0')
        return STATUS_OK;
    TRY(expression_parse(text, scope, &expression, err));
    expression_free(expression);
    return STATUS_OK;
}

bool table_text_is_constant(const char *text) {
    static const scope_t NO_NAMES;
    return text[0] != '\0' && table_text_check(text, &NO_NAMES, NULL) == STATUS_OK;
}

/* ==== launches ================================================================================ */

/* CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; the same on every architecture. */
enum { MOST_GRID_YZ = 65535, MOST_THREADS = 1024, MOST_THREADS_Z = 64, MOST_CLUSTER = 16 };

static const char AXES[] = "xyz";

/* ---- tables ---------------------------------------------------------------------------------- */

static bool is_complete(const described_launch_t *launch) {
    bool good = table_text_ends(launch->entry, sizeof launch->entry) && launch->entry[0] != '\0' &&
                table_text_ends(launch->shared, sizeof launch->shared) &&
                table_text_ends(launch->every, sizeof launch->every) &&
                table_text_ends(launch->index, sizeof launch->index);
    for (size_t i = 0; i < 3; i++)
        good = good && table_text_ends(launch->grid[i], sizeof launch->grid[i]) &&
               table_text_ends(launch->threads[i], sizeof launch->threads[i]) &&
               table_text_ends(launch->cluster[i], sizeof launch->cluster[i]);
    return good;
}

/* One that is in turn has the indices of the launch above. */
static status_t share_indices(launches_t *launches, error_t *err) {
    for (size_t i = 0; i < launches->n; i++) {
        described_launch_t *launch = &launches->items[i];
        const described_launch_t *above = i > 0 ? &launches->items[i - 1] : launch;
        if (!launch->in_turn)
            continue;
        if (above->index[0] == '\0' || above->side_by_side || launch->index[0] != '\0')
            return error_set(err, STATUS_FAILED,
                             "its LAUNCHES[%zu] is in_turn: expected no index of its own, and an "
                             "indexed launch above it, not side by side",
                             i);
        memcpy(launch->index, above->index, sizeof launch->index);
    }
    return STATUS_OK;
}

status_t launches_take(const void *table, size_t bytes, const char *workspace, launches_t *launches,
                       error_t *err) {
    const size_t each = sizeof *launches->items;
    *launches = (launches_t){.n = bytes / each};
    if (bytes == 0)
        return error_set(err, STATUS_FAILED,
                         "it has no LAUNCHES = {…}, and no host code: extern \"C\" void "
                         "run(WORKLOAD_ARGUMENTS, cudaStream_t stream)");
    if (bytes % each != 0 || launches->n > MOST_LAUNCHES)
        return error_set(err, STATUS_FAILED,
                         "its LAUNCHES take %zu bytes; expected 1 to %d launches of %zu bytes",
                         bytes, MOST_LAUNCHES, each);
    memcpy(launches->items, table, bytes);
    for (size_t i = 0; i < launches->n; i++)
        if (!is_complete(&launches->items[i]))
            return error_set(err, STATUS_FAILED, "its LAUNCHES[%zu] names no kernel", i);
    TRY(share_indices(launches, err));
    memcpy(launches->workspace, workspace, sizeof launches->workspace);
    return table_text_ends(launches->workspace, sizeof launches->workspace)
               ? STATUS_OK
               : error_set(err, STATUS_FAILED, "its WORKSPACE is longer than %d characters",
                           WORKSPACE_TEXT - 1);
}

status_t launches_read(const cubin_t *cubin, launches_t *launches, error_t *err) {
    const size_t bytes = cubin_object_size(cubin, "launches");
    char workspace[WORKSPACE_TEXT] = "";
    AUTO_FREE char *table = mem_zeroed(bytes + 1, 1);
    if (bytes > 0)
        TRY(cubin_object(cubin, "launches", table, bytes, err));
    if (cubin_object_size(cubin, "workspace_bytes") > 0)
        TRY(cubin_object(cubin, "workspace_bytes", workspace, sizeof workspace, err));
    const status_t status = launches_take(table, bytes, workspace, launches, err);
    launches->as_graph = cubin_object_size(cubin, "launched_as_graph") > 0;
    launches->algorithmic = cubin_object_size(cubin, "is_algorithmic") > 0;
    launches->temporaries_after_wait = cubin_object_size(cubin, "temporaries_after_wait") > 0;
    return status;
}

size_t launches_kernels(const launches_t *launches, size_t number[MOST_LAUNCHES]) {
    size_t n = 0;
    for (size_t i = 0; i < launches->n; i++) {
        size_t first = 0;
        while (strcmp(launches->items[first].entry, launches->items[i].entry) != 0)
            first++;
        number[i] = first < i ? number[first] : n++;
    }
    return n;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* A size of 1 … most: "grid.x". */
static status_t evaluate_axis(const char *what, size_t axis, const char *text,
                              const described_values_t *values, int64_t most, unsigned *size,
                              error_t *err) {
    int64_t value;
    status_t status = table_text_value(text, &values->scope, 1, &value, err);
    if (status == STATUS_OK && (value < 1 || value > most))
        status = error_set(err, STATUS_FAILED, "\"%s\" is %lld, expected 1 to %lld", text,
                           (long long)value, (long long)most);
    *size = (unsigned)value;
    return status == STATUS_OK ? status : error_within(err, "%s.%c", what, AXES[axis]);
}

static status_t evaluate_shared(const char *text, const described_values_t *values, unsigned arch,
                                unsigned *size, error_t *err) {
    int64_t bytes;
    status_t status = table_text_value(text, &values->scope, 0, &bytes, err);
    const uint32_t most = launch_shared_limit(arch);
    if (status == STATUS_OK && (bytes < 0 || bytes > most))
        status = error_set(err, STATUS_FAILED, "\"%s\" is %lld bytes, expected 0 to %u (sm_%u)",
                           text, (long long)bytes, most, arch);
    *size = (unsigned)bytes;
    return status == STATUS_OK ? status : error_within(err, "shared");
}

/* How often in a call: "every", where 0 is once, at its end, and "index". */
static status_t evaluate_count(const char *what, const char *text, const described_values_t *values,
                               int64_t otherwise, unsigned *count, error_t *err) {
    int64_t value;
    const int64_t least = otherwise > 0 ? 0 : 1;
    status_t status = table_text_value(text, &values->scope, otherwise, &value, err);
    if (status == STATUS_OK && text[0] != '\0' && (value < least || value > DESCRIBED_STEPS))
        status = error_set(err, STATUS_FAILED, "\"%s\" is %lld, expected %lld to %d", text,
                           (long long)value, (long long)least, DESCRIBED_STEPS);
    *count = (unsigned)value;
    return status == STATUS_OK ? status : error_within(err, "%s", what);
}

static status_t check_threads(const launch_size_t *size, error_t *err) {
    const unsigned threads = size->threads[0] * size->threads[1] * size->threads[2];
    return threads <= MOST_THREADS
               ? STATUS_OK
               : error_set(err, STATUS_FAILED, "%u threads per block, at most %d are possible",
                           threads, MOST_THREADS);
}

static status_t check_products(const launch_size_t *size, unsigned arch, error_t *err) {
    const unsigned cluster = size->cluster[0] * size->cluster[1] * size->cluster[2];
    TRY(check_threads(size, err));
    if (cluster > MOST_CLUSTER)
        return error_set(err, STATUS_FAILED, "%u blocks per cluster, at most %d are possible",
                         cluster, MOST_CLUSTER);
    if (cluster > 1 && arch < 90)
        return error_set(err, STATUS_FAILED, "clusters need sm_90; this is sm_%u", arch);
    for (size_t i = 0; i < 3; i++)
        if (size->grid[i] % size->cluster[i] != 0)
            return error_set(err, STATUS_FAILED,
                             "grid.%c = %u is not a multiple of cluster.%c = %u", AXES[i],
                             size->grid[i], AXES[i], size->cluster[i]);
    return STATUS_OK;
}

static status_t evaluate_all(const described_launch_t *launch, const described_values_t *values,
                             unsigned arch, launch_size_t *size, error_t *err) {
    for (size_t i = 0; i < 3; i++) {
        TRY(evaluate_axis("grid", i, launch->grid[i], values, i == 0 ? INT_MAX : MOST_GRID_YZ,
                          &size->grid[i], err));
        TRY(evaluate_axis("threads", i, launch->threads[i], values,
                          i == 2 ? MOST_THREADS_Z : MOST_THREADS, &size->threads[i], err));
        TRY(evaluate_axis("cluster", i, launch->cluster[i], values, MOST_CLUSTER, &size->cluster[i],
                          err));
    }
    TRY(evaluate_shared(launch->shared, values, arch, &size->shared, err));
    TRY(evaluate_count("every", launch->every, values, 1, &size->every, err));
    TRY(evaluate_count("index", launch->index, values, 0, &size->repeat, err));
    size->in_turn = launch->in_turn;
    return check_products(size, arch, err);
}

status_t launches_size(const described_launch_t *launch, const described_values_t *values,
                       unsigned arch, launch_size_t *size, error_t *err) {
    if (evaluate_all(launch, values, arch, size, err) == STATUS_OK)
        return STATUS_OK;
    return error_within(err, "kernel \"%s\"", launch->entry);
}

status_t launches_workspace(const launches_t *launches, const described_values_t *values,
                            size_t *bytes, error_t *err) {
    int64_t value;
    status_t status = table_text_value(launches->workspace, &values->scope, 0, &value, err);
    if (status == STATUS_OK && value < 0)
        status = error_set(err, STATUS_FAILED, "\"%s\" is %lld bytes", launches->workspace,
                           (long long)value);
    *bytes = (size_t)value;
    return status == STATUS_OK ? status : error_within(err, "WORKSPACE");
}

static bool is_in_step(const launch_size_t *size, size_t step, size_t steps) {
    return size->every > 0 ? step % size->every == 0 : step + 1 == steps;
}

/* In a step: the next one in turn, the first of these with the next index, or what follows them. */
static void advance(const launch_size_t *sizes, size_t n_launches, launch_place_t *place) {
    size_t first = place->launch, next = place->launch + 1;
    place->position++;
    if (next < n_launches && sizes[next].in_turn) {
        place->launch = next;
        return;
    }
    while (sizes[first].in_turn)
        first--;
    place->index++;
    place->launch = (unsigned)place->index < sizes[first].repeat ? first : next;
    place->index = place->launch == first ? place->index : 0;
}

bool launches_next(const launch_size_t *sizes, size_t n_launches, size_t steps,
                   launch_place_t *place) {
    if (place->index < 0)
        place->index = 0;
    else
        advance(sizes, n_launches, place);
    for (; (size_t)place->step < steps; place->step++, place->launch = place->position = 0)
        for (; place->launch < n_launches; advance(sizes, n_launches, place))
            if (is_in_step(&sizes[place->launch], (size_t)place->step, steps))
                return true;
    return false;
}

/* ---- at compile time ------------------------------------------------------------------------- */

static status_t check_expressions(const described_launch_t *launch, const scope_t *scope,
                                  error_t *err) {
    const char *const texts[] = {launch->grid[0],    launch->grid[1],    launch->grid[2],
                                 launch->threads[0], launch->threads[1], launch->threads[2],
                                 launch->cluster[0], launch->cluster[1], launch->cluster[2],
                                 launch->shared,     launch->every,      launch->index};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (table_text_check(texts[i], scope, err) != STATUS_OK)
            return error_within(err, "kernel \"%s\"", launch->entry);
    return STATUS_OK;
}

/* What no size can change and no GPU can launch is wrong; what only some cases ask for is skipped there. */
static status_t check_constants(const described_launch_t *launch, error_t *err) {
    static const described_values_t NO_VALUES;
    enum { LARGEST_ARCH = 100 }; /* of those known, it has the most shared memory */
    launch_size_t size;
    bool all = true;
    for (size_t i = 0; i < 3; i++) {
        if (table_text_is_constant(launch->grid[i]))
            TRY(evaluate_axis("grid", i, launch->grid[i], &NO_VALUES,
                              i == 0 ? INT_MAX : MOST_GRID_YZ, &size.grid[i], err));
        all = all && (launch->threads[i][0] == '\0' || table_text_is_constant(launch->threads[i]));
        if (launch->threads[i][0] == '\0' || table_text_is_constant(launch->threads[i]))
            TRY(evaluate_axis("threads", i, launch->threads[i], &NO_VALUES,
                              i == 2 ? MOST_THREADS_Z : MOST_THREADS, &size.threads[i], err));
        if (table_text_is_constant(launch->cluster[i]))
            TRY(evaluate_axis("cluster", i, launch->cluster[i], &NO_VALUES, MOST_CLUSTER,
                              &size.cluster[i], err));
    }
    if (table_text_is_constant(launch->shared))
        TRY(evaluate_shared(launch->shared, &NO_VALUES, LARGEST_ARCH, &size.shared, err));
    return all ? check_threads(&size, err) : STATUS_OK;
}

static status_t check_launch(const description_t *description, const described_launch_t *launch,
                             const text_list_t *kernels, const scope_t *scope, error_t *err) {
    AUTO_FREE char *found = text_list_join(kernels, ", ");
    if (!text_list_has(kernels, launch->entry))
        return error_set(err, STATUS_FAILED, "it has no kernel \"%s\"; found: %s", launch->entry,
                         kernels->n > 0 ? found : "none");
    if (launch->every[0] != '\0' && description->steps == NULL)
        return error_set(err, STATUS_FAILED, "kernel \"%s\": every: \"%s\": only with \"training\"",
                         launch->entry, launch->every);
    TRY(check_expressions(launch, scope, err));
    return check_constants(launch, err) == STATUS_OK
               ? STATUS_OK
               : error_within(err, "kernel \"%s\"", launch->entry);
}

status_t launches_check(const description_t *description, const cubin_t *cubin, error_t *err) {
    launches_t launches;
    const char *names[DESCRIBED_VALUES];
    const scope_t scope = table_text_scope(description, names);
    AUTO(text_list_free) text_list_t kernels = {0};
    TRY(launches_read(cubin, &launches, err));
    TRY(cubin_kernels(cubin, &kernels, err));
    if (launches.items[0].overlaps && description->steps == NULL)
        return error_set(err, STATUS_FAILED,
                         "its LAUNCHES[0] overlaps: found 1, expected 0: no run may start before "
                         "the last one has ended");
    for (size_t i = 0; i < launches.n; i++)
        TRY(check_launch(description, &launches.items[i], &kernels, &scope, err));
    return table_text_check(launches.workspace, &scope, err) == STATUS_OK
               ? STATUS_OK
               : error_within(err, "WORKSPACE");
}
