/* What run.json says of a side of an --against run, and whether a run to be resumed is the same. */
#include "run/state.h"

#include <string.h>

void run_against_describe(run_t *run) {
    environment_t *env = &run->record.environment;
    const build_t *build = &run->build;
    environment_set(env, "measure.pair", run->pair);
    environment_set(env, "measure.side", build->bench == NULL ? "candidate" : "base");
    if (build->bench == NULL)
        return;
    environment_set(env, "versions.bench", build->version);
    environment_set(env, "git.revision", build->revision);
    environment_set_flag(env, "git.dirty", build->dirty);
}

status_t run_against_check(const run_t *run, error_t *err) {
    const environment_t *env = &run->record.environment;
    const char *pair = environment_get(env, "measure.pair");
    const char *revision = environment_get(env, "git.revision");
    const build_t *build = &run->build;
    if ((pair != NULL) != (run->pair != NULL))
        return error_set(err, STATUS_USAGE,
                         "%s was measured %s --against: resume it %s, or choose another --out",
                         run->folder, pair != NULL ? "with" : "without",
                         pair != NULL ? "with it" : "without it");
    if (build->bench == NULL)
        return STATUS_OK;
    if (strcmp(pair, run->pair) != 0)
        return error_set(err, STATUS_USAGE,
                         "%s is not of the same run as the folder above it: measure.pair is %s, "
                         "expected %s",
                         run->folder, pair, run->pair);
    if (revision != NULL && strcmp(revision, build->revision) != 0)
        return error_set(err, STATUS_USAGE,
                         "%s was measured with revision %s, and --against is revision %s: resume "
                         "it with the same build",
                         run->folder, revision, build->revision);
    return STATUS_OK;
}
