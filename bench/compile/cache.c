#include "compile/cache.h"

#include "base/memory.h"
#include "io/fs.h"
#include "io/json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

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
    char *data;
    size_t bytes;
    error_t ignored = ERROR_INIT;
    if (fs_read(path, &data, &bytes, &ignored) != STATUS_OK)
        return false;
    char hash[HASH_TEXT];
    hash_bytes(data, bytes, hash);
    free(data);
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
    char *path = entry_path(cache, key, "json"), *cubin = entry_path(cache, key, "cubin");
    json_t *json = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    bool found = json != NULL && read_entry(json, key, cubin, entry);
    json_decref(json);
    free(cubin);
    free(path);
    return found;
}

status_t compile_cache_store(const char *cache, const char *key, const cache_inputs_t *inputs,
                             const compiled_t *output, cache_entry_t *entry, error_t *err) {
    json_t *json = json_pack("{s:s, s:s, s:o, s:o, s:s, s:s, s:f}", "key", key, "source",
                             inputs->source->name, "defines", json_texts(inputs->defines),
                             "options", json_texts(inputs->options), "arch", inputs->arch,
                             "compiler", inputs->compiler, "compile_ns", entry->compile_ns);
    char *folder = mem_format("%s/%.2s", cache, key), *path = entry_path(cache, key, "json");
    status_t status = fs_make_folders(folder, err);
    if (entry->skip != NULL) {
        json_object_set_new(json, "skip", json_string(entry->skip));
    } else {
        char hash[HASH_TEXT];
        hash_bytes(output->cubin, output->cubin_bytes, hash);
        json_t *program = json_pack("{s:s, s:I, s:I, s:I, s:s}", "code_hash", entry->code_hash,
                                    "registers", (json_int_t)entry->usage.registers, "shared_bytes",
                                    (json_int_t)entry->usage.shared_bytes, "spill_bytes",
                                    (json_int_t)entry->usage.spill_bytes, "cubin_hash", hash);
        json_object_update(json, program);
        json_decref(program);
        entry->cubin = entry_path(cache, key, "cubin");
        if (status == STATUS_OK)
            status = fs_write_atomic(entry->cubin, output->cubin, output->cubin_bytes, err);
    }
    if (status == STATUS_OK)
        status = json_save(json_incref(json), JSON_INDENT(2), path, err);
    json_decref(json);
    free(path);
    free(folder);
    return status;
}

void cache_entry_free(cache_entry_t *entry) {
    free(entry->skip);
    free(entry->cubin);
    *entry = (cache_entry_t){0};
}
