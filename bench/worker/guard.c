#include "worker/guard.h"

#include "base/memory.h"
#include "io/orphans.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void guard_note(guard_t *guard, worker_link_t *worker) {
    if (guard == NULL)
        return;
    bindings_free(&guard->own);
    bindings_free(&worker->bindings);
    guard->own = bindings_read(getpid());
    worker->bindings = bindings_read(worker->pid);
}

/* ---- left behind ------------------------------------------------------------------------------ */

/* Does it belong to a worker that still runs? Then its parent may have ended before it. */
static bool has_owner(const char *tag, const void *context) {
    const guard_t *guard = context;
    for (size_t side = 0; side < GUARD_SIDES; side++)
        for (size_t i = 0; guard->sides[side] != NULL && i < guard->sides[side]->n; i++) {
            const worker_link_t *link = guard->sides[side]->items[i];
            if (link->running && link->tag != NULL && strcmp(link->tag, tag) == 0)
                return true;
        }
    return false;
}

static bool is_worker(pid_t pid, const void *context) {
    const guard_t *guard = context;
    for (size_t side = 0; side < GUARD_SIDES; side++)
        for (size_t i = 0; guard->sides[side] != NULL && i < guard->sides[side]->n; i++)
            if (guard->sides[side]->items[i]->child.pid == pid)
                return true;
    for (size_t side = 0; side < GUARD_SIDES; side++)
        if (guard->sides[side] != NULL && forks_have(&guard->sides[side]->forks, pid))
            return true;
    return false;
}

static char *end_leftovers(const guard_t *guard) {
    const orphans_owned_t owned = {.spared = guard->spared,
                                   .is_known = is_worker,
                                   .has_owner = has_owner,
                                   .variable = WORKER_TAG,
                                   .context = guard};
    char *left = orphans_end(&owned);
    char *why =
        left != NULL ? mem_format("a process that a worker had left, %s, still ran", left) : NULL;
    free(left);
    return why;
}

/* ---- changed ----------------------------------------------------------------------------------- */

/* "another program changed the cores of its worker". */
static char *changed(const char *what, const char *whose) {
    return what != NULL ? mem_format("another program changed the %s of %s", what, whose) : NULL;
}

char *guard_restore(guard_t *guard, const worker_link_t *worker) {
    if (guard == NULL)
        return NULL;
    char *own = changed(bindings_changed(&guard->own, true), "bench");
    const bool is_same = worker != NULL && worker->bindings.pid == worker->pid;
    char *its = is_same ? changed(bindings_changed(&worker->bindings, true), "its worker") : NULL;
    char *left = end_leftovers(guard);
    char *why = its != NULL ? its : own != NULL ? own : left;
    if (why != its)
        free(its);
    if (why != own)
        free(own);
    if (why != left)
        free(left);
    return why;
}

char *guard_compare(const guard_t *guard, const bindings_t *before) {
    const char *what = guard != NULL ? bindings_changed(before, false) : NULL;
    return what != NULL ? mem_format("the %s of its worker changed meanwhile", what) : NULL;
}
