#include "cluster/cluster.h"

#include "base/memory.h"
#include "io/fs.h"
#include "io/subprocess.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ==== scripts ================================================================================= */

/* Where jobs run, as words for the shell. */
typedef struct cluster_paths {
    char *here;    /* the folder of the command */
    char *root;    /* the project's folder */
    char *program; /* this one */
    char *out;     /* absolute */
    char *name;    /* OUT's last part */
} cluster_paths_t;

static char *words_of(const text_list_t *list) {
    AUTO(text_list_free) text_list_t words = {0};
    for (size_t i = 0; i < list->n; i++)
        text_list_take(&words, text_shell(list->items[i]));
    return text_list_join(&words, " ");
}

static void print_options(FILE *out, const text_list_t *options) {
    for (size_t i = 0; i < options->n; i++) {
        AUTO_FREE char *word = text_shell(options->items[i]);
        fprintf(out, "#SBATCH %s\n", word);
    }
}

static void print_head(FILE *out, const cluster_options_t *options, const cluster_paths_t *paths,
                       const char *job, const char *log) {
    /* In file names of sbatch, "%a" is the task. */
    AUTO(text_list_free) text_list_t parts = text_split(paths->out, '%');
    AUTO_FREE char *folder = text_list_join(&parts, "%%");
    fprintf(out,
            "#!/bin/bash\n#SBATCH --job-name=%s-%s\n#SBATCH --output=%s/logs/%s.log\n"
            "#SBATCH --requeue\n",
            paths->name, job, folder, log);
    print_options(out, &options->for_all);
}

/* --cpu-bind=none: srun would give its only task one core. */
static void print_place(FILE *out, const cluster_options_t *options, const cluster_paths_t *paths) {
    fprintf(out, "cd %s || exit\nexport BENCH_ROOT=%s\n", paths->here, paths->root);
    if (options->container == NULL)
        return;
    AUTO_FREE char *image = text_shell(options->container);
    fprintf(out,
            "inside=(srun --ntasks=1 --cpu-bind=none --container-image=%s "
            "--container-workdir=\"$PWD\"\n"
            "    --container-mounts=\"$PWD:$PWD,\"%s:%s,%s:%s)\n",
            image, paths->root, paths->root, paths->out, paths->out);
}

/* The shell's words in front of those of bench. */
static const char *inside(const cluster_options_t *options) {
    return options->container != NULL ? "\"${inside[@]}\" " : "";
}

/* A job array: task I measures shard I, and goes on with it if it was begun. The caller frees it. */
static char *script_of_shards(const cluster_options_t *options, const cluster_paths_t *paths) {
    char *text;
    AUTO_FREE char *run = words_of(&options->run);
    size_t size;
    FILE *out = open_memstream(&text, &size);
    print_head(out, options, paths, "shards", "%a");
    fprintf(out, /* a task that is requeued adds to its log */
            "#SBATCH --open-mode=append\n#SBATCH --array=1-%u\n", options->n_shards);
    print_options(out, &options->for_shards);
    fputs("# Task I measures shard I and keeps what it has finished, also if only some tasks are "
          "submitted again:\n# sbatch --array=3,5 THIS_SCRIPT\n",
          out);
    print_place(out, options, paths);
    fprintf(out,
            "echo \"shard $SLURM_ARRAY_TASK_ID of %u on $SLURMD_NODENAME, restarts: "
            "${SLURM_RESTART_COUNT:-0}\"\n"
            "exec %s%s run %s \\\n"
            "    --shard \"$SLURM_ARRAY_TASK_ID/%u\" --out %s/shards/\"$SLURM_ARRAY_TASK_ID\" "
            "--resume\n",
            options->n_shards, inside(options), paths->program, run, options->n_shards, paths->out);
    fclose(out);
    return text;
}

