/* An operator's input as fill_array() makes it, and as refills change it, on stdout. Each line on stdin is one array, and its bytes follow those of the line before:
 *     ELEMENT KIND LOW HIGH TIMES OF OF_KIND OF_LOW OF_HIGH SEED INPUT N [REFILL_SEED]...     KIND: as a number
 * With the project's folder as argument, kernels/common/refill.cu fills it on the GPU. */
#include "base/memory.h"
#include "compile/compile.h"
#include "engine/gpu.h"
#include "workloads/described/fill.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct input {
    element_t element;
    fill_t fill;
    uint64_t key;
    uint32_t number;
    size_t n;
} input_t;

/* ---- on the device --------------------------------------------------------------------------- */

static gpu_t gpu;
static gpu_kernel_t kernel;

static status_t open_device(const char *root, error_t *err) {
    program_list_t programs = {0};
    environment_t facts = {0};
    const compile_options_t options = {.root = root};
    char arch[16];
    TRY(gpu_open(0, &gpu, &facts, err));
    snprintf(arch, sizeof arch, "sm_%d", gpu.arch);
    TRY(compile_add_common(&options, "refill", arch, &programs, err));
    TRY(compile_all(&options, &programs, err));
    if (programs.items[0].status != PROGRAM_OK)
        return error_set(err, STATUS_FAILED, "%s", programs.items[0].reason);
    TRY(gpu_kernel_load(&gpu, programs.items[0].cubin, "refill", &kernel, err));
    program_list_free(&programs);
    environment_free(&facts);
    return STATUS_OK;
}

/* `differs` 0: fill; else compare. */
static status_t launch(const input_t *input, cu_pointer_t at, cu_pointer_t differs, error_t *err) {
    uint32_t element = input->element;
    void *arguments[] = {&at,
                         (void *)&input->n,
                         (void *)&input->key,
                         (void *)&input->number,
                         &element,
                         (void *)&input->fill,
                         &differs};
    return gpu_kernel_launch(&gpu, &kernel, input->n, arguments, err);
}

/* Then the device compares: all is as it should be, and then one byte is not. */
static status_t fill_on_device(void *values, const input_t *input, error_t *err) {
    cu_pointer_t at, differs;
    const size_t bytes = input->n * element_bytes(input->element);
    TRY(gpu_alloc(&gpu, bytes, &at, err));
    TRY(gpu_alloc(&gpu, sizeof(unsigned), &differs, err));
    TRY(launch(input, at, 0, err));
    TRY(gpu_sync(&gpu, err));
    TRY(cuda_check(&gpu.api, gpu.api.copy_out(values, at, bytes), "copy_out", err));
    for (unsigned expected = 0, found; expected < 2; expected++) {
        unsigned char last = ((unsigned char *)values)[bytes - 1] ^ (unsigned char)expected;
        TRY(cuda_check(&gpu.api, gpu.api.fill_async(differs, 0, sizeof found, gpu.stream),
                       "fill_async", err));
        TRY(cuda_check(&gpu.api, gpu.api.fill_async(at + bytes - 1, last, 1, gpu.stream),
                       "fill_async", err));
        TRY(launch(input, at, differs, err));
        TRY(gpu_sync(&gpu, err));
        TRY(cuda_check(&gpu.api, gpu.api.copy_out(&found, differs, sizeof found), "copy_out", err));
        if (found != expected)
            return error_set(err, STATUS_FAILED, "the comparison found %u, expected %u", found,
                             expected);
    }
    gpu.api.release(differs);
    gpu.api.release(at);
    return STATUS_OK;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void write_values(void *values, const input_t *input) {
    error_t err = ERROR_INIT;
    if (kernel.module != NULL && fill_on_device(values, input, &err) != STATUS_OK) {
        fprintf(stderr, "operator_fill: %s\n", err.text);
        exit(1);
    }
    fwrite(values, element_bytes(input->element), input->n, stdout);
}

static int answer(char *line) {
    char name[8];
    unsigned kind, of_kind;
    uint64_t seed, after;
    int used;
    input_t input = {0};
    if (sscanf(line, "%7s %u %lf %lf %lf %" SCNu32 " %u %lf %lf %" SCNu64 " %" SCNu32 " %zu%n",
               name, &kind, &input.fill.low, &input.fill.high, &input.fill.times, &input.fill.of,
               &of_kind, &input.fill.of_low, &input.fill.of_high, &seed, &input.number, &input.n,
               &used) != 12 ||
        !element_find(name, &input.element) || kind > FILL_CONSTANT) {
        fprintf(stderr, "operator_fill: not understood: %s", line);
        return 2;
    }
    input.fill.kind = (fill_kind_t)kind;
    input.fill.of_kind = (fill_kind_t)of_kind;
    input.key = seed;
    void *values = mem_zeroed(input.n, element_bytes(input.element));
    fill_array(values, input.n, input.element, &input.fill, seed, input.number);
    for (char *at = line + used; sscanf(at, "%" SCNu64 "%n", &after, &used) == 1; at += used) {
        input.key = fill_key(seed, after);
        fill_again(values, input.n, input.element, &input.fill, input.key, input.number);
    }
    write_values(values, &input);
    free(values);
    return 0;
}

int main(int argc, char **argv) {
    char line[512];
    int result = 0;
    error_t err = ERROR_INIT;
    if (argc > 1 && open_device(argv[1], &err) != STATUS_OK) {
        fprintf(stderr, "operator_fill: %s\n", err.text);
        return 1;
    }
    while (result == 0 && fgets(line, sizeof line, stdin) != NULL)
        result = answer(line);
    return result;
}
