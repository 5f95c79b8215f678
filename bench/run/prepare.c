/* Before and after measuring: the run's folder and the description of the machine. */
#include "base/clock.h"
#include "base/memory.h"
#include "engine/session.h"
#include "io/folders.h"
#include "io/fs.h"
#include "limits/limits.h"
#include "results/conditions.h"
#include "results/record.h"
#include "run/state.h"
#include "version.h"
#include "worker/cpu_use.h"
#include "workloads/described/described.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ==== --lock-clocks =========================================================================== */

/* `--lock-clocks`: lock the GPU's SM clock before the first case and unlock it after the last. If
 * it cannot be locked, the run continues and reports it. */

/* Ask the worker which GPU it uses. It keeps running, because its cases come next. */
static status_t find_gpu(run_t *run, const char **uuid, error_t *err) {
    AUTO(case_free) case_t ours = run_calibration_case("null", "01_empty");
    const case_t *spec = run_find_gpu_case(run);
    worker_link_t *link;
    if (spec != NULL && run->no_gpu == NULL)
        spec = &ours;
    if (spec == NULL)
        return error_set(err, STATUS_FAILED, "no case of this run uses a GPU");
    TRY(workers_start(&run->workers, spec, workers_asked_role(&run->workers),
                      run->options->timeout_s, &link, err));
    *uuid = json_string_value(json_object_get(json_object_get(link->hello, "device"), "uuid"));
    return *uuid != NULL ? STATUS_OK
                         : error_set(err, STATUS_FAILED, "worker %s does not say which GPU it uses",
                                     link->label);
}

static const char *lock_text(char text[48], double mhz) {
    if (isnan(mhz))
        return "free";
    snprintf(text, 48, "locked to %g MHz", mhz);
    return text;
}

/* Times measured at different clocks must not share a table. */
static status_t compare_with_before(const run_t *run, double before_mhz, const char *reason,
                                    error_t *err) {
    char before[48], now[48];
    double now_mhz = run->clock_lock.mhz > 0 ? run->clock_lock.mhz : NAN;
    if (run->record.n_cases == 0 || before_mhz == now_mhz || (isnan(before_mhz) && isnan(now_mhz)))
        return STATUS_OK;
    return error_set(err, STATUS_USAGE,
                     "%s was measured with the SM clock %s, and now it is %s%s%s%s: resume it "
                     "with the same clock, or choose another --out",
                     run->folder, lock_text(before, before_mhz), lock_text(now, now_mhz),
                     reason != NULL ? " (" : "", reason != NULL ? reason : "",
                     reason != NULL ? ")" : "");
}

/* The rates of a GPU come from `here`. */
static void note_lock(run_t *run, unsigned asked_mhz, unsigned locked_mhz, const char *reason) {
    lock_clocks_record(&run->here, asked_mhz, locked_mhz, reason);
    lock_clocks_record(&run->record.environment, asked_mhz, locked_mhz, reason);
}

/* Lock the clock for --lock-clocks. Fails if the GPU has no such clock, or if a resumed run was
 * measured at another clock. NVML must not be open yet. */
static status_t run_lock_clocks(run_t *run, error_t *err) {
    const unsigned asked_mhz = run->options->lock_mhz;
    environment_t *env = &run->record.environment;
    const double before_mhz = lock_clocks_recorded_mhz(env);
    if (asked_mhz == 0) {
        TRY(compare_with_before(run, before_mhz, NULL, err));
        if (isfinite(before_mhz)) /* no case was finished at that clock */
            note_lock(run, 0, 0, NULL);
        return STATUS_OK;
    }
    const char *uuid;
    error_t why = ERROR_INIT;
    status_t status = STATUS_FAILED;
    if (find_gpu(run, &uuid, &why) == STATUS_OK)
        status = lock_clocks(uuid, asked_mhz, &run->clock_lock, &why);
    if (status == STATUS_USAGE)
        return error_set(err, status, "%s", why.text);
    const char *reason = status == STATUS_OK ? NULL : why.text;
    TRY(compare_with_before(run, before_mhz, reason, err));
    note_lock(run, asked_mhz, run->clock_lock.mhz, reason);
    AUTO_FREE char *sentence = lock_clocks_sentence(env);
    progress_note(&run->progress, "%s%s", sentence,
                  reason != NULL ? "; continuing with the clock unlocked" : "");
    return STATUS_OK;
}

