/* `bench compile`: compile every program of sweeps for a list of architectures. Needs no GPU. */

#include "base/clock.h"
#include "base/memory.h"
#include "base/units.h"
#include "cli/commands.h"
#include "io/json.h"
#include "io/output.h"
#include "sweep/sweep.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ==== output ================================================================================== */

typedef struct compile_counts {
    size_t compiled, cached, skipped, failed; /* a cached skip is a skip */
    size_t lacking; /* of those skipped: because software is missing on this machine */
} compile_counts_t;

static const char *const STATUS_NAMES[] = {
    [PROGRAM_OK] = "ok", [PROGRAM_SKIPPED] = "skipped", [PROGRAM_FAILED] = "failed"};

/* The programs of one workload, variant and architecture. */
typedef struct group {
    const program_t *first;
    compile_counts_t counts;
    int64_t registers, spill_bytes; /* largest */
} group_t;

static void count(const program_t *program, compile_counts_t *counts) {
    counts->lacking += program->lacking;
    if (program->status == PROGRAM_FAILED)
        counts->failed++;
    else if (program->status == PROGRAM_SKIPPED)
        counts->skipped++;
    else if (program->cached)
        counts->cached++;
    else
        counts->compiled++;
}

static compile_counts_t compile_count(const program_list_t *programs) {
    compile_counts_t counts = {0};
    for (size_t i = 0; i < programs->n; i++)
        count(&programs->items[i], &counts);
    return counts;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int by_name(const void *a, const void *b) {
    const program_t *left = ((const group_t *)a)->first, *right = ((const group_t *)b)->first;
    int order = strcmp(left->workload, right->workload);
    if (order == 0)
        order = strcmp(left->variant, right->variant);
    return order != 0 ? order : strverscmp(left->arch, right->arch);
}

/* The groups in order; the caller frees them. */
static group_t *make_groups(const program_list_t *programs, size_t *n_groups) {
    group_t *groups = NULL;
    size_t n = 0, capacity = 0;
    for (size_t i = 0; i < programs->n; i++) {
        const program_t *program = &programs->items[i];
        const group_t wanted = {.first = program};
        size_t g = 0;
        while (g < n && by_name(&groups[g], &wanted) != 0)
            g++;
        if (g == n) {
            mem_grow(&groups, n, &capacity, sizeof *groups);
            groups[n++] = wanted;
        }
        count(program, &groups[g].counts);
        groups[g].registers = larger(groups[g].registers, program->registers);
        groups[g].spill_bytes = larger(groups[g].spill_bytes, program->spill_bytes);
    }
    if (n > 0)
        qsort(groups, n, sizeof *groups, by_name);
    *n_groups = n;
    return groups;
}

static void print_groups(const program_list_t *programs, FILE *out) {
    static const char *const headings[] = {"workload", "variant", "arch",      "compiled", "cached",
                                           "skipped",  "failed",  "registers", "spills"};
    size_t n_groups;
    AUTO_FREE group_t *groups = make_groups(programs, &n_groups);
    AUTO(table_free) table_t table = table_make("lllrrrrrr", headings);
    for (size_t i = 0; i < n_groups; i++) {
        const group_t *group = &groups[i];
        char spills[UNITS_TEXT];
        bool built = group->counts.compiled + group->counts.cached > 0;
        table_add(&table, group->first->workload);
        table_add(&table, group->first->variant);
        table_add(&table, group->first->arch);
        table_add_format(&table, "%zu", group->counts.compiled);
        table_add_format(&table, "%zu", group->counts.cached);
        table_add_format(&table, "%zu", group->counts.skipped);
        table_add_format(&table, "%zu", group->counts.failed);
        if (built)
            table_add_format(&table, "%lld", (long long)group->registers);
        else
            table_add(&table, "–");
        table_add(&table, built ? units_bytes(spills, (double)group->spill_bytes) : "–");
        table_end_row(&table);
    }
    AUTO_FREE char *text = table_text(&table, TABLE_TERMINAL);
    fputs(text, out);
}

/* Software missing on this machine affects all variants alike. */
static bool same_outcome(const program_t *a, const program_t *b) {
    if (a->lacking && b->lacking)
        return strcmp(a->reason, b->reason) == 0;
    return a->status == b->status && strcmp(a->workload, b->workload) == 0 &&
           strcmp(a->variant, b->variant) == 0 && strcmp(a->reason, b->reason) == 0;
}

/* One line for a skip, the compiler's output for a failure. */
static void print_outcome(const program_t *program, size_t n, FILE *out) {
    if (program->lacking) {
        fprintf(out, "\nskipped: %zu programs: %s\n", n, program->reason);
        return;
    }
    fprintf(out, "\n%s: %s/%s", STATUS_NAMES[program->status], program->workload, program->variant);
    if (program->status == PROGRAM_SKIPPED) {
        fprintf(out, " (%zu): %s\n", n, program->reason);
        return;
    }
    fprintf(out, " (%zu), first for %s", n, program->arch);
    for (size_t i = 0; i < program->defines.n; i++)
        if (!text_starts(program->defines.items[i], "WORKLOAD_CALL=")) /* repeats the arguments */
            fprintf(out, " %s", program->defines.items[i]);
    AUTO(text_list_free) text_list_t lines = text_split(program->reason, '\n');
    for (size_t i = 0; i < lines.n; i++)
        fprintf(out, "\n  %s", lines.items[i]);
    fputc('\n', out);
}

/* Each reason of a variant once, with the number of programs affected: an error in a source file
 * stops every architecture and size. */
static void print_reasons(const program_list_t *programs, program_status_t status, FILE *out) {
    for (size_t i = 0; i < programs->n; i++) {
        const program_t *program = &programs->items[i];
        if (program->status != status)
            continue;
        size_t first = 0, n = 0;
        while (!same_outcome(&programs->items[first], program))
            first++;
        if (first < i)
            continue; /* already printed */
        for (size_t k = i; k < programs->n; k++)
            n += same_outcome(&programs->items[k], program);
        print_outcome(program, n, out);
    }
}

void compile_print_tables(const compile_answer_t *answer, FILE *out) {
    const program_list_t *programs = answer->programs;
    compile_counts_t counts = compile_count(programs);
    char duration[UNITS_TEXT];
    print_groups(programs, out);
    print_reasons(programs, PROGRAM_SKIPPED, out);
    print_reasons(programs, PROGRAM_FAILED, out);
    fprintf(out,
            "\n%zu programs: %zu compiled, %zu cached, %zu skipped, %zu failed in %s "
            "(%.0f programs/s)\n%s\n",
            programs->n, counts.compiled, counts.cached, counts.skipped, counts.failed,
            units_duration(duration, answer->seconds), (double)programs->n / answer->seconds,
            answer->compiler);
    if (counts.lacking > 0)
        fprintf(out,
                "%zu of those skipped were not compiled: software they need is missing on this "
                "machine\n",
                counts.lacking);
}

static json_t *program_json(const program_t *program) {
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:o, s:s, s:s?, s:b, s:b, s:s?, s:s?, s:s?, s:I, s:I, s:I, s:f}",
        "workload", program->workload, "variant", program->variant, "arch", program->arch, "source",
        program->source, "defines", json_texts(&program->defines), "status",
        STATUS_NAMES[program->status], "reason", program->reason, "lacking", (int)program->lacking,
        "cached", (int)program->cached, "cubin", program->cubin, "key", program->key, "code_hash",
        program->code_hash, "registers", (json_int_t)program->registers, "shared_bytes",
        (json_int_t)program->shared_bytes, "spill_bytes", (json_int_t)program->spill_bytes,
        "compile_ns", program->compile_ns);
}

