/* A computation on a GPU from arrays in host memory to arrays in host memory. A sample is
 * allocate → copy in → launch → copy out → release; the techniques alloc, copy, weights, launch and
 * wait determine how each step is done. The workload provides the arrays and the launch. */
#ifndef BENCH_WORKLOADS_COMMON_GPU_SAMPLE_H
#define BENCH_WORKLOADS_COMMON_GPU_SAMPLE_H

#include "allocators/allocator.h"
#include "engine/gpu.h"
#include "engine/session.h"
#include "engine/trace.h"
#include "workloads/common/session_parts.h"

#include <stdbool.h>

typedef enum gpu_alloc { ALLOC_MALLOC, ALLOC_ASYNC, ALLOC_CACHING, ALLOC_ARENA } gpu_alloc_t;
typedef enum gpu_copy { COPY_PAGEABLE, COPY_PINNED, COPY_MAPPED, COPY_OVERLAPPED } gpu_copy_t;

typedef enum array_role {
    ARRAY_INPUT,
    ARRAY_OUTPUT,
    ARRAY_IN_PLACE, /* an input that a run replaces by an output */
    ARRAY_WEIGHT,   /* an input that copy=mapped does not map, and weights=resident copies once */
    ARRAY_RESIDENT, /* an input that is copied when the case is opened, and after a refill */
    ARRAY_BY_VALUE, /* an input in the kernel's parameters: launches read `from`, captured ones its values then */
    ARRAY_WORKSPACE, /* on the device only */
    ARRAY_TEMPORARY /* likewise, but launch() takes it itself in samples that allocate: then `current` is 0 */
} array_role_t;

typedef struct gpu_array {
    array_role_t role;
    const char *name;            /* for messages; NULL: a run may change it */
    size_t bytes, element_bytes; /* 0: unknown */
    void *data;                  /* of an input: as the workload made it; it keeps it */
    random_kind_t random;        /* what is in it before a run writes there */
    size_t shift;                /* bytes from the start of its device memory; 0 except in a test */
    bool is_cut;                 /* copy=overlapped copies it in parts */
    /* Filled in by gpu_sample_prepare(): */
    void *from, *to;   /* host memory, copied from or to (in place: both); NULL: neither */
    const void *nans;  /* wait=poll: the tile of NaNs that `to` was filled with */
    size_t n_complete; /* … elements that were found to differ from them */
    void *last;        /* what the last fresh sample that is kept left */
    void *before;      /* mapped and by value: what was in `from` before the run; or NULL */
    void *middle; /* … and a call in the middle of a graph, on the inputs as opened; or NULL */
    uint64_t from_seed;   /* of the refill that `from` has, unless that is `data` */
    cu_pointer_t fixed;   /* allocated once: for alloc=arena and batches of launches */
    cu_pointer_t current; /* of this sample */
} gpu_array_t;

typedef struct gpu_sample gpu_sample_t;

/* What copy=overlapped needs; see gpu_overlap_submit(). */
typedef struct gpu_overlap {
    cu_stream_t in, out;    /* copies; kernels are in gpu->stream */
    cu_event_t done;        /* of the latest step, for the stream that waits for it */
    size_t rows, unit_rows; /* of the arrays that are cut; of whose multiples parts are */
    /* Launch for `count` rows from number `first`, without waiting. */
    status_t (*launch)(gpu_sample_t *s, size_t first, size_t count, error_t *err);
} gpu_overlap_t;

/* See gpu_changing_begin(). */
typedef struct gpu_changing {
    cu_pointer_t copy; /* of all arrays that change, and of the middle; 0: no graphs yet */
    cu_graph_exec_t changed, same, checked;
    unsigned launches; /* of each graph */
} gpu_changing_t;

enum { GPU_PARTS_MOST = 32, GPU_PART_NAME = 72 };

/* Launches of a call by kernel. */
typedef struct gpu_parts {
    size_t n;
    char phases[GPU_PARTS_MOST][GPU_PART_NAME];
    unsigned first;       /* phase in the recorder */
    device_span_t *spans; /* of each, while launch() has to time its launches alone; else NULL */
} gpu_parts_t;

