#include "cli/compile_print.h"

#include "base/memory.h"
#include "base/units.h"
#include "io/json.h"
#include "io/output.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

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

compile_counts_t compile_count(const program_list_t *programs) {
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
    group_t *groups = make_groups(programs, &n_groups);
    table_t table;
    table_init(&table, headings, sizeof headings / sizeof headings[0]);
    table_set_align(&table, "lllrrrrrr");
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
    char *text = table_text(&table, TABLE_TERMINAL);
    fputs(text, out);
    free(text);
    table_free(&table);
    free(groups);
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
        fprintf(out, " %s", program->defines.items[i]);
    text_list_t lines = text_split(program->reason, '\n');
    for (size_t i = 0; i < lines.n; i++)
        fprintf(out, "\n  %s", lines.items[i]);
    fputc('\n', out);
    text_list_free(&lines);
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
