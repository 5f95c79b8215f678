#include "emulate/program.h"

#include "base/memory.h"
#include "compile/native.h"
#include "compile/toolchain.h"
#include "io/fs.h"
#include "io/subprocess.h"
#include "workloads/described/launches.h"
#include "workloads/described/temporaries.h"
#include "workloads/described/tensor_maps.h"

#include <inttypes.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

/* Of the GPU that is emulated: few multiprocessors, so that a block of a persistent kernel has several turns. */
enum { MULTIPROCESSORS = 3 };

static const double RUN_TIMEOUT_S =
    60; /* a run takes a second; this ends a barrier that not all threads reach */

/* ---- what the program says --------------------------------------------------------------------- */

/* The last line that it wrote, or how it ended. */
static char *why_failed(const subprocess_result_t *result) {
    if (result->timed_out)
        return mem_format("it does not end (%.0f s): does every thread reach every barrier?",
                          RUN_TIMEOUT_S);
    AUTO(text_list_free) text_list_t lines = text_split(result->err, '\n');
    const char *last = "";
    for (size_t i = 0; i < lines.n; i++)
        if (lines.items[i][0] != '\0')
            last = lines.items[i];
    AUTO_FREE char *said = text_utf8(last);
    return said[0] != '\0' ? mem_text(said)
           : result->signal != 0
               ? mem_format("signal %d (%s)", result->signal, strsignal(result->signal))
               : mem_format("exit code %d", result->exit_code);
}

/* The caller frees `*reason`; NULL: it ended well. */
static status_t run_program(const char *const *argv, const char *input, char **reason,
                            error_t *err) {
    AUTO(subprocess_result_free) subprocess_result_t result = {0};
    TRY(subprocess_run(argv, input, RUN_TIMEOUT_S, &result, err));
    const bool well = result.exit_code == 0 && !result.timed_out;
    *reason = well ? NULL : why_failed(&result);
    return STATUS_OK;
}

/* ==== running a rung ========================================================================== */

typedef struct tables {
    launches_t launches;
    tensor_maps_t maps;
    temporaries_t temporaries;
} tables_t;

/* From the files that the program has written. */
static status_t take_tables(const char *const paths[3], tables_t *tables, char **reason,
                            error_t *err) {
    AUTO_FREE char *launches = NULL, *maps = NULL, *temporaries = NULL;
    size_t bytes, maps_bytes, temporaries_bytes;
    error_t wrong = ERROR_INIT;
    TRY(fs_read(paths[0], &launches, &bytes, err));
    TRY(fs_read(paths[1], &maps, &maps_bytes, err));
    TRY(fs_read(paths[2], &temporaries, &temporaries_bytes, err));
    if (launches_take(launches + WORKSPACE_TEXT, bytes - WORKSPACE_TEXT, launches,
                      &tables->launches, &wrong) != STATUS_OK ||
        tensor_maps_take(maps, maps_bytes, &tables->maps, &wrong) != STATUS_OK ||
        temporaries_take(temporaries, temporaries_bytes, &tables->temporaries, &wrong) != STATUS_OK)
        *reason = mem_text(wrong.text);
    tables->launches.temporaries_after_wait = true; /* one launch after the other */
    return STATUS_OK;
}

static status_t read_tables(const char *program, const char *folder, tables_t *tables,
                            char **reason, error_t *err) {
    AUTO_FREE char *launches = fs_join(folder, "launches"), *maps = fs_join(folder, "maps"),
                   *temporaries = fs_join(folder, "temporaries");
    const char *const argv[] = {program, "tables", launches, maps, temporaries, NULL};
    TRY(run_program(argv, NULL, reason, err));
    if (*reason == NULL)
        TRY(take_tables(argv + 2, tables, reason, err));
    return STATUS_OK;
}

/* ---- what it is told (kernels/emulation/rung.h) ------------------------------------------------- */

static char *file_of(const char *folder, const described_shape_t *shape) {
    return mem_format("%s/%s.bin", folder, shape->name);
}

