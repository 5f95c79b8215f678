/* `bench doctor`: what is installed, what is missing, what that costs, and how to install it. */
#include "cli/doctor.h"

#include "base/memory.h"
#include "cli/commands.h"
#include "cli/own_worker.h"
#include "compile/compile.h"
#include "cuda/cublaslt.h"
#include "cuda/nvml.h"
#include "cuda/nvtx.h"
#include "io/json.h"
#include "io/subprocess.h"
#include "plot/gnuplot.h"
#include "sweep/sweep.h"
#include "walls/walls.h"
#include "worker/pool.h"
#include "workloads/mnist/idx.h"

#include <stdlib.h>
#include <string.h>

enum { DEVICE, NVML, NVRTC, HEADERS, NVCC, CUBLASLT, NVTX, GNUPLOT, WALLS, MNIST };
enum { PYTHON = MNIST + 1, NUMPY, TORCH, TORCH_COMPILE, JAX };

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
                 .costs = "with NVRTC, kernels that include them (all of mnist_train) are skipped",
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
    [MNIST] = {.what = "MNIST",
               .costs = "mnist_train and mlp_train use synthetic images and say so",
               .install = "reference_common/get_mnist.py"},
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
    char *device = describe_device(root, "cuda", 0, ", ", &why);
    finding_t *finding =
        add(findings, &COMPONENTS[DEVICE], device != NULL, device != NULL ? device : why.text);
    if (strstr(finding->detail, "CUDA_VISIBLE_DEVICES=") != NULL)
        finding->install = "unset CUDA_VISIBLE_DEVICES, or name a GPU in it";
    free(device);
}

static void find_compiler(finding_list_t *findings, const char *root, compiler_t compiler) {
    const compile_options_t options = {.root = root, .compiler = compiler};
    error_t why = ERROR_INIT;
    char *text = NULL;
    const bool found = compile_describe(&options, &text, &why) == STATUS_OK;
    why.text[strcspn(why.text, "\n")] = '\0'; /* the other lines list the places searched */
    add(findings, &COMPONENTS[compiler == COMPILER_NVCC ? NVCC : NVRTC], found,
        found ? text : why.text);
    free(text);
}

/* NVRTC does not include them. */
static void find_headers(finding_list_t *findings, const char *root) {
    error_t why = ERROR_INIT;
    char *folder = NULL, *install = NULL;
    compile_find_headers(root, &folder, &install, &why);
    finding_t *finding = add(findings, &COMPONENTS[HEADERS], folder != NULL,
                             folder != NULL    ? folder
                             : install != NULL ? "no cuda_fp16.h in NVRTC or a toolkit"
                                               : "needs NVRTC");
    if (install != NULL)
        finding->install = arena_keep(&findings->texts, install);
    free(folder);
}

static void find_nvml(finding_list_t *findings) {
    error_t why = ERROR_INIT;
    const bool found = nvml_find(&why) == STATUS_OK;
    add(findings, &COMPONENTS[NVML], found, found ? "libnvidia-ml.so.1" : why.text);
}

static void find_cublaslt(finding_list_t *findings, const char *root) {
    cublaslt_api_t api;
    error_t why = ERROR_INIT;
    char *path = NULL;
    const bool found = cublaslt_open(root, &api, &path, &why) == STATUS_OK;
    finding_t *finding = add(findings, &COMPONENTS[CUBLASLT], found, why.text);
    if (found) {
        const size_t version = api.version();
        finding->detail = arena_format(&findings->texts, "cuBLASLt %zu.%zu.%zu, %s",
                                       version / 10000, version / 100 % 100, version % 100, path);
    }
    free(path);
}

static void find_nvtx(finding_list_t *findings) {
    const bool found = nvtx_available();
    add(findings, &COMPONENTS[NVTX], found,
        found ? "ranges of cases, phases and rounds" : "built without the toolkit's header");
}

