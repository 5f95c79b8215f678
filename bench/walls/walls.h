/* The system's own walls around a process: namespaces, by bubblewrap (bwrap) or else by unshare(2). Behind
 * them it sees no other process, writes only to the folders that are open to it, finds hidden folders empty,
 * and of the devices has GPUs and what every process needs (docs/cheating.md). */
#ifndef BENCH_WALLS_WALLS_H
#define BENCH_WALLS_WALLS_H

#include "base/error.h"
#include "base/text.h"
#include "io/fs.h"

#include <sys/types.h>

typedef enum walls_kind { WALLS_NONE, WALLS_BUBBLEWRAP, WALLS_NAMESPACES } walls_kind_t;

typedef struct walls {
    walls_kind_t kind;
    char *detail; /* "bubblewrap 0.8.0", "namespaces", or why there are none */
} walls_t;

/* Absolute paths of folders that exist; one that is open may lie in one that is hidden. */
typedef struct wall_folders {
    text_list_t hidden, open;
} wall_folders_t;

extern const package_t BUBBLEWRAP;

/* Which walls this system has; tries them with a command that does nothing. */
walls_t walls_find(void);
void walls_free(walls_t *walls);

/* Append the command that runs another one behind the walls, up to that command. A signal N that ends it
 * becomes exit code 128 + N. */
void walls_argv(const walls_t *walls, const wall_folders_t *folders, text_list_t *argv);
/* The process that was started with this command, by the number that it has outside; `started` itself if
 * there are no walls. */
pid_t walls_inside(pid_t started);

/* Become the command, behind walls of unshare(2): returns only if they cannot be made. `command` ends with
 * NULL. */
status_t walls_enter(const wall_folders_t *folders, char *const *command, error_t *err);

/* What the kernel calls the processes of walls_enter(). */
#define WALLS_NAME "bench-wall"

#endif
