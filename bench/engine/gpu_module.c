#include "engine/gpu_module.h"

#include "base/clock.h"
#include "cuda/cubin.h"
#include "io/fs.h"

#include <stdlib.h>
#include <string.h>

#define CUDA(call) TRY(cuda_check(&gpu->api, gpu->api.call, #call, err))

static status_t read_tables(const char *image, size_t size, gpu_program_t *program, error_t *err) {
    cubin_t elf;
    TRY(cubin_open(image, size, &elf, err));
    stage_t specs[LAUNCH_MOST_STAGES];
    TRY(launch_read_stages(&elf, &program->plan, specs, &program->n_stages, err));
    for (size_t i = 0; i < program->n_stages; i++)
        program->stages[i].spec = specs[i];
    return STATUS_OK;
}

static status_t load_stage(gpu_t *gpu, cu_module_t module, gpu_stage_t *stage, error_t *err) {
    const stage_t *spec = &stage->spec;
    CUDA(module_function(&stage->function, module, spec->entry));
    if (gpu->arch >= 90) /* allow more than 8 blocks in a cluster */
        CUDA(function_set(stage->function, CU_FUNCTION_NON_PORTABLE_CLUSTER, 1));
    return gpu_prepare_function(gpu, stage->function, spec->threads, spec->dynamic_shared,
                                &stage->occupancy_frac, err);
}

static status_t load_stages(gpu_t *gpu, const char *image, gpu_program_t *program, error_t *err) {
    CUDA(module_load(&program->module, image));
    for (size_t i = 0; i < program->n_stages; i++)
        if (load_stage(gpu, program->module, &program->stages[i], err) != STATUS_OK)
            return error_within(err, "kernel \"%s\"", program->stages[i].spec.entry);
    return STATUS_OK;
}

status_t gpu_program_load(gpu_t *gpu, const char *cubin, gpu_program_t *program, error_t *err) {
    *program = (gpu_program_t){0};
    int64_t start_ns = clock_ns();
    char *image;
    size_t size;
    TRY(fs_read(cubin, &image, &size, err));
    status_t status = read_tables(image, size, program, err);
    if (status == STATUS_OK)
        status = load_stages(gpu, image, program, err);
    free(image);
    if (status != STATUS_OK) {
        gpu_program_unload(gpu, program);
        return error_within(err, "%s", cubin);
    }
    program->load_ns = (double)(clock_ns() - start_ns);
    return STATUS_OK;
}

void gpu_program_unload(gpu_t *gpu, gpu_program_t *program) {
    if (program->module != NULL)
        gpu->api.module_unload(program->module);
    *program = (gpu_program_t){0};
}

static status_t launch_with_attributes(gpu_t *gpu, const gpu_stage_t *stage, unsigned blocks,
                                       cu_stream_t stream, void **arguments, error_t *err) {
    const stage_t *spec = &stage->spec;
    if (gpu->api.launch_ex == NULL)
        return error_set(err, STATUS_FAILED,
                         "the driver is older than CUDA 11.8: it has no cuLaunchKernelEx");
    cu_launch_attribute_t attributes[2];
    unsigned n = 0;
    if (spec->flags & STAGE_COOPERATIVE)
        attributes[n++] = (cu_launch_attribute_t){.id = CU_LAUNCH_COOPERATIVE, .value.flag = 1};
    if (spec->flags & STAGE_OVERLAPPED)
        attributes[n++] = (cu_launch_attribute_t){.id = CU_LAUNCH_OVERLAPPED, .value.flag = 1};
    const cu_launch_config_t config = {.grid = {blocks, 1, 1},
                                       .block = {spec->threads, 1, 1},
                                       .dynamic_shared = spec->dynamic_shared,
                                       .stream = stream,
                                       .attributes = attributes,
                                       .n_attributes = n};
    CUDA(launch_ex(&config, stage->function, arguments, NULL));
    return STATUS_OK;
}

