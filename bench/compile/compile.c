#include "compile/compile.h"
#include "base/memory.h"
#include "compile/native.h"

#include "base/clock.h"
#include "engine/launch.h"
#include "io/fs.h"
#include "io/json.h"
#include "workloads/common/workload.h"

#include <jansson.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* ==== the cache =============================================================================== */

/* Part of every key: increase the number when the format of entries changes, or what is checked before
 * a program is stored. */
static const char CACHE_FORMAT[] = "bench program 2";

static char *entry_path(const char *cache, const char *key, const char *extension) {
    return mem_format("%s/%.2s/%s.%s", cache, key, key, extension);
}

static void add_list(hash_t *hash, const text_list_t *list) {
    hash_add(hash, &list->n, sizeof list->n);
    for (size_t i = 0; i < list->n; i++)
        hash_add_text(hash, list->items[i]);
}

void compile_cache_key(const cache_inputs_t *inputs, char key[HASH_TEXT]) {
    hash_t *hash = hash_new();
    hash_add_text(hash, CACHE_FORMAT);
    hash_add_text(hash, inputs->source->digest);
    add_list(hash, inputs->defines);
    add_list(hash, inputs->options);
    hash_add_text(hash, inputs->arch);
    hash_add_text(hash, inputs->compiler);
    hash_finish(hash, key);
}

static void hash_bytes(const void *data, size_t bytes, char text[HASH_TEXT]) {
    hash_t *hash = hash_new();
    hash_add(hash, data, bytes);
    hash_finish(hash, text);
}

/* Does the file have the hash that its entry states? */
static bool cubin_matches(const char *path, const char *expected) {
    AUTO_FREE char *data = NULL;
    size_t bytes;
    if (fs_read(path, &data, &bytes, NULL) != STATUS_OK)
        return false;
    char hash[HASH_TEXT];
    hash_bytes(data, bytes, hash);
    return strcmp(hash, expected) == 0;
}

static bool read_entry(json_t *json, const char *key, const char *cubin, cache_entry_t *entry) {
    const char *found_key, *skip = NULL, *code_hash = NULL, *cubin_hash = NULL;
    json_int_t registers = 0, shared_bytes = 0, spill_bytes = 0;
    if (json_unpack(json, "{s:s, s?:s, s?:s, s?:s, s?:I, s?:I, s?:I, s:F}", "key", &found_key,
                    "skip", &skip, "code_hash", &code_hash, "cubin_hash", &cubin_hash, "registers",
                    &registers, "shared_bytes", &shared_bytes, "spill_bytes", &spill_bytes,
                    "compile_ns", &entry->compile_ns) != 0 ||
        strcmp(found_key, key) != 0)
        return false;
    if (skip != NULL) {
        entry->skip = mem_text(skip);
        return true;
    }
    if (code_hash == NULL || strlen(code_hash) != HASH_TEXT - 1 || cubin_hash == NULL ||
        !cubin_matches(cubin, cubin_hash))
        return false;
    memcpy(entry->code_hash, code_hash, HASH_TEXT);
    entry->usage = (ptxas_usage_t){registers, shared_bytes, spill_bytes};
    entry->cubin = mem_text(cubin);
    return true;
}

bool compile_cache_load(const char *cache, const char *key, cache_entry_t *entry) {
    *entry = (cache_entry_t){0};
    AUTO_FREE char *path = entry_path(cache, key, "json"), *cubin = entry_path(cache, key, "cubin");
    json_auto_t *json = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    return json != NULL && read_entry(json, key, cubin, entry);
}

