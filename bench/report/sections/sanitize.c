/* What compute-sanitizer said of a workload's programs: a row for each tool and verdict. */
#include "report/page.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

typedef struct finding {
    const char *tool, *verdict, *version, *id; /* of the first; borrowed */
    text_list_t programs;                      /* by hash of their code */
} finding_t;

typedef struct finding_list {
    finding_t *items;
    size_t n, capacity;
} finding_list_t;

static finding_t *find(finding_list_t *list, const char *tool, const char *verdict) {
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->items[i].tool, tool) == 0 && strcmp(list->items[i].verdict, verdict) == 0)
            return &list->items[i];
    mem_grow(&list->items, list->n, &list->capacity, sizeof *list->items);
    list->items[list->n] = (finding_t){.tool = tool, .verdict = verdict};
    return &list->items[list->n++];
}

static void add_case(finding_list_t *list, const case_result_t *result) {
    const sanitize_t *sanitize = &result->sanitize;
    const char *program = result->resources.code_hash;
    for (size_t i = 0; i < sanitize->tools.n; i++) {
        finding_t *finding = find(list, sanitize->tools.items[i], sanitize->verdicts.items[i]);
        if (finding->id == NULL) {
            finding->id = sanitize->example != NULL ? sanitize->example : result->spec.id;
            finding->version = sanitize->version;
        }
        if (program != NULL && !text_list_has(&finding->programs, program))
            text_list_add(&finding->programs, program);
    }
}

void section_sanitize(const report_t *report, const char *workload) {
    static const char *const HEADINGS[] = {"compute-sanitizer", "version", "verdict", "programs",
                                           "first seen in"};
    finding_list_t list = {0};
    for (size_t i = 0; i < report->run->n_cases; i++)
        if (strcmp(report->run->cases[i].spec.workload, workload) == 0)
            add_case(&list, &report->run->cases[i]);
    if (list.n == 0)
        return;
    table_t table;
    table_init(&table, HEADINGS, sizeof HEADINGS / sizeof *HEADINGS);
    table_set_align(&table, "lllrl");
    for (size_t i = 0; i < list.n; i++) {
        finding_t *finding = &list.items[i];
        const char *const cells[] = {
            finding->tool, finding->version != NULL ? finding->version : "–", finding->verdict};
        for (size_t k = 0; k < sizeof cells / sizeof *cells; k++) {
            char *safe = markdown_text(cells[k]);
            table_add_format(&table, k == 2 && sanitize_is_finding(cells[k]) ? "**%s**" : "%s",
                             safe);
            free(safe);
        }
        char *id = markdown_code(finding->id);
        table_add_format(&table, "%zu", finding->programs.n);
        table_add(&table, id);
        free(id);
        text_list_free(&finding->programs);
    }
    free(list.items);
    fputs(
        "Each CUDA program once under compute-sanitizer, by its case with the least work; nothing "
        "was timed meanwhile.\n\n",
        report->out);
    report_table(report, &table);
}
