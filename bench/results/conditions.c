#include "results/conditions.h"

#include "base/memory.h"
#include "results/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== the locked clock ======================================================================== */

#define ASKED "measure.lock_clocks.asked_mhz"
#define LOCKED "measure.lock_clocks.locked_mhz"
#define REASON "measure.lock_clocks.reason"

void lock_clocks_record(environment_t *env, unsigned asked_mhz, unsigned locked_mhz,
                        const char *reason) {
    environment_set_number(env, ASKED, asked_mhz > 0 ? asked_mhz : NAN);
    environment_set_number(env, LOCKED, locked_mhz > 0 ? locked_mhz : NAN);
    /* Null in run.json, even if a resumed run had a reason. */
    environment_set_number(env, REASON, NAN);
    environment_set(env, REASON, reason);
}

static double number(const environment_t *env, const char *key) {
    const char *text = environment_get(env, key);
    return text != NULL ? strtod(text, NULL) : NAN;
}

double lock_clocks_recorded_mhz(const environment_t *env) {
    return number(env, LOCKED);
}

char *lock_clocks_sentence(const environment_t *env) {
    double asked_mhz = number(env, ASKED), locked_mhz = number(env, LOCKED);
    const char *reason = environment_get(env, REASON);
    if (isnan(asked_mhz))
        return NULL;
    if (isnan(locked_mhz))
        return mem_format("the SM clock was not locked to the %g MHz asked for: %s", asked_mhz,
                          reason != NULL ? reason : "no reason recorded");
    if (locked_mhz == asked_mhz)
        return mem_format("the SM clock was locked to %g MHz", locked_mhz);
    return mem_format(
        "the SM clock was locked to %g MHz, the nearest available to the %g asked for", locked_mhz,
        asked_mhz);
}

/* ==== conditions ============================================================================== */

/* ---- runs ------------------------------------------------------------------------------------ */

enum {
    MAY_DIFFER = RESUMED + 1, /* a likely cause of a change */
    MEASURED,                 /* in each run, and never the same: a likely cause if far apart */
};

/* Every fact of a run has a row here, the first with its key, with the beginning of its key up to a dot, or with its
 * end from a dot on: nothing that is recorded goes unnoticed when it differs. */
typedef struct condition {
    const char *key;
    int must_agree;    /* relation_t: in that and all below it; or one of the above */
    const char *allow; /* its name in --allow: of all that must agree in runs that are compared */
    const char *otherwise; /* of a run that is older than the fact */
    bool code;             /* about what is measured, not the machine */
    bool optional;         /* a run need not have it: lacking it is no difference */
    bool both;             /* in parts of a run: that only one has it is a difference */
    bool in_boots;         /* must agree in boots, too; parts of a run may be measured elsewhere */
    bool cores;            /* a list of cores: how many must agree, not which */
    bool own;              /* which machine, or when: no news between machines */
    bool is_name;          /* which run it is: no cause of anything */
} condition_t;

