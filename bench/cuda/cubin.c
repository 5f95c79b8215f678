#include "cuda/cubin.h"

#include "base/hash.h"
#include "base/memory.h"
#include "cuda/dynlib.h"
#include "io/fs.h"

#include <dlfcn.h>
#include <elf.h>
#include <libgen.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ==== NVRTC =================================================================================== */

/* From nvrtc.h, which need not be installed. The numbers are part of the library's ABI. */
typedef int nvrtc_result_t;
typedef struct nvrtc_program *nvrtc_program_t;
enum { NVRTC_OK = 0, NVRTC_COMPILATION_FAILED = 6 };

struct nvrtc_functions {
    nvrtc_result_t (*version)(int *major, int *minor);
    nvrtc_result_t (*n_archs)(int *n);
    nvrtc_result_t (*archs)(int *archs);
    nvrtc_result_t (*create)(nvrtc_program_t *program, const char *text, const char *name,
                             int n_headers, const char *const *header_texts,
                             const char *const *header_names);
    nvrtc_result_t (*destroy)(nvrtc_program_t *program);
    nvrtc_result_t (*compile)(nvrtc_program_t program, int n_options, const char *const *options);
    nvrtc_result_t (*log_size)(nvrtc_program_t program, size_t *bytes);
    nvrtc_result_t (*log)(nvrtc_program_t program, char *text);
    nvrtc_result_t (*cubin_size)(nvrtc_program_t program, size_t *bytes);
    nvrtc_result_t (*cubin)(nvrtc_program_t program, char *bytes);
    const char *(*error_text)(nvrtc_result_t result);
};

#define FUNCTION(symbol, member)                                                                   \
    { "nvrtc" symbol, offsetof(struct nvrtc_functions, member), false }

static const library_symbol_t SYMBOLS[] = {
    FUNCTION("Version", version),
    FUNCTION("GetNumSupportedArchs", n_archs),
    FUNCTION("GetSupportedArchs", archs),
    FUNCTION("CreateProgram", create),
    FUNCTION("DestroyProgram", destroy),
    FUNCTION("CompileProgram", compile),
    FUNCTION("GetProgramLogSize", log_size),
    FUNCTION("GetProgramLog", log),
    FUNCTION("GetCUBINSize", cubin_size),
    FUNCTION("GetCUBIN", cubin),
    FUNCTION("GetErrorString", error_text),
};

/* Newest first. NVRTC's soname had a minor version up to 11.2; only a development package installs
 * the bare name. */
static const char *const SONAMES[] = {"libnvrtc.so.14",   "libnvrtc.so.13", "libnvrtc.so.12",
                                      "libnvrtc.so.11.2", "libnvrtc.so",    NULL};
static const char *const FOLDERS[] = {"", NULL};
static const char *const FILES[] = {"libnvrtc.so.[0-9]*", NULL};
static const library_places_t PLACES = {"BENCH_NVRTC", SONAMES, FOLDERS, FILES};

/* To compile, NVRTC opens libnvrtc-builtins by its bare name. Outside the loader's path that works
 * only if the library in the same folder is already loaded. */
static void load_builtins(const char *library) {
    AUTO_FREE char *copy = mem_text(library);
    const char *folder = dirname(copy);
    AUTO(text_list_free) text_list_t names = {0};
    fs_list(folder, "", &names, NULL);
    for (size_t i = 0; i < names.n; i++) {
        if (!text_starts(names.items[i], "libnvrtc-builtins.so."))
            continue;
        AUTO_FREE char *path = fs_join(folder, names.items[i]);
        dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    }
}

/* Resolve a soname to the path it was loaded from, and note the file's size. */
static void find_identity(nvrtc_t *nvrtc) {
    struct link_map *map = NULL;
    struct stat file;
    void *library = dlopen(nvrtc->path, RTLD_NOW | RTLD_NOLOAD);
    if (library != NULL && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map->l_name[0] != '\0') {
        free(nvrtc->path);
        nvrtc->path = mem_text(map->l_name);
    }
    if (stat(nvrtc->path, &file) == 0)
        nvrtc->library_bytes = (size_t)file.st_size;
}

