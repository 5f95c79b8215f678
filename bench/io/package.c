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
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        char *path = fs_find_program(choices[i].manager);
        bool found = path != NULL;
        free(path);
        if (found)
            return mem_format("%s %s", choices[i].command, choices[i].name);
    }
    return mem_format("%s %s", choices[0].command, choices[0].name);
}