status_t run_share_clocks(const run_t *run, run_t *other, error_t *err) {
    environment_t *env = &other->record.environment;
    const double before_mhz = lock_clocks_recorded_mhz(env);
    const bool refused = run->options->lock_mhz > 0 && run->clock_lock.mhz == 0;
    const char *reason =
        refused ? environment_get(&run->record.environment, "measure.lock_clocks.reason") : NULL;
    other->clock_lock.mhz = run->clock_lock.mhz;
    TRY(compare_with_before(other, before_mhz, reason, err));
    if (run->options->lock_mhz > 0 || isfinite(before_mhz))
        note_lock(other, run->options->lock_mhz, run->clock_lock.mhz, reason);
    return STATUS_OK;
}

void run_free_clocks(run_t *run) {
    error_t why = ERROR_INIT;
    if (lock_clocks_release(&run->clock_lock, &why) != STATUS_OK)
        fprintf(stderr,
                "bench: the SM clock may still be locked: %s; unlock it as root with "
                "`nvidia-smi --reset-gpu-clocks`\n",
                why.text);
}

/* ==== folder and machine ====================================================================== */

/* ---- the folder ------------------------------------------------------------------------------ */

static void describe_folder(run_t *run) {
    git_state_t folder;
    if (!git_read(run->options->root, run->folder, &folder))
        return;
    environment_set(&run->here, "git.folder.revision", folder.revision);
    environment_set_flag(&run->here, "git.folder.dirty", folder.dirty);
    if (folder.dirty)
        environment_set(&run->here, "git.folder.changes", folder.changes);
}

static void describe_program(run_t *run) {
    environment_t *env = &run->here;
    const build_t *build = run->build;
    environment_set(env, "versions.bench", build != NULL ? build->version : BENCH_VERSION);
    environment_set(env, "git.revision", build != NULL ? build->revision : BENCH_REVISION);
    environment_set_flag(env, "git.dirty", build != NULL ? build->dirty : BENCH_DIRTY);
    if (build != NULL && !build->self)
        return;
    if (BENCH_CHANGES[0] != '\0')
        environment_set(env, "git.changes", BENCH_CHANGES);
    environment_set(env, "versions.compiler", __VERSION__);
}

/* What was measured is these files: a resumed run has the same. */
static void describe_workloads(run_t *run) {
    for (size_t i = 0; i < run->n_sweeps; i++) {
        const description_t *found = described_find(run->sweeps[i].workload->name);
        if (found == NULL)
            continue;
        AUTO_FREE char *key = mem_format("operators.%s", run->sweeps[i].workload->name);
        environment_set(&run->here, key, found->hash);
    }
}

static void describe_machine(run_t *run) {
    environment_set(&run->here, "measure.mode", "steady");
    if (run->options->quick)
        environment_set_flag(&run->here, "measure.quick", true);
    if (run_may_fork(run))
        environment_set(&run->here, "measure.processes", run_forks(run) ? "forked" : "fresh");
    if (run->options->devices != NULL) {
        AUTO_FREE char *devices = mem_format("%s at once", run->options->devices);
        environment_set(&run->here, "measure.devices", devices);
    }
    describe_program(run);
    describe_workloads(run);
    host_describe(&run->here);
    if (run->pair != NULL)
        environment_set(&run->here, "measure.side", run->build == NULL ? "candidate" : "base");
    describe_folder(run);
}

/* So that a report needs no folder of theirs. */
static void keep_descriptions(run_t *run) {
    for (size_t i = 0; i < run->n_sweeps; i++) {
        const char *name = run->sweeps[i].workload->name;
        const description_t *description = described_find(name);
        if (description == NULL)
            continue;
        if (run->record.operators == NULL)
            run->record.operators = json_object();
        json_object_set(run->record.operators, name, description->json);
    }
}

static void describe_run(run_t *run) {
    record_t *record = &run->record;
    char now[32];
    record->folder = mem_text(run->folder);
    record->name = fs_stem(run->folder);
    record->started = mem_text(clock_timestamp(now));
    record->seed = run->options->seed;
    record->shard = run_shard(run);
    for (size_t i = 0; i < run->options->n_argv; i++)
        text_list_add(&record->argv, run->options->argv[i]);
    record->sweeps = mem_zeroed(run->n_sweeps, sizeof *record->sweeps);
    for (size_t i = 0; i < run->n_sweeps; i++)
        record->sweeps[record->n_sweeps++] = (sweep_text_t){.path = mem_text(run->sweeps[i].path),
                                                            .text = mem_text(run->sweeps[i].text)};
    keep_descriptions(run);
    environment_add(&record->environment, &run->here);
    environment_set(&record->environment, "measure.pair", run->pair);
}

