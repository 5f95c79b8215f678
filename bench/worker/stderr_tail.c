#include "worker/stderr_tail.h"

#include "base/text.h"

#include <string.h>
#include <unistd.h>

enum { QUOTED_BYTES = 600 };

void stderr_tail_read(stderr_tail_t *tail, int fd) {
    char chunk[STDERR_KEPT];
    ssize_t n;
    while ((n = read(fd, chunk, sizeof chunk)) > 0) {
        const size_t bytes = (size_t)n;
        if (tail->bytes + bytes > STDERR_KEPT) {
            const size_t drop = tail->bytes + bytes - STDERR_KEPT;
            memmove(tail->text, tail->text + drop, tail->bytes - drop);
            tail->bytes -= drop;
            tail->request -= drop < tail->request ? drop : tail->request;
        }
        memcpy(tail->text + tail->bytes, chunk, bytes);
        tail->bytes += bytes;
        tail->text[tail->bytes] = '\0';
    }
}

void stderr_tail_begin_request(stderr_tail_t *tail) {
    tail->request = tail->bytes;
}

static const char *last_lines(stderr_tail_t *tail, size_t first) {
    while (tail->bytes > first && strchr("\n\r ", tail->text[tail->bytes - 1]) != NULL)
        tail->text[--tail->bytes] = '\0';
    const char *from = tail->text + first;
    if (tail->bytes - first > QUOTED_BYTES) {
        from = tail->text + tail->bytes - QUOTED_BYTES;
        const char *line = strchr(from, '\n');
        if (line != NULL)
            from = line + 1;
    }
    return from;
}

const char *stderr_tail_lines(stderr_tail_t *tail) {
    return last_lines(tail, 0);
}

const char *stderr_tail_beyond(stderr_tail_t *tail, const char *reason) {
    const char *lines = last_lines(tail, tail->request);
    text_list_t each = text_split(lines, '\n');
    bool said = false;
    for (size_t i = 0; i < each.n; i++)
        said = said || (each.items[i][0] != '\0' && strstr(reason, each.items[i]) != NULL);
    text_list_free(&each);
    return said ? "" : lines;
}
