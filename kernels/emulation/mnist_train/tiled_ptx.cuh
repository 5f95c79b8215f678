// kernels/mnist_train/tiled_ptx.cuh on the host. A bulk store takes effect when it is waited for: what is read too
// early is not there yet.
#pragma once

struct bulk_store_t {
    void *to;
    unsigned from, bytes;
    std::vector<char> read;  // once it was waited for
};
static thread_local std::vector<bulk_store_t> bulk_stores;  // of the one thread of a block that stores

inline void read_bulk_store(bulk_store_t &store) {
    const char *from = from_shared(store.from);
    if (store.read.empty())
        store.read.assign(from, from + store.bytes);
}
inline void store_bulk(void *to, unsigned from, unsigned bytes) {
    if (from % 16 != 0 || (uintptr_t)to % 16 != 0 || bytes % 16 != 0)
        abort();
    bulk_stores.push_back({to, from, bytes});
}
inline void wait_for_all_but_one_read() {
    for (size_t i = 0; i + 1 < bulk_stores.size(); i++)
        read_bulk_store(bulk_stores[i]);
}
inline void wait_for_stores() {
    for (bulk_store_t &store : bulk_stores) {
        read_bulk_store(store);
        memcpy(store.to, store.read.data(), store.bytes);
    }
    bulk_stores.clear();
}
inline void proxy_fence() {}

static thread_local unsigned threads_arrived;

inline void barrier_of(unsigned threads) {
    const unsigned until = (threads_arrived++ / threads + 1) * threads;
    while (threads_arrived < until)
        let_others_run();
}
inline void count_up(unsigned *counter) {
    __atomic_fetch_add(counter, 1, __ATOMIC_RELEASE);
}
inline void wait_for_count(const unsigned *counter, unsigned at_least) {
    while (__atomic_load_n(counter, __ATOMIC_ACQUIRE) < at_least)
        let_others_run();
}
inline void add_relaxed(unsigned long long *to, unsigned long long value) {
    __atomic_fetch_add(to, value, __ATOMIC_RELAXED);
}
