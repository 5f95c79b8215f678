/* The list that doctor fills. */
#include "cli/doctor.h"

#include "base/memory.h"

finding_t *findings_add(finding_list_t *findings, const finding_t *finding) {
    mem_grow(&findings->items, findings->n, &findings->capacity, sizeof *findings->items);
    findings->items[findings->n] = *finding;
    return &findings->items[findings->n++];
}