static status_t launch_blocks(gpu_t *gpu, const gpu_stage_t *stage, unsigned blocks,
                              cu_stream_t stream, void **arguments, error_t *err) {
    const stage_t *spec = &stage->spec;
    if (spec->flags & (STAGE_COOPERATIVE | STAGE_OVERLAPPED))
        return launch_with_attributes(gpu, stage, blocks, stream, arguments, err);
    CUDA(launch(stage->function, blocks, 1, 1, spec->threads, 1, 1, spec->dynamic_shared, stream,
                arguments, NULL));
    return STATUS_OK;
}

static status_t stage_grid(const gpu_t *gpu, const gpu_stage_t *stage, size_t items,
                           unsigned *blocks, error_t *err) {
    const stage_t *spec = &stage->spec;
    size_t bound = (size_t)spec->blocks_per_sm * (size_t)gpu->multiprocessors;
    if (spec->max_blocks > 0 && (bound == 0 || bound > spec->max_blocks))
        bound = spec->max_blocks;
    *blocks = 1;
    return spec->items_per_block > 0 && items > 0
               ? gpu_grid(items, spec->items_per_block, bound, blocks, err)
               : STATUS_OK;
}

/* Blocks of a stage's grid that can be resident. A cluster lies within a part of the device, so some
 * multiprocessors may have to stay idle. */
static status_t resident_blocks(gpu_t *gpu, const gpu_stage_t *stage, unsigned grid,
                                unsigned *blocks, unsigned *cluster, error_t *err) {
    const stage_t *spec = &stage->spec;
    int n, in_cluster = 0;
    if (gpu->arch >= 90)
        CUDA(function_get(&in_cluster, CU_FUNCTION_CLUSTER, stage->function));
    *cluster = in_cluster > 1 && gpu->api.max_clusters != NULL ? (unsigned)in_cluster : 1;
    if (*cluster > 1) {
        const cu_launch_config_t config = {.grid = {grid, 1, 1},
                                           .block = {spec->threads, 1, 1},
                                           .dynamic_shared = spec->dynamic_shared};
        CUDA(max_clusters(&n, stage->function, &config));
        *blocks = (unsigned)n * *cluster;
        return STATUS_OK;
    }
    CUDA(occupancy(&n, stage->function, (int)spec->threads, spec->dynamic_shared));
    *blocks = (unsigned)n * (unsigned)gpu->multiprocessors;
    return STATUS_OK;
}

status_t gpu_stage_resident(gpu_t *gpu, const gpu_stage_t *stage, unsigned blocks, error_t *err) {
    unsigned resident, cluster;
    TRY(resident_blocks(gpu, stage, blocks, &resident, &cluster, err));
    if (blocks <= resident)
        return STATUS_OK;
    return error_set(
        err, STATUS_FAILED,
        "kernel \"%s\": %u blocks in clusters of %u wait for each other; %u fit on this "
        "GPU at the same time",
        stage->spec.entry, blocks, cluster, resident);
}

status_t gpu_program_resident(gpu_t *gpu, const gpu_program_t *program, error_t *err) {
    for (size_t i = 0; i < program->n_stages; i++) {
        const gpu_stage_t *stage = &program->stages[i];
        unsigned blocks;
        if (!(stage->spec.flags & STAGE_COOPERATIVE))
            continue;
        TRY(stage_grid(gpu, stage, INT32_MAX, &blocks, err));
        TRY(gpu_stage_resident(gpu, stage, blocks, err));
    }
    return STATUS_OK;
}

status_t gpu_stage_launch(gpu_t *gpu, const gpu_stage_t *stage, size_t items, cu_stream_t stream,
                          void **arguments, error_t *err) {
    const stage_t *spec = &stage->spec;
    unsigned blocks;
    TRY(stage_grid(gpu, stage, items, &blocks, err));
    if (launch_blocks(gpu, stage, blocks, stream, arguments, err) == STATUS_OK)
        return STATUS_OK;
    return error_within(err, "kernel \"%s\", %u blocks of %u threads, %u bytes of shared memory",
                        spec->entry, blocks, spec->threads, spec->dynamic_shared);
}
