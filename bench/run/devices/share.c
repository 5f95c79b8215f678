#include "run/devices/share.h"

#include "base/memory.h"
#include "io/fs.h"

#include <stdlib.h>
#include <string.h>

void core_places(const cores_t *cores, core_place_t places[MOST_CORES]) {
    for (size_t i = 0; i < cores->n; i++) {
        char *path = mem_format("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
                                cores->allowed[i]);
        char *text = NULL;
        size_t size;
        error_t ignored = ERROR_INIT;
        places[i] = (core_place_t){cores->allowed[i], cores->allowed[i]};
        if (fs_read(path, &text, &size, &ignored) == STATUS_OK)
            places[i].physical = atoi(text);
        free(text);
        free(path);
    }
}

static int by_place(const void *a, const void *b) {
    const core_place_t *x = a, *y = b;
    return x->physical != y->physical ? (x->physical > y->physical) - (x->physical < y->physical)
                                      : (x->core > y->core) - (x->core < y->core);
}

static int by_number(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}

static bool is_near(const core_share_t *share, int core) {
    enum { WORD = 8 * sizeof *share->near };
    return (share->near[(size_t)core / WORD] >> (size_t)core % WORD & 1) != 0;
}

static bool is_like(const core_share_t *a, const core_share_t *b) {
    return memcmp(a->near, b->near, sizeof a->near) == 0;
}

/* Cores near the device that none has yet. */
static size_t find_free(const core_place_t *places, size_t n_places, const core_share_t *share,
                        const bool taken[MOST_CORES], core_place_t *found) {
    size_t n = 0;
    for (size_t i = 0; i < n_places; i++)
        if (is_near(share, places[i].core) && !taken[places[i].core])
            found[n++] = places[i];
    return n;
}

/* Divide them among the devices that are near the same cores. A physical core goes to the device that
 * has its first thread. */
static void divide(const core_place_t *found, size_t n_found, const core_share_t *like,
                   core_share_t *shares, size_t n_shares, bool taken[MOST_CORES]) {
    size_t n_alike = 0, number = 0, at = 0;
    for (size_t i = 0; i < n_shares; i++)
        n_alike += is_like(like, &shares[i]);
    for (size_t i = 0; i < n_shares; i++) {
        if (!is_like(like, &shares[i]))
            continue;
        const size_t end = ++number * n_found / n_alike;
        while (at < end ||
               (at > 0 && at < n_found && found[at].physical == found[at - 1].physical)) {
            taken[found[at].core] = true;
            shares[i].cores[shares[i].n++] = found[at++].core;
        }
    }
}

/* Cases on the CPU use all cores that they get, so every device gets as many. */
static status_t make_equal(core_share_t *shares, size_t n_shares, size_t n_places, error_t *err) {
    size_t fewest = MOST_CORES;
    for (size_t i = 0; i < n_shares; i++)
        fewest = shares[i].n < fewest ? shares[i].n : fewest;
    for (size_t i = 0; i < n_shares; i++) {
        if (shares[i].n < SHARE_FEWEST)
            return error_set(
                err, STATUS_USAGE,
                "--devices: device %d would have %zu of %zu cores, expected at least %d "
                "for each device: %zu cores would do, %d near each; measure on fewer "
                "devices at once",
                shares[i].device, shares[i].n, n_places, SHARE_FEWEST, n_shares * SHARE_FEWEST,
                SHARE_FEWEST);
        shares[i].n = fewest;
        qsort(shares[i].cores, fewest, sizeof *shares[i].cores, by_number);
    }
    return STATUS_OK;
}

status_t core_shares_make(core_place_t *places, size_t n_places, core_share_t *shares,
                          size_t n_shares, error_t *err) {
    bool taken[MOST_CORES] = {false};
    core_place_t found[MOST_CORES], best[MOST_CORES];
    qsort(places, n_places, sizeof *places, by_place);
    for (size_t i = 0; i < n_shares; i++)
        shares[i].n = 0;
    for (;;) { /* first those with the least choice */
        const core_share_t *chosen = NULL;
        size_t n_best = 0;
        for (size_t i = 0; i < n_shares; i++) {
            const size_t n = find_free(places, n_places, &shares[i], taken, found);
            if (shares[i].n > 0 || n == 0 || (chosen != NULL && n >= n_best))
                continue;
            chosen = &shares[i];
            n_best = n;
            memcpy(best, found, n * sizeof *best);
        }
        if (chosen == NULL)
            return make_equal(shares, n_shares, n_places, err);
        const core_share_t like = *chosen;
        divide(best, n_best, &like, shares, n_shares, taken);
    }
}
