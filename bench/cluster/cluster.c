#include "cluster/cluster.h"

#include "base/memory.h"
#include "io/fs.h"
#include "io/subprocess.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ==== scripts ================================================================================= */

/* The scripts of `bench cluster`. */

/* Where jobs run, as words for the shell. */
typedef struct cluster_paths {
    char *here;    /* the folder of the command */
    char *root;    /* the project's folder */
    char *program; /* this one */
    char *out;     /* absolute */
    char *name;    /* OUT's last part */
} cluster_paths_t;

typedef struct cluster_kind {
    char *name;          /* "" if there is only one */
    text_list_t options; /* of sbatch */
} cluster_kind_t;

static char *words_of(const text_list_t *list) {
    text_list_t words = {0};
    for (size_t i = 0; i < list->n; i++)
        text_list_take(&words, text_shell(list->items[i]));
    char *text = text_list_join(&words, " ");
    text_list_free(&words);
    return text;
}

static void print_options(FILE *out, const text_list_t *options) {
    for (size_t i = 0; i < options->n; i++) {
        char *word = text_shell(options->items[i]);
        fprintf(out, "#SBATCH %s\n", word);
        free(word);
    }
}

static void print_head(FILE *out, const cluster_options_t *options, const cluster_paths_t *paths,
                       const char *job, const char *log) {
    text_list_t parts = text_split(paths->out, '%'); /* in file names of sbatch, "%a" is the task */
    char *folder = text_list_join(&parts, "%%");
    fprintf(out,
            "#!/bin/bash\n#SBATCH --job-name=%s-%s\n#SBATCH --output=%s/logs/%s.log\n"
            "#SBATCH --requeue\n",
            paths->name, job, folder, log);
    print_options(out, &options->for_all);
    text_list_free(&parts);
    free(folder);
}

/* --cpu-bind=none: srun would give its only task one core. */
static void print_place(FILE *out, const cluster_options_t *options, const cluster_paths_t *paths) {
    fprintf(out, "cd %s || exit\nexport BENCH_ROOT=%s\n", paths->here, paths->root);
    if (options->container == NULL)
        return;
    char *image = text_shell(options->container);
    fprintf(out,
            "inside=(srun --ntasks=1 --cpu-bind=none --container-image=%s "
            "--container-workdir=\"$PWD\"\n"
            "    --container-mounts=\"$PWD:$PWD,\"%s:%s,%s:%s)\n",
            image, paths->root, paths->root, paths->out, paths->out);
    free(image);
}

/* The shell's words in front of those of bench. */
static const char *inside(const cluster_options_t *options) {
    return options->container != NULL ? "\"${inside[@]}\" " : "";
}

/* A job array: task I measures shard I, and goes on with it if it was begun. The caller frees it. */
static char *script_of_shards(const cluster_options_t *options, const cluster_paths_t *paths,
                              const cluster_kind_t *kind) {
    const bool alone = kind->name[0] == '\0';
    char *text, *log = alone ? mem_text("%a") : mem_format("%s-%%a", kind->name),
                *run = words_of(&options->run);
    size_t size;
    FILE *out = open_memstream(&text, &size);
    print_head(out, options, paths, alone ? "shards" : kind->name, log);
    fprintf(out, /* a task that is requeued adds to its log */
            "#SBATCH --open-mode=append\n#SBATCH --array=1-%u\n", options->n_shards);
    print_options(out, &options->for_shards);
    print_options(out, &kind->options);
    fputs("# Task I measures shard I and keeps what it has finished, also if only some tasks are "
          "submitted again:\n# sbatch --array=3,5 THIS_SCRIPT\n",
          out);
    print_place(out, options, paths);
    fprintf(out,
            "echo \"shard $SLURM_ARRAY_TASK_ID of %u on $SLURMD_NODENAME, restarts: "
            "${SLURM_RESTART_COUNT:-0}\"\n"
            "exec %s%s run %s \\\n"
            "    --shard \"$SLURM_ARRAY_TASK_ID/%u\" --out %s/shards/%s%s\"$SLURM_ARRAY_TASK_ID\" "
            "--resume\n",
            options->n_shards, inside(options), paths->program, run, options->n_shards, paths->out,
            kind->name, alone ? "" : "/");
    fclose(out);
    free(log);
    free(run);
    return text;
}

