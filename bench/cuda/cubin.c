#include "cuda/cubin.h"

#include "base/hash.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

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
    text_list_t kernels = {0};
    hash_t *code = hash_new();
    status_t status = cubin_kernels(cubin, &kernels, err);
    if (status == STATUS_OK && kernels.n == 0)
        status = error_set(err, STATUS_USAGE, "no kernel in this cubin");
    if (status == STATUS_OK)
        status = hash_kernels(cubin, &kernels, code, err);
    hash_finish(code, hash);
    text_list_free(&kernels);
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