/* clang-format off */
static const condition_t CONDITIONS[] = {
    {.key = "gpu.name", .must_agree = COMPARED, .allow = "gpu"},
    {.key = "gpu.driver", .must_agree = COMPARED, .allow = "driver"},
    {.key = "gpu.mig", .must_agree = COMPARED, .allow = "mig"},
    {.key = "gpu.ecc", .must_agree = COMPARED, .allow = "ecc"},
    {.key = "host.cpu", .must_agree = COMPARED, .allow = "cpu"},
    {.key = "measure.mode", .must_agree = COMPARED, .allow = "mode", .otherwise = "steady"},
    {.key = "measure.lock_clocks.locked_mhz", .must_agree = COMPARED, .allow = "locked-clock", .both = true},
    {.key = "git.changes", .must_agree = PARTS, .code = true, .optional = true},
    {.key = "git.folder.changes", .must_agree = PARTS, .code = true, .optional = true},
    {.key = "git.", .must_agree = PARTS, .code = true},
    {.key = "versions.cuda_compiler", .must_agree = BOOTS, .code = true},
    {.key = "versions.cuda_driver", .must_agree = BOOTS, .code = true},
    {.key = "versions.", .must_agree = BOOTS, .code = true, .optional = true},
    {.key = ".openmp_threads", .must_agree = BOOTS, .optional = true},
    {.key = ".threads", .must_agree = BOOTS, .optional = true},
    {.key = "workers.", .must_agree = BOOTS, .code = true, .optional = true},
    {.key = "operators.", .must_agree = BOOTS, .code = true, .optional = true},
    {.key = "measure.pair", .must_agree = PARTS, .is_name = true},
    {.key = "measure.side", .must_agree = PARTS, .is_name = true},
    {.key = "measure.devices", .must_agree = PARTS, .both = true},
    {.key = "measure.quick", .must_agree = BOOTS, .both = true},
    {.key = "measure.processes", .must_agree = BOOTS, .optional = true},
    {.key = "measure.lock_clocks.", .must_agree = PARTS},
    {.key = "measure.", .must_agree = BOOTS},
    {.key = "measured.", .must_agree = MEASURED},
    {.key = "host.load", .must_agree = MEASURED, .own = true},
    {.key = "host.name", .must_agree = MAY_DIFFER, .own = true},
    {.key = "host.cpus", .must_agree = MAY_DIFFER, .optional = true, .in_boots = true, .cores = true},
    {.key = "host.governor", .must_agree = MAY_DIFFER, .optional = true, .in_boots = true},
    {.key = "gpu.power_limit_w", .must_agree = BOOTS},
    {.key = "gpu.uuid", .must_agree = MAY_DIFFER, .own = true},
    {.key = "", .must_agree = MAY_DIFFER},
};

/* clang-format on */
enum { N_CONDITIONS = sizeof CONDITIONS / sizeof *CONDITIONS };

static const condition_t *condition_of(const char *key) {
    size_t i = 0;
    for (; i + 1 < N_CONDITIONS; i++) {
        const char *known = CONDITIONS[i].key;
        if (*known == '.'           ? text_ends(key, known)
            : text_ends(known, ".") ? text_starts(key, known)
                                    : strcmp(key, known) == 0)
            break;
    }
    return &CONDITIONS[i];
}

static const char *value_in(const environment_t *env, const char *key,
                            const condition_t *condition) {
    const fact_t *fact = environment_find(env, key);
    if (fact != NULL && fact->kind == FACT_NUMBER && !isfinite(strtod(fact->value, NULL)))
        fact = NULL; /* null in run.json */
    return fact != NULL ? fact->value : condition->otherwise;
}

static void add(run_differences_t *list, const condition_t *condition, const char *key,
                const char *first, const char *other) {
    mem_grow(&list->items, list->n, &list->capacity, sizeof *list->items);
    list->items[list->n++] =
        (run_difference_t){.key = key, .first = first, .other = other, .allow = condition->allow};
}

typedef bool differs_t(const condition_t *condition, const char *first, const char *other,
                       relation_t relation);

/* Of "0-15,32". */
static long count_cores(const char *list) {
    long n = 0;
    for (char *end; *list != '\0'; list = *end == ',' ? end + 1 : "") {
        const long first = strtol(list, &end, 10);
        n += *end == '-' ? strtol(end + 1, &end, 10) - first + 1 : 1;
    }
    return n;
}

static bool same_value(const condition_t *condition, const char *first, const char *other) {
    return strcmp(first, other) == 0 ||
           (condition->cores && count_cores(first) == count_cores(other));
}

static bool is_broken(const condition_t *condition, const char *first, const char *other,
                      relation_t relation) {
    if (condition->must_agree > (int)relation && !(condition->in_boots && relation == BOOTS))
        return false;
    if (first != NULL && other != NULL)
        return !same_value(condition, first, other);
    const bool is_needed =
        relation < PARTS ? !condition->optional : condition->both && relation == PARTS;
    return is_needed && first != other;
}

bool condition_is_notable(double a, double b) {
    static const double NOTABLE_FRAC = 0.03; /* less explains nothing */
    return fabs(a - b) > NOTABLE_FRAC * fmax(fabs(a), fabs(b));
}

static bool is_changed(const condition_t *condition, const char *first, const char *other,
                       relation_t relation) {
    (void)relation;
    const bool both = first != NULL && other != NULL;
    if (condition->must_agree == COMPARED || condition->is_name || (!both && condition->optional))
        return false;
    if (condition->must_agree != MEASURED)
        return both ? strcmp(first, other) != 0 : first != other;
    return both && condition_is_notable(strtod(first, NULL), strtod(other, NULL));
}

