/* Processes that a child of ours started and left: a worker's server that began a session of its
 * own, which the end of the worker's process group does not reach. */
#ifndef BENCH_IO_ORPHANS_H
#define BENCH_IO_ORPHANS_H

/* From now on they become our children, not init's (PR_SET_CHILD_SUBREAPER). */
void orphans_adopt(void);

/* Kill all children that run another program than ours, and theirs in turn. Only when no child is
 * needed any more. */
void orphans_kill(void);

#endif