static void describe_passes(const run_t *run, size_t s, sweep_text_t *sweep) {
    const measure_options_t *measure = &run->sweeps[s].measure;
    const bool once = run_walks_once(run);
    sweep->passes = once ? 1 : measure->passes;
    sweep->least_passes = once ? 1 : measure->least_passes;
    sweep->interval_frac =
        sweep->least_passes < sweep->passes ? measure->interval_frac : (double)NAN;
}

/* What this command measures, so that `bench merge` can tell what is missing. */
static void describe_plan(run_t *run) {
    record_t *record = &run->record;
    for (size_t i = 0; i < record->n_sweeps; i++)
        for (size_t s = 0; s < run->n_sweeps; s++)
            if (strcmp(record->sweeps[i].text, run->sweeps[s].text) == 0)
                describe_passes(run, s, &record->sweeps[i]);
    text_list_free(&record->left_out);
    run_left_out(run->options, &record->left_out);
}

void run_choose_folder(run_t *run) {
    size_t total = 0;
    for (size_t s = 0; s < run->n_sweeps; s++)
        total += run->sweeps[s].n_cases *
                 (run_walks_once(run) ? 1 : run->sweeps[s].measure.least_passes);
    progress_start(&run->progress, run->options->quiet, total);
    run->folder = run->options->out != NULL
                      ? mem_text(run->options->out)
                      : folders_result(run->options->root, run->sweeps[0].name);
}

/* A finished run has no compiled code left, so more passes of it run another compilation. */
static void note_lost_draws(run_t *run) {
    size_t n = 0;
    for (size_t i = 0; i < run->record.n_cases && !fs_is_folder(run->compiled); i++)
        n += result_is_draw(&run->record.cases[i]);
    if (n > 0)
        progress_note(&run->progress,
                      "the compiled code of %zu draws is gone (%s): passes from here on run a new "
                      "compilation",
                      n, run->compiled);
}

status_t run_prepare_folder(run_t *run, error_t *err) {
    run_choose_folder(run);
    TRY(fs_make_folders(run->folder, err));
    TRY(run_lock(run->folder, &run->folder_lock, err));
    /* Under the lock: a concurrent run may have written it in the meantime. */
    run->resumed = fs_has(run->folder, "run.json");
    if (run->resumed && !run->options->resume)
        return error_set(err, STATUS_USAGE,
                         "%s already holds a run: continue it with --resume, or choose another "
                         "--out",
                         run->folder);
    if (!run->resumed && fs_has(run->folder, "devices")) /* not merged yet */
        return error_set(err, STATUS_USAGE,
                         "%s was measured with --devices, and is not finished: resume it with "
                         "the same --devices, or choose another --out",
                         run->folder);
    fs_remove_dead_folders();
    describe_machine(run);
    if (run->resumed)
        TRY(run_resume(run, err));
    else
        describe_run(run);
    describe_plan(run);
    char *folder = realpath(run->folder, NULL); /* workers may run elsewhere */
    run->real_folder = folder != NULL ? folder : mem_text(run->folder);
    run->compiled = fs_join(run->real_folder, "compiled");
    return STATUS_OK;
}

status_t run_begin(run_t *run, error_t *err) {
    const bool are_left = run->resumed && run_start_left(run);
    run_note_workers(run);
    for (size_t i = 0; i < run->workers.n && run->options->isolate; i++)
        worker_link_stop(run->workers.items[i]); /* contenders get others */
    if (run->resumed)
        TRY(run_resume_here(run, are_left, err));
    AUTO_FREE char *other = environment_other_source(&run->here);
    if (other != NULL)
        progress_note(&run->progress, "%s; make builds bench anew", other);
    environment_add(&run->record.environment, &run->here);
    fs_remove_orphans(run->folder);
    run_make_states(run);
    note_lost_draws(run);
    run->progress.is_open = run_least_passes(run) < run_passes(run);
    record_declare_all(&run->record);
    TRY(record_write_header(&run->record, err));
    return journal_open(run->folder, &run->journal, err);
}

/* Not by a process of several that measure at once: they load each other. */
void run_note_load(run_t *run) {
    const load_t load = load_read();
    const long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (run->options->quiet || run->options->is_one_device || !load_is_high(&load, (size_t)n_cores))
        return;
    progress_note(&run->progress,
                  "busy machine: load %.2f on %ld cores, and %ld other thread%s run now: times may "
                  "be too long (docs/measuring.md#a-busy-machine)",
                  load.average, n_cores, load.running, load.running == 1 ? "" : "s");
}

/* ---- workers and devices --------------------------------------------------------------------- */

