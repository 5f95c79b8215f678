/* Processes that a child of ours started and left: a worker's server that began a session of its
 * own, which the end of the worker's process group does not reach. */
#ifndef BENCH_IO_ORPHANS_H
#define BENCH_IO_ORPHANS_H

#include "base/text.h"

/* From now on they become our children, not init's (PR_SET_CHILD_SUBREAPER). Returns the children
 * that we have already, from before an exec: they are not ours to end. */
text_list_t orphans_adopt(void);

/* Kill all other children that run another program than ours, and theirs in turn; frees the list.
 * Only when no child is needed any more. */
void orphans_kill(text_list_t *spared);

#endif
