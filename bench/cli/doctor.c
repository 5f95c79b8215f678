/* `bench doctor`: what is here, what is missing, what that costs, and the command that installs it.
 */
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

/* The first line of a message: what it is, without where it was looked for. */
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
                            .costs = "programs are compiled by nvcc, ten times slower; without "
                                     "both, CUDA cases are skipped",
                            .install = "./run_all.sh puts it into .venv, as does .venv/bin/pip "
                                       "install nvidia-cuda-nvrtc"},
        [COMPILER_NVCC] = {.what = "nvcc",
                           .costs = "bench compile --compiler nvcc is not possible",
                           .install = "install NVIDIA's CUDA toolkit"}};
    const compile_options_t options = {.root = root, .compiler = compiler};
    error_t why = ERROR_INIT;
    char *text;
    finding_t *finding = findings_add(findings, &COMPILERS[compiler]);
    finding->found = compile_describe(&options, &text, &why) == STATUS_OK;
    finding->detail = arena_keep(&findings->texts, finding->found ? text : first_line(why.text));
}

/* NVRTC comes without them. */
static void find_headers(finding_list_t *findings, const char *root) {
    error_t why = ERROR_INIT;
    char *folder = NULL, *install = NULL;
    compile_find_headers(root, &folder, &install, &why);
    finding_t *finding = findings_add(
        findings,
        &(finding_t){.what = "CUDA headers",
                     .found = folder != NULL,
                     .detail = arena_keep(&findings->texts, folder),
                     .costs = "with NVRTC, kernels that include them, all of mnist_train, are "
                              "skipped",
                     .install = arena_keep(&findings->texts, install)});
    if (folder == NULL)
        finding->detail = install != NULL ? "no cuda_fp16.h beside NVRTC or in a toolkit"
                                          : "there is no NVRTC to use them";
    if (install == NULL)
        finding->install = "comes after NVRTC";
}

static void find_nvml(finding_list_t *findings) {
    error_t why = ERROR_INIT;
    bool there = nvml_find(&why) == STATUS_OK;
    findings_add(findings,
                 &(finding_t){.what = "NVML",
                              .found = there,
                              .detail = arena_format(&findings->texts, "%s",
                                                     there ? "libnvidia-ml.so.1" : why.text),
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
            .costs = "rungs that have it multiply matrices are skipped",
            .install = ".venv/bin/pip install nvidia-cublas (PyTorch for CUDA brings it)"});
    free(path);
}

static void find_nvtx(finding_list_t *findings) {
    bool there = nvtx_available();
    findings_add(
        findings,
        &(finding_t){.what = "NVTX",
                     .found = there,
                     .detail = there ? "ranges of cases, phases and rounds"
                                     : "the toolkit's header was not there at build time",
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
                     .costs = "no charts; data files for them are not written either",
                     .install = arena_keep(&findings->texts, package_install(&CHART_GNUPLOT))});
}

static void find_mnist(finding_list_t *findings, const char *root) {
    error_t why = ERROR_INIT;
    char *folder = NULL;
    finding_t *finding = findings_add(
        findings,
        &(finding_t){.what = "MNIST",
                     .costs = "mnist_train and mlp_train take synthetic images, and say so",
                     .install = "reference_pytorch/get_mnist.sh"});
    if (dataset_find(root, &folder, &why) != STATUS_OK) {
        finding->detail = arena_format(&findings->texts, "%s", why.text);
        finding->costs = "cases of mnist_train and mlp_train fail";
        finding->install = "unset MNIST_DIR, then reference_pytorch/get_mnist.sh";
    } else {
        finding->found = folder != NULL;
        finding->detail = folder != NULL ? arena_keep(&findings->texts, folder)
                                         : "neither data/mnist nor $MNIST_DIR";
    }
}

static void print_text(const finding_list_t *findings) {
    for (size_t i = 0; i < findings->n; i++) {
        const finding_t *f = &findings->items[i];
        printf("%s %-13s %s\n", f->found ? "✓" : "✗", f->what, f->detail);
        if (!f->found)
            printf("  without it:   %s\n  to get it:    %s\n", f->costs, f->install);
    }
}

static void print_short(const finding_list_t *findings) {
    for (size_t i = 0; i < findings->n; i++) {
        const finding_t *f = &findings->items[i];
        printf("  %s %-13s %s\n", f->found ? "✓" : "✗", f->what, f->found ? f->detail : f->costs);
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
    else if (cli_has(args, "short"))
        print_short(&findings);
    else
        print_text(&findings);
    free(findings.items);
    arena_free(&findings.texts);
    return STATUS_OK;
}
