#include "cluster/scripts.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static char *words_of(const text_list_t *list) {
    text_list_t words = {0};
    for (size_t i = 0; i < list->n; i++)
        text_list_take(&words, text_shell(list->items[i]));
    char *text = text_list_join(&words, " ");
    text_list_free(&words);
    return text;
}

static void add_options(text_list_t *lines, const text_list_t *options) {
    for (size_t i = 0; i < options->n; i++) {
        char *word = text_shell(options->items[i]);
        text_list_add_format(lines, "#SBATCH %s", word);
        free(word);
    }
}

/* In file names of sbatch, "%a" is the task. */
static char *log_folder(const char *out) {
    text_list_t parts = text_split(out, '%');
    char *text = text_list_join(&parts, "%%");
    text_list_free(&parts);
    return text;
}

static void add_head(text_list_t *lines, const cluster_options_t *options,
                     const cluster_paths_t *paths, const char *job, const char *log) {
    char *out = log_folder(paths->out);
    text_list_add(lines, "#!/bin/bash");
    text_list_add_format(lines, "#SBATCH --job-name=%s-%s", paths->name, job);
    text_list_add_format(lines, "#SBATCH --output=%s/logs/%s.log", out, log);
    text_list_add(lines, "#SBATCH --requeue");
    add_options(lines, &options->for_all);
    free(out);
}

/* --cpu-bind=none: srun would give its only task one core. */
static void add_body(text_list_t *lines, const cluster_options_t *options,
                     const cluster_paths_t *paths) {
    text_list_add_format(lines, "cd %s || exit", paths->here);
    text_list_add_format(lines, "export BENCH_ROOT=%s", paths->root);
    if (options->container != NULL) {
        char *image = text_shell(options->container);
        text_list_add_format(lines,
                             "inside=(srun --ntasks=1 --cpu-bind=none --container-image=%s "
                             "--container-workdir=\"$PWD\"",
                             image);
        text_list_add_format(lines, "    --container-mounts=\"$PWD:$PWD,\"%s:%s,%s:%s)",
                             paths->root, paths->root, paths->out, paths->out);
        free(image);
    }
}

/* The shell's words in front of those of bench. */
static char *program_of(const cluster_options_t *options, const cluster_paths_t *paths) {
    return mem_format("%s%s", options->container != NULL ? "\"${inside[@]}\" " : "",
                      paths->program);
}

static char *finish(text_list_t *lines) {
    text_list_add(lines, "");
    char *text = text_list_join(lines, "\n");
    text_list_free(lines);
    return text;
}

char *script_of_shards(const cluster_options_t *options, const cluster_paths_t *paths,
                       const cluster_kind_t *kind) {
    const bool alone = kind->name[0] == '\0';
    text_list_t lines = {0};
    char *log = alone ? mem_text("%a") : mem_format("%s-%%a", kind->name);
    char *program = program_of(options, paths), *run = words_of(&options->run);
    add_head(&lines, options, paths, alone ? "shards" : kind->name, log);
    text_list_add(&lines,
                  "#SBATCH --open-mode=append"); /* a task that is requeued adds to its log */
    text_list_add_format(&lines, "#SBATCH --array=1-%u", options->n_shards);
    add_options(&lines, &options->for_shards);
    add_options(&lines, &kind->options);
    text_list_add(
        &lines,
        "# Task I measures shard I and keeps what it has finished, also if only some tasks are "
        "submitted again:");
    text_list_add(&lines, "# sbatch --array=3,5 THIS_SCRIPT");
    add_body(&lines, options, paths);
    text_list_add_format(&lines,
                         "echo \"shard $SLURM_ARRAY_TASK_ID of %u on $SLURMD_NODENAME, restarts: "
                         "${SLURM_RESTART_COUNT:-0}\"",
                         options->n_shards);
    text_list_add_format(&lines, "exec %s run %s \\", program, run);
    text_list_add_format(&lines,
                         "    --shard \"$SLURM_ARRAY_TASK_ID/%u\" --out "
                         "%s/shards/%s%s\"$SLURM_ARRAY_TASK_ID\" --resume",
                         options->n_shards, paths->out, kind->name, alone ? "" : "/");
    free(log);
    free(program);
    free(run);
    return finish(&lines);
}

char *script_of_merge(const cluster_options_t *options, const cluster_paths_t *paths,
                      const cluster_kind_t *kinds, size_t n_kinds) {
    text_list_t lines = {0};
    char *program = program_of(options, paths);
    add_head(&lines, options, paths, "merge", "merge");
    text_list_add(&lines, "#SBATCH --open-mode=truncate");
    text_list_add(&lines, "# Exits with 1 if anything is missing; the report has what there is.");
    add_body(&lines, options, paths);
    text_list_add(&lines, "status=0 runs=()");
    text_list_add(&lines, "join() { # the merged run, its shards");
    text_list_add(&lines, "    rm -rf -- \"$1\"");
    text_list_add_format(&lines, "    %s merge \"$@\" || status=1", program);
    text_list_add(&lines, "    [ -e \"$1/run.json\" ] || return");
    text_list_add_format(&lines, "    %s plot \"$1\" >\"$1/plot.txt\" 2>&1 ||", program);
    text_list_add(&lines, "        echo \"no charts: $(tail -n 1 \"$1/plot.txt\")\"");
    text_list_add(&lines, "    runs+=(\"$1\")");
    text_list_add(&lines, "}");
    for (size_t i = 0; i < n_kinds; i++) {
        const bool alone = kinds[i].name[0] == '\0';
        text_list_add_format(&lines, "join %s/merged/%s%s%s %s/shards/%s%s{1..%u}", paths->out,
                             paths->name, alone ? "" : "-", kinds[i].name, paths->out,
                             kinds[i].name, alone ? "" : "/", options->n_shards);
    }
    text_list_add(&lines, "[ ${#runs[@]} -gt 0 ] || exit 1");
    text_list_add_format(&lines, "%s report \"${runs[@]}\" --out %s/REPORT.md || status=1", program,
                         paths->out);
    text_list_add(&lines, "exit $status");
    free(program);
    return finish(&lines);
}
