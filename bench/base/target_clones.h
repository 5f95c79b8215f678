/* For short loops over arrays: the compiler emits several versions, and the program picks the one
 * with the widest vectors at start-up. The sanitizers do not support this. A version for
 * "arch=haswell" would be picked on Haswell alone: names of processors are compared, not features. */
#ifndef BENCH_BASE_TARGET_CLONES_H
#define BENCH_BASE_TARGET_CLONES_H

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__)
#if __GNUC__ >= 12
#define WIDEST_VECTORS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else /* cannot dispatch these */
#define WIDEST_VECTORS __attribute__((target_clones("fma", "default")))
#endif
#else
#define WIDEST_VECTORS
#endif

#endif