/* The job after all arrays. Exits with 1 if anything is missing, after a report of what there is. */
static char *script_of_merge(const cluster_options_t *options, const cluster_paths_t *paths,
                             const cluster_kind_t *kinds, size_t n_kinds) {
    char *text, *program = mem_format("%s%s", inside(options), paths->program);
    size_t size;
    FILE *out = open_memstream(&text, &size);
    print_head(out, options, paths, "merge", "merge");
    fputs("#SBATCH --open-mode=truncate\n"
          "# Exits with 1 if anything is missing; the report has what there is.\n",
          out);
    print_place(out, options, paths);
    fprintf(out,
            "status=0 runs=()\n"
            "join() { # the merged run, its shards\n"
            "    rm -rf -- \"$1\"\n"
            "    %s merge \"$@\" || status=1\n"
            "    [ -e \"$1/run.json\" ] || return\n"
            "    %s plot \"$1\" >\"$1/plot.txt\" 2>&1 ||\n"
            "        echo \"no charts: $(tail -n 1 \"$1/plot.txt\")\"\n"
            "    runs+=(\"$1\")\n"
            "}\n",
            program, program);
    for (size_t i = 0; i < n_kinds; i++) {
        const bool alone = kinds[i].name[0] == '\0';
        fprintf(out, "join %s/merged/%s%s%s %s/shards/%s%s{1..%u}\n", paths->out, paths->name,
                alone ? "" : "-", kinds[i].name, paths->out, kinds[i].name, alone ? "" : "/",
                options->n_shards);
    }
    fprintf(out,
            "[ ${#runs[@]} -gt 0 ] || exit 1\n"
            "%s report \"${runs[@]}\" --out %s/REPORT.md || status=1\nexit $status\n",
            program, paths->out);
    fclose(out);
    free(program);
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

static status_t find_paths(const cluster_options_t *options, cluster_paths_t *paths,
                           char **out_folder, error_t *err) {
    *paths = (cluster_paths_t){0};
    char *program = NULL, *here = getcwd(NULL, 0);
    if (here == NULL)
        return error_set(err, STATUS_USAGE, "the current folder: %s", strerror(errno));
    char *out = absolute(options->out, here);
    status_t status = name_out(&out, err);
    const char *all[] = {here, out, options->root};
    if (status == STATUS_OK)
        status = fs_executable(&program, err);
    for (size_t i = 0; i < sizeof all / sizeof *all && status == STATUS_OK; i++)
        status = check_path(all[i], err);
    if (status == STATUS_OK) {
        paths->here = text_shell(here);
        paths->root = text_shell(options->root);
        paths->program = text_shell(program);
        paths->out = text_shell(out);
        paths->name = text_shell(strrchr(out, '/') + 1);
    }
    free(here);
    free(program);
    *out_folder = out;
    return status;
}

static status_t read_kind(const char *text, cluster_kind_t *kind, error_t *err) {
    const size_t n = strcspn(text, "=");
    kind->name = mem_text_n(text, n);
    text_list_t words = text_split(text[n] == '=' ? text + n + 1 : "", ' ');
    bool ok = text_is_name(kind->name);
    for (size_t i = 0; i < words.n; i++) {
        if (words.items[i][0] == '\0')
            continue;
        ok &= words.items[i][0] == '-';
        text_list_add(&kind->options, words.items[i]);
    }
    text_list_free(&words);
    return ok && kind->options.n > 0 ? STATUS_OK
                                     : error_set(err, STATUS_USAGE,
                                                 "--kind %s: expected NAME=OPTIONS of sbatch, e.g. "
                                                 "h100=\"--gres=gpu:h100:1 --partition=hopper\"",
                                                 text);
}

static status_t read_kinds(const text_list_t *texts, cluster_kind_t *kinds, error_t *err) {
    if (texts->n == 0)
        kinds[0].name = mem_text("");
    for (size_t i = 0; i < texts->n; i++) {
        TRY(read_kind(texts->items[i], &kinds[i], err));
        for (size_t j = 0; j < i; j++)
            if (strcmp(kinds[i].name, kinds[j].name) == 0)
                return error_set(err, STATUS_USAGE, "--kind %s: given twice", kinds[i].name);
    }
    return STATUS_OK;
}

static void free_kinds(cluster_kind_t *kinds, size_t n) {
    for (size_t i = 0; i < n; i++) {
        free(kinds[i].name);
        text_list_free(&kinds[i].options);
    }
    free(kinds);
}

/* ---- files and jobs -------------------------------------------------------------------------- */

typedef struct script {
    char *path, *text;
} script_t;

static void free_scripts(script_t *scripts, size_t n) {
    for (size_t i = 0; i < n; i++) {
        free(scripts[i].path);
        free(scripts[i].text);
    }
    free(scripts);
}

static script_t *make_scripts(const cluster_options_t *options, const cluster_paths_t *paths,
                              const char *out, const cluster_kind_t *kinds, size_t n_kinds) {
    script_t *scripts = mem_zeroed(n_kinds + 1, sizeof *scripts);
    for (size_t i = 0; i < n_kinds; i++)
        scripts[i] = (script_t){
            mem_format("%s/shard%s%s.sh", out, kinds[i].name[0] == '\0' ? "" : "-", kinds[i].name),
            script_of_shards(options, paths, &kinds[i])};
    scripts[n_kinds] =
        (script_t){fs_join(out, "merge.sh"), script_of_merge(options, paths, kinds, n_kinds)};
    return scripts;
}

static status_t write_scripts(const char *out, const script_t *scripts, size_t n, error_t *err) {
    char *logs = fs_join(out, "logs"); /* sbatch makes no folders */
    status_t status = fs_make_folders(logs, err);
    for (size_t i = 0; i < n && status == STATUS_OK; i++)
        status = fs_write_atomic(scripts[i].path, scripts[i].text, strlen(scripts[i].text), err);
    free(logs);
    return status;
}

/* Submit a script and add its job's id. */
static status_t submit(const char *script, const char *dependency, text_list_t *jobs,
                       error_t *err) {
    const char *argv[] = {"sbatch", "--parsable", dependency, script, NULL};
    if (dependency == NULL) {
        argv[2] = script;
        argv[3] = NULL;
    }
    subprocess_result_t answer;
    TRY(subprocess_run(argv, NULL, SBATCH_TIMEOUT_S, &answer, err));
    answer.out[strcspn(answer.out, ";\n")] = '\0'; /* "12;cluster\n" */
    status_t status = STATUS_OK;
    if (answer.exit_code != 0 || answer.out[0] == '\0') {
        text_make_plain(answer.err);
        status = error_set(err, STATUS_USAGE, "sbatch %s: %.500s", script,
                           answer.timed_out ? "no answer" : answer.err);
    } else {
        text_list_add(jobs, answer.out);
    }
    subprocess_result_free(&answer);
    return status;
}

/* All, or none. */
static status_t submit_all(const script_t *scripts, size_t n, text_list_t *jobs, error_t *err) {
    status_t status = STATUS_OK;
    for (size_t i = 0; i + 1 < n && status == STATUS_OK; i++)
        status = submit(scripts[i].path, NULL, jobs, err);
    if (status == STATUS_OK) {
        char *ids = text_list_join(jobs, ":");
        char *dependency = mem_format("--dependency=afterany:%s", ids);
        status = submit(scripts[n - 1].path, dependency, jobs, err);
        free(dependency);
        free(ids);
    }
    for (size_t i = 0; i < jobs->n && status != STATUS_OK; i++) {
        const char *argv[] = {"scancel", jobs->items[i], NULL};
        subprocess_result_t answer;
        error_t ignored = ERROR_INIT;
        if (subprocess_run(argv, NULL, SBATCH_TIMEOUT_S, &answer, &ignored) == STATUS_OK)
            subprocess_result_free(&answer);
    }
    return status;
}

static void print_jobs(const cluster_options_t *options, const char *out,
                       const cluster_kind_t *kinds, const text_list_t *jobs) {
    FILE *print = options->print;
    for (size_t i = 0; i + 1 < jobs->n; i++)
        fprintf(print, "job %s: %u shards%s%s\n", jobs->items[i], options->n_shards,
                kinds[i].name[0] == '\0' ? "" : " on ", kinds[i].name);
    char *comma = text_list_join(jobs, ","), *space = text_list_join(jobs, " ");
    char *word = text_shell(out);
    fprintf(print,
            "job %s: merges, draws and reports them when all have ended\n"
            "watch     squeue --jobs %s; tail -f %s/logs/*.log\n"
            "cancel    scancel %s\n"
            "continue  the same command again, when these have ended: what is finished is kept\n"
            "report    %s/REPORT.md\n",
            jobs->items[jobs->n - 1], comma, word, space, word);
    free(word);
    free(comma);
    free(space);
}

static status_t go(const cluster_options_t *options, const cluster_paths_t *paths, const char *out,
                   error_t *err) {
    const size_t n_kinds = options->kinds.n > 0 ? options->kinds.n : 1;
    cluster_kind_t *kinds = mem_zeroed(n_kinds, sizeof *kinds);
    status_t status = read_kinds(&options->kinds, kinds, err);
    if (status != STATUS_OK) {
        free_kinds(kinds, n_kinds);
        return status;
    }
    script_t *scripts = make_scripts(options, paths, out, kinds, n_kinds);
    text_list_t jobs = {0};
    for (size_t i = 0; i <= n_kinds && options->dry_run; i++)
        fprintf(options->print, "%s%s:\n%s", i > 0 ? "\n" : "", scripts[i].path, scripts[i].text);
    if (!options->dry_run)
        status = write_scripts(out, scripts, n_kinds + 1, err);
    if (!options->dry_run && status == STATUS_OK)
        status = submit_all(scripts, n_kinds + 1, &jobs, err);
    if (!options->dry_run && status == STATUS_OK)
        print_jobs(options, out, kinds, &jobs);
    text_list_free(&jobs);
    free_scripts(scripts, n_kinds + 1);
    free_kinds(kinds, n_kinds);
    return status;
}

status_t cluster_submit(const cluster_options_t *options, error_t *err) {
    cluster_paths_t paths;
    char *out = NULL;
    status_t status = find_paths(options, &paths, &out, err);
    if (status == STATUS_OK)
        status = go(options, &paths, out, err);
    free_paths(&paths);
    free(out);
    return status;
}
