#include "io/package.h"

#include "base/memory.h"
#include "io/find.h"

#include <stdbool.h>
#include <stdlib.h>

char *package_install(const package_t *package) {
    const struct {
        const char *manager, *command, *name;
    } choices[] = {
        {"apt-get", "apt-get install", package->apt},
        {"dnf", "dnf install", package->dnf},
        {"pacman", "pacman -S", package->pacman},
    };
    size_t chosen = 0;
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        char *path = fs_find_program(choices[i].manager);
        bool found = path != NULL;
        free(path);
        if (!found)
            continue;
        chosen = i;
        break;
    }
    return mem_format("%s %s", choices[chosen].command, choices[chosen].name);
}