status_t compile_cache_store(const char *cache, const char *key, const cache_inputs_t *inputs,
                             const compiled_t *output, cache_entry_t *entry, error_t *err) {
    json_auto_t *json = json_pack("{s:s, s:s, s:o, s:o, s:s, s:s, s:f}", "key", key, "source",
                                  inputs->source->name, "defines", json_texts(inputs->defines),
                                  "options", json_texts(inputs->options), "arch", inputs->arch,
                                  "compiler", inputs->compiler, "compile_ns", entry->compile_ns);
    AUTO_FREE char *folder = mem_format("%s/%.2s", cache, key),
                   *path = entry_path(cache, key, "json");
    status_t status = fs_make_folders(folder, err);
    if (entry->skip != NULL) {
        json_object_set_new(json, "skip", json_string(entry->skip));
    } else {
        char hash[HASH_TEXT];
        hash_bytes(output->cubin, output->cubin_bytes, hash);
        json_auto_t *program =
            json_pack("{s:s, s:I, s:I, s:I, s:s}", "code_hash", entry->code_hash, "registers",
                      (json_int_t)entry->usage.registers, "shared_bytes",
                      (json_int_t)entry->usage.shared_bytes, "spill_bytes",
                      (json_int_t)entry->usage.spill_bytes, "cubin_hash", hash);
        json_object_update(json, program);
        entry->cubin = entry_path(cache, key, "cubin");
        if (status == STATUS_OK)
            status = fs_write_atomic(entry->cubin, output->cubin, output->cubin_bytes, err);
    }
    if (status == STATUS_OK)
        status = json_save(json_incref(json), JSON_INDENT(2), path, err);
    return status;
}

void cache_entry_free(cache_entry_t *entry) {
    free(entry->skip);
    free(entry->cubin);
    *entry = (cache_entry_t){0};
}

/* ==== compiling =============================================================================== */

/* "sm_90", "sm_90a". Anything else could inject compiler options. */
static bool is_arch(const char *arch) {
    if (!text_starts(arch, "sm_"))
        return false;
    size_t digits = strspn(arch + 3, "0123456789");
    const char *rest = arch + 3 + digits;
    return digits >= 2 && digits <= 3 &&
           (*rest == '\0' || ((*rest == 'a' || *rest == 'f') && rest[1] == '\0'));
}

static void select_defines(const workload_t *workload, const case_t *spec, const source_t *source,
                           bool is_object, text_list_t *defines) {
    if (workload->constants == NULL)
        return;
    AUTO(text_list_free) text_list_t candidates = {0};
    workload->constants(spec, &candidates);
    for (size_t i = 0; i < candidates.n; i++) {
        const char *define = candidates.items[i];
        AUTO_FREE char *name = mem_text_n(define, strcspn(define, "="));
        if (source_mentions(source, name) || (is_object && native_needs(name)))
            text_list_add(defines, define);
    }
    text_list_sort(defines);
}

static bool lists_equal(const text_list_t *a, const text_list_t *b) {
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->items[i], b->items[i]) != 0)
            return false;
    return true;
}

/* A source that asks for sm_90's own instructions, such as wgmma, by the compiler's macro for them, gets them. */
static const char *full_arch(const source_t *source, const char *arch) {
    return strcmp(arch, "sm_90") == 0 && source_mentions(source, "__CUDA_ARCH_FEAT_SM90_ALL")
               ? "sm_90a"
               : arch;
}

static program_t *add_program(program_list_t *programs, const char *variant, const char *arch,
                              const char *path) {
    mem_grow(&programs->items, programs->n, &programs->capacity, sizeof *programs->items);
    program_t *program = &programs->items[programs->n++];
    *program = (program_t){.variant = arena_format(&programs->texts, "%s", variant),
                           .arch = arena_format(&programs->texts, "%s", arch),
                           .source = arena_format(&programs->texts, "%s", path)};
    return program;
}

