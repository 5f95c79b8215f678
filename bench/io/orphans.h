/* Processes that a child of ours started and left: a worker's server that began a session of its
 * own, which the end of the worker's process group does not reach. */
#ifndef BENCH_IO_ORPHANS_H
#define BENCH_IO_ORPHANS_H

#include "base/text.h"

#include <stdbool.h>
#include <sys/types.h>

/* From now on they become our children, not init's (PR_SET_CHILD_SUBREAPER). Returns the children
 * that we have already, from before an exec: they are not ours to end. */
text_list_t orphans_adopt(void);

/* Which of our children have a right to be there. */
typedef struct orphans_owned {
    const text_list_t *spared;                        /* of orphans_adopt() */
    bool (*is_known)(pid_t pid, const void *context); /* we started it */
    const char *variable;                             /* in its environment: who did */
    bool (*has_owner)(const char *value, const void *context);
    const void *context;
} orphans_owned_t;

/* Kill the children that have none, as far as they run another program than ours. Returns the first's name
 * and number, which the caller frees; NULL: there were none. */
char *orphans_end(const orphans_owned_t *owned);

/* Kill all other children that run another program than ours, and theirs in turn; frees the list.
 * Only when no child is needed any more. */
void orphans_kill(text_list_t *spared);

#endif