/* In the order of the table; of a row's facts those of the first run, then what only the other has. */
static run_differences_t differences_of(const environment_t *first, const environment_t *other,
                                        relation_t relation, differs_t *differs) {
    run_differences_t list = {0};
    for (const condition_t *row = CONDITIONS; row < CONDITIONS + N_CONDITIONS; row++)
        for (size_t i = 0; i < first->n + other->n; i++) {
            const bool second = i >= first->n;
            const char *key = second ? other->facts[i - first->n].key : first->facts[i].key;
            if (condition_of(key) != row || (second && environment_find(first, key) != NULL))
                continue;
            const char *a = value_in(first, key, row), *b = value_in(other, key, row);
            if (differs(row, a, b, relation))
                add(&list, row, key, a, b);
        }
    return list;
}

run_differences_t conditions_broken(const environment_t *first, const environment_t *other,
                                    relation_t relation) {
    return differences_of(first, other, relation, is_broken);
}

run_differences_t conditions_changed(const environment_t *first, const environment_t *other) {
    return differences_of(first, other, COMPARED, is_changed);
}

char *run_difference_text(const run_difference_t *one) {
    if (condition_of(one->key)->must_agree == MEASURED)
        return mem_format("%s: %.4g → %.4g", one->key, strtod(one->first, NULL),
                          strtod(one->other, NULL));
    return mem_format("%s: %s → %s", one->key, one->first != NULL ? one->first : "none",
                      one->other != NULL ? one->other : "none");
}

bool condition_is_of_machine(const char *key) {
    return condition_of(key)->own;
}

bool condition_is_of_code(const char *key) {
    return condition_of(key)->code;
}