static void find_gnuplot(finding_list_t *findings) {
    subprocess_result_t result = {0};
    error_t ignored = ERROR_INIT;
    const char *const argv[] = {"gnuplot", "--version", NULL};
    const bool found =
        subprocess_run(argv, NULL, 120, &result, &ignored) == STATUS_OK && result.exit_code == 0;
    if (found)
        result.out[strcspn(result.out, "\n")] = '\0';
    finding_t *finding =
        add(findings, &COMPONENTS[GNUPLOT], found, found ? result.out : "not on $PATH");
    finding->install = arena_keep(&findings->texts, package_install(&CHART_GNUPLOT));
    subprocess_result_free(&result);
}

static void find_walls(finding_list_t *findings) {
    walls_t walls = walls_find();
    char *install = package_install(&BUBBLEWRAP);
    finding_t *finding = add(findings, &COMPONENTS[WALLS], walls.kind != WALLS_NONE, walls.detail);
    finding->install = arena_keep(&findings->texts, install);
    walls_free(&walls);
}

static void find_mnist(finding_list_t *findings, const char *root) {
    error_t why = ERROR_INIT;
    char *folder = NULL;
    const status_t status = dataset_find(root, &folder, &why);
    finding_t *finding = add(findings, &COMPONENTS[MNIST], folder != NULL,
                             status != STATUS_OK ? why.text
                             : folder != NULL    ? folder
                                                 : "neither data/mnist nor $MNIST_DIR has it");
    if (status != STATUS_OK) {
        finding->costs = "cases of mnist_train and mlp_train fail";
        finding->install = "unset MNIST_DIR, then run reference_common/get_mnist.py";
    }
    free(folder);
}

/* Which Python, and why; an engine with the same as the one before says nothing. Returns the text. */
static const char *find_interpreter(finding_list_t *findings, const char *root, const char *engine,
                                    const char *before) {
    error_t why = ERROR_INIT;
    char *text = NULL;
    const bool found = workers_describe_python(root, engine, &text, &why) == STATUS_OK;
    finding_t finding = COMPONENTS[PYTHON];
    if (before != NULL)
        finding.what = arena_format(&findings->texts, "Python, %s", engine);
    if (before == NULL || !found || strcmp(text, before) != 0)
        before = add(findings, &finding, found, found ? text : why.text)->detail;
    free(text);
    return before;
}

/* `first` … `last`: the components if the worker cannot say. */
static void find_python(finding_list_t *findings, const char *root, const char *engine, int first,
                        int last) {
    static const char *const KEYS[] = {"what", "detail", "costs", "install"};
    error_t why = ERROR_INIT;
    json_t *answer = doctor_ask_python(root, engine, &why), *item;
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
    json_decref(answer);
}

/* "CPU, version 2.4.0", or why it does not start. */
static const char *own_worker_text(arena_t *texts, const own_worker_t *worker, const char *engine) {
    if (worker->hello == NULL)
        return arena_format(texts, "%s", worker->reason);
    const json_t *device = json_object_get(worker->hello, "device");
    const char *name = json_string_value(json_object_get(device, "name"));
    const json_t *version = json_object_get(json_object_get(worker->hello, "versions"), engine);
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
    text_list_t engines = {0};
    error_t ignored = ERROR_INIT;
    own_engines(root, &engines, &ignored);
    for (size_t i = 0; i < engines.n; i++) {
        const char *engine = arena_format(&findings->texts, "%s", engines.items[i]);
        finding_t finding = {.what = engine, .costs = "its cases are skipped or fail"};
        finding.install = arena_format(
            &findings->texts, "as its worker says, or mend reference_%s/worker.py", engine);
        bool found = false;
        text_list_t states = {0};
        for (const char *const *device = OWN_DEVICES; *device != NULL; device++) {
            own_worker_t worker = own_worker_ask(root, engine, *device);
            found = found || worker.hello != NULL;
            text_list_add_format(&states, "%s: %s", *device,
                                 own_worker_text(&findings->texts, &worker, engine));
            own_worker_free(&worker);
        }
        char *detail = text_list_join(&states, "; ");
        text_make_plain(detail);
        add(findings, &finding, found, detail);
        free(detail);
        text_list_free(&states);
    }
    text_list_free(&engines);
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
    find_mnist(&findings, args->root);
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
