/* `bench doctor`: what is installed, what is missing, what that costs, and how to install it. */
#include "base/error.h"
#include "base/memory.h"
#include "cli/commands.h"
#include "compile/compile.h"
#include "cuda/cublaslt.h"
#include "cuda/nvml.h"
#include "cuda/nvtx.h"
#include "io/fs.h"
#include "io/json.h"
#include "io/subprocess.h"
#include "plot/gnuplot.h"
#include "sweep/sweep.h"
#include "walls/walls.h"
#include "worker/pool.h"
#include "workloads/common/workload.h"

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ==== the user's own workers ================================================================== */

static const char *const OWN_DEVICES[] = {"cpu", "cuda", NULL};

enum { OWN_TIMEOUT_S = 20, TIMEOUT_S = 120 };

/* A Python exception begins with a head, and ends with what happened. The caller frees it. */
static char *in_one_line(const char *reason) {
    const char *last = strrchr(reason, '\n');
    return mem_format("%.*s%s%s", (int)strcspn(reason, "\n"), reason, last != NULL ? " … " : "",
                      last != NULL ? last + 1 : "");
}

/* ==== what Python lacks ======================================================================= */

/* What `worker.py --needs` of this engine prints, an array; NULL if it fails. */
static json_t *doctor_ask_python(const char *root, const char *engine, error_t *err) {
    AUTO_FREE char *python = NULL, *script = mem_format("%s/reference_%s/worker.py", root, engine);
    AUTO(subprocess_result_free) subprocess_result_t result = {0};
    if (workers_find_python(root, NULL, engine, &python, err) != STATUS_OK ||
        subprocess_run((const char *const[]){python, script, "--needs", NULL}, NULL, TIMEOUT_S,
                       &result, err) != STATUS_OK)
        return NULL;
    /* The last line: libraries may print as they are imported. */
    const char *line = result.out;
    for (const char *next; (next = strchr(line, '\n')) != NULL && next[1] != '\0';)
        line = next + 1;
    json_auto_t *answer = json_loads(line, 0, NULL);
    if (json_is_array(answer))
        return json_incref(answer);
    error_set(err, STATUS_FAILED, "%s %s --needs failed: %.300s", python, script, result.err);
    return NULL;
}

/* ==== bench list ============================================================================== */

/* Its default as --set reads it, and where that differs, as a sweep does. */
static void print_param(const param_spec_t *param, const value_t *value) {
    AUTO_FREE char *text = value_text(value);
    printf("  %-10s %s (default %s", param->name, param->summary, text);
    if (param->kind == VALUE_INTS)
        printf(", in a sweep %s", param->default_json);
    puts(")");
}