static status_t not_found(const char *root, text_list_t *failures, error_t *err) {
    if (fs_variable(PLACES.variable) == NULL) {
        text_list_add(failures, "the loader's path");
        nvrtc_find_folders(root, failures);
    }
    AUTO_FREE char *places = text_list_join(failures, ", ");
    return error_set(err, STATUS_USAGE,
                     "NVRTC not found: .venv/bin/pip install nvidia-cuda-nvrtc, or set "
                     "$BENCH_NVRTC to the library's path\nsearched: %.1400s",
                     places);
}

static status_t read_version(nvrtc_t *nvrtc, error_t *err) {
    int n = 0;
    if (nvrtc->functions->version(&nvrtc->major, &nvrtc->minor) != NVRTC_OK ||
        nvrtc->functions->n_archs(&n) != NVRTC_OK || n <= 0)
        return error_set(err, STATUS_USAGE, "did not report its version and architectures");
    nvrtc->archs = mem_zeroed((size_t)n, sizeof *nvrtc->archs);
    nvrtc->n_archs = (size_t)n;
    if (nvrtc->functions->archs(nvrtc->archs) != NVRTC_OK)
        return error_set(err, STATUS_USAGE, "did not report its architectures");
    return STATUS_OK;
}

status_t nvrtc_open(const char *root, nvrtc_t **nvrtc, error_t *err) {
    nvrtc_t *opened = mem_zeroed(1, sizeof *opened);
    AUTO(text_list_free) text_list_t failures = {0};
    status_t status;
    opened->functions = mem_zeroed(1, sizeof *opened->functions);
    opened->path = library_find(&PLACES, root, SYMBOLS, sizeof SYMBOLS / sizeof *SYMBOLS,
                                opened->functions, &failures);
    if (opened->path == NULL) {
        status = not_found(root, &failures, err);
    } else {
        if (strchr(opened->path, '/') != NULL)
            load_builtins(opened->path);
        find_identity(opened);
        if ((status = read_version(opened, err)) != STATUS_OK)
            error_within(err, "%s", opened->path);
        opened->include = nvrtc_find_include(root, opened->path);
    }
    if (status != STATUS_OK) {
        nvrtc_close(opened);
        opened = NULL;
    }
    *nvrtc = opened;
    return status;
}

void nvrtc_close(nvrtc_t *nvrtc) {
    if (nvrtc == NULL)
        return;
    free(nvrtc->path);
    free(nvrtc->archs);
    free(nvrtc->include);
    free(nvrtc->functions);
    free(nvrtc);
}

static status_t check(const nvrtc_t *nvrtc, nvrtc_result_t result, const char *what, error_t *err) {
    if (result == NVRTC_OK)
        return STATUS_OK;
    return error_set(err, STATUS_FAILED, "NVRTC: %s: %s", what,
                     nvrtc->functions->error_text(result));
}

static status_t take_log(const nvrtc_t *nvrtc, nvrtc_program_t program, compiled_t *output,
                         error_t *err) {
    size_t bytes = 0;
    TRY(check(nvrtc, nvrtc->functions->log_size(program, &bytes), "log", err));
    output->log = mem_zeroed(bytes + 1, 1);
    return check(nvrtc, nvrtc->functions->log(program, output->log), "log", err);
}

static status_t take_cubin(const nvrtc_t *nvrtc, nvrtc_program_t program, compiled_t *output,
                           error_t *err) {
    TRY(check(nvrtc, nvrtc->functions->cubin_size(program, &output->cubin_bytes), "cubin", err));
    output->cubin = mem_zeroed(output->cubin_bytes + 1, 1);
    return check(nvrtc, nvrtc->functions->cubin(program, output->cubin), "cubin", err);
}