static status_t add_arrays(const described_data_t *data, const char *folder, size_t workspace_bytes,
                           text_list_t *plan, error_t *err) {
    size_t order[DESCRIBED_SHAPES];
    described_order(data->shapes, data->n_arrays, order);
    for (size_t o = 0; o < data->n_arrays; o++) {
        const described_shape_t *shape = &data->shapes[order[o]];
        const described_array_t *array = shape->array;
        const size_t bytes = shape->bytes;
        AUTO_FREE char *path = file_of(folder, shape);
        if (array->repeat != NULL && described_starts(shape))
            text_list_add_format(plan, "list %zu",
                                 described_length(shape, data->n_arrays - order[o]));
        text_list_add_format(plan, "array %s %zu %s %s",
                             !array->is_input   ? "output"
                             : array->is_output ? "in_place"
                             : array->is_weight ? "weight"
                                                : "input",
                             bytes, shape->name, path);
        if (array->is_input)
            TRY(fs_write_atomic(path, data->values[order[o]], bytes, err));
    }
    text_list_add_format(plan, "array workspace %zu workspace -", workspace_bytes);
    return STATUS_OK;
}

static void add_values(const description_t *d, const case_t *spec, text_list_t *plan) {
    for (size_t i = 0; i < d->n_scalars; i++)
        text_list_add_format(plan, "value %" PRIu64,
                             (uint64_t)description_scalar_value(d, i, spec).i64);
    for (size_t i = 0; i < d->params.n; i++)
        if (!d->constant[i])
            text_list_add_format(plan, "value %" PRIu64,
                                 (uint64_t)case_param_int(spec, d->params.items[i], 0));
    if (d->steps != NULL)
        text_list_add(plan, "step");
}

static void add_temporaries(const temporaries_t *temporaries, const temporary_size_t *sizes,
                            text_list_t *plan) {
    for (size_t i = 0, n = 0; i < temporaries->n; i++) {
        const described_temporary_t *temporary = &temporaries->items[i];
        if (temporary->count > 0)
            text_list_add_format(plan, "list %u", temporary->count);
        for (uint32_t k = 0; k == 0 || k < temporary->count; k++)
            text_list_add_format(plan, "temporary %zu %s", sizes[n++].bytes, temporary->name);
    }
}

/* Changed before a launch, as on a GPU. */
static void add_changes(const tables_t *tables, const temporary_size_t *sizes, size_t position,
                        bool held[MOST_HELD], text_list_t *plan) {
    for (size_t i = 0; i < temporaries_count(&tables->temporaries); i++) {
        const bool now = temporary_is_held(&sizes[i], position);
        if (now != held[i])
            text_list_add_format(plan, "%s %zu", now ? "take" : "give_back", i);
        held[i] = now;
    }
}

static void add_launch(const described_launch_t *launch, const launch_size_t *size,
                       const launch_place_t *place, text_list_t *plan) {
    const unsigned *grid = size->grid, *threads = size->threads, *cluster = size->cluster;
    text_list_add_format(plan, "launch %s %u %u %u %u %u %u %u %u %u %u %u %d %d", launch->entry,
                         grid[0], grid[1], grid[2], threads[0], threads[1], threads[2],
                         size->shared, cluster[0], cluster[1], cluster[2], launch->cooperative,
                         place->step, size->repeat > 0 ? place->index : -1);
}

static void add_map(const described_data_t *data, const tensor_map_size_t *size,
                    text_list_t *plan) {
    size_t order[DESCRIBED_SHAPES], argument = 0;
    AUTO(text_list_free) text_list_t words = {0};
    described_order(data->shapes, data->n_arrays, order);
    while (order[argument] != size->array)
        argument++;
    text_list_add_format(&words, "map %zu %zu %u %u", argument, element_bytes(size->element),
                         size->swizzle, size->rank);
    for (unsigned i = 0; i < size->rank; i++)
        text_list_add_format(&words, "%" PRIu64 " %u %u %" PRIu64, size->sizes[i], size->box[i],
                             size->steps[i], i + 1 < size->rank ? size->strides[i] : 0);
    text_list_take(plan, text_list_join(&words, " "));
}

/* The sizes of a case's launches and maps. */
typedef struct sizes {
    launch_size_t launches[MOST_LAUNCHES];
    tensor_map_size_t maps[MOST_TENSOR_MAPS];
    temporary_size_t temporaries[MOST_HELD];
    size_t workspace_bytes;
} sizes_t;

/* STATUS_FAILED: a GPU cannot launch it at these sizes, and why. */
static status_t evaluate(const tables_t *tables, const description_t *d, const case_t *spec,
                         sizes_t *sizes, error_t *why) {
    described_values_t values;
    size_t all_bytes;
    description_values(d, spec, MULTIPROCESSORS, &values);
    for (size_t i = 0; i < tables->launches.n; i++)
        TRY(launches_size(&tables->launches.items[i], &values, EMULATED_ARCH, &sizes->launches[i],
                          why));
    TRY(tensor_maps_size(&tables->maps, d, spec, MULTIPROCESSORS, sizes->maps, why));
    TRY(temporaries_size(&tables->temporaries, &tables->launches, sizes->launches, &values,
                         sizes->temporaries, &all_bytes, why));
    return launches_workspace(&tables->launches, &values, &sizes->workspace_bytes, why);
}