void compile_print_json(const compile_answer_t *answer, FILE *out) {
    compile_counts_t counts = compile_count(answer->programs);
    json_t *list = json_array();
    for (size_t i = 0; i < answer->programs->n; i++)
        json_array_append_new(list, program_json(&answer->programs->items[i]));
    json_t *json = json_pack(
        "{s:i, s:s, s:f, s:I, s:I, s:I, s:I, s:I, s:o}", "schema", 1, "compiler", answer->compiler,
        "seconds", answer->seconds, "compiled", (json_int_t)counts.compiled, "cached",
        (json_int_t)counts.cached, "skipped", (json_int_t)counts.skipped, "failed",
        (json_int_t)counts.failed, "lacking", (json_int_t)counts.lacking, "programs", list);
    json_print(json, JSON_INDENT(2), out);
}

/* ==== the command ============================================================================= */

typedef struct compile_command_options {
    compile_options_t compile;
    text_list_t arch;     /* "sm_90", …; empty: those of each sweep */
    const char *workload; /* NULL: sweeps */
    bool quick, once, json, quiet;
} compile_command_options_t;

#define SET(read, member) CLI_FIELD(read, compile_command_options_t, member)

const cli_option_t COMPILE_OPTIONS[] = {
    {"workload", "NAME|DIR", "compile this workload, or the one in this folder, not sweeps",
     SET(cli_workload, workload)},
    {"operator", "DIR", "the former name of --workload, for one release",
     SET(cli_workload, workload)},
    {"quick", NULL, "with --workload: the sizes of its quick sweep (those of the full one)",
     SET(cli_flag, quick)},
    {"once", NULL, "each kernel only for the last of its sizes in the sweep", SET(cli_flag, once)},
    {"arch", "LIST", "sm_75,sm_80,… (as in the sweep)", SET(cli_arch, arch)},
    {"compiler", "C", "nvrtc (default) or nvcc",
     CLI_CHOICE(compile_command_options_t, compile.compiler, COMPILER_CHOICES)},
    {"jobs", "N", "compile N programs at a time (all cores)",
     CLI_RANGE(cli_number, compile_command_options_t, compile.jobs, 1, 1024)},
    {"cache", "DIR", "folder of the cubin cache ($BENCH_CACHE, build/cache or ~/.cache/bench)",
     SET(cli_text, compile.cache)},
    {"json", NULL, "print JSON", SET(cli_flag, json)},
    {"quiet", NULL, "no progress on stderr", SET(cli_flag, quiet)},
    {0},
};