/* What the device is to write, or to compare with what is there. */
typedef struct gpu_fill {
    size_t array;        /* an input: of its size, dtype and values … */
    cu_pointer_t values; /* … here; 0: nothing, it is only asked whether that is possible */
    uint64_t seed;       /* of the refill */
    cu_pointer_t
        differs; /* 0: write; else set the unsigned word there to 1 where a bit is another */
} gpu_fill_t;

/* The first member of a session's state. Start with zeros. */
struct gpu_sample {
    gpu_t *gpu;
    gpu_array_t *arrays; /* the workload's; inputs first */
    size_t n_arrays;
    /* Launch on arrays[].current, without waiting. */
    status_t (*launch)(gpu_sample_t *s, error_t *err);
    size_t kernels;        /* that one launch() launches; 0: unknown */
    gpu_overlap_t overlap; /* copy=overlapped */
    /* Give `values` of input number `array` those of a refill's seed, in place; what no refill changes stays. */
    void (*refill)(gpu_sample_t *s, size_t array, void *values, uint64_t seed);
    /* The same for every array's `data`, which other cases may share. */
    void (*refill_data)(gpu_sample_t *s, uint64_t seed);
    /* Have the device fill or compare, without waiting. `*possible` is false for an array that only refill() can fill.
     * NULL: so are all. */
    status_t (*refill_there)(gpu_sample_t *s, const gpu_fill_t *fill, bool *possible, error_t *err);
    /* With refill_there, of each array: the seed of the values that `data` has now, for all its users. */
    uint64_t *data_seeds;
    /* Set by gpu_sample_add_probes(): capture its graphs again, where arrays by value have changed. */
    status_t (*recapture)(gpu_sample_t *s, error_t *err);
    gpu_alloc_t alloc;
    allocator_t *allocator; /* alloc=caching */
    /* Of the driver's allocator: in all, but with alloc=caching; in the first run. */
    uint64_t driver_calls, first_driver_calls;
    gpu_copy_t copy;
    bool upload;       /* copy the weights in each sample */
    bool poll;         /* wait=poll */
    bool graph;        /* launch=graph, or a rung asks for it */
    bool fill_outputs; /* with random values, in the next sample */
    size_t steps; /* of a training that is compared by a step, which has phases of its own … */
    bool takes_in_sample; /* … and allocates in each sample, not once for a graph */
    bool is_foreign; /* launch() calls code of the user's, which may not be possible to capture … */
    bool waits;      /* … and then has to wait for the device */
    uint64_t fixed_seed;   /* of the refill that `fixed` has */
    cu_pointer_t differs;  /* a word of each array: see gpu_fill_t; 0: not needed yet */
    cu_graph_exec_t whole; /* launch=graph: the whole sample */
    cu_graph_exec_t batch; /* many launches, for kernel_graph */
    unsigned batch_launches;
    gpu_changing_t changing;
    gpu_parts_t parts;
    unsigned phase[18];
    bool has_phase[18];
};

/* Read the techniques of a case. */
void gpu_sample_techniques(gpu_sample_t *s, const case_t *spec);
/* The technique `launch`; `as_graph`: a rung asks for a graph. */
void gpu_sample_launch(gpu_sample_t *s, const case_t *spec, bool as_graph);
/* Can this machine run this combination of techniques? `need_bytes`: of all arrays, on the device. */
status_t gpu_sample_applies(const gpu_sample_t *s, double need_bytes, error_t *err);
/* Allocate host and device memory, copy the inputs, and run a sample. */
status_t gpu_sample_prepare(session_t *session, error_t *err);
/* Also after a failure, when the driver may refuse every call: ignores its errors. */
void gpu_sample_free(gpu_sample_t *s);
/* Declare the phases and probes of this case in the session (gpu_probes.c). */
status_t gpu_sample_add_probes(session_t *session, error_t *err);