static status_t compile_once(const nvrtc_t *nvrtc, const nvrtc_input_t *input,
                             const text_list_t *options, compiled_t *output, error_t *err) {
    const struct nvrtc_functions *f = nvrtc->functions;
    nvrtc_program_t program = NULL;
    *output = (compiled_t){0};
    TRY(check(nvrtc,
              f->create(&program, input->text, input->name, (int)input->header_names->n,
                        (const char *const *)input->header_texts->items,
                        (const char *const *)input->header_names->items),
              input->name, err));
    nvrtc_result_t result =
        f->compile(program, (int)options->n, (const char *const *)options->items);
    status_t status = take_log(nvrtc, program, output, err);
    if (status == STATUS_OK && result == NVRTC_OK)
        status = take_cubin(nvrtc, program, output, err);
    else if (status == STATUS_OK && result != NVRTC_COMPILATION_FAILED && output->log[0] == '\0')
        status = check(nvrtc, result, input->name, err); /* no log to show */
    output->ok = status == STATUS_OK && result == NVRTC_OK;
    f->destroy(&program);
    if (status != STATUS_OK)
        compiled_free(output);
    return status;
}

/* With -v NVRTC 13.0 loses what ptxas calls an error: then the log is that of another try without. */
status_t nvrtc_compile(const nvrtc_t *nvrtc, const nvrtc_input_t *input, compiled_t *output,
                       error_t *err) {
    TRY(compile_once(nvrtc, input, input->options, output, err));
    if (output->ok || strstr(output->log, "error") != NULL)
        return STATUS_OK;
    AUTO(text_list_free) text_list_t quiet = {0};
    for (size_t i = 0; i < input->options->n; i++)
        if (strcmp(input->options->items[i], "--ptxas-options=-v") != 0)
            text_list_add(&quiet, input->options->items[i]);
    compiled_free(output);
    return compile_once(nvrtc, input, &quiet, output, err);
}

void compiled_free(compiled_t *output) {
    free(output->log);
    free(output->cubin);
    *output = (compiled_t){0};
}

/* ==== reading a cubin ========================================================================= */

enum {
    MACHINE_CUDA = 190,
    /* By the system, from sm_90 on at the start of a kernel's shared memory: not part of the limit. */
    RESERVED_SHARED_BYTES = 1024,
};

static const char TEXT_PREFIX[] = ".text.", SHARED_PREFIX[] = ".nv.shared.";

typedef struct symbols {
    Elf64_Shdr table, strings;
    size_t n;
} symbols_t;

typedef struct symbol {
    Elf64_Sym entry;
    Elf64_Shdr section;
    const char *name;
} symbol_t;

static bool in_file(const cubin_t *cubin, uint64_t offset, uint64_t length) {
    return offset <= cubin->size && length <= cubin->size - offset;
}

/* Structures are copied out: the caller's buffer need not be aligned. */
static Elf64_Ehdr file_header(const cubin_t *cubin) {
    Elf64_Ehdr header;
    memcpy(&header, cubin->data, sizeof header);
    return header;
}

static bool section_at(const cubin_t *cubin, size_t index, Elf64_Shdr *section) {
    Elf64_Ehdr header = file_header(cubin);
    if (index >= header.e_shnum)
        return false;
    memcpy(section, cubin->data + header.e_shoff + index * sizeof *section, sizeof *section);
    return section->sh_type == SHT_NOBITS || in_file(cubin, section->sh_offset, section->sh_size);
}

/* The text at `offset` of a string table, or NULL if it does not end inside the table. */
static const char *string_at(const cubin_t *cubin, const Elf64_Shdr *strings, uint64_t offset) {
    if (strings->sh_type != SHT_STRTAB || offset >= strings->sh_size)
        return NULL;
    const char *text = (const char *)cubin->data + strings->sh_offset + offset;
    return memchr(text, '\0', strings->sh_size - offset) != NULL ? text : NULL;
}