static void copy_facts(environment_t *env, const char *prefix, const json_t *object) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value) {
        AUTO_FREE char *key = mem_format("%s.%s", prefix, name);
        if (json_is_string(value))
            environment_set(env, key, json_string_value(value));
        else if (json_is_number(value))
            environment_set_number(env, key, json_number_value(value));
    }
}

/* "pytorch-cpu-3" is one of several that are alike. */
static void leave_out_role(char *label) {
    char *role = strrchr(label, '-');
    if (role != NULL && role[1 + strspn(role + 1, "0123456789")] == '\0')
        *role = '\0';
}

/* Processes of PyTorch differ in what they imported first, not in what they are. */
static void leave_out_part(char *label) {
    if (text_starts(label, "workers.pytorch-") && text_ends(label, "-" WORKER_COMPILES))
        label[strlen(label) - strlen("-" WORKER_COMPILES)] = '\0';
}

void run_note_workers(run_t *run) {
    environment_t *env = &run->here;
    for (size_t i = 0; i < run->workers.n; i++) {
        const worker_link_t *link = run->workers.items[i];
        if (link->hello == NULL)
            continue;
        const json_t *versions = json_object_get(link->hello, "versions");
        const json_t *device = json_object_get(link->hello, "device");
        const char *kind = json_string_value(json_object_get(device, "kind"));
        /* Without CUDA cases, PyTorch describes the GPU. */
        if (kind != NULL && strcmp(kind, "cuda") == 0 && environment_get(env, "gpu.name") == NULL)
            copy_facts(env, "gpu", device);
        AUTO_FREE char *prefix = mem_format("workers.%s", link->label);
        if (run->options->isolate)
            leave_out_role(prefix);
        leave_out_part(prefix);
        copy_facts(env, prefix, versions);
        if (link->unforked != NULL) {
            AUTO_FREE char *key = mem_format("unforked.%s", link->label);
            environment_set(env, key, link->unforked);
        }
        const json_t *torch = json_object_get(versions, "torch");
        if (json_is_string(torch))
            environment_set(env, "versions.pytorch", json_string_value(torch));
    }
}

static void keep_cores_near(run_t *run) {
    unsigned long near[MOST_CORES / (8 * sizeof(unsigned long))];
    if (nvml_cpu_affinity(run->nvml, near, sizeof near / sizeof *near))
        cores_keep_near(&run->cores, near, sizeof near / sizeof *near);
}

static void note_gpu(run_t *run, const worker_link_t *link) {
    environment_t *env = &run->here;
    const json_t *device = json_object_get(link->hello, "device");
    const char *uuid = json_string_value(json_object_get(device, "uuid"));
    const char *arch = json_string_value(json_object_get(device, "arch"));
    copy_facts(env, "gpu", device);
    copy_facts(env, "versions", json_object_get(link->hello, "versions"));
    error_t why = ERROR_INIT;
    if (nvml_open(uuid != NULL ? uuid : "", &run->nvml, &why) == STATUS_OK) {
        nvml_describe(run->nvml, env);
        keep_cores_near(run);
        run->settings.nvml = run->nvml;
        run->settings.max_sm_mhz =
            run->clock_lock.mhz > 0 ? run->clock_lock.mhz : nvml_max_sm_mhz(run->nvml);
        run->settings.clock_is_locked = run->clock_lock.mhz > 0;
    } else {
        progress_note(&run->progress, "clocks and throttling are not recorded: %s", why.text);
        environment_set(env, "gpu.clocks", "not read: no NVML");
    }
    /* With MIG, some of CUDA's interfaces give the UUID of the GPU, others that of the instance. */
    const char *mig = environment_get(env, "gpu.mig");
    if (mig == NULL || strcmp(mig, "true") != 0)
        run->settings.gpu_uuid = run->gpu_uuid = mem_text(uuid);
    run->arch = mem_text(arch != NULL ? arch : "");
}

/* The run's folder, which its workers do not see: of one device among others, OUT in OUT/devices/I. */
static char *hidden_folder(const run_t *run) {
    char *folder = mem_text(run->real_folder);
    for (int up = 0; run->options->is_one_device && up < 2 && strrchr(folder, '/') > folder; up++)
        *strrchr(folder, '/') = '\0';
    return folder;
}

static void find_walls(run_t *run) {
    isolation_t *isolation = &run->isolation;
    AUTO_FREE char *none = NULL;
    isolation->walls = walls_find();
    isolation->hidden = hidden_folder(run);
    isolation->compiled = run->compiled;
    if (isolation->walls.kind == WALLS_NONE)
        none = mem_format("none: %s", isolation->walls.detail);
    environment_set(&run->here, "measure.isolate", none != NULL ? none : isolation->walls.detail);
}

