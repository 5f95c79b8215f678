/* The command that installs a system package, for messages. */
#ifndef BENCH_IO_PACKAGE_H
#define BENCH_IO_PACKAGE_H

typedef struct package {
    const char *apt, *dnf, *pacman; /* its name in each */
} package_t;

/* "apt-get install g++", for the package manager on $PATH, or apt-get if there is none. The caller
 * frees it. reference_common/needs.py does the same. */
char *package_install(const package_t *package);

#endif
