/* The command that installs a package of the system, for messages. */
#ifndef BENCH_IO_PACKAGE_H
#define BENCH_IO_PACKAGE_H

typedef struct package {
    const char *apt, *dnf, *pacman; /* its name there */
} package_t;

/* "apt-get install g++", for the package manager that is on $PATH; apt-get's where none is. The
 * caller frees it. reference_pytorch/needs.py has the same. */
char *package_install(const package_t *package);

#endif