static const char *section_name(const cubin_t *cubin, const Elf64_Shdr *section) {
    Elf64_Shdr names;
    if (!section_at(cubin, file_header(cubin).e_shstrndx, &names))
        return NULL;
    return string_at(cubin, &names, section->sh_name);
}

status_t cubin_open(const void *data, size_t size, cubin_t *cubin, error_t *err) {
    *cubin = (cubin_t){.data = data, .size = size};
    if (size < sizeof(Elf64_Ehdr) || memcmp(data, ELFMAG, SELFMAG) != 0)
        return error_set(err, STATUS_USAGE, "not a cubin: no ELF header in its %zu bytes", size);
    Elf64_Ehdr header = file_header(cubin);
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
        return error_set(err, STATUS_USAGE, "not a cubin: expected a 64-bit little-endian ELF");
    if (header.e_machine != MACHINE_CUDA)
        return error_set(err, STATUS_USAGE, "not a cubin: ELF machine %u, expected %d (CUDA)",
                         header.e_machine, MACHINE_CUDA);
    if (header.e_shnum == 0 || header.e_shentsize != sizeof(Elf64_Shdr) ||
        !in_file(cubin, header.e_shoff, (uint64_t)header.e_shnum * sizeof(Elf64_Shdr)))
        return error_set(err, STATUS_USAGE,
                         "damaged cubin: %u section headers at byte %llu of %zu bytes",
                         header.e_shnum, (unsigned long long)header.e_shoff, size);
    return STATUS_OK;
}

static status_t find_symbols(const cubin_t *cubin, symbols_t *symbols, error_t *err) {
    size_t n_sections = file_header(cubin).e_shnum;
    for (size_t i = 0; i < n_sections; i++) {
        if (!section_at(cubin, i, &symbols->table))
            return error_set(err, STATUS_USAGE, "damaged cubin: section %zu ends beyond the file",
                             i);
        if (symbols->table.sh_type != SHT_SYMTAB)
            continue;
        if (symbols->table.sh_entsize != sizeof(Elf64_Sym) ||
            !section_at(cubin, symbols->table.sh_link, &symbols->strings))
            return error_set(err, STATUS_USAGE, "damaged cubin: unusable symbol table");
        symbols->n = symbols->table.sh_size / sizeof(Elf64_Sym);
        return STATUS_OK;
    }
    return error_set(err, STATUS_USAGE, "damaged cubin: no symbol table");
}

/* Read the symbol at `index`; false if it is of another type or in no ordinary section. */
static bool symbol_at(const cubin_t *cubin, const symbols_t *symbols, size_t index,
                      unsigned char type, symbol_t *symbol) {
    Elf64_Sym *entry = &symbol->entry;
    memcpy(entry, cubin->data + symbols->table.sh_offset + index * sizeof *entry, sizeof *entry);
    if (ELF64_ST_TYPE(entry->st_info) != type || entry->st_shndx == SHN_UNDEF ||
        !section_at(cubin, entry->st_shndx, &symbol->section))
        return false;
    symbol->name = string_at(cubin, &symbols->strings, entry->st_name);
    return symbol->name != NULL;
}

/* Is the section's name `prefix` followed by `name`? */
static bool is_named(const cubin_t *cubin, const Elf64_Shdr *section, const char *prefix,
                     const char *name) {
    const char *title = section_name(cubin, section);
    const size_t length = strlen(prefix);
    return title != NULL && strncmp(title, prefix, length) == 0 &&
           strcmp(title + length, name) == 0;
}

/* Is `section` the machine code of the kernel `name`? */
static bool is_code_of(const cubin_t *cubin, const Elf64_Shdr *section, const char *name) {
    return section->sh_type == SHT_PROGBITS && is_named(cubin, section, TEXT_PREFIX, name);
}

