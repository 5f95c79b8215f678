#include "workloads/scripts.h"

#include "base/memory.h"
#include "io/fs.h"

#include <stdlib.h>
#include <string.h>

static const char GRAPH[] = "+graph", COMPILE[] = "+compile";

typedef enum setting { UNSET, IS_FALSE, IS_TRUE } setting_t;

typedef struct script {
    setting_t graph, compile; /* GRAPH = …, COMPILE = … at the start of a line */
    bool is_plain;            /* imports nothing but PyTorch and what computes nothing */
    bool is_imported;         /* written by `bench operator import` */
} script_t;

/* Beside torch: modules whose functions torch.compile traces, or that a forward pass does not call. */
static const char *const PLAIN[] = {
    "torch",     "math",     "__future__", "typing",      "functools",   "numpy",  "random", "os",
    "sys",       "warnings", "abc",        "collections", "dataclasses", "einops", "enum",   "copy",
    "itertools", "operator", "numbers",    "time",        "logging",     "string"};
/* Kernels of one's own by way of torch. */
static const char *const NOT_PLAIN[] = {"cpp_extension", "torch.library", "torch.ops",
                                        "torch.cuda._"};

static void read_script(const char *folder, const char *stem, text_list_t *seen, script_t *script);

/* The module after `at`; "" for a relative one. The caller frees it. */
static char *module_at(const char *at) {
    at += strspn(at, " \t");
    return mem_text_n(at, strcspn(at, " \t.,;#"));
}

static void read_module(const char *folder, const char *module, text_list_t *seen,
                        script_t *script) {
    char *beside = mem_format("%s/%s.py", folder, module);
    script->is_imported = script->is_imported || strcmp(module, "imported") == 0;
    bool known = strcmp(module, "imported") == 0;
    for (size_t i = 0; i < sizeof PLAIN / sizeof *PLAIN; i++)
        known = known || strcmp(module, PLAIN[i]) == 0;
    if (!known && fs_exists(beside)) {
        script_t other = {.is_plain = true};
        if (!text_list_has(seen, module))
            read_script(folder, module, seen, &other);
        known = other.is_plain;
    }
    script->is_plain = script->is_plain && known;
    free(beside);
}

/* "import a.b as c, d" or "from a.b import c". */
static void read_import(const char *folder, const char *line, text_list_t *seen, script_t *script) {
    const bool from = text_starts(line, "from ");
    if (!from && !text_starts(line, "import "))
        return;
    const char *at = line + strlen(from ? "from" : "import");
    do {
        char *module = module_at(at);
        read_module(folder, module, seen, script);
        free(module);
        at = strchr(at, ',');
    } while (!from && at++ != NULL);
}

static void read_setting(const char *line, const char *name, setting_t *setting) {
    if (!text_starts(line, name))
        return;
    const char *at = line + strlen(name);
    at += strspn(at, " \t");
    if (*at != '=')
        return;
    at++;
    at += strspn(at, " \t");
    *setting = text_starts(at, "True") ? IS_TRUE : text_starts(at, "False") ? IS_FALSE : *setting;
}

/* How often the line opens or closes a text of several lines. */
static size_t count_quotes(const char *line) {
    size_t n = 0;
    for (; *line != '\0'; line++)
        if (text_starts(line, "\"\"\"") || text_starts(line, "'''")) {
            n++;
            line += 2;
        }
    return n;
}

static void read_script(const char *folder, const char *stem, text_list_t *seen, script_t *script) {
    char *path = mem_format("%s/%s.py", folder, stem), *text = NULL;
    size_t size;
    error_t ignored = ERROR_INIT; /* its worker will say what is wrong */
    text_list_add(seen, stem);
    *script = (script_t){.is_plain = fs_read(path, &text, &size, &ignored) == STATUS_OK};
    free(path);
    if (!script->is_plain)
        return;
    for (size_t i = 0; i < sizeof NOT_PLAIN / sizeof *NOT_PLAIN; i++)
        script->is_plain = script->is_plain && strstr(text, NOT_PLAIN[i]) == NULL;
    text_list_t lines = text_split(text, '\n');
    bool quoted = false;
    for (size_t i = 0; i < lines.n; i++) {
        const char *line = lines.items[i];
        if (!quoted) {
            read_setting(line, "GRAPH", &script->graph);
            read_setting(line, "COMPILE", &script->compile);
            read_import(folder, line + strspn(line, " \t"), seen, script);
        }
        quoted = quoted != (count_quotes(line) % 2 == 1);
    }
    text_list_free(&lines);
    free(text);
}

static script_t script_of(const char *folder, const char *stem) {
    script_t script;
    text_list_t seen = {0};
    read_script(folder, stem, &seen, &script);
    text_list_free(&seen);
    return script;
}

static void add_way(const char *stem, const char *way, text_list_t *variants) {
    char *variant = mem_format("%s%s", stem, way);
    text_list_add_new(variants, variant); /* a file may have this name */
    free(variant);
}

void script_add_variants(const char *folder, const char *stem, text_list_t *variants) {
    const script_t script = script_of(folder, stem);
    const bool is_free = script.graph == UNSET && script.compile == UNSET;
    add_way(stem, "", variants);
    if (script.graph == UNSET)
        add_way(stem, GRAPH, variants);
    if (script.compile == IS_TRUE || (is_free && script.is_plain))
        add_way(stem, COMPILE, variants);
}

bool script_variant_is_for_gpu(const char *folder, const char *variant) {
    if (text_ends(variant, GRAPH))
        return true;
    if (!text_ends(variant, COMPILE))
        return false;
    char *stem = mem_text_n(variant, strlen(variant) - strlen(COMPILE));
    const script_t script = script_of(folder, stem);
    free(stem);
    return script.compile != IS_TRUE && !script.is_imported;
}