/* ---- a run ------------------------------------------------------------------------------------- */

static status_t take_outputs(const described_data_t *data, const char *folder, error_t *err) {
    for (size_t i = 0; i < data->n_arrays; i++) {
        if (!data->shapes[i].array->is_output)
            continue;
        AUTO_FREE char *path = file_of(folder, &data->shapes[i]), *values = NULL;
        size_t bytes;
        TRY(fs_read(path, &values, &bytes, err));
        TRY(described_data_write(data, i, values, folder, err));
    }
    return STATUS_OK;
}

static void add_calls(const tables_t *tables, const sizes_t *sizes, size_t steps,
                      text_list_t *plan) {
    launch_place_t place = LAUNCH_FIRST;
    bool held[MOST_HELD] = {0};
    while (launches_next(sizes->launches, tables->launches.n, steps, &place)) {
        add_changes(tables, sizes->temporaries, place.position, held, plan);
        add_launch(&tables->launches.items[place.launch], &sizes->launches[place.launch], &place,
                   plan);
    }
}

status_t emulation_run(const char *program, const case_t *spec, const described_data_t *data,
                       const char *folder, emulated_t *how, char **reason, error_t *err) {
    tables_t tables;
    sizes_t sizes;
    AUTO(text_list_free) text_list_t plan = {0};
    error_t why = ERROR_INIT;
    *how = EMULATED_FAILED;
    TRY(read_tables(program, folder, &tables, reason, err));
    if (*reason != NULL)
        return STATUS_OK;
    if (evaluate(&tables, data->description, spec, &sizes, &why) != STATUS_OK) {
        *how = EMULATED_SKIPPED;
        *reason = mem_text(why.text);
        return STATUS_OK;
    }
    status_t status = add_arrays(data, folder, sizes.workspace_bytes, &plan, err);
    add_values(data->description, spec, &plan);
    add_temporaries(&tables.temporaries, sizes.temporaries, &plan);
    for (size_t i = 0; i < tables.maps.n; i++)
        add_map(data, &sizes.maps[i], &plan);
    add_calls(&tables, &sizes, description_steps_of(data->description, spec), &plan);
    AUTO_FREE char *input = text_list_join(&plan, "\n");
    const char *const argv[] = {program, "run", NULL};
    if (status == STATUS_OK)
        status = run_program(argv, input, reason, err);
    if (status == STATUS_OK && *reason == NULL)
        status = take_outputs(data, folder, err);
    *how = *reason == NULL ? EMULATED_RUN : EMULATED_FAILED;
    return status;
}

/* ==== compiling it ============================================================================ */

static const double COMPILE_TIMEOUT_S = 120; /* a rung takes two seconds */

status_t host_tools_open(const char *root, host_tools_t *tools, error_t *err) {
    static const package_t package = {"g++", "gcc-c++", "gcc"};
    const char *const names[] = {fs_variable("CXX"), "g++", "c++", "clang++"};
    *tools = (host_tools_t){.root = root};
    for (size_t i = 0; i < sizeof names / sizeof *names && tools->compiler == NULL; i++)
        if (names[i] != NULL)
            tools->compiler = fs_find_program(names[i]);
    if (tools->compiler != NULL)
        return STATUS_OK;
    AUTO_FREE char *install = package_install(&package);
    return error_set(err, STATUS_USAGE, "a C++ compiler is needed to emulate rungs: %s", install);
}

/* ---- the files --------------------------------------------------------------------------------- */

/* Files of the project lie below `folder` as they do below its root, others below outside/. */
static char *place_of(const char *folder, const char *name) {
    return mem_format("%s/%s%s", folder, name[0] == '/' ? "outside" : "", name);
}

static status_t write_text(const char *path, const char *text, error_t *err) {
    AUTO_FREE char *copy = mem_text(path);
    status_t status = fs_make_folders(dirname(copy), err);
    return status == STATUS_OK ? fs_write_atomic(path, text, strlen(text), err) : status;
}

