/* `bench operator new`: kernels/common/new_operator/ under another name. */
#include "cli/operator.h"

#include "base/memory.h"
#include "io/folders.h"
#include "io/fs.h"
#include "io/output.h"
#include "workloads/operator/operators.h"

#include <stdlib.h>
#include <string.h>

static const char TEMPLATE[] = "kernels/common/new_operator", TEMPLATE_NAME[] = "new_operator";

static const struct {
    const char *name, *what;
} FILES[] = {
    {"operator.json", "arrays, params, tolerances, cost and sizes: change these first"},
    {"reference.py", "what it computes, in PyTorch: every other result is compared with it"},
    {"01_element_per_thread.cu", "the first rung: a kernel, and how it is launched"},
    {"spelled_out.py", "another implementation, of which there may be any number"},
};

enum { N_FILES = sizeof FILES / sizeof *FILES };

/* `text` with every TEMPLATE_NAME replaced; the caller frees it. */
static char *renamed(const char *text, const char *name) {
    text_list_t parts = {0};
    for (const char *at; (at = strstr(text, TEMPLATE_NAME)) != NULL;) {
        text_list_take(&parts, mem_text_n(text, (size_t)(at - text)));
        text = at + sizeof TEMPLATE_NAME - 1;
    }
    text_list_add(&parts, text);
    char *joined = text_list_join(&parts, name);
    text_list_free(&parts);
    return joined;
}

static status_t write_file(const char *root, const char *file, const char *folder, const char *name,
                           error_t *err) {
    char *from = mem_format("%s/%s/%s", root, TEMPLATE, file), *to = fs_join(folder, file);
    char *text = NULL;
    size_t size;
    status_t status = fs_read(from, &text, &size, err);
    if (status == STATUS_OK) {
        char *own = renamed(text, name);
        status = fs_write_atomic(to, own, strlen(own), err);
        free(own);
    }
    free(text);
    free(to);
    free(from);
    return status;
}

static status_t write_folder(const char *root, const char *folder, const char *name, error_t *err) {
    TRY(fs_make_folders(folder, err));
    for (size_t i = 0; i < N_FILES; i++)
        if (write_file(root, FILES[i].name, folder, name, err) != STATUS_OK) {
            fs_remove_marked(folder, FILES[0].name, NULL);
            return STATUS_USAGE;
        }
    return STATUS_OK;
}

static void print_folder(const char *folder) {
    output_print(stdout, "%s/\n", folder);
    for (size_t i = 0; i < N_FILES; i++)
        printf("  %-25s %s\n", FILES[i].name, FILES[i].what);
    char *word = text_shell(folder);
    printf("\nIt runs as it is. Each file says what to change; docs/your-kernel.md has the format. "
           "Next:\n"
           "  bench operator check %s --emulate     (is the kernel right? on the CPU)\n"
           "  bench compile --operator %s --arch sm_75,sm_90 --quick\n"
           "  bench run --operator %s --quick\n"
           "  bench run --operator %s --quick --set device=cpu     (without a GPU)\n",
           word, word, word, word);
    free(word);
}

static status_t refuse_taken(const char *name, error_t *err) {
    if (workload_find(name) == NULL)
        return STATUS_OK;
    const operator_description_t *d = operators_find(name);
    if (d == NULL)
        return error_set(err, STATUS_USAGE,
                         "bench operator new: \"%s\" is the name of a workload: choose another",
                         name);
    char *folder = fs_from_here(d->folder);
    error_set(err, STATUS_USAGE, "bench operator new: %s exists already: choose another name",
              folder);
    free(folder);
    return STATUS_USAGE;
}

static status_t check_name(const operator_options_t *options, error_t *err) {
    if (options->n_operands != 1)
        return error_set(err, STATUS_USAGE, "bench operator new: expected one NAME, found %zu",
                         options->n_operands);
    const char *name = options->operands[0];
    if (!text_is_name(name))
        return error_set(
            err, STATUS_USAGE,
            "bench operator new: found the name \"%s\", expected letters, digits, \"_\", "
            "\"-\", \"+\" and \".\"",
            name);
    text_list_t ignored = {0};
    workload_add_operators(options->root, &ignored);
    text_list_free(&ignored);
    return refuse_taken(name, err);
}

status_t operator_new(const operator_options_t *options, error_t *err) {
    TRY(check_name(options, err));
    const char *name = options->operands[0];
    char *above = options->dir != NULL               ? mem_text(options->dir)
                  : folders_installed(options->root) ? folders_project(options->root)
                                                     : fs_join(options->root, "kernels");
    char *folder = fs_join(above, name);
    char *shown = fs_from_here(folder);
    status_t status = fs_exists(folder) ? error_set(err, STATUS_USAGE, "%s: exists already", shown)
                                        : write_folder(options->root, folder, name, err);
    if (status == STATUS_OK)
        print_folder(shown);
    free(shown);
    free(folder);
    free(above);
    return status;
}
