/* For short loops over arrays: the compiler makes the function several times, and the program picks
 * the one with the widest vectors that the machine has as it starts. The sanitizers do not get
 * along with that. */
#ifndef BENCH_BASE_TARGET_CLONES_H
#define BENCH_BASE_TARGET_CLONES_H

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__)
#define WIDEST_VECTORS __attribute__((target_clones("avx512f", "arch=haswell", "default")))
#else
#define WIDEST_VECTORS
#endif

#endif
