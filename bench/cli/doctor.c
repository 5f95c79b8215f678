/* `bench doctor`: what is found, what is missing, what does not work without it, and how to install
 * it. */
#include "cli/doctor.h"

#include "base/memory.h"
#include "cli/commands.h"
#include "compile/compile.h"
#include "cuda/cublaslt.h"
#include "cuda/nvml.h"
#include "cuda/nvtx.h"
#include "io/json_text.h"
#include "io/subprocess.h"
#include "plot/gnuplot.h"
#include "workloads/mnist/idx.h"

#include <stdlib.h>
#include <string.h>

/* The first line of a message: further lines list the places searched. */
static char *first_line(const char *text) {
    return mem_text_n(text, strcspn(text, "\n"));
}

static void find_driver(finding_list_t *findings, const char *root) {
    error_t why = ERROR_INIT;
    char *device = describe_device(root, "cuda", 0, ", ", &why);
    findings_add(findings,
                 &(finding_t){.what = "CUDA device",
                              .found = device != NULL,
                              .detail = arena_keep(&findings->texts,
                                                   device != NULL ? device : mem_text(why.text)),
                              .costs = "CUDA cases are skipped; CPU cases, charts and reports work",
                              .install = "install NVIDIA's driver"});
}

static void find_compiler(finding_list_t *findings, const char *root, compiler_t compiler) {
    static const finding_t COMPILERS[] = {
        [COMPILER_NVRTC] = {.what = "NVRTC",
                            .costs = "nvcc compiles programs, ten times slower; without either, "
                                     "CUDA cases are skipped",
                            .install = "./run_all.sh installs it in .venv, as does .venv/bin/pip "
                                       "install nvidia-cuda-nvrtc"},
        [COMPILER_NVCC] = {.what = "nvcc",
                           .costs = "bench compile --compiler nvcc fails",
                           .install = "install NVIDIA's CUDA toolkit"}};
    const compile_options_t options = {.root = root, .compiler = compiler};
    error_t why = ERROR_INIT;
    char *text;
    finding_t *finding = findings_add(findings, &COMPILERS[compiler]);
    finding->found = compile_describe(&options, &text, &why) == STATUS_OK;
    finding->detail = arena_keep(&findings->texts, finding->found ? text : first_line(why.text));
}

/* NVRTC does not include them. */
static void find_headers(finding_list_t *findings, const char *root) {
    error_t why = ERROR_INIT;
    char *folder = NULL, *install = NULL;
    compile_find_headers(root, &folder, &install, &why);
    finding_t *finding = findings_add(
        findings,
        &(finding_t){.what = "CUDA headers",
                     .found = folder != NULL,
                     .detail = arena_keep(&findings->texts, folder),
                     .costs = "with NVRTC, kernels that include them (all of mnist_train) are "
                              "skipped",
                     .install = arena_keep(&findings->texts, install)});
    if (folder == NULL)
        finding->detail =
            install != NULL ? "no cuda_fp16.h beside NVRTC or in a toolkit" : "needs NVRTC";
    if (install == NULL)
        finding->install = "install NVRTC first";
}

static void find_nvml(finding_list_t *findings) {
    error_t why = ERROR_INIT;
    bool found = nvml_find(&why) == STATUS_OK;
    findings_add(findings,
                 &(finding_t){.what = "NVML",
                              .found = found,
                              .detail = arena_format(&findings->texts, "%s",
                                                     found ? "libnvidia-ml.so.1" : why.text),
                              .costs = "clocks and throttling are not recorded",
                              .install = "comes with NVIDIA's driver"});
}

static void find_cublaslt(finding_list_t *findings, const char *root) {
    cublaslt_api_t api;
    error_t why = ERROR_INIT;
    char *path = NULL;
    bool found = cublaslt_open(root, &api, &path, &why) == STATUS_OK;
    const size_t version = found ? api.version() : 0;
    findings_add(
        findings,
        &(finding_t){
            .what = "cuBLASLt",
            .found = found,
            .detail = found
                          ? arena_format(&findings->texts, "cuBLASLt %zu.%zu.%zu, %s",
                                         version / 10000, version / 100 % 100, version % 100, path)
                          : arena_format(&findings->texts, "%s", why.text),
            .costs = "variants that use it for matrix products are skipped",
            .install = ".venv/bin/pip install nvidia-cublas (PyTorch for CUDA includes it)"});
    free(path);
}

static void find_nvtx(finding_list_t *findings) {
    bool found = nvtx_available();
    findings_add(
        findings,
        &(finding_t){.what = "NVTX",
                     .found = found,
                     .detail = found ? "ranges of cases, phases and rounds"
                                     : "built without the toolkit's header",
                     .costs = "external profilers show no ranges",
                     .install =
                         "install the CUDA toolkit's nvtx3 headers, then make clean && make"});
}

static char *ask_version(const char *program) {
    subprocess_result_t result;
    error_t ignored = ERROR_INIT;
    const char *const argv[] = {program, "--version", NULL};
    if (subprocess_run(argv, NULL, 120, &result, &ignored) != STATUS_OK)
        return NULL;
    char *line = result.exit_code == 0 ? first_line(result.out) : NULL;
    subprocess_result_free(&result);
    return line;
}

static void find_gnuplot(finding_list_t *findings) {
    char *line = ask_version("gnuplot");
    findings_add(
        findings,
        &(finding_t){.what = "gnuplot",
                     .found = line != NULL,
                     .detail = line != NULL ? arena_keep(&findings->texts, line) : "not on $PATH",
                     .costs = "no charts and no data files for charts",
                     .install = arena_keep(&findings->texts, package_install(&CHART_GNUPLOT))});
}

static void find_mnist(finding_list_t *findings, const char *root) {
    error_t why = ERROR_INIT;
    char *folder = NULL;
    finding_t *finding = findings_add(
        findings, &(finding_t){.what = "MNIST",
                               .costs = "mnist_train and mlp_train use synthetic images and say so",
                               .install = "reference_pytorch/get_mnist.py"});
    if (dataset_find(root, &folder, &why) != STATUS_OK) {
        finding->detail = arena_format(&findings->texts, "%s", why.text);
        finding->costs = "cases of mnist_train and mlp_train fail";
        finding->install = "unset MNIST_DIR, then run reference_pytorch/get_mnist.py";
    } else {
        finding->found = folder != NULL;
        finding->detail = folder != NULL ? arena_keep(&findings->texts, folder)
                                         : "neither data/mnist nor $MNIST_DIR has it";
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
    find_driver(&findings, args->root);
    find_nvml(&findings);
    find_compiler(&findings, args->root, COMPILER_NVRTC);
    find_headers(&findings, args->root);
    find_compiler(&findings, args->root, COMPILER_NVCC);
    find_cublaslt(&findings, args->root);
    find_nvtx(&findings);
    find_gnuplot(&findings);
    find_mnist(&findings, args->root);
    doctor_ask_python(&findings, args->root);
    if (cli_has(args, "json"))
        print_findings_json(&findings);
    else
        print_text(&findings, cli_has(args, "short"));
    free(findings.items);
    arena_free(&findings.texts);
    return STATUS_OK;
}
