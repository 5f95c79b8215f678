/* For short loops over arrays: the compiler emits several versions, and the program picks the one
 * with the widest vectors at start-up. The sanitizers do not support this. */
#ifndef BENCH_BASE_TARGET_CLONES_H
#define BENCH_BASE_TARGET_CLONES_H

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__)
#define WIDEST_VECTORS __attribute__((target_clones("avx512f", "arch=haswell", "default")))
#else
#define WIDEST_VECTORS
#endif

#endif
