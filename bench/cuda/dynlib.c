#include "cuda/dynlib.h"

#include "base/memory.h"
#include "io/folders.h"
#include "io/fs.h"

#include <dlfcn.h>
#include <glob.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

/* ==== loading a library ======================================================================= */

/* Shorten glibc's message if `name` itself is missing, not a library that it depends on. */
static void note_failure(const char *name, const char *message, error_t *err) {
    static const char MISSING[] = ": cannot open shared object file: No such file or directory";
    size_t length = strlen(name);
    bool missing = strncmp(message, name, length) == 0 && strcmp(message + length, MISSING) == 0;
    error_set(err, STATUS_USAGE, "%s%s", missing ? name : message, missing ? " not found" : "");
}

status_t library_open(const char *const *names, const library_symbol_t *symbols, size_t n_symbols,
                      void *api, error_t *err) {
    error_t first = ERROR_INIT;
    void *opened = NULL;
    for (size_t i = 0; names[i] != NULL && opened == NULL; i++) {
        opened = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (opened == NULL)
            note_failure(names[i], dlerror(), &first);
    }
    if (opened == NULL)
        return error_set(err, STATUS_USAGE, "%s", first.text);
    for (size_t i = 0; i < n_symbols; i++) {
        void *symbol = dlsym(opened, symbols[i].name);
        if (symbol == NULL && !symbols[i].optional) {
            dlclose(opened);
            return error_set(err, STATUS_USAGE, "%s has no %s: the library is too old, update it",
                             names[0], symbols[i].name);
        }
        /* ISO C cannot cast object to function pointers; POSIX guarantees the same bytes. */
        memcpy((char *)api + symbols[i].offset, &symbol, sizeof symbol);
    }
    return STATUS_OK;
}

/* ==== finding it ============================================================================== */

/* In site-packages, or dist-packages on Debian. NVIDIA's wheels use nvidia/cu13 from CUDA 13 on and
 * one folder per package before (the runtime's has the headers). */
static const char *const WHEEL_FOLDERS[] = {"nvidia/cu[0-9]*/lib", "nvidia/cuda_nvrtc/lib",
                                            "nvidia/cuda_runtime/lib"};

static char *folder_of(const char *path) {
    AUTO_FREE char *copy = mem_text(path);
    return mem_text(dirname(copy));
}

static void add_environment(const char *environment, text_list_t *patterns) {
    for (size_t i = 0; i < sizeof WHEEL_FOLDERS / sizeof WHEEL_FOLDERS[0]; i++) {
        AUTO_FREE char *pattern =
            mem_format("%s/lib/python3*/*-packages/%s", environment, WHEEL_FOLDERS[i]);
        text_list_add_new(patterns, pattern);
    }
}

static void add_venv(const char *folder, text_list_t *patterns) {
    AUTO_FREE char *venv = fs_join(folder, ".venv");
    add_environment(venv, patterns);
}

/* A Python environment is the folder above python3's bin/. A virtual environment's python3 links to
 * its base interpreter, whose packages may be in use too: add both. */
static void add_python_on_path(text_list_t *patterns) {
    AUTO_FREE char *program = fs_find_program("python3");
    if (program == NULL)
        return;
    AUTO_FREE char *resolved = realpath(program, NULL);
    const char *places[] = {program, resolved};
    for (size_t i = 0; i < 2 && places[i] != NULL; i++) {
        AUTO_FREE char *bin = folder_of(places[i]);
        AUTO_FREE char *environment = folder_of(bin);
        add_environment(environment, patterns);
    }
}

void nvrtc_find_folders(const char *root, text_list_t *patterns) {
    static const char *const TOOLKITS[] = {"CUDA_HOME", "CUDA_PATH"};
    for (size_t i = 0; i < sizeof TOOLKITS / sizeof *TOOLKITS; i++)
        if (fs_variable(TOOLKITS[i]) != NULL)
            text_list_add_format(patterns, "%s/lib64", fs_variable(TOOLKITS[i]));
    text_list_add(patterns, "/usr/local/cuda*/lib64");
    AUTO_FREE char *project = folders_project(root);
    const char *active = fs_variable("VIRTUAL_ENV");
    add_venv(root, patterns);
    if (active != NULL)
        add_environment(active, patterns);
    add_venv(project, patterns);
    add_python_on_path(patterns);
}

/* The newest match of a glob pattern by version number, or NULL; the caller frees it. */
static char *newest_match(const char *pattern) {
    glob_t matches;
    char *newest = NULL;
    if (glob(pattern, 0, NULL, &matches) != 0)
        return NULL;
    for (size_t i = 0; i < matches.gl_pathc; i++)
        if (newest == NULL || strverscmp(matches.gl_pathv[i], newest) > 0)
            newest = matches.gl_pathv[i];
    newest = mem_text(newest);
    globfree(&matches);
    return newest;
}

static void add_newest(const char *folder, const library_places_t *places, text_list_t *paths) {
    for (const char *const *relative = places->folders; *relative != NULL; relative++)
        for (const char *const *file = places->files; *file != NULL; file++) {
            AUTO_FREE char *pattern = mem_format("%s%s/%s", folder, *relative, *file);
            char *path = newest_match(pattern);
            if (path != NULL)
                text_list_take(paths, path);
        }
}

void library_candidates(const library_places_t *places, const char *root, text_list_t *paths) {
    const char *chosen = fs_variable(places->variable);
    if (chosen != NULL) {
        text_list_add(paths, chosen);
        return;
    }
    for (const char *const *soname = places->sonames; *soname != NULL; soname++)
        text_list_add(paths, *soname);
    AUTO(text_list_free) text_list_t folders = {0};
    nvrtc_find_folders(root, &folders);
    for (size_t i = 0; i < folders.n; i++)
        add_newest(folders.items[i], places, paths);
}

char *library_find(const library_places_t *places, const char *root,
                   const library_symbol_t *symbols, size_t n_symbols, void *api,
                   text_list_t *failures) {
    AUTO(text_list_free) text_list_t paths = {0};
    char *found = NULL;
    library_candidates(places, root, &paths);
    for (size_t i = 0; i < paths.n && found == NULL; i++) {
        const char *const names[] = {paths.items[i], NULL};
        error_t why = ERROR_INIT;
        if (library_open(names, symbols, n_symbols, api, &why) == STATUS_OK)
            found = mem_text(paths.items[i]);
        else if (paths.n == 1 || !text_ends(why.text, " not found"))
            text_list_add(failures, why.text);
    }
    return found;
}

char *nvrtc_find_include(const char *root, const char *path) {
    /* A toolkit and wheels have include/ beside lib/; CUDA 12's NVRTC wheel has none. */
    static const char *const FOLDERS[] = {"../include", "../../cuda_runtime/include"};
    AUTO(text_list_free) text_list_t patterns = {0};
    text_list_take(&patterns, folder_of(path));
    nvrtc_find_folders(root, &patterns);
    char *include = NULL;
    for (size_t i = 0; i < 2 * patterns.n && include == NULL; i++) {
        AUTO_FREE char *header =
            mem_format("%s/%s/cuda_fp16.h", patterns.items[i / 2], FOLDERS[i % 2]);
        AUTO_FREE char *found = newest_match(header);
        AUTO_FREE char *resolved = found != NULL ? realpath(found, NULL) : NULL;
        if (resolved != NULL)
            include = folder_of(resolved);
    }
    return include;
}