static void print_workload(const workload_t *workload) {
    AUTO(case_free) case_t defaults = workload_defaults(workload);
    printf("%-12s %s\n", workload->name, workload->summary);
    for (size_t p = 0; p < workload->n_params; p++)
        print_param(&workload->params[p], &defaults.params[p].value);
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

/* The engine and the device as --engine and --set take them. */
static void list_script(const char *root, const char *engine, const char *device) {
    error_t why = ERROR_INIT;
    json_auto_t *hello = workers_hello(root, engine, device, 0, OWN_TIMEOUT_S, &why);
    AUTO_FREE char *reason =
        in_one_line(hello == NULL ? why.text : "its answer to hello has no \"capabilities\"");
    const char *workload;
    size_t n_found = 0, i;
    json_t *variants, *variant;
    json_object_foreach(json_object_get(hello, "capabilities"), workload, variants) {
        json_array_foreach(variants, i, variant) {
            if (json_is_string(variant))
                n_found += printf("%-12s %-8s %s device=%s\n", workload, engine,
                                  json_string_value(variant), device) > 0;
        }
    }
    if (n_found == 0)
        printf("–            %-8s device=%s: %s\n", engine, device, reason);
}

/* Contenders of the user's own; the others are listed without starting anything. */
static status_t list_scripts(const char *root, error_t *err) {
    AUTO(text_list_free) text_list_t engines = {0};
    TRY(own_engines(root, &engines, err));
    for (size_t i = 0; i < engines.n; i++)
        for (const char *const *device = OWN_DEVICES; *device != NULL; device++)
            list_script(root, engines.items[i], *device);
    return STATUS_OK;
}

static status_t list_variants(const cli_args_t *args, error_t *err) {
    size_t n_engines;
    const workload_t *workload;
    const char *const *engines = workload_engines(&n_engines);
    for (size_t i = 0; (workload = workload_at(i)) != NULL; i++)
        for (size_t e = 0; e < n_engines; e++) {
            AUTO(text_list_free) text_list_t variants = {0};
            TRY(workload_variants(workload, engines[e], args->root, &variants, err));
            for (size_t v = 0; v < variants.n; v++)
                printf("%-12s %-8s %s\n", workload->name, engines[e], variants.items[v]);
        }
    return list_scripts(args->root, err);
}

static status_t list_sweeps(const cli_args_t *args, error_t *err) {
    AUTO(text_list_free) text_list_t names = {0};
    AUTO_FREE char *folder = fs_join(args->root, "sweeps");
    TRY(fs_list(folder, ".json", &names, err));
    for (size_t i = 0; i < names.n; i++) {
        if (strcmp(names.items[i], "schema.json") == 0)
            continue;
        AUTO_FREE char *path = fs_join(folder, names.items[i]);
        AUTO(sweep_free) sweep_t sweep = {0};
        TRY(sweep_load(path, args->root, &sweep, err));
        printf("sweeps/%-28s %s, %zu cases\n", names.items[i], sweep.workload->name, sweep.n_cases);
    }
    return STATUS_OK;
}

/* Starts a worker to get "NVIDIA H200, sm_90"; NULL and the reason in `err` if there is no
 * such device. The caller frees it. */
static char *describe_device(const char *root, const char *engine, int index, const char *separator,
                             error_t *err) {
    json_auto_t *hello = workers_hello(root, engine, engine, index, 60, err);
    const json_t *device = json_object_get(hello, "device");
    const char *name = json_string_value(json_object_get(device, "name"));
    const char *arch = json_string_value(json_object_get(device, "arch"));
    return hello == NULL ? NULL
                         : mem_format("%s%s%s", name != NULL ? name : "", separator,
                                      arch != NULL ? arch : "");
}

static status_t list_devices(const cli_args_t *args, error_t *err) {
    static const char *const ENGINES[] = {"cpu", "cuda"};
    (void)err;
    for (int e = 0; e < 2; e++)
        for (int index = 0, most = e == 0 ? 1 : INT_MAX; index < most; index++) {
            error_t why = ERROR_INIT;
            AUTO_FREE char *text = describe_device(args->root, ENGINES[e], index, " ", &why);
            if (text != NULL)
                printf("%-5s %d  %s\n", ENGINES[e], index, text);
            else if (index == 0)
                printf("%-5s –  %s\n", ENGINES[e], why.text);
            if (text == NULL)
                break;
        }
    return STATUS_OK;
}

static const struct {
    const char *name;
    status_t (*list)(const cli_args_t *args, error_t *err);
} LISTS[] = {
    {"workloads", list_workloads},
    {"variants", list_variants},
    {"sweeps", list_sweeps},
    {"devices", list_devices},
};

enum { N_LISTS = sizeof LISTS / sizeof *LISTS };

status_t list_command(const cli_args_t *args, error_t *err) {
    const char *names[N_LISTS];
    for (size_t i = 0; i < N_LISTS; i++)
        names[i] = LISTS[i].name;
    for (size_t w = 0; w < args->operands.n; w++) {
        const char *what = args->operands.items[w];
        if (strcmp(what, "operators") == 0) /* its former name, for one release */
            what = "workloads";
        size_t i = 0;
        while (i < N_LISTS && strcmp(names[i], what) != 0)
            i++;
        if (i == N_LISTS) {
            AUTO_FREE char *hint = text_hint(what, names, N_LISTS);
            return error_set(err, STATUS_USAGE,
                             "bench list: no \"%s\" (workloads, variants, sweeps, devices)%s", what,
                             hint);
        }
        TRY(LISTS[i].list(args, err));
    }
    for (size_t i = 0; args->operands.n == 0 && i < N_LISTS; i++) {
        printf("%s%s:\n", i > 0 ? "\n" : "", names[i]);
        TRY(LISTS[i].list(args, err));
    }
    return STATUS_OK;
}

/* ==== bench doctor ============================================================================ */

typedef struct finding {
    const char *what;
    bool found;
    const char *detail;  /* version and path, or why it was not found */
    const char *costs;   /* what does not work without it */
    const char *install; /* a command or an instruction */
} finding_t;

typedef struct finding_list {
    finding_t *items;
    size_t n, capacity;
    arena_t texts; /* owns the formatted texts */
} finding_list_t;

enum { DEVICE, NVML, NVRTC, HEADERS, NVCC, CUBLASLT, NVTX, GNUPLOT, WALLS };
enum { PYTHON = WALLS + 1, NUMPY, TORCH, TORCH_COMPILE, JAX };

#define SETS_UP_PYTHON "./run_all.sh sets up .venv with it"

static const finding_t COMPONENTS[] = {
    [DEVICE] = {.what = "CUDA device",
                .costs = "CUDA cases are skipped; CPU cases, charts and reports work",
                .install = "install NVIDIA's driver"},
    [NVML] = {.what = "NVML",
              .costs = "clocks and throttling are not recorded",
              .install = "comes with NVIDIA's driver"},
    [NVRTC] = {.what = "NVRTC",
               .costs = "programs are compiled by nvcc, ten times slower; without both, CUDA cases "
                        "are skipped",
               .install = "./run_all.sh installs it in .venv, as does .venv/bin/pip install "
                          "nvidia-cuda-nvrtc"},
    [HEADERS] = {.what = "CUDA headers",
                 .costs = "with NVRTC, kernels that include them are skipped",
                 .install = "install NVRTC first"},
    [NVCC] = {.what = "nvcc",
              .costs = "bench compile --compiler nvcc fails",
              .install = "install NVIDIA's CUDA toolkit"},
    [CUBLASLT] = {.what = "cuBLASLt",
                  .costs =
                      "variants that use it for matrix products are skipped, and limits of matrix "
                      "products are nominal",
                  .install = ".venv/bin/pip install nvidia-cublas (PyTorch for CUDA includes it)"},
    [NVTX] = {.what = "NVTX",
              .costs = "external profilers show no ranges",
              .install = "install the CUDA toolkit's nvtx3 headers, then make clean && make"},
    [GNUPLOT] = {.what = "gnuplot", .costs = "no charts and no data files for charts"},
    [WALLS] = {.what = "namespaces",
               .costs = "bench run --isolate gives each contender a process, but hides nothing "
                        "from it"},
    [PYTHON] = {.what = "Python",
                .costs = "cases of PyTorch, JAX and Python files are skipped",
                .install = "activate an environment, or set BENCH_PYTHON"},
    /* Used if the worker cannot say: */
    [NUMPY] = {.what = "NumPy", .costs = "PyTorch cases are skipped", .install = SETS_UP_PYTHON},
    [TORCH] = {.what = "PyTorch",
               .costs = "nothing to compare CUDA with: PyTorch cases are skipped",
               .install = SETS_UP_PYTHON},
    [TORCH_COMPILE] = {.what = "torch.compile",
                       .costs = "PyTorch's compile modes are skipped",
                       .install = SETS_UP_PYTHON},
    [JAX] = {.what = "JAX",
             .costs = "JAX cases are skipped",
             .install = "./run_all.sh sets up .venv-jax with it"},
};

/* Copies `detail`. The result is valid until the next call. */
static finding_t *add(finding_list_t *findings, const finding_t *finding, bool found,
                      const char *detail) {
    mem_grow(&findings->items, findings->n, &findings->capacity, sizeof *findings->items);
    finding_t *added = &findings->items[findings->n++];
    *added = *finding;
    added->found = found;
    added->detail = arena_format(&findings->texts, "%s", detail);
    return added;
}

static void find_device(finding_list_t *findings, const char *root) {
    error_t why = ERROR_INIT;
    AUTO_FREE char *device = describe_device(root, "cuda", 0, ", ", &why);
    finding_t *finding =
        add(findings, &COMPONENTS[DEVICE], device != NULL, device != NULL ? device : why.text);
    if (strstr(finding->detail, "CUDA_VISIBLE_DEVICES=") != NULL)
        finding->install = "unset CUDA_VISIBLE_DEVICES, or name a GPU in it";
}

static void find_compiler(finding_list_t *findings, const char *root, compiler_t compiler) {
    const compile_options_t options = {.root = root, .compiler = compiler};
    error_t why = ERROR_INIT;
    AUTO_FREE char *text = NULL;
    const bool found = compile_describe(&options, &text, &why) == STATUS_OK;
    why.text[strcspn(why.text, "\n")] = '\0'; /* the other lines list the places searched */
    add(findings, &COMPONENTS[compiler == COMPILER_NVCC ? NVCC : NVRTC], found,
        found ? text : why.text);
}

/* NVRTC does not include them. */
static void find_headers(finding_list_t *findings, const char *root) {
    error_t why = ERROR_INIT;
    AUTO_FREE char *folder = NULL;
    char *install = NULL;
    compile_find_headers(root, &folder, &install, &why);
    finding_t *finding = add(findings, &COMPONENTS[HEADERS], folder != NULL,
                             folder != NULL    ? folder
                             : install != NULL ? "no cuda_fp16.h in NVRTC or a toolkit"
                                               : "needs NVRTC");
    if (install != NULL)
        finding->install = arena_keep(&findings->texts, install);
}

static void find_nvml(finding_list_t *findings) {
    error_t why = ERROR_INIT;
    const bool found = nvml_find(&why) == STATUS_OK;
    add(findings, &COMPONENTS[NVML], found, found ? "libnvidia-ml.so.1" : why.text);
}

static void find_cublaslt(finding_list_t *findings, const char *root) {
    cublaslt_api_t api;
    error_t why = ERROR_INIT;
    AUTO_FREE char *path = NULL;
    const bool found = cublaslt_open(root, &api, &path, &why) == STATUS_OK;
    finding_t *finding = add(findings, &COMPONENTS[CUBLASLT], found, why.text);
    if (found) {
        const size_t version = api.version();
        finding->detail = arena_format(&findings->texts, "cuBLASLt %zu.%zu.%zu, %s",
                                       version / 10000, version / 100 % 100, version % 100, path);
    }
}

static void find_nvtx(finding_list_t *findings) {
    const bool found = nvtx_available();
    add(findings, &COMPONENTS[NVTX], found,
        found ? "ranges of cases, phases and rounds" : "built without the toolkit's header");
}

static void find_gnuplot(finding_list_t *findings) {
    AUTO_FREE char *version =
        subprocess_output((const char *const[]){"gnuplot", "--version", NULL}, TIMEOUT_S);
    if (version != NULL)
        version[strcspn(version, "\n")] = '\0';
    finding_t *finding = add(findings, &COMPONENTS[GNUPLOT], version != NULL,
                             version != NULL ? version : "not on $PATH");
    finding->install = arena_keep(&findings->texts, package_install(&CHART_GNUPLOT));
}

static void find_walls(finding_list_t *findings) {
    AUTO(walls_free) walls_t walls = walls_find();
    finding_t *finding = add(findings, &COMPONENTS[WALLS], walls.kind != WALLS_NONE, walls.detail);
    finding->install = arena_keep(&findings->texts, package_install(&BUBBLEWRAP));
}

/* Which Python, and why; an engine with the same as the one before says nothing. Returns the text. */
static const char *find_interpreter(finding_list_t *findings, const char *root, const char *engine,
                                    const char *before) {
    error_t why = ERROR_INIT;
    AUTO_FREE char *text = NULL;
    const bool found = workers_describe_python(root, engine, &text, &why) == STATUS_OK;
    finding_t finding = COMPONENTS[PYTHON];
    if (before != NULL)
        finding.what = arena_format(&findings->texts, "Python, %s", engine);
    if (before == NULL || !found || strcmp(text, before) != 0)
        before = add(findings, &finding, found, found ? text : why.text)->detail;
    return before;
}

/* `first` … `last`: the components if the worker cannot say. */
static void find_python(finding_list_t *findings, const char *root, const char *engine, int first,
                        int last) {
    static const char *const KEYS[] = {"what", "detail", "costs", "install"};
    error_t why = ERROR_INIT;
    json_auto_t *answer = doctor_ask_python(root, engine, &why);
    json_t *item;
    size_t i;
    json_array_foreach(answer, i, item) {
        const char *texts[4];
        for (size_t k = 0; k < 4; k++) {
            const char *text = json_string_value(json_object_get(item, KEYS[k]));
            texts[k] = arena_format(&findings->texts, "%s", text != NULL ? text : "");
        }
        const finding_t finding = {.what = texts[0], .costs = texts[2], .install = texts[3]};
        add(findings, &finding, json_is_true(json_object_get(item, "found")), texts[1]);
    }
    for (int c = first; c <= last && answer == NULL; c++)
        add(findings, &COMPONENTS[c], false, why.text);
}

/* "CPU, version 2.4.0", or why it does not start. */
static const char *own_worker_text(arena_t *texts, const char *root, const char *engine,
                                   const char *on, bool *found) {
    error_t why = ERROR_INIT;
    json_auto_t *hello = workers_hello(root, engine, on, 0, OWN_TIMEOUT_S, &why);
    if (hello == NULL)
        return arena_keep(texts, in_one_line(why.text));
    *found = true;
    const json_t *device = json_object_get(hello, "device");
    const char *name = json_string_value(json_object_get(device, "name"));
    const json_t *version = json_object_get(json_object_get(hello, "versions"), engine);
    name = name != NULL ? name : "found";
    return json_is_string(version)
               ? arena_format(texts, "%s, version %s", name, json_string_value(version))
           : json_is_number(version)
               ? arena_format(texts, "%s, version %g", name, json_number_value(version))
               : arena_format(texts, "%s, no version: its hello.versions has no \"%s\"", name,
                              engine);
}

/* The contenders of the user's own, whose cases are skipped or fail if none of their workers starts. */
static void find_own_engines(finding_list_t *findings, const char *root) {
    AUTO(text_list_free) text_list_t engines = {0};
    own_engines(root, &engines, NULL);
    for (size_t i = 0; i < engines.n; i++) {
        const char *engine = arena_format(&findings->texts, "%s", engines.items[i]);
        finding_t finding = {.what = engine, .costs = "its cases are skipped or fail"};
        finding.install = arena_format(
            &findings->texts, "as its worker says, or mend reference_%s/worker.py", engine);
        bool found = false;
        AUTO(text_list_free) text_list_t states = {0};
        for (const char *const *on = OWN_DEVICES; *on != NULL; on++)
            text_list_add_format(&states, "%s: %s", *on,
                                 own_worker_text(&findings->texts, root, engine, *on, &found));
        AUTO_FREE char *detail = text_list_join(&states, "; ");
        text_make_plain(detail);
        add(findings, &finding, found, detail);
    }
}

static void print_text(const finding_list_t *findings, bool brief) {
    for (size_t i = 0; i < findings->n; i++) {
        const finding_t *f = &findings->items[i];
        printf("%s%s %-13s %s\n", brief ? "  " : "", f->found ? "✓" : "✗", f->what,
               brief && !f->found ? f->costs : f->detail);
        if (!brief && !f->found)
            printf("  without it:   %s\n  to get it:    %s\n", f->costs, f->install);
    }
}

static void print_findings_json(const finding_list_t *findings) {
    json_t *array = json_array();
    for (size_t i = 0; i < findings->n; i++) {
        const finding_t *f = &findings->items[i];
        json_array_append_new(array, json_pack("{s:s, s:b, s:s, s:s, s:s}", "what", f->what,
                                               "found", f->found, "detail", f->detail, "costs",
                                               f->costs, "install", f->install));
    }
    json_print(array, JSON_INDENT(2), stdout);
}

status_t doctor_command(const cli_args_t *args, error_t *err) {
    (void)err;
    finding_list_t findings = {0};
    find_device(&findings, args->root);
    find_nvml(&findings);
    find_compiler(&findings, args->root, COMPILER_NVRTC);
    find_headers(&findings, args->root);
    find_compiler(&findings, args->root, COMPILER_NVCC);
    find_cublaslt(&findings, args->root);
    find_nvtx(&findings);
    find_gnuplot(&findings);
    find_walls(&findings);
    const char *python = find_interpreter(&findings, args->root, "pytorch", NULL);
    find_python(&findings, args->root, "pytorch", NUMPY, TORCH_COMPILE);
    find_interpreter(&findings, args->root, "jax", python);
    find_python(&findings, args->root, "jax", JAX, JAX);
    find_own_engines(&findings, args->root);
    if (cli_has(args, "json"))
        print_findings_json(&findings);
    else
        print_text(&findings, cli_has(args, "short"));
    free(findings.items);
    arena_free(&findings.texts);
    return STATUS_OK;
}
