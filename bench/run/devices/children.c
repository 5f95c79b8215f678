#include "run/devices/children.h"

#include "base/memory.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHUNK_BYTES = 1 << 12, WAIT_MS = 200, MOST_CHILDREN = 64 };

status_t child_start(child_t *child, const char *label, const char *const *argv, error_t *err) {
    *child = (child_t){.label = label, .exit_code = -1};
    TRY(subprocess_start(argv, &child->process, err));
    close(child->process.in_fd);
    child->process.in_fd = -1;
    return STATUS_OK;
}

static void print_line(child_t *child) {
    if (child->n_line > 0)
        fprintf(stderr, "%s: %.*s\n", child->label, (int)child->n_line, child->line);
    child->n_line = 0;
}

static void take(child_t *child, const char *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] == '\n') {
            print_line(child);
            continue;
        }
        mem_grow(&child->line, child->n_line, &child->capacity_line, 1);
        child->line[child->n_line++] = bytes[i];
    }
}

/* Closes `*fd` at its end. */
static void read_some(child_t *child, int *fd, bool shown) {
    char chunk[CHUNK_BYTES];
    ssize_t got;
    while ((got = read(*fd, chunk, sizeof chunk)) > 0)
        if (shown)
            take(child, chunk, (size_t)got);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    close(*fd);
    *fd = -1;
}

static void reap(child_t *child) {
    int wait_status = 0;
    while (waitpid(child->process.pid, &wait_status, 0) < 0 && errno == EINTR)
        ;
    child->process.pid = -1;
    child->exit_code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
    if (child->process.err_fd >= 0)
        read_some(child, &child->process.err_fd, true);
    print_line(child);
    if (WIFSIGNALED(wait_status))
        fprintf(stderr, "%s: %s\n", child->label, strsignal(WTERMSIG(wait_status)));
    for (int k = 0; k < 2; k++) {
        int *fd = k == 0 ? &child->process.out_fd : &child->process.err_fd;
        if (*fd >= 0)
            close(*fd);
        *fd = -1;
    }
    free(child->line);
    child->line = NULL;
}

static void wait_for_output(child_t *children, size_t n) {
    struct pollfd fds[2 * MOST_CHILDREN];
    nfds_t n_fds = 0;
    for (size_t i = 0; i < n; i++) {
        fds[n_fds++] = (struct pollfd){.fd = children[i].process.out_fd, .events = POLLIN};
        fds[n_fds++] = (struct pollfd){.fd = children[i].process.err_fd, .events = POLLIN};
    }
    if (poll(fds, n_fds, WAIT_MS) <= 0)
        return;
    for (size_t i = 0; i < n; i++) {
        if (fds[2 * i].revents != 0)
            read_some(&children[i], &children[i].process.out_fd, false);
        if (fds[2 * i + 1].revents != 0)
            read_some(&children[i], &children[i].process.err_fd, true);
    }
}

static void interrupt(child_t *children, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (children[i].process.pid > 0)
            kill(children[i].process.pid, SIGTERM);
}

void children_wait(child_t *children, size_t n, const volatile sig_atomic_t *interrupted) {
    bool told = false;
    for (size_t n_running = n; n_running > 0;) {
        wait_for_output(children, n);
        bool failed = *interrupted != 0;
        n_running = 0;
        for (size_t i = 0; i < n; i++) {
            if (children[i].process.pid > 0 && subprocess_has_ended(&children[i].process))
                reap(&children[i]);
            n_running += children[i].process.pid > 0;
            failed |= children[i].process.pid <= 0 &&
                      (children[i].exit_code < 0 || children[i].exit_code > STATUS_FAILED);
        }
        if (failed && !told)
            interrupt(children, n);
        told |= failed;
    }
}
