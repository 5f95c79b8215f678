/* How to reproduce the run, and the method in brief. */
#include "report/sections/sections.h"

#include "io/fs.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Line breaks become spaces. */
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

void print_command(const report_t *report, char *const *arguments, size_t n) {
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

/* One fact, else another. */
static void print_fact(const report_t *report, const char *label, const char *key,
                       const char *other_key) {
    const environment_t *env = &report->run->environment;
    const char *value = environment_get(env, key);
    if (value == NULL)
        value = environment_get(env, other_key);
    print_item(report, label, value != NULL ? report_safe(report, value) : NULL);
}

/* As the first of its workers that ran tells; NULL: none did. */
static const char *version_of(const record_t *run, const char *engine) {
    const char *version = NULL;
    for (size_t i = 0; i < run->n_cases && version == NULL; i++)
        if (strcmp(run->cases[i].spec.engine, engine) == 0)
            version = rival_version(&run->environment, &run->cases[i].spec);
    return version;
}

static void print_rivals(const report_t *report) {
    text_list_t engines = {0};
    for (size_t i = 0; i < report->run->n_cases; i++) {
        const case_t *spec = &report->run->cases[i].spec;
        if (!engine_is_rival(spec->engine) || text_list_has(&engines, spec->engine))
            continue;
        const char *version = version_of(report->run, spec->engine);
        text_list_add(&engines, spec->engine);
        print_item(report, report_safe(report, engine_name(spec->engine)),
                   version != NULL ? report_safe(report, version) : NULL);
    }
    text_list_free(&engines);
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
    print_rivals(report);
    print_fact(report, "bench version", "versions.bench", "");
    print_fact(report, "Git revision", "git.revision", "");
    if (!gpu)
        print_item(report, "GPU", "none in this run");
    if (arch != NULL)
        print_item(report, "Kernel architecture", arch);
    print_item(report, "Sweeps (full text in `run.json`)", sweep_names(report));
    print_item(report, "Seed of data, weights and shuffles",
               report_text(report, "%llu", (unsigned long long)run->seed));
    print_item(report, "Raw samples, summaries, checks",
               report_text(report, "the folder of the run, %s", report_code(report, run->name)));
    print(report, "\nCommand of the run:\n\n");
    if (run->argv.n > 0)
        print_command(report, run->argv.items, run->argv.n);
    else
        print(report, "    (not recorded)\n");
}

void section_method(const report_t *report) {
    report_heading(report, 2, "Method in brief");
    print(
        report, "%s",
        "- Times are steady state: contenders are warmed up first; one-time costs (context, "
        "module load, imports, compilation) have separate tables.\n"
        "- A run walks over its sweep in several passes, each with new worker processes: what "
        "differs from run to run is fixed when a process starts. Within a pass, contenders of "
        "the same case are measured in alternating rounds, so clock drift affects all equally. A "
        "case's rounds end when the standard error within the pass is as small as requested, "
        "or small beside what differs between passes, after 16 rounds, or at the time limit. Where "
        "the number of passes is open (5 to 12), it takes passes until its interval is as narrow "
        "as "
        "asked, or more of them would not make it so.\n"
        "- A median is the Hodges-Lehmann centre of the passes' medians; a ratio is that of the "
        "passes' ratios, both sides from the same pass. The 95 % interval is over passes: the "
        "hull of Student's t and the signed-rank interval of their logarithms. If that of a "
        "ratio includes 1, no difference is claimed. With fewer than 5 passes the spread between "
        "processes is unknown: there is no interval, a ratio has two digits (≈), and no side is "
        "called faster. ≥ or ≤ is before the end nearer to 1 of an interval whose centre says "
        "little: its other end is over four times as far.\n"
        "- ‡ marks a time with two values, between which rounds of the same process change. The "
        "interval of a ratio then covers the ratio of either value.\n"
        "- Ours: what this program runs itself; of an operator without such code, its Python "
        "files. Any other engine is a rival. The headline is against the strongest rival of a "
        "size, in its fastest mode.\n"
        "- A side's fastest case is selected by the medians that are then compared. This favours "
        "each side slightly, more so with more cases.\n"
        "- Every output is compared with float64 reference output before timing and after it; so "
        "is, but not in runs of schema 1, what a timed run on new inputs left. Wrong, failed, "
        "implausible and skipped cases have no time; throttled cases are marked and not "
        "compared.\n"
        "- *(self-reported)* marks a script whose times do not agree with the supervisor's clock; "
        "it is not compared. The warnings have the reason.\n"
        "- Only cases of the same workload, parameters, precision and kind of device are "
        "compared; comparisons of a GPU with a CPU are labelled.\n"
        "- A contender that reaches the same result by another algorithm is marked "
        "*algorithmic* and is not compared.\n");
    print(report, "\nDetails: %s.\n",
          doc_link(report, "docs/measuring.md", "", "docs/measuring.md"));
}
