/* How to make the run again, and the method in brief. */
#include "report/page.h"

#include "base/memory.h"
#include "io/fs.h"
#include "results/clock_record.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An argument as a POSIX shell takes it. */
static void print_argument(FILE *out, const char *argument) {
    static const char PLAIN[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "@%+=:,./_-";
    if (*argument != '\0' && argument[strspn(argument, PLAIN)] == '\0') {
        fputs(argument, out);
        return;
    }
    fputc('\'', out);
    for (const char *c = argument; *c != '\0'; c++)
        if (*c == '\'')
            fputs("'\\''", out);
        else
            fputc(*c, out);
    fputc('\'', out);
}

/* An indented block cannot be closed by what it holds, as a fenced one can. A line break inside an
 * argument becomes a space there. */
static void print_command(FILE *out, const text_list_t *argv) {
    char *line;
    size_t size;
    FILE *buffer = open_memstream(&line, &size);
    for (size_t i = 0; i < argv->n; i++) {
        fputs(i > 0 ? " " : "", buffer);
        print_argument(buffer, argv->items[i]);
    }
    fclose(buffer);
    for (char *c = line; *c != '\0'; c++)
        if (*c == '\n' || *c == '\r')
            *c = ' ';
    fprintf(out, "    %s\n", line);
    free(line);
}

static char *sweep_name(const sweep_text_t *sweep) {
    json_t *json = json_loads(sweep->text, 0, NULL);
    const char *name = json_string_value(json_object_get(json, "name"));
    char *path = markdown_code(sweep->path), *text;
    if (name != NULL) {
        char *safe = markdown_text(name);
        text = mem_format("%s (%s)", safe, path);
        free(safe);
    } else {
        text = mem_text(path);
    }
    free(path);
    json_decref(json);
    return text;
}

static char *sweep_names(const record_t *run) {
    text_list_t names = {0};
    for (size_t i = 0; i < run->n_sweeps; i++) {
        char *name = sweep_name(&run->sweeps[i]);
        text_list_add(&names, name);
        free(name);
    }
    char *list = names.n > 0 ? text_list_join(&names, ", ") : NULL;
    text_list_free(&names);
    return list;
}

static char *architectures(const record_t *run) {
    text_list_t names = {0};
    for (size_t i = 0; i < run->n_cases; i++) {
        const char *arch = run->cases[i].resources.arch;
        if (arch != NULL && !text_list_has(&names, arch))
            text_list_add(&names, arch);
    }
    text_list_sort(&names);
    char *list = text_list_join(&names, ", ");
    char *safe = names.n > 0 ? markdown_text(list) : NULL;
    free(list);
    text_list_free(&names);
    return safe;
}

/* Takes `value`. */
static void print_item(FILE *out, const char *label, char *value) {
    fprintf(out, "- [%c] %s: %s\n", value != NULL ? 'x' : ' ', label,
            value != NULL ? value : "not recorded");
    free(value);
}

void section_reproduce(const report_t *report) {
    const record_t *run = report->run;
    FILE *out = report->out;
    report_heading(report, 2, "Reproduce it");
    static const struct {
        const char *label, *key, *other_key;
        bool of_gpu;
    } FACTS[] = {{"GPU", "gpu.name", NULL, true},
                 {"Driver", "gpu.driver", NULL, true},
                 {"CUDA compiler", "versions.cuda_compiler", "versions.nvrtc", true},
                 {"PyTorch", "versions.pytorch", "versions.torch", false},
                 {"Version of bench", "versions.bench", NULL, false},
                 {"Git revision", "git.revision", NULL, false}};
    bool gpu = environment_get(&run->environment, "gpu.name") != NULL;
    for (size_t i = 0; i < sizeof FACTS / sizeof *FACTS; i++) {
        char *fact = report_fact(report, FACTS[i].key);
        if (fact == NULL && FACTS[i].other_key != NULL)
            fact = report_fact(report, FACTS[i].other_key);
        if (gpu || !FACTS[i].of_gpu)
            print_item(out, FACTS[i].label, fact);
        else
            free(fact);
    }
    if (!gpu)
        print_item(out, "GPU", mem_text("none in this run"));
    char *arch = architectures(run);
    if (arch != NULL)
        print_item(out, "Architecture that the kernels were compiled for", arch);
    print_item(out, "Sweeps, whose full text is in `run.json`", sweep_names(run));
    print_item(out, "Seed of data, weights and shuffles",
               mem_format("%llu", (unsigned long long)run->seed));
    char *folder = markdown_code(run->folder);
    print_item(out, "Raw samples, summaries, checks", folder);
    fputs("\nThe run was started with\n\n", out);
    if (run->argv.n > 0)
        print_command(out, &run->argv);
    else
        fputs("    (not recorded)\n", out);
    fputs("\nand this report is made again from its files, without a GPU, with\n\n", out);
    text_list_t again = {0};
    text_list_add(&again, "bench");
    text_list_add(&again, "report");
    text_list_add(&again, run->folder);
    print_command(out, &again);
    text_list_free(&again);
    fputc('\n', out);
}

/* Times at a locked clock are not those that a GPU reaches by itself. */
static void print_clocks(const report_t *report) {
    const environment_t *env = &report->run->environment;
    char *sentence = lock_clocks_sentence(env);
    if (sentence == NULL)
        return;
    char *safe = markdown_text(sentence);
    fprintf(report->out, "- Clocks: %s. %s\n", safe,
            isfinite(lock_clocks_recorded_mhz(env))
                ? "Times are those at this clock, not those that the GPU reaches when its clock is "
                  "free; `throttled` is judged against it."
                : "The clock was free, as without `--lock-clocks`.");
    free(safe);
    free(sentence);
}

void section_method(const report_t *report) {
    char *path = fs_join(report->root, "docs/measuring.md");
    char *link = report_link(report, path);
    report_heading(report, 2, "Method in brief");
    fputs("- Times are steady state: contenders are warmed up first, and what is paid once "
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
          "*algorithmic* and takes no part in comparisons.\n",
          report->out);
    print_clocks(report);
    if (fs_exists(path))
        fprintf(report->out, "\nThe reasons: [docs/measuring.md](%s).\n", link);
    free(link);
    free(path);
}
