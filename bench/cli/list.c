/* `bench list`: workloads, operators, variants, sweeps and devices. */
#include "base/memory.h"
#include "cli/commands.h"
#include "cli/doctor.h"
#include "cli/operator_print.h"
#include "cli/own_worker.h"
#include "io/fs.h"
#include "sweep/sweep.h"
#include "worker/pool.h"
#include "workloads/operator/operators.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Its default as --set reads it, and where that differs, as a sweep does. */
static void print_param(const param_spec_t *param, const value_t *value) {
    char *text = value_text(value);
    printf("  %-10s %s (default %s", param->name, param->summary, text);
    if (param->kind == VALUE_INTS)
        printf(", in a sweep %s", param->default_json);
    puts(")");
    free(text);
}

static void print_workload(const workload_t *workload) {
    case_t defaults = workload_defaults(workload);
    printf("%-12s %s\n", workload->name, workload->summary);
    for (size_t p = 0; p < workload->n_params; p++)
        print_param(&workload->params[p], &defaults.params[p].value);
    case_free(&defaults);
    for (size_t t = 0; t < workload->n_techniques; t++) {
        printf("  %-10s %s:", workload->techniques[t].name, workload->techniques[t].summary);
        for (const char *const *c = workload->techniques[t].choices; *c != NULL; c++)
            printf(" %s", *c);
        putchar('\n');
    }
}

static status_t list_workloads(const cli_args_t *args, error_t *err) {
    const workload_t *workload;
    (void)args;
    (void)err;
    for (size_t i = 0; (workload = workload_at(i)) != NULL; i++)
        print_workload(workload);
    return STATUS_OK;
}

static status_t list_operators(const cli_args_t *args, error_t *err) {
    const workload_t *workload;
    for (size_t i = 0; (workload = operators_workload(i)) != NULL; i++)
        TRY(operator_print(workload, args->root, stdout, err));
    if (operators_workload(0) == NULL)
        puts("none: bench operator new NAME makes one");
    return STATUS_OK;
}

/* The engine and the device as --engine and --set take them. */
static void list_script(const char *root, const char *engine, const char *device) {
    own_worker_t worker = own_worker_ask(root, engine, device);
    const char *workload, *reason = worker.reason;
    size_t n_found = 0, i;
    json_t *variants, *variant;
    json_object_foreach(json_object_get(worker.hello, "capabilities"), workload, variants) {
        json_array_foreach(variants, i, variant) {
            if (json_is_string(variant))
                n_found += printf("%-12s %-8s %s device=%s\n", workload, engine,
                                  json_string_value(variant), device) > 0;
        }
    }
    if (reason == NULL)
        reason = "its answer to hello has no \"capabilities\"";
    if (n_found == 0)
        printf("–            %-8s device=%s: %s\n", engine, device, reason);
    own_worker_free(&worker);
}

/* Contenders of the user's own; the others are listed without starting anything. */
static status_t list_scripts(const char *root, error_t *err) {
    text_list_t engines = {0};
    TRY(own_engines(root, &engines, err));
    for (size_t i = 0; i < engines.n; i++)
        for (const char *const *device = OWN_DEVICES; *device != NULL; device++)
            list_script(root, engines.items[i], *device);
    text_list_free(&engines);
    return STATUS_OK;
}

static status_t list_variants(const cli_args_t *args, error_t *err) {
    size_t n_engines;
    const workload_t *workload;
    const char *const *engines = workload_engines(&n_engines);
    for (size_t i = 0; (workload = workload_at(i)) != NULL; i++)
        for (size_t e = 0; e < n_engines; e++) {
            text_list_t variants = {0};
            TRY(workload_variants(workload, engines[e], args->root, &variants, err));
            for (size_t v = 0; v < variants.n; v++)
                printf("%-12s %-8s %s\n", workload->name, engines[e], variants.items[v]);
            text_list_free(&variants);
        }
    return list_scripts(args->root, err);
}

static status_t list_sweeps(const cli_args_t *args, error_t *err) {
    text_list_t names = {0};
    char *folder = fs_join(args->root, "sweeps");
    status_t status = fs_list(folder, ".json", &names, err);
    for (size_t i = 0; i < names.n && status == STATUS_OK; i++) {
        if (strcmp(names.items[i], "schema.json") == 0)
            continue;
        char *path = fs_join(folder, names.items[i]);
        sweep_t sweep;
        status = sweep_load(path, args->root, &sweep, err);
        if (status == STATUS_OK) {
            printf("sweeps/%-28s %s, %zu cases\n", names.items[i], sweep.workload->name,
                   sweep.n_cases);
            sweep_free(&sweep);
        }
        free(path);
    }
    free(folder);
    text_list_free(&names);
    return status;
}

char *describe_device(const char *root, const char *engine, int index, const char *separator,
                      error_t *err) {
    workers_t workers = {.root = root, .device = index};
    case_t spec = {.engine = mem_text(engine), .device = mem_text(engine)};
    worker_link_t *link = NULL;
    char *text = NULL;
    if (workers_find(&workers, &spec, "", &link, err) == STATUS_OK &&
        worker_link_start(link, 60, err) == STATUS_OK) {
        const json_t *device = json_object_get(link->hello, "device");
        const char *name = json_string_value(json_object_get(device, "name"));
        const char *arch = json_string_value(json_object_get(device, "arch"));
        text = mem_format("%s%s%s", name != NULL ? name : "", separator, arch != NULL ? arch : "");
    }
    case_free(&spec);
    workers_free(&workers);
    return text;
}

static status_t list_devices(const cli_args_t *args, error_t *err) {
    static const char *const ENGINES[] = {"cpu", "cuda"};
    (void)err;
    for (int e = 0; e < 2; e++)
        for (int index = 0, most = e == 0 ? 1 : INT_MAX; index < most; index++) {
            error_t why = ERROR_INIT;
            char *text = describe_device(args->root, ENGINES[e], index, " ", &why);
            if (text != NULL)
                printf("%-5s %d  %s\n", ENGINES[e], index, text);
            else if (index == 0)
                printf("%-5s –  %s\n", ENGINES[e], why.text);
            if (text == NULL)
                break;
            free(text);
        }
    return STATUS_OK;
}

static const struct {
    const char *name;
    status_t (*list)(const cli_args_t *args, error_t *err);
} LISTS[] = {
    {"workloads", list_workloads}, {"operators", list_operators}, {"variants", list_variants},
    {"sweeps", list_sweeps},       {"devices", list_devices},
};

enum { N_LISTS = sizeof LISTS / sizeof *LISTS };

status_t list_command(const cli_args_t *args, error_t *err) {
    const char *names[N_LISTS];
    for (size_t i = 0; i < N_LISTS; i++)
        names[i] = LISTS[i].name;
    for (size_t w = 0; w < args->operands.n; w++) {
        const char *what = args->operands.items[w];
        size_t i = 0;
        while (i < N_LISTS && strcmp(names[i], what) != 0)
            i++;
        if (i == N_LISTS) {
            char *hint = text_hint(what, names, N_LISTS);
            error_set(err, STATUS_USAGE,
                      "bench list: no \"%s\" (workloads, operators, variants, sweeps, devices)%s",
                      what, hint);
            free(hint);
            return STATUS_USAGE;
        }
        TRY(LISTS[i].list(args, err));
    }
    for (size_t i = 0; args->operands.n == 0 && i < N_LISTS; i++) {
        printf("%s%s:\n", i > 0 ? "\n" : "", names[i]);
        TRY(LISTS[i].list(args, err));
    }
    return STATUS_OK;
}