status_t run_survey(run_t *run, error_t *err) {
    const run_options_t *options = run->options;
    progress_step(&run->progress, "looking at the machine");
    if (options->isolate)
        find_walls(run);
    run->workers = (workers_t){.root = options->root,
                               .bench = run->build != NULL ? run->build->bench : NULL,
                               .device = options->device,
                               .forked = run_forks(run),
                               .profiled = options->profile || options->trace,
                               .isolation = options->isolate ? &run->isolation : NULL};
    run->settings = (contender_settings_t){.seed = options->seed,
                                           .timeout_s = options->timeout_s,
                                           .max_sm_mhz = NAN,
                                           .profile = options->profile || options->trace};
    run->guard = (guard_t){.spared = &run->spared, .sides = {&run->workers}};
    run->settings.guard = &run->guard;
    run->settings.spent = &run->spent;
    run->settings.cores = &run->cores;
    run->settings.compiled = run->compiled;
    AUTO(case_free) case_t ours = run_calibration_case("null", "01_empty");
    worker_link_t *link = NULL;
    error_t why = ERROR_INIT;
    if (run_find_gpu_case(run) != NULL)
        TRY(workers_find(&run->workers, &ours, "", &link, err));
    if (link != NULL && worker_link_start(link, options->timeout_s, &why) != STATUS_OK) {
        run->no_gpu = link->cannot;
        run->gpu_broken = !link->declined;
        progress_note(&run->progress, "%s: %s",
                      !run_has_rungs(run) ? "clocks and limits of the GPU are not known"
                      : run->gpu_broken   ? "CUDA cases fail"
                                          : "CUDA cases are skipped",
                      why.text);
        link = NULL;
    }
    if (run->build == NULL)
        TRY(run_lock_clocks(run, err));
    if (link != NULL)
        note_gpu(run, link);
    device_rates_from_facts(&run->here, &run->rates);
    AUTO_FREE char *cpus = cores_text(run->cores.allowed, run->cores.n);
    if (run->cores.n > 0) /* else it uses the cores of the other build's side */
        environment_set(&run->here, "host.cpus", cpus);
    return STATUS_OK;
}

static bool is_left_to_the_gpu(const run_t *run, const case_t *spec) {
    bool is_left = false;
    if (strcmp(spec->device, "cpu") != 0 || environment_get(&run->here, "gpu.name") == NULL)
        return false;
    for (size_t s = 0; s < run->n_sweeps; s++)
        is_left |=
            run->sweeps[s].leaves_cpu && strcmp(run->sweeps[s].workload->name, spec->workload) == 0;
    return is_left;
}

char *run_drop_reason(const run_t *run, const case_t *spec, case_status_t *status) {
    *status = CASE_SKIPPED;
    if (is_left_to_the_gpu(run, spec))
        return mem_text("there is a GPU, and the sweep has \"cpu\": \"without_gpu\" (of a "
                        "workload's quick one, --set device=cpu decides)");
    if (strcmp(spec->engine, "cuda") != 0)
        return run_no_time_left(run);
    if (run->no_gpu == NULL)
        return run->no_compiler != NULL ? mem_text(run->no_compiler) : run_no_time_left(run);
    if (run->gpu_broken)
        *status = CASE_FAILED;
    return mem_text(run->no_gpu);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Of all passes together, for the record. */
static void note_rates(run_t *run, const record_t *finished) {
    for (const case_result_t *result = NULL; (result = record_next(finished, result)) != NULL;)
        device_rates_calibrate(result, &run->rates);
    device_rates_record(&run->rates, &run->record.environment);
}

status_t run_close(run_t *run, error_t *err) {
    char now[32];
    AUTO(record_free) record_t finished = {0};
    progress_end(&run->progress);
    error_t changed = ERROR_INIT;
    if (journal_check(&run->journal, &changed) != STATUS_OK)
        run->journal_changed = mem_text(changed.text);
    journal_close(&run->journal);
    run_note_workers(run);
    environment_add(&run->record.environment, &run->here);
    TRY(record_load(run->folder, &finished, err));
    note_rates(run, &finished);
    if (run->progress.done == run->progress.total && run->journal_changed == NULL) {
        run->record.finished = mem_text(clock_timestamp(now));
        fs_remove_marked(run->compiled, "../cases.jsonl", NULL);
    }
    TRY(results_write_derived(&finished, workload_study(&finished), err));
    record_close(&run->record, &finished);
    return record_write_header(&run->record, err);
}
