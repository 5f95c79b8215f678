/* Progress of a command on stderr: one status line on a terminal; elsewhere lines that stay, one for a finished case and
 * one for what takes long; nothing if quiet. */
#ifndef BENCH_MEASURE_PROGRESS_H
#define BENCH_MEASURE_PROGRESS_H

#include "base/text.h"
#include "model/result.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct progress {
    bool quiet, terminal;
    size_t done, total;  /* cases; total 0: the command has none */
    text_list_t reasons; /* of skipped cases, without duplicates */
    size_t *n_skipped;   /* cases per reason */
    size_t done_in_pass; /* of `done`, without the calibration */
    int64_t pass_ns;     /* when the pass began; 0: none has */
    double case_s;       /* that each case took in the pass before; 0: unknown */
    bool is_open;        /* more cases may come than `total` */
    char what[256];      /* is done now */
    int64_t since_ns;    /* when that began */
    int64_t printed_ns;  /* when a line was printed last */
    /* Is called before a line is printed; may renew `what`. NULL: nothing does. */
    void (*describe)(struct progress *progress, void *context);
    void *context;
} progress_t;

/* From here on the line is renewed while a child process is waited for (subprocess_watch()), so the progress must stay
 * where it is until progress_free(). */
void progress_start(progress_t *progress, bool quiet, size_t total);
void progress_free(progress_t *progress);
/* A pass begins. What is left of the run takes as long a case as those of this pass so far, or of the one before: in the first
 * pass, in which cases are compiled, that is too long. */
void progress_pass(progress_t *progress);
/* Begin a step, and say what it is. Ends the one before, and its `describe`. */
void progress_step(progress_t *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Begin a step of a command that has few, and say so: elsewhere than on a terminal in a line of its own. */
void progress_say(progress_t *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Say more about the current step, such as the group's name. */
void progress_now(progress_t *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The current step is that programs are compiled. May be called by any thread. `progress` is a progress_t. */
void progress_compiled(void *progress, size_t done, size_t total);
/* Renew the line on a terminal; else print one if the step has taken long. `progress` is a progress_t. */
void progress_tick(void *progress);
/* Report a finished case. On a terminal only cases that are not ok stay visible. Skipped cases are
 * counted by reason for progress_end(). */
void progress_case(progress_t *progress, const case_result_t *result);
/* Print a line that stays. */
void progress_note(progress_t *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Erase the status line before other output. */
void progress_clear(const progress_t *progress);
/* Print the number of skipped cases for each reason. Nothing is renewed any more. */
void progress_end(progress_t *progress);

/* The line at the time `now_ns`, at most `columns` wide: "[3/84] opening 4 of 14: pytorch-cpu eager · 12 s · about 20 s
 * left". `starting`: the worker that is being started, or NULL. The caller frees it. */
char *progress_text(const progress_t *progress, const char *starting, int64_t now_ns, int columns);

#endif