/* Dynamic shared memory has one name for the linker: `extern __shared__ float4 rows[];` gets it. The caller frees it. */
static char *with_dynamic_shared(const char *text) {
    static const char LABEL[] = " asm(\"dynamic_shared\")";
    AUTO(text_list_free) text_list_t parts = {0};
    const char *from = text, *at = text;
    while ((at = strstr(at, "extern")) != NULL) {
        const char *end = at + strcspn(at, ";{}"), *shared = strstr(at, "__shared__");
        at = end;
        if (*end != ';' || shared == NULL || shared > end)
            continue;
        text_list_take(&parts, mem_text_n(from, (size_t)(end - from)));
        text_list_add(&parts, LABEL);
        from = end;
    }
    text_list_add(&parts, from);
    return text_list_join(&parts, "");
}

/* What stands for a header in the emulation, or NULL: a header of kernels/ with PTX, by the same name there. */
static char *replacement_of(const char *root, const char *name) {
    const char *kernels = strstr(name, "kernels/");
    if (kernels == NULL)
        return NULL;
    char *path = mem_format("%s/kernels/emulation/%s", root, kernels + strlen("kernels/"));
    if (!fs_exists(path)) {
        free(path);
        path = NULL;
    }
    return path;
}

/* PTX that no header of the emulation stands for. */
static bool has_ptx(const char *text) {
    AUTO(includes_free) includes_t includes = {0};
    AUTO_FREE char *code = source_strip(text, &includes);
    const source_t stripped = {.code = code};
    return source_mentions(&stripped, "asm") || source_mentions(&stripped, "__asm__");
}

/* Write a file of the source. One that only names another has the text `#include "…"` (source.h). */
static status_t write_file(const char *folder, const char *name, const char *text,
                           host_program_t *program, error_t *err) {
    static const char NAMES[] = "#include \"/";
    AUTO_FREE char *path = place_of(folder, name), *own = NULL;
    if (text_starts(text, NAMES))
        own = mem_format("#include \"%s/outside/%s", folder, text + strlen(NAMES));
    else
        own = with_dynamic_shared(text);
    if (program->reason == NULL && has_ptx(text))
        program->reason = mem_format("%s has inline PTX (asm)", name);
    return write_text(path, own, err);
}

static status_t write_header(const char *root, const source_t *source, size_t i, const char *folder,
                             host_program_t *program, error_t *err) {
    const char *name = source->header_names.items[i];
    if (name[0] != '/' && source_leaves_folder(name))
        return STATUS_OK; /* another spelling of a file that lies beside its includer */
    char *replacement = replacement_of(root, name), *text = NULL;
    size_t bytes;
    status_t status = STATUS_OK;
    if (replacement == NULL) {
        status = write_file(folder, name, source->header_texts.items[i], program, err);
    } else if ((status = fs_read(replacement, &text, &bytes, err)) == STATUS_OK) {
        AUTO_FREE char *path = place_of(folder, name);
        status = write_text(path, text, err);
        free(text);
    }
    free(replacement);
    return status;
}

/* The rung between the two ends of the emulation. */
static status_t write_program(const char *root, const source_t *source, const char *folder,
                              host_program_t *program, error_t *err) {
    if (native_has_run(source))
        program->reason = mem_text("host code of its own is not emulated");
    TRY(write_file(folder, source->name, source->text, program, err));
    for (size_t i = 0; i < source->header_names.n; i++)
        TRY(write_header(root, source, i, folder, program, err));
    AUTO_FREE char *rung = place_of(folder, source->name), *path = fs_join(folder, "program.cc");
    AUTO_FREE char *text =
        mem_format("#include \"host_cuda.h\"\n#include \"%s\"\n#include \"rung.h\"\n", rung);
    return write_text(path, text, err);
}

/* ---- the compiler ------------------------------------------------------------------------------ */

/* Files are named as the user knows them. The caller frees it. */
static char *with_own_names(const char *log, const char *folder) {
    AUTO_FREE char *outside = mem_format("%s/outside", folder), *inside = mem_format("%s/", folder);
    const char *const prefixes[] = {outside, inside};
    char *text = mem_text(log);
    for (size_t i = 0; i < 2; i++)
        for (char *at = text; (at = strstr(at, prefixes[i])) != NULL;)
            memmove(at, at + strlen(prefixes[i]), strlen(at + strlen(prefixes[i])) + 1);
    return text;
}

/* A call or a type that the emulation may lack; by the words of GCC and Clang. */
static bool lacks_a_name(const char *reason) {
    static const char *const OF_GCC_AND_CLANG[] = {
        "not declared",        "undeclared",           "has no member",    "no member named",
        "undefined reference", "does not name a type", "unknown type name"};
    for (size_t i = 0; i < sizeof OF_GCC_AND_CLANG / sizeof *OF_GCC_AND_CLANG; i++)
        if (strstr(reason, OF_GCC_AND_CLANG[i]) != NULL)
            return true;
    return false;
}