/* The job after the array. Exits with 1 if anything is missing, after a report of what there is. */
static char *script_of_merge(const cluster_options_t *options, const cluster_paths_t *paths) {
    char *text;
    AUTO_FREE char *program = mem_format("%s%s", inside(options), paths->program);
    AUTO_FREE char *merged = mem_format("%s/merged/%s", paths->out, paths->name);
    size_t size;
    FILE *out = open_memstream(&text, &size);
    print_head(out, options, paths, "merge", "merge");
    fputs("#SBATCH --open-mode=truncate\n"
          "# Exits with 1 if anything is missing; the report has what there is.\n",
          out);
    print_place(out, options, paths);
    fprintf(out,
            "status=0 merged=%s\n"
            "rm -rf -- \"$merged\"\n"
            "%s merge \"$merged\" %s/shards/{1..%u} || status=1\n"
            "[ -e \"$merged/run.json\" ] || exit 1\n"
            "%s plot \"$merged\" >\"$merged/plot.txt\" 2>&1 ||\n"
            "    echo \"no charts: $(tail -n 1 \"$merged/plot.txt\")\"\n"
            "%s report \"$merged\" --out %s/REPORT.md || status=1\nexit $status\n",
            merged, program, paths->out, options->n_shards, program, program, paths->out);
    fclose(out);
    return text;
}

/* ==== jobs ==================================================================================== */

enum { SBATCH_TIMEOUT_S = 300 };

/* ---- from the options ------------------------------------------------------------------------ */

static void free_paths(cluster_paths_t *paths) {
    free(paths->here);
    free(paths->root);
    free(paths->program);
    free(paths->out);
    free(paths->name);
}

/* sbatch would take a backslash in the name of a log for the end of its patterns. */
static status_t check_path(const char *path, error_t *err) {
    return text_is_plain(path) && strchr(path, '\\') == NULL
               ? STATUS_OK
               : error_set(err, STATUS_USAGE,
                           "bench cluster: %s: expected a path without backslashes and control "
                           "characters",
                           path);
}

static char *absolute(const char *path, const char *here) {
    char *text = path[0] == '/' ? mem_text(path) : fs_join(here, path);
    for (size_t n = strlen(text); n > 1 && (text[n - 1] == '/' || text_ends(text, "/.")); n--)
        text[n - 1] = '\0';
    return text;
}

/* Jobs and merged runs are named after it. "..": that of the folder there. */
static status_t name_out(char **out, error_t *err) {
    if (text_ends(*out, "/..")) {
        char *real = realpath(*out, NULL);
        if (real == NULL)
            return error_set(err, STATUS_USAGE, "--out %s: %s", *out, strerror(errno));
        free(*out);
        *out = real;
    }
    return (*out)[1] != '\0'
               ? STATUS_OK
               : error_set(err, STATUS_USAGE, "--out %s: expected a folder with a name of its own",
                           *out);
}

static status_t find_paths(const cluster_options_t *options, cluster_paths_t *paths, char **out,
                           error_t *err) {
    AUTO_FREE char *program = NULL, *here = getcwd(NULL, 0);
    if (here == NULL)
        return error_set(err, STATUS_USAGE, "the current folder: %s", strerror(errno));
    *out = absolute(options->out, here);
    TRY(name_out(out, err));
    TRY(fs_executable(&program, err));
    const char *const all[] = {here, *out, options->root};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        TRY(check_path(all[i], err));
    *paths = (cluster_paths_t){.here = text_shell(here),
                               .root = text_shell(options->root),
                               .program = text_shell(program),
                               .out = text_shell(*out),
                               .name = text_shell(strrchr(*out, '/') + 1)};
    return STATUS_OK;
}

/* ---- files and jobs -------------------------------------------------------------------------- */

typedef struct script {
    char *path, *text;
} script_t;

enum { SHARDS, MERGE, N_SCRIPTS };

static status_t write_scripts(const char *out, const script_t *scripts, error_t *err) {
    AUTO_FREE char *logs = fs_join(out, "logs"); /* sbatch makes no folders */
    TRY(fs_make_folders(logs, err));
    for (size_t i = 0; i < N_SCRIPTS; i++)
        TRY(fs_write_atomic(scripts[i].path, scripts[i].text, strlen(scripts[i].text), err));
    return STATUS_OK;
}