status_t compile_add(const compile_options_t *options, const case_t *spec, const char *arch,
                     program_list_t *programs, size_t *index, error_t *err) {
    const workload_t *workload = workload_find(spec->workload);
    *index = (size_t)-1;
    if (workload == NULL)
        return error_set(err, STATUS_USAGE, "no workload \"%s\"", spec->workload);
    const bool in_c = workload_is_in_c(workload, spec->engine);
    if (!in_c && strcmp(spec->engine, "cuda") != 0)
        return STATUS_OK;
    if (workload_is_cuda_builtin(workload, spec->variant))
        return STATUS_OK;
    if (!in_c && !is_arch(arch))
        return error_set(err, STATUS_USAGE, "architecture \"%s\": expected one like sm_90", arch);
    if (!text_is_name(spec->variant))
        return error_set(err, STATUS_USAGE, "variant \"%s\": not a valid file name", spec->variant);

    AUTO(text_list_free) text_list_t defines = {0};
    const source_t *source;
    AUTO_FREE char *folder = workload_folder(options->root, workload),
                   *path = mem_format("%s/%s.%s", folder, spec->variant, in_c ? "c" : "cu");
    TRY(source_get(&programs->sources, options->root, path, &source, err));
    const bool is_object = in_c || native_has_run(source);
    select_defines(workload, spec, source, is_object, &defines);
    arch = in_c ? ARCH_OF_HOST : full_arch(source, arch);

    size_t i = 0;
    while (i < programs->n && !(strcmp(programs->items[i].source, path) == 0 &&
                                strcmp(programs->items[i].arch, arch) == 0 &&
                                lists_equal(&programs->items[i].defines, &defines)))
        i++;
    *index = i;
    if (i < programs->n)
        return STATUS_OK;
    program_t *program = add_program(programs, spec->variant, arch, path);
    program->workload = arena_format(&programs->texts, "%s", spec->workload);
    program->is_object = is_object;
    program->defines = defines;
    defines = (text_list_t){0};
    return STATUS_OK;
}

status_t compile_add_common(const compile_options_t *options, const char *name, const char *arch,
                            program_list_t *programs, error_t *err) {
    const source_t *source;
    AUTO_FREE char *path = mem_format("%s/kernels/common/%s.cu", options->root, name);
    TRY(is_arch(arch) ? source_get(&programs->sources, options->root, path, &source, err)
                      : error_set(err, STATUS_USAGE, "architecture \"%s\"", arch));
    add_program(programs, name, arch, path);
    return STATUS_OK;
}

static void reset_result(program_t *program) {
    text_list_free(&program->flags);
    arena_free(&program->texts);
    *program = (program_t){.workload = program->workload,
                           .variant = program->variant,
                           .arch = program->arch,
                           .source = program->source,
                           .is_object = program->is_object,
                           .defines = program->defines};
}

static void set_failed(program_t *program, char *reason) {
    program->status = PROGRAM_FAILED;
    program->reason = arena_keep(&program->texts, reason);
}

static char *why_not_compiled(const toolchain_t *tools, const char *log) {
    AUTO_FREE char *reason = compile_log_reason(log), *hint = toolchain_hint(tools, log);
    return hint != NULL ? mem_format("%s\n%s", reason, hint) : mem_text(reason);
}

/* It does not compile. Not cached: what is missing on this machine may be installed later. */
static void set_not_compiled(const toolchain_t *tools, program_t *program, const char *log) {
    char *lacks = toolchain_lacks(tools, log);
    set_failed(program, lacks != NULL ? lacks : why_not_compiled(tools, log));
    program->lacking = lacks != NULL;
    if (program->lacking)
        program->status = PROGRAM_SKIPPED;
}

static void take_entry(program_t *program, const cache_entry_t *entry) {
    program->status = entry->skip != NULL ? PROGRAM_SKIPPED : PROGRAM_OK;
    program->reason = arena_keep(&program->texts, mem_text(entry->skip));
    program->cubin = arena_keep(&program->texts, mem_text(entry->cubin));
    if (entry->skip == NULL)
        program->code_hash = arena_format(&program->texts, "%s", entry->code_hash);
    program->registers = entry->usage.registers;
    program->shared_bytes = entry->usage.shared_bytes;
    program->spill_bytes = entry->usage.spill_bytes;
    program->compile_ns = entry->compile_ns;
}

/* A kernel with LAUNCH has the workload's name, in kernels/common the file's. */
static status_t check_launch(const program_t *program, const cubin_t *cubin, error_t *err) {
    const unsigned arch = (unsigned)strtoul(program->arch + strlen("sm_"), NULL, 10);
    if (program->workload == NULL)
        return launch_check(cubin, program->variant, arch, err);
    const workload_t *workload = workload_find(program->workload);
    if (workload->check_program != NULL)
        return workload->check_program(workload, cubin, err);
    return launch_check(cubin, program->workload, arch, err);
}

