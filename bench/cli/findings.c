/* The list that doctor fills. */
#include "cli/doctor.h"

#include "base/memory.h"

#include <stdlib.h>

void findings_add(finding_list_t *findings, const finding_t *finding) {
    mem_grow(&findings->items, findings->n, &findings->capacity, sizeof *findings->items);
    findings->items[findings->n++] = (finding_t){.what = mem_text(finding->what),
                                                 .found = finding->found,
                                                 .detail = finding->detail,
                                                 .costs = mem_text(finding->costs),
                                                 .install = mem_text(finding->install)};
}

void findings_free(finding_list_t *findings) {
    for (size_t i = 0; i < findings->n; i++) {
        const finding_t *f = &findings->items[i];
        free((char *)f->what);
        free(f->detail);
        free((char *)f->costs);
        free((char *)f->install);
    }
    free(findings->items);
}