/* "native" is left out: there may be no GPU. */
static status_t choose_archs(const compile_command_options_t *options, const sweep_t *sweep,
                             text_list_t *archs, error_t *err) {
    const text_list_t *asked = options->arch.n > 0 ? &options->arch : &sweep->arch;
    for (size_t i = 0; i < asked->n; i++)
        if (strcmp(asked->items[i], "native") != 0)
            text_list_add_new(archs, asked->items[i]);
    if (archs->n == 0)
        return error_set(err, STATUS_USAGE,
                         "%s: no architecture to compile for: give --arch, e.g. --arch sm_90 or "
                         "--arch sm_75,sm_80,sm_90",
                         sweep->path);
    return STATUS_OK;
}

/* Do two cases of a sweep differ in no more than their sizes? */
static bool is_another_size(const case_t *a, const case_t *b) {
    if (strcmp(a->engine, b->engine) != 0 || strcmp(a->variant, b->variant) != 0 ||
        strcmp(a->dtype, b->dtype) != 0 || a->n_techniques != b->n_techniques)
        return false;
    for (size_t i = 0; i < a->n_techniques; i++)
        if (!value_equal(&a->techniques[i].value, &b->techniques[i].value))
            return false;
    return true;
}

static bool comes_again(const sweep_t *sweep, size_t at) {
    for (size_t i = at + 1; i < sweep->n_cases; i++)
        if (is_another_size(&sweep->cases[i], &sweep->cases[at]))
            return true;
    return false;
}

static status_t add_sweep(const compile_command_options_t *options, const sweep_t *sweep,
                          program_list_t *programs, error_t *err) {
    AUTO(text_list_free) text_list_t archs = {0};
    TRY(choose_archs(options, sweep, &archs, err));
    for (size_t a = 0; a < archs.n; a++)
        for (size_t c = 0; c < sweep->n_cases; c++) {
            size_t index;
            if (options->once && comes_again(sweep, c))
                continue;
            if (compile_add(&options->compile, &sweep->cases[c], archs.items[a], programs, &index,
                            err) != STATUS_OK)
                return error_within(err, "%s: %s", sweep->path, sweep->cases[c].id);
        }
    return STATUS_OK;
}

static status_t add_sweeps(const compile_command_options_t *options, const text_list_t *paths,
                           program_list_t *programs, error_t *err) {
    const char *root = options->compile.root;
    for (size_t i = 0; i < paths->n; i++) {
        AUTO(sweep_free) sweep_t sweep = {0};
        TRY(sweep_load(paths->items[i], root, &sweep, err));
        TRY(add_sweep(options, &sweep, programs, err));
    }
    if (options->workload == NULL)
        return STATUS_OK;
    AUTO(sweep_free) sweep_t sweep = {0};
    const sweep_options_t all = {.workload = options->workload, .quick = options->quick};
    TRY(sweep_from_options(&all, root, &sweep, err));
    return add_sweep(options, &sweep, programs, err);
}

static void show_progress(void *context, size_t done, size_t total) {
    (void)context;
    fprintf(stderr, "\rcompiled %zu/%zu%s", done, total, done == total ? "\n" : "");
    fflush(stderr);
}

static status_t compile_sweeps(const compile_command_options_t *options, const text_list_t *sweeps,
                               error_t *err) {
    AUTO(program_list_free) program_list_t programs = {0};
    AUTO_FREE char *compiler = NULL;
    const int64_t start_ns = clock_ns();
    TRY(add_sweeps(options, sweeps, &programs, err));
    TRY(compile_describe(&options->compile, &compiler, err));
    TRY(compile_all(&options->compile, &programs, err));
    const compile_answer_t answer = {&programs, compiler, (double)(clock_ns() - start_ns) * 1e-9};
    (options->json ? compile_print_json : compile_print_tables)(&answer, stdout);
    const size_t n_failed = compile_count(&programs).failed;
    return n_failed == 0 ? STATUS_OK
                         : error_set(err, STATUS_FAILED, "%zu of %zu programs do not compile",
                                     n_failed, programs.n);
}

status_t compile_command(const cli_args_t *args, error_t *err) {
    compile_command_options_t options = {.compile.root = args->root};
    const bool of_workload = cli_has(args, "workload") || cli_has(args, "operator");
    if (of_workload == (args->operands.n > 0))
        return error_set(err, STATUS_USAGE,
                         "bench compile: expected %s, e.g. sweeps/mlp_infer.json",
                         of_workload ? "sweeps or --workload, not both" : "a sweep");
    if (cli_has(args, "quick") && !of_workload)
        return error_set(err, STATUS_USAGE, "--quick needs --workload");
    status_t status = cli_read(args, &options, err);
    if (!options.quiet && isatty(STDERR_FILENO))
        options.compile.progress = show_progress;
    if (status == STATUS_OK && options.arch.n > 0)
        status = compile_check_archs(&options.compile, &options.arch, err);
    if (status == STATUS_OK)
        status = compile_sweeps(&options, &args->operands, err);
    text_list_free(&options.arch);
    return status;
}