/* How many launches a batch has. `single_ns` is one between two events, with some 4 µs of overhead; of `kernels` each. */
unsigned gpu_batch_launches(double single_ns, size_t kernels);

/* Of session_ops_t: */
status_t gpu_sample_repeat(session_t *session, const char *phase, int64_t runs, double *calls,
                           error_t *err);
status_t gpu_sample_refill(session_t *session, uint64_t seed, error_t *err);
status_t gpu_sample_fill(session_t *session, error_t *err);
/* Of it the device's part: memory that a run writes before it reads it. */
status_t gpu_sample_fill_device(gpu_sample_t *s, bool fixed, error_t *err);
/* What the device has drawn reaches the host's memory only when a sample copies from there: to be called before that. */
status_t gpu_sample_host_inputs(gpu_sample_t *s, error_t *err);
/* Fill the outputs and run, so that each output's `to` has what was computed. */
status_t gpu_sample_output(session_t *session, error_t *err);

/* The steps of a training's sample between allocation and copies out, without waiting (gpu_probes.c). */
status_t gpu_training_upload(gpu_sample_t *s, error_t *err);
status_t gpu_training_run(gpu_sample_t *s, error_t *err);

/* Of a training that takes temporaries: trace one more call, and add the split of its time to the results. Without CUPTI
 * there is none (gpu_split.c). */
status_t gpu_sample_split(session_t *session, error_t *err);

/* A kernel or copy ran; none did, but the host was inside the driver's allocator; or neither. */
typedef struct gpu_split {
    int64_t kernels_ns, driver_ns, epoch_ns; /* the rest of the last */
} gpu_split_t;

/* Of the events between `from_ns` and `to_ns`; kernels may overlap. */
gpu_split_t gpu_split(const trace_t *trace, int64_t from_ns, int64_t to_ns);

/* Samples whose copies run while the kernel computes (gpu_overlap.c). */
enum { OVERLAP_CHUNKS_MOST = 16 };

status_t gpu_overlap_prepare(gpu_sample_t *s, error_t *err);
/* Also after a failure: ignores the driver's errors. */
void gpu_overlap_release(gpu_sample_t *s);
/* Where each part of the rows ends; returns their number. */
unsigned gpu_overlap_divide(const gpu_sample_t *s, size_t ends[OVERLAP_CHUNKS_MOST]);
/* Copies and launches of all parts, without waiting. */
status_t gpu_overlap_submit(gpu_sample_t *s, error_t *err);

/* Steps of a sample (gpu_memory.c). */
status_t gpu_sample_allocate(gpu_sample_t *s, bool fixed, error_t *err);
status_t gpu_sample_release(gpu_sample_t *s, error_t *err); /* what this sample allocated */
/* Memory from the case's allocator, which is not that of an arena, for work on gpu->stream; `bytes` at least 1. */
status_t gpu_sample_take(gpu_sample_t *s, size_t bytes, cu_pointer_t *at, error_t *err);
status_t gpu_sample_give_back(gpu_sample_t *s, cu_pointer_t at, error_t *err);
void gpu_sample_use_fixed(gpu_sample_t *s);
/* `fixed`: resident inputs, too. */
status_t gpu_sample_copy_weights(gpu_sample_t *s, bool fixed, error_t *err);
status_t gpu_sample_copy_inputs(gpu_sample_t *s, bool fixed, error_t *err);
status_t gpu_sample_copy_in(gpu_sample_t *s, error_t *err);
status_t gpu_sample_copy_out(gpu_sample_t *s, error_t *err);
/* Copies and kernels of a sample, without waiting for them. */
status_t gpu_sample_submit(gpu_sample_t *s, error_t *err);
/* A complete sample, synchronised only at its end. */
status_t gpu_sample_run(gpu_sample_t *s, error_t *err);
/* Keep its outputs; to be called once its time is taken. */
void gpu_sample_keep(gpu_sample_t *s);
/* Likewise those of launches on fixed arrays. */
status_t gpu_sample_keep_fixed(gpu_sample_t *s, error_t *err);
/* Set session->changed to the name of an input that is not what it was before; of mapped inputs, at
 * the last gpu_sample_fill(). */
