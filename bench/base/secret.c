#include "base/secret.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

uint64_t secret_seed(void) {
    uint64_t seed;
    do {
        if (getentropy(&seed, sizeof seed) != 0) {
            perror("bench: the system gives no random numbers");
            exit(EXIT_FAILURE);
        }
        seed >>= 11;
    } while (seed == 0);
    return seed;
}
