/* `bench doctor`: what is here, what is missing, what that costs, and the command that installs it.
 */
#include "commands.h"
#include "doors/cublaslt.h"
#include "doors/nvml.h"
#include "doors/nvtx.h"
#include "ground/fs.h"
#include "ground/memory.h"
#include "steps/compile.h"
#include "steps/workers.h"

#include <stdlib.h>
#include <string.h>

typedef struct finding {
    const char *what;
    bool found;
    char *detail;        /* version and place, or why not; owned */
    const char *costs;   /* what is not possible without it */
    const char *install; /* a command, or what else to do */
} finding_t;

static finding_t find_driver(const cli_args_t *args) {
    workers_t workers = {.root = args->root};
    case_t spec = {.engine = mem_text("cuda"), .device = mem_text("cuda")};
    worker_link_t *link = NULL;
    error_t why = ERROR_INIT;
    finding_t finding = {.what = "CUDA device",
                         .costs = "CUDA cases are skipped; CPU cases, charts and reports work",
                         .install = "install NVIDIA's driver"};
    if (workers_find(&workers, &spec, "", &link, &why) == STATUS_OK &&
        worker_link_start(link, 60, &why) == STATUS_OK) {
        const json_t *device = json_object_get(link->hello, "device");
        finding.found = true;
        finding.detail = mem_format("%s, %s", json_string_value(json_object_get(device, "name")),
                                    json_string_value(json_object_get(device, "arch")));
    } else {
        finding.detail = mem_text(why.text);
    }
    case_free(&spec);
    workers_free(&workers);
    return finding;
}

static finding_t find_compiler(const cli_args_t *args, compiler_t compiler, const char *what,
                               const char *install) {
    const compile_options_t options = {.root = args->root, .compiler = compiler};
    error_t why = ERROR_INIT;
    char *text = NULL;
    bool found = compile_describe(&options, &text, &why) == STATUS_OK;
    return (finding_t){.what = what,
                       .found = found,
                       .detail = found ? text : mem_text(why.text),
                       .costs = compiler == COMPILER_NVRTC
                                    ? "programs are compiled by nvcc, ten times slower; without "
                                      "both, CUDA cases are skipped"
                                    : "bench compile --compiler nvcc is not possible",
                       .install = install};
}

static finding_t find_nvml(void) {
    nvml_t *nvml = NULL;
    error_t why = ERROR_INIT;
    nvml_open("GPU-00000000-0000-0000-0000-000000000000", &nvml, &why);
    bool there = strstr(why.text, "no NVML") == NULL;
    nvml_close(nvml);
    return (finding_t){.what = "NVML",
                       .found = there,
                       .detail = mem_text(there ? "libnvidia-ml.so.1" : why.text),
                       .costs = "clocks and throttling are not recorded",
                       .install = "comes with NVIDIA's driver"};
}

static finding_t find_cublaslt(const cli_args_t *args) {
    cublaslt_api_t api;
    error_t why = ERROR_INIT;
    char *path = NULL, *detail;
    bool found = cublaslt_open(args->root, &api, &path, &why) == STATUS_OK;
    if (found) {
        const size_t version = api.version();
        detail = mem_format("cuBLASLt %zu.%zu.%zu, %s", version / 10000, version / 100 % 100,
                            version % 100, path);
    } else {
        detail = mem_text(why.text);
    }
    free(path);
    return (finding_t){.what = "cuBLASLt",
                       .found = found,
                       .detail = detail,
                       .costs = "rungs that have it multiply matrices are skipped",
                       .install = "pip install nvidia-cublas (PyTorch for CUDA brings it)"};
}

static char *first_line(const char *const *argv) {
    subprocess_result_t result;
    error_t ignored = ERROR_INIT;
    if (subprocess_run(argv, NULL, 120, &result, &ignored) != STATUS_OK)
        return NULL;
    char *line = NULL;
    if (result.exit_code == 0)
        line = mem_text_n(result.out, strcspn(result.out, "\n"));
    subprocess_result_free(&result);
    return line;
}

static finding_t find_gnuplot(void) {
    char *line = first_line((const char *const[]){"gnuplot", "--version", NULL});
    return (finding_t){.what = "gnuplot",
                       .found = line != NULL,
                       .detail = line != NULL ? line : mem_text("not on $PATH"),
                       .costs = "no charts; data files for them are not written either",
                       .install = "apt-get install gnuplot-nox"};
}

static finding_t find_pytorch(const cli_args_t *args) {
    char *python = workers_python(args->root), *line = NULL;
    if (python != NULL)
        line = first_line((const char *const[]){
            python, "-c", "import sys, torch; print('PyTorch', torch.__version__, sys.executable)",
            NULL});
    free(python);
    return (finding_t){.what = "PyTorch",
                       .found = line != NULL,
                       .detail = line != NULL ? line : mem_text("not importable by python3"),
                       .costs = "nothing to compare CUDA with: PyTorch cases are skipped",
                       .install = "./run_all.sh sets up .venv with it"};
}

static void print_text(const finding_t *findings, size_t n) {
    for (size_t i = 0; i < n; i++) {
        printf("%s %-12s %s\n", findings[i].found ? "✓" : "✗", findings[i].what,
               findings[i].detail);
        if (!findings[i].found)
            printf("  without it:  %s\n  to get it:   %s\n", findings[i].costs,
                   findings[i].install);
    }
}

static void print_short(const finding_t *findings, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (findings[i].found)
            printf("  ✓ %-12s %s\n", findings[i].what, findings[i].detail);
        else
            printf("  ✗ %-12s %s\n", findings[i].what, findings[i].costs);
}

static void print_findings_json(const finding_t *findings, size_t n) {
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(array, json_pack("{s:s, s:b, s:s, s:s, s:s}", "what",
                                               findings[i].what, "found", findings[i].found,
                                               "detail", findings[i].detail, "costs",
                                               findings[i].costs, "install", findings[i].install));
    json_dumpf(array, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(array);
}

status_t doctor_command(const cli_args_t *args, error_t *err) {
    (void)err;
    finding_t findings[] = {
        find_driver(args),
        find_nvml(),
        find_compiler(args, COMPILER_NVRTC, "NVRTC",
                      "pip install nvidia-cuda-nvrtc (./run_all.sh puts it into .venv)"),
        find_compiler(args, COMPILER_NVCC, "nvcc", "install NVIDIA's CUDA toolkit"),
        find_cublaslt(args),
        {.what = "NVTX",
         .found = nvtx_available(),
         .detail = mem_text(nvtx_available() ? "ranges of cases, phases and rounds"
                                             : "the toolkit's header was not there at build time"),
         .costs = "external profilers show no ranges",
         .install = "install the CUDA toolkit's nvtx3 headers, then make clean && make"},
        find_gnuplot(),
        find_pytorch(args),
    };
    size_t n = sizeof findings / sizeof *findings;
    if (cli_has(args, "json"))
        print_findings_json(findings, n);
    else if (cli_has(args, "short"))
        print_short(findings, n);
    else
        print_text(findings, n);
    for (size_t i = 0; i < n; i++)
        free(findings[i].detail);
    return STATUS_OK;
}