status_t gpu_sample_find_changed(session_t *session, error_t *err);

bool array_is_input(const gpu_array_t *array);   /* one that each sample copies */
bool array_is_output(const gpu_array_t *array);  /* but not the workspace */
bool array_is_scratch(const gpu_array_t *array); /* the workspace, or a temporary */
/* Not in host memory that the kernel reads and writes over the bus? */
bool array_on_device(const gpu_sample_t *s, const gpu_array_t *array);
/* Does a refill change an input of this role, that is in the device's memory and no output? */
bool array_varies(const gpu_array_t *array);
/* Is its device memory that of a sample, not of the case? */
bool array_each_sample(const gpu_sample_t *s, const gpu_array_t *array);
bool gpu_sample_has(const gpu_sample_t *s, array_role_t role);
/* Does a sample allocate, copy in, copy out anything? Empty phases are not reported. */
bool gpu_sample_allocates(const gpu_sample_t *s);
bool gpu_sample_copies_in(const gpu_sample_t *s);
bool gpu_sample_copies_out(const gpu_sample_t *s);

/* A kernel that is launched again and again on the same inputs may recognise them, or its output, and
 * return at once. So a fresh sample of kernel_graph also launches it where what it reads and writes
 * has changed since its last launch, and where it has not; both after equal copies (docs/cheating.md,
 * rule 3). What the first takes longer is what the kernel gains. A third time, which is not timed,
 * the inputs of one launch in the middle are those that the case was opened with, so that its outputs can
 * be checked, too. */

/* Keep a copy of the arrays as they are, on gpu->stream. `*possible` is false where there is no memory
 * for it; then there is nothing to launch. */
status_t gpu_changing_begin(gpu_sample_t *s, bool *possible, error_t *err);
/* Launch both ways, the first between events 4 and 2, the second up to event 3, and restore the inputs,
 * without waiting. */
status_t gpu_changing_launch(gpu_sample_t *s, error_t *err);
/* Capture its graphs anew when they are needed: what they hold has changed. */
void gpu_changing_forget(gpu_sample_t *s);
void gpu_changing_free(gpu_sample_t *s);
/* How much longer a launch took the first way, once all is done; 0 if it did not. */
status_t gpu_changing_time(gpu_sample_t *s, double *more_ns, error_t *err);
/* Once that is done, and outputs are random again: launch the third time, restore the inputs, and copy the outputs of the middle to each
 * array's `middle`. */
status_t gpu_changing_check(gpu_sample_t *s, error_t *err);

/* The memory of one case on a GPU, freed in one call. */

/* Start with zeros. */
typedef struct gpu_memory {
    cu_pointer_t *device;
    void **pinned;
    size_t n_device, device_capacity, n_pinned, pinned_capacity;
} gpu_memory_t;

status_t gpu_memory_device(gpu_memory_t *memory, gpu_t *gpu, size_t bytes, cu_pointer_t *at,
                           error_t *err);
/* Pinned host memory, for asynchronous copies; `at` points at a pointer to any type. */
status_t gpu_memory_pinned(gpu_memory_t *memory, gpu_t *gpu, size_t bytes, void *at, error_t *err);
/* Also after a failure, when the driver may refuse every call: ignores its errors. */
void gpu_memory_free(gpu_memory_t *memory, gpu_t *gpu);
/* The same for a captured graph, or NULL. */
void gpu_graph_free(gpu_t *gpu, cu_graph_exec_t *graph);

/* Fill device memory by repeating a tile, on gpu->stream. */
status_t gpu_random_fill(gpu_t *gpu, cu_pointer_t at, size_t bytes, random_kind_t kind,
                         error_t *err);

/* A synchronous copy to the host. */
status_t gpu_copy_out(gpu_t *gpu, void *to, cu_pointer_t from, size_t bytes, error_t *err);

#endif