/* What the compiler made: can it be run, and what identifies its code? */
static status_t look_at(const program_t *program, const compiled_t *output, cache_entry_t *entry,
                        error_t *err) {
    cubin_t cubin;
    if (program->is_object) {
        hash_bytes(output->cubin, output->cubin_bytes, entry->code_hash);
        return STATUS_OK;
    }
    TRY(cubin_open(output->cubin, output->cubin_bytes, &cubin, err));
    TRY(check_launch(program, &cubin, err));
    return cubin_code_hash(&cubin, entry->code_hash, err);
}

/* Compile one program and store it. If it does not compile, only this program is marked as failed; a cache that cannot be
 * written is no fault of the program. */
static status_t build(const toolchain_t *tools, const char *cache, const cache_inputs_t *inputs,
                      program_t *program, error_t *unwritable) {
    error_t err = ERROR_INIT;
    cache_entry_t entry = {0};
    AUTO(compiled_free) compiled_t output = {0};
    int64_t start_ns = clock_ns();
    status_t status = (program->is_object ? native_compile : toolchain_compile)(
        tools, inputs->source, inputs->arch, inputs->defines, &output, &err);
    entry.compile_ns = (double)(clock_ns() - start_ns);
    if (status == STATUS_OK && output.ok) {
        entry.usage = compile_log_usage(output.log);
        status = look_at(program, &output, &entry, &err);
        if (status != STATUS_OK)
            error_within(&err, "%s", inputs->source->name);
    } else if (status == STATUS_OK) {
        entry.skip = compile_log_skip(output.log);
    }
    const bool rejected = status == STATUS_OK && !output.ok && entry.skip == NULL;
    status_t stored = STATUS_OK;
    if (status != STATUS_OK)
        set_failed(program, mem_text(err.text));
    else if (rejected)
        set_not_compiled(tools, program, output.log);
    else
        stored = compile_cache_store(cache, program->key, inputs, &output, &entry, unwritable);
    if (status == STATUS_OK && !rejected && stored == STATUS_OK)
        take_entry(program, &entry);
    cache_entry_free(&entry);
    return stored;
}

/* Include paths are left out: they differ between machines and do not affect the code. */
static void note_flags(program_t *program, const text_list_t *options) {
    for (size_t i = 0; i < options->n; i++)
        if (!text_starts(options->items[i], "--include-path="))
            text_list_add(&program->flags, options->items[i]);
    for (size_t i = 0; i < program->defines.n; i++)
        text_list_add_format(&program->flags, "-D%s", program->defines.items[i]);
}

/* The reason of a constant that the source mentions and must not; NULL: there is none. */
static char *skip_of(const text_list_t *defines) {
    for (size_t i = 0; i < defines->n; i++) {
        const char *value = strchr(defines->items[i], '=');
        if (value != NULL && text_starts(value + 1, WORKLOAD_SKIPS))
            return mem_text(value + 1 + strlen(WORKLOAD_SKIPS));
    }
    return NULL;
}

/* Before anything is compiled. */
static void refuse(const toolchain_t *tools, const source_t *source, program_t *program) {
    const bool in_c = tools->kind == COMPILER_CC;
    char *why = skip_of(&program->defines);
    if (why == NULL && !in_c)
        why = toolchain_refuses(tools, program->arch);
    program->status = PROGRAM_SKIPPED;
    if (why == NULL && program->is_object) {
        why = native_refusal(source);
        program->status = PROGRAM_FAILED;
    }
    program->reason = arena_keep(&program->texts, why);
}

