#include "fuzz.h"

#include "base/memory.h"
#include "io/fs.h"
#include "workloads/common/workload.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    workload_search_described(".", NULL);
    return 0;
}

void fuzz_check(int holds, const char *condition, const char *file, int line) {
    if (holds)
        return;
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
    abort();
}

void fuzz_check_refusal(status_t status, const error_t *err) {
    FUZZ_CHECK(status != STATUS_OK);
    FUZZ_CHECK(err->status != STATUS_OK && err->text[0] != '\0');
    AUTO_FREE char *valid = text_utf8(err->text);
    FUZZ_CHECK(strcmp(valid, err->text) == 0);
    for (const char *c = err->text; *c != '\0'; c++)
        FUZZ_CHECK(((unsigned char)*c >= ' ' && *c != 0x7f) || *c == '\n' || *c == '\t');
}

char *fuzz_text(const uint8_t *data, size_t size) {
    return mem_text_n((const char *)data, size);
}

static void write_all(int fd, const void *data, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t n = write(fd, (const char *)data + done, size - done);
        FUZZ_CHECK(n > 0);
        done += (size_t)n;
    }
}

const char *fuzz_file(const uint8_t *data, size_t size) {
    static int fd = -1;
    static char path[64];
    if (fd < 0) {
        fd = memfd_create("fuzz", MFD_CLOEXEC);
        FUZZ_CHECK(fd >= 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    FUZZ_CHECK(ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0);
    write_all(fd, data, size);
    return path;
}

static char *folder;

static void remove_folder(void) {
    fs_remove_tree(folder, NULL);
    free(folder);
}

const char *fuzz_folder(void) {
    if (folder == NULL) {
        error_t err = ERROR_INIT;
        FUZZ_CHECK(fs_temporary_folder(&folder, &err) == STATUS_OK);
        atexit(remove_folder);
    }
    return folder;
}

void fuzz_write(const char *name, const void *data, size_t size) {
    AUTO_FREE char *path = fs_join(fuzz_folder(), name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    FUZZ_CHECK(fd >= 0);
    write_all(fd, data, size);
    close(fd);
}
