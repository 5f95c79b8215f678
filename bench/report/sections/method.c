/* How to make the run again, and the method in brief. */
#include "report/sections/sections.h"

#include "io/fs.h"
#include "results/clock_record.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An argument as a POSIX shell takes it; a line break inside of it becomes a space. */
static void print_argument(const report_t *report, const char *argument) {
    static const char PLAIN[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "@%+=:,./_-";
    const bool is_plain = *argument != '\0' && argument[strspn(argument, PLAIN)] == '\0';
    const char *quote = is_plain ? "" : "'";
    print(report, "%s", quote);
    for (const char *c = argument; *c != '\0'; c++)
        if (*c == '\'')
            print(report, "'\\''");
        else
            print(report, "%c", *c == '\n' || *c == '\r' ? ' ' : *c);
    print(report, "%s", quote);
}

/* An indented block cannot be closed by what it holds, as a fenced one can. */
static void print_command(const report_t *report, char *const *arguments, size_t n) {
    print(report, "    ");
    for (size_t i = 0; i < n; i++) {
        print(report, i > 0 ? " " : "");
        print_argument(report, arguments[i]);
    }
    print(report, "\n");
}

static const char *sweep_names(const report_t *report) {
    text_list_t names = {0};
    for (size_t i = 0; i < report->run->n_sweeps; i++) {
        const sweep_text_t *sweep = &report->run->sweeps[i];
        const char *path = report_code(report, sweep->path);
        json_t *json = json_loads(sweep->text, 0, NULL);
        const char *name = json_string_value(json_object_get(json, "name"));
        if (name != NULL)
            text_list_add_format(&names, "%s (%s)", report_safe(report, name), path);
        else
            text_list_add(&names, path);
        json_decref(json);
    }
    return report_join(report, &names, ", ");
}

static const char *architectures(const report_t *report) {
    text_list_t names = {0};
    for (size_t i = 0; i < report->run->n_cases; i++) {
        const char *arch = report->run->cases[i].resources.arch;
        if (arch != NULL)
            text_list_add_new(&names, arch);
    }
    text_list_sort(&names);
    const char *list = report_join(report, &names, ", ");
    return list != NULL ? report_safe(report, list) : NULL;
}

static void print_item(const report_t *report, const char *label, const char *value) {
    print(report, "- [%c] %s: %s\n", value != NULL ? 'x' : ' ', label,
          value != NULL ? value : "not recorded");
}

/* One fact, or where it was not recorded another. */
static void print_fact(const report_t *report, const char *label, const char *key,
                       const char *other_key) {
    const environment_t *env = &report->run->environment;
    const char *value = environment_get(env, key);
    if (value == NULL)
        value = environment_get(env, other_key);
    print_item(report, label, value != NULL ? report_safe(report, value) : NULL);
}

void section_reproduce(const report_t *report) {
    const record_t *run = report->run;
    const bool gpu = environment_get(&run->environment, "gpu.name") != NULL;
    const char *arch = architectures(report);
    report_heading(report, 2, "Reproduce it");
    if (gpu) {
        print_fact(report, "GPU", "gpu.name", "");
        print_fact(report, "Driver", "gpu.driver", "");
        print_fact(report, "CUDA compiler", "versions.cuda_compiler", "versions.nvrtc");
    }
    print_fact(report, "PyTorch", "versions.pytorch", "versions.torch");
    print_fact(report, "Version of bench", "versions.bench", "");
    print_fact(report, "Git revision", "git.revision", "");
    if (!gpu)
        print_item(report, "GPU", "none in this run");
    if (arch != NULL)
        print_item(report, "Architecture that the kernels were compiled for", arch);
    print_item(report, "Sweeps, whose full text is in `run.json`", sweep_names(report));
    print_item(report, "Seed of data, weights and shuffles",
               report_text(report, "%llu", (unsigned long long)run->seed));
    print_item(report, "Raw samples, summaries, checks", report_code(report, run->folder));
    print(report, "\nThe run was started with\n\n");
    if (run->argv.n > 0)
        print_command(report, run->argv.items, run->argv.n);
    else
        print(report, "    (not recorded)\n");
    print(report, "\nand this report is made again from its files, without a GPU, with\n\n");
    print_command(report, (char *[]){(char[]){"bench"}, (char[]){"report"}, run->folder}, 3);
    print(report, "\n");
}

/* Times at a locked clock are not those that a GPU reaches by itself. */
static void print_clocks(const report_t *report) {
    const environment_t *env = &report->run->environment;
    const char *sentence = report_keep(report, lock_clocks_sentence(env));
    if (sentence != NULL)
        print(report, "- Clocks: %s. %s\n", report_safe(report, sentence),
              isfinite(lock_clocks_recorded_mhz(env))
                  ? "Times are those at this clock, not those that the GPU reaches when its clock "
                    "is free; `throttled` is judged against it."
                  : "The clock was free, as without `--lock-clocks`.");
}

void section_method(const report_t *report) {
    const char *path = report_keep(report, fs_join(report->root, "docs/measuring.md"));
    report_heading(report, 2, "Method in brief");
    print(report, "%s",
          "- Times are steady state: contenders are warmed up first, and what is paid once "
          "(context, module load, imports, compiling) is in a table of its own.\n"
          "- Contenders of the same case are measured in turns, in rounds, so that clock drift "
          "hits all alike; each is sampled until the 95 % interval of its median is as narrow as "
          "asked for, stops narrowing, or the time is up.\n"
          "- A ratio is one of medians; its 95 % interval is a bootstrap over rounds, paired where "
          "both have the same number of them. Where it holds 1, no difference is claimed.\n"
          "- The fastest case of a side is picked by the same medians that are then compared. That "
          "favours each side's pick a little, the more so the more cases it has.\n"
          "- Every output is compared with a float64 oracle before timing and after it. Wrong, "
          "failed and skipped cases have no time; throttled ones are marked and win nothing.\n"
          "- Only cases of the same workload, parameters, precision and kind of device are "
          "compared; where a GPU stands against a CPU, the text says so.\n"
          "- A contender that reaches the same result by another algorithm is marked "
          "*algorithmic* and takes no part in comparisons.\n");
    print_clocks(report);
    if (fs_exists(path))
        print(report, "\nThe reasons: [docs/measuring.md](%s).\n",
              report_keep(report, report_link(report, path)));
}