/* Submit a script, after the end of job `after` (NULL: at once). The caller frees the job's id. */
static status_t submit(const char *script, const char *after, char **job, error_t *err) {
    AUTO_FREE char *dependency =
        after != NULL ? mem_format("--dependency=afterany:%s", after) : NULL;
    const char *const argv[] = {"sbatch", "--parsable", after != NULL ? dependency : script,
                                after != NULL ? script : NULL, NULL};
    AUTO(subprocess_result_free) subprocess_result_t answer = {0};
    TRY(subprocess_run(argv, NULL, SBATCH_TIMEOUT_S, &answer, err));
    answer.out[strcspn(answer.out, ";\n")] = '\0'; /* "12;cluster\n" */
    if (answer.exit_code != 0 || answer.out[0] == '\0') {
        text_make_plain(answer.err);
        return error_set(err, STATUS_USAGE, "sbatch %s: %.500s", script,
                         answer.timed_out ? "no answer" : answer.err);
    }
    *job = mem_text(answer.out);
    return STATUS_OK;
}

/* Both, or none. */
static status_t submit_both(const script_t *scripts, char **jobs, error_t *err) {
    TRY(submit(scripts[SHARDS].path, NULL, &jobs[SHARDS], err));
    const status_t status = submit(scripts[MERGE].path, jobs[SHARDS], &jobs[MERGE], err);
    if (status != STATUS_OK) {
        AUTO(subprocess_result_free) subprocess_result_t answer = {0};
        subprocess_run((const char *const[]){"scancel", jobs[SHARDS], NULL}, NULL, SBATCH_TIMEOUT_S,
                       &answer, NULL);
    }
    return status;
}

static void print_jobs(const cluster_options_t *options, const char *out, char *const *jobs) {
    AUTO_FREE char *word = text_shell(out);
    fprintf(options->print,
            "job %s: %u shards\n"
            "job %s: merges, draws and reports them when all have ended\n"
            "watch     squeue --jobs %s,%s; tail -f %s/logs/*.log\n"
            "cancel    scancel %s %s\n"
            "continue  the same command again, when these have ended: what is finished is kept\n"
            "report    %s/REPORT.md\n",
            jobs[SHARDS], options->n_shards, jobs[MERGE], jobs[SHARDS], jobs[MERGE], word,
            jobs[SHARDS], jobs[MERGE], word);
}

static status_t go(const cluster_options_t *options, const char *out, const script_t *scripts,
                   error_t *err) {
    for (size_t i = 0; i < N_SCRIPTS && options->dry_run; i++)
        fprintf(options->print, "%s%s:\n%s", i > 0 ? "\n" : "", scripts[i].path, scripts[i].text);
    if (options->dry_run)
        return STATUS_OK;
    char *jobs[N_SCRIPTS] = {NULL};
    TRY(write_scripts(out, scripts, err));
    const status_t status = submit_both(scripts, jobs, err);
    if (status == STATUS_OK)
        print_jobs(options, out, jobs);
    free(jobs[SHARDS]);
    free(jobs[MERGE]);
    return status;
}

status_t cluster_submit(const cluster_options_t *options, error_t *err) {
    AUTO(free_paths) cluster_paths_t paths = {0};
    AUTO_FREE char *out = NULL;
    TRY(find_paths(options, &paths, &out, err));
    script_t scripts[N_SCRIPTS] = {
        [SHARDS] = {fs_join(out, "shard.sh"), script_of_shards(options, &paths)},
        [MERGE] = {fs_join(out, "merge.sh"), script_of_merge(options, &paths)}};
    const status_t status = go(options, out, scripts, err);
    for (size_t i = 0; i < N_SCRIPTS; i++) {
        free(scripts[i].path);
        free(scripts[i].text);
    }
    return status;
}