void conditions_free(run_differences_t *differences) {
    free(differences->items);
    *differences = (run_differences_t){0};
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

static bool has_sweep(const record_t *run, const char *text) {
    for (size_t i = 0; i < run->n_sweeps; i++)
        if (strcmp(run->sweeps[i].text, text) == 0)
            return true;
    return false;
}

const char *record_other_sweep(const record_t *first, const record_t *other) {
    for (size_t i = 0; i < other->n_sweeps; i++)
        if (!has_sweep(first, other->sweeps[i].text))
            return other->sweeps[i].path;
    return NULL;
}

/* ---- cases ----------------------------------------------------------------------------------- */

/* Two results of a case, or one alone: then `b` is NULL. */
typedef struct asked {
    const case_result_t *a, *b;
    const text_list_t *phases;
    const char *const *names; /* of the runs; NULL: one case alone */
} asked_t;

static bool same_values(const named_value_t *a, size_t n_a, const named_value_t *b, size_t n_b) {
    if (n_a != n_b)
        return false;
    for (size_t i = 0; i < n_a; i++) {
        size_t k = 0;
        while (k < n_b && strcmp(a[i].name, b[k].name) != 0)
            k++;
        if (k == n_b || !value_equal(&a[i].value, &b[k].value))
            return false;
    }
    return true;
}

/* Defaults may have changed between the builds. */
static char *other_case(const char *what, bool same) {
    return same ? NULL : mem_format("different %s under the same id", what);
}

static char *other_engine(const asked_t *asked) {
    const case_t *a = &asked->a->spec, *b = &asked->b->spec;
    return other_case("engine",
                      strcmp(a->engine, b->engine) == 0 && strcmp(a->device, b->device) == 0);
}

static char *other_dtype(const asked_t *asked) {
    return other_case("dtype", strcmp(asked->a->spec.dtype, asked->b->spec.dtype) == 0);
}

static char *other_params(const asked_t *asked) {
    const case_t *a = &asked->a->spec, *b = &asked->b->spec;
    return other_case("set of params", same_values(a->params, a->n_params, b->params, b->n_params));
}

static char *other_techniques(const asked_t *asked) {
    const case_t *a = &asked->a->spec, *b = &asked->b->spec;
    return other_case("set of techniques",
                      same_values(a->techniques, a->n_techniques, b->techniques, b->n_techniques));
}

static char *in_one(const asked_t *asked, const char *what, const case_result_t *where) {
    return asked->names == NULL ? mem_text(what)
                                : mem_format("%s in %s", what, asked->names[where == asked->b]);
}

/* Nobody but its own worker vouches for the times. */
static char *untrusted(const asked_t *asked) {
    const case_result_t *const both[] = {asked->a, asked->b};
    for (size_t i = 0; i < 2 && both[i] != NULL; i++)
        if (both[i]->trust == TRUST_SELF_REPORTED)
            return in_one(asked, trust_name(TRUST_SELF_REPORTED), both[i]);
    return NULL;
}

static char *other_algorithm(const asked_t *asked) {
    const bool a = result_is_algorithmic(asked->a);
    return a == result_is_algorithmic(asked->b)
               ? NULL
               : in_one(asked, "algorithmic (another algorithm)", a ? asked->a : asked->b);
}

/* A text as BASE and CANDIDATE have it. */
static char *not_the_same(const asked_t *asked, const char *what, const char *a, const char *b) {
    return strcmp(a, b) == 0
               ? NULL
               : mem_format("%s: %s in %s, %s in %s", what, a, asked->names[0], b, asked->names[1]);
}

/* The data set that is reported, if any line of the case does so; that which is not MNIST always is. */
static const char *dataset_or(const char *reported, const char *other) {
    return reported != NULL                               ? reported
           : other != NULL && strcmp(other, "mnist") == 0 ? other
                                                          : "none";
}

static char *other_dataset(const asked_t *asked) {
    AUTO_FREE char *a = result_string(asked->a, "dataset"), *b = result_string(asked->b, "dataset");
    return not_the_same(asked, "data set", dataset_or(a, b), dataset_or(b, a));
}

static char *other_clock(const asked_t *asked) {
    char *differs = NULL;
    for (size_t i = 0; i < asked->phases->n && differs == NULL; i++) {
        const char *name = asked->phases->items[i];
        const phase_t *a = result_phase(asked->a, name), *b = result_phase(asked->b, name);
        if (a == NULL || b == NULL)
            continue;
        AUTO_FREE char *what = mem_format("clock of %s", name);
        differs =
            not_the_same(asked, what, clock_domain_name(a->clock), clock_domain_name(b->clock));
    }
    return differs;
}

/* Of two results of a case in different runs. */
static const struct case_rule {
    const char *allow;
    bool alone;                              /* of a case by itself, too */
    char *(*obstacle)(const asked_t *asked); /* NULL: none */
} RULES[] = {
    {"engine", false, other_engine},   {"dtype", false, other_dtype},
    {"params", false, other_params},   {"techniques", false, other_techniques},
    {"trust", true, untrusted},        {"algorithm", false, other_algorithm},
    {"dataset", false, other_dataset}, {"clock", false, other_clock},
};

enum { N_RULES = sizeof RULES / sizeof *RULES };

static char *first_obstacle(const asked_t *asked, const text_list_t *allow) {
    for (size_t i = 0; i < N_RULES; i++) {
        const struct case_rule *rule = &RULES[i];
        const bool is_asked = (asked->b != NULL || rule->alone) &&
                              (allow == NULL || !text_list_has(allow, rule->allow));
        AUTO_FREE char *why = is_asked ? rule->obstacle(asked) : NULL;
        if (why != NULL)
            return mem_format("%s (--allow %s)", why, rule->allow);
    }
    return NULL;
}

char *conditions_of_pair(const case_result_t *a, const case_result_t *b, const text_list_t *phases,
                         const text_list_t *allow, const char *const names[2]) {
    return first_obstacle(&(asked_t){a, b, phases, names}, allow);
}

char *conditions_of_case(const case_result_t *result, const text_list_t *phases,
                         const text_list_t *allow) {
    return first_obstacle(&(asked_t){result, NULL, phases, NULL}, allow);
}

text_list_t conditions_names(void) {
    text_list_t names = {0};
    for (size_t i = 0; i < N_CONDITIONS; i++)
        if (CONDITIONS[i].must_agree == COMPARED)
            text_list_add(&names, CONDITIONS[i].allow);
    for (size_t i = 0; i < N_RULES; i++)
        text_list_add(&names, RULES[i].allow);
    return names;
}