status_t cubin_kernels(const cubin_t *cubin, text_list_t *names, error_t *err) {
    symbols_t symbols;
    TRY(find_symbols(cubin, &symbols, err));
    for (size_t i = 0; i < symbols.n; i++) {
        symbol_t symbol;
        if (symbol_at(cubin, &symbols, i, STT_FUNC, &symbol) &&
            ELF64_ST_BIND(symbol.entry.st_info) == STB_GLOBAL &&
            is_code_of(cubin, &symbol.section, symbol.name))
            text_list_add_new(names, symbol.name);
    }
    text_list_sort(names);
    return STATUS_OK;
}

static status_t hash_kernels(const cubin_t *cubin, const text_list_t *kernels, hash_t *hash,
                             error_t *err) {
    size_t n_sections = file_header(cubin).e_shnum;
    for (size_t k = 0; k < kernels->n; k++) {
        Elf64_Shdr section;
        size_t i = 0;
        while (i < n_sections &&
               !(section_at(cubin, i, &section) && is_code_of(cubin, &section, kernels->items[k])))
            i++;
        if (i == n_sections)
            return error_set(err, STATUS_USAGE, "damaged cubin: kernel %s has no code",
                             kernels->items[k]);
        hash_add(hash, cubin->data + section.sh_offset, section.sh_size);
    }
    return STATUS_OK;
}

status_t cubin_code_hash(const cubin_t *cubin, char hash[33], error_t *err) {
    AUTO(text_list_free) text_list_t kernels = {0};
    hash_t *code = hash_new();
    status_t status = cubin_kernels(cubin, &kernels, err);
    if (status == STATUS_OK && kernels.n == 0)
        status = error_set(err, STATUS_USAGE, "no kernel in this cubin");
    if (status == STATUS_OK)
        status = hash_kernels(cubin, &kernels, code, err);
    hash_finish(code, hash);
    return status;
}

uint64_t cubin_shared_bytes(const cubin_t *cubin, const char *kernel) {
    const size_t n_sections = file_header(cubin).e_shnum;
    uint64_t bytes = 0, reserved = 0;
    for (size_t i = 0; i < n_sections; i++) {
        Elf64_Shdr section;
        if (!section_at(cubin, i, &section))
            continue;
        if (is_named(cubin, &section, SHARED_PREFIX, kernel))
            bytes = section.sh_size;
        else if (is_named(cubin, &section, SHARED_PREFIX, "reserved.0"))
            reserved = RESERVED_SHARED_BYTES;
    }
    return bytes > reserved ? bytes - reserved : 0;
}

static bool find_object(const cubin_t *cubin, const char *name, symbol_t *object) {
    symbols_t symbols;
    if (find_symbols(cubin, &symbols, NULL) != STATUS_OK)
        return false;
    for (size_t i = 0; i < symbols.n; i++)
        if (symbol_at(cubin, &symbols, i, STT_OBJECT, object) && strcmp(object->name, name) == 0)
            return true;
    return false;
}

status_t cubin_object(const cubin_t *cubin, const char *name, void *bytes, size_t size,
                      error_t *err) {
    symbol_t object;
    if (!find_object(cubin, name, &object))
        return error_set(err, STATUS_USAGE, "no object \"%s\" in this cubin", name);
    const Elf64_Shdr *section = &object.section;
    const uint64_t offset = object.entry.st_value;
    if (object.entry.st_size != size)
        return error_set(err, STATUS_USAGE, "object \"%s\" has %llu bytes, expected %zu", name,
                         (unsigned long long)object.entry.st_size, size);
    if (offset > section->sh_size || size > section->sh_size - offset)
        return error_set(err, STATUS_USAGE, "damaged cubin: object \"%s\" ends beyond its section",
                         name);
    if (section->sh_type == SHT_NOBITS)
        memset(bytes, 0, size);
    else
        memcpy(bytes, cubin->data + section->sh_offset + offset, size);
    return STATUS_OK;
}

size_t cubin_object_size(const cubin_t *cubin, const char *name) {
    symbol_t object;
    return find_object(cubin, name, &object) ? object.entry.st_size : 0;
}