static status_t compile_one(const toolchain_t *tools, const char *cache, const source_t *source,
                            program_t *program, error_t *unwritable) {
    status_t status = STATUS_OK;
    reset_result(program);
    refuse(tools, source, program);
    if (program->reason != NULL)
        return STATUS_OK;
    AUTO(text_list_free) text_list_t options = {0};
    (program->is_object ? native_options : toolchain_options)(tools, source, &options);
    note_flags(program, &options);
    AUTO_FREE char *compiler = toolchain_identity(tools, source);
    const cache_inputs_t inputs = {.source = source,
                                   .defines = &program->defines,
                                   .options = &options,
                                   .arch = program->arch,
                                   .compiler = compiler};
    cache_entry_t entry;
    char key[HASH_TEXT];
    compile_cache_key(&inputs, key);
    program->key = arena_format(&program->texts, "%s", key);
    if (compile_cache_load(cache, program->key, &entry)) {
        take_entry(program, &entry);
        program->cached = true;
    } else {
        status = build(tools, cache, &inputs, program, unwritable);
    }
    cache_entry_free(&entry);
    return status;
}

char *compile_cache_folder(const compile_options_t *options) {
    const char *chosen = options->cache != NULL ? options->cache : fs_variable("BENCH_CACHE");
    return chosen != NULL ? mem_text(chosen) : mem_format("%s/build/cache", options->root);
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Those that the programs need. */
typedef struct toolchains {
    toolchain_t of[COMPILERS];
    bool is_open[COMPILERS];
    char *missing[COMPILERS]; /* why it is not */
} toolchains_t;

static compiler_t compiler_of(const compile_options_t *options, const program_t *program) {
    return !program->is_object                        ? options->compiler
           : strcmp(program->arch, ARCH_OF_HOST) == 0 ? COMPILER_CC
                                                      : COMPILER_NVCC_OBJECT;
}

static bool is_left_out(const compile_options_t *options, const program_t *program) {
    return options->without_cuda && compiler_of(options, program) != COMPILER_CC;
}

/* Without the compiler for cubins nothing is compiled; what needs another that is missing is skipped. */
static status_t open_toolchains(const compile_options_t *options, const program_list_t *programs,
                                toolchains_t *tools, error_t *err) {
    for (size_t i = 0; i < programs->n; i++) {
        const compiler_t kind = compiler_of(options, &programs->items[i]);
        error_t why = ERROR_INIT;
        if (tools->is_open[kind] || tools->missing[kind] != NULL ||
            is_left_out(options, &programs->items[i]))
            continue;
        tools->is_open[kind] = (programs->items[i].is_object ? native_open : toolchain_open)(
                                   kind, options->root, &tools->of[kind], &why) == STATUS_OK;
        if (!tools->is_open[kind])
            tools->missing[kind] = mem_text(why.text);
        if (!tools->is_open[kind] && !programs->items[i].is_object)
            return error_set(err, why.status, "%s", why.text);
    }
    return STATUS_OK;
}

static void close_toolchains(toolchains_t *tools) {
    for (int i = 0; i < COMPILERS; i++) {
        toolchain_close(&tools->of[i]);
        free(tools->missing[i]);
    }
}

static status_t compile_with(const compile_options_t *options, const toolchains_t *tools,
                             const char *cache, const source_t *source, program_t *program,
                             error_t *unwritable) {
    const compiler_t kind = compiler_of(options, program);
    if (is_left_out(options, program))
        return STATUS_OK;
    if (tools->is_open[kind])
        return compile_one(&tools->of[kind], cache, source, program, unwritable);
    reset_result(program);
    set_failed(program, mem_text(tools->missing[kind]));
    program->status = PROGRAM_SKIPPED;
    program->lacking = true;
    return STATUS_OK;
}

status_t compile_all(const compile_options_t *options, program_list_t *programs, error_t *err) {
    if (programs->n == 0)
        return STATUS_OK;
    toolchains_t tools = {0};
    AUTO_FREE char *cache = compile_cache_folder(options);
    AUTO_FREE const source_t **sources = mem_zeroed(programs->n, sizeof *sources);
    status_t status = open_toolchains(options, programs, &tools, err);
    if (status == STATUS_OK)
        status = fs_make_folders(cache, err);
    for (size_t i = 0; i < programs->n && status == STATUS_OK; i++)
        status = source_get(&programs->sources, options->root, programs->items[i].source,
                            &sources[i], err);
    size_t n = status == STATUS_OK ? programs->n : 0, done = 0;
    /* Cores available to this process: a job on a shared node often has fewer than the machine. */
    size_t jobs = options->jobs != 0 ? options->jobs : (size_t)omp_get_num_procs();
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)(jobs < n ? jobs : n)) if (n > 0)
    for (size_t i = 0; i < n; i++) {
        error_t unwritable = ERROR_INIT;
        const status_t stored =
            compile_with(options, &tools, cache, sources[i], &programs->items[i], &unwritable);
#pragma omp critical(compile_progress)
        {
            if (stored != STATUS_OK)
                status = error_set(err, stored, "%s (BENCH_CACHE names another folder)",
                                   unwritable.text);
            done++;
            if (options->progress != NULL)
                options->progress(options->context, done, n);
        }
    }
    close_toolchains(&tools);
    return status;
}