/* The first error, in one line. */
static void set_reason(host_program_t *program, const char *log, const char *folder) {
    AUTO_FREE char *own = with_own_names(log, folder), *header = compile_log_missing_header(own);
    program->reason = compile_log_skip(own);
    program->skips = program->reason != NULL;
    if (header != NULL) {
        program->reason = mem_format("<%s> is not emulated", header);
    } else if (!program->skips) {
        AUTO_FREE char *reason = compile_log_reason(own);
        program->reason = mem_text_n(reason, strcspn(reason, "\n"));
        program->lacks_name = lacks_a_name(program->reason);
        program->broken = !program->lacks_name;
    }
}

/* What decides whether a compiled header fits comes first. */
static void list_options(const host_tools_t *tools, const char *language, text_list_t *argv) {
    /* Its messages are read. Fibers jump between stacks, which _FORTIFY_SOURCE, the default of some, takes for an error. */
    text_list_add_words(argv, "env", "LC_ALL=C", tools->compiler, "-std=c++17", "-O1", "-w",
                        "-U_FORTIFY_SOURCE", "-fno-strict-aliasing", "-pthread", "-x", language,
                        NULL);
}

static void list_inputs(const host_tools_t *tools, const text_list_t *defines, const char *folder,
                        const char *output, text_list_t *argv) {
    for (size_t i = 0; i < defines->n; i++)
        text_list_add_format(argv, "-D%s", defines->items[i]);
    if (tools->headers != NULL)
        text_list_add_format(argv, "-I%s", tools->headers);
    text_list_add_format(argv, "-I%s", folder);
    text_list_add_format(argv, "-I%s/kernels/emulation", tools->root);
    text_list_add_format(argv, "-I%s/kernels/emulation/cuda", tools->root);
    text_list_add_format(argv, "%s/program.cc", folder);
    /* Kernels are found by name. */
    text_list_add_words(argv, "-o", output, "-rdynamic", "-ldl", NULL);
}

status_t host_tools_prepare(host_tools_t *tools, const char *headers, error_t *err) {
    AUTO(subprocess_result_free) subprocess_result_t result = {0};
    AUTO(text_list_free) text_list_t argv = {0};
    TRY(fs_make_folders(headers, err));
    /* The compiled header does not fit a program whose constants have names that the header uses: then it reads this. */
    AUTO_FREE char *beside = fs_join(headers, "host_cuda.h"),
                   *text =
                       mem_format("#include \"%s/kernels/emulation/host_cuda.h\"\n", tools->root);
    TRY(fs_write_atomic(beside, text, strlen(text), err));
    list_options(tools, "c++-header", &argv);
    text_list_add_format(&argv, "%s/kernels/emulation/host_cuda.h", tools->root);
    text_list_add(&argv, "-o");
    text_list_add_format(&argv, "%s/host_cuda.h.gch", headers);
    TRY(subprocess_run(text_list_argv(&argv), NULL, COMPILE_TIMEOUT_S, &result, err));
    if (result.exit_code == 0) /* otherwise programs compile it, and say what is wrong */
        tools->headers = headers;
    return STATUS_OK;
}

void host_tools_close(host_tools_t *tools) {
    free(tools->compiler);
    *tools = (host_tools_t){0};
}

status_t host_program_build(const host_tools_t *tools, const source_t *source,
                            const text_list_t *defines, const char *folder, host_program_t *program,
                            error_t *err) {
    *program = (host_program_t){0};
    TRY(write_program(tools->root, source, folder, program, err));
    if (program->reason != NULL)
        return STATUS_OK;
    AUTO_FREE char *output = fs_join(folder, "program");
    AUTO(text_list_free) text_list_t argv = {0};
    AUTO(subprocess_result_free) subprocess_result_t result = {0};
    list_options(tools, "c++", &argv);
    list_inputs(tools, defines, folder, output, &argv);
    TRY(subprocess_run(text_list_argv(&argv), NULL, COMPILE_TIMEOUT_S, &result, err));
    if (result.timed_out)
        program->reason = mem_format("%s takes over %.0f s", tools->compiler, COMPILE_TIMEOUT_S);
    else if (result.exit_code == 0)
        program->path = mem_text(output);
    else
        set_reason(program, result.err, folder);
    return STATUS_OK;
}

void host_program_free(host_program_t *program) {
    free(program->path);
    free(program->reason);
    *program = (host_program_t){0};
}