status_t compile_case(const compile_options_t *options, const case_t *spec, const char *arch,
                      program_list_t *programs, const program_t **program, error_t *err) {
    size_t index;
    TRY(compile_add(options, spec, arch, programs, &index, err));
    TRY(compile_all(options, programs, err));
    *program = &programs->items[index];
    return STATUS_OK;
}

void program_list_free(program_list_t *programs) {
    for (size_t i = 0; i < programs->n; i++) {
        program_t *program = &programs->items[i];
        reset_result(program);
        text_list_free(&program->defines);
    }
    free(programs->items);
    arena_free(&programs->texts);
    source_set_free(&programs->sources);
    *programs = (program_list_t){0};
}

status_t compile_describe(const compile_options_t *options, char **text, error_t *err) {
    toolchain_t tools;
    *text = NULL;
    TRY(toolchain_open(options->compiler, options->root, &tools, err));
    *text = mem_format("%s (%s)", tools.label, tools.path);
    toolchain_close(&tools);
    return STATUS_OK;
}

static bool is_newer(const toolchain_t *tools, const char *arch) {
    enum { PREFIX = sizeof "sm_" - 1 };
    const char *newest = tools->archs.items[tools->archs.n - 1];
    return atoi(arch + PREFIX) > atoi(newest + PREFIX);
}

static status_t unknown_arch(const toolchain_t *tools, const char *arch, error_t *err) {
    AUTO_FREE char *where = mem_format(" of %s", tools->label);
    const vocabulary_t known = {"architecture", where, (const char *const *)tools->archs.items,
                                tools->archs.n};
    AUTO_FREE char *complaint = vocabulary_complaint(&known, arch);
    return error_set(err, STATUS_USAGE, "%s", complaint);
}

status_t compile_check_archs(const compile_options_t *options, const text_list_t *archs,
                             error_t *err) {
    toolchain_t tools;
    TRY(toolchain_open(options->compiler, options->root, &tools, err));
    status_t status = STATUS_OK;
    AUTO(text_list_free) text_list_t refused = {0};
    for (size_t i = 0; i < archs->n; i++) {
        AUTO_FREE char *why = toolchain_refuses(&tools, archs->items[i]);
        if (why != NULL && strcmp(archs->items[i], "native") != 0)
            text_list_add(&refused, archs->items[i]);
    }
    for (size_t i = 0; i < refused.n && status == STATUS_OK; i++)
        if (refused.n == archs->n || !is_newer(&tools, refused.items[i]))
            status = unknown_arch(&tools, refused.items[i], err);
    toolchain_close(&tools);
    return status;
}

status_t compile_find_headers(const char *root, char **folder, char **install, error_t *err) {
    toolchain_t tools;
    *folder = *install = NULL;
    TRY(toolchain_open(COMPILER_NVRTC, root, &tools, err));
    *folder = mem_text(tools.include);
    *install = toolchain_headers_install(&tools, "nvidia-cuda-runtime");
    toolchain_close(&tools);
    return STATUS_OK;
}
