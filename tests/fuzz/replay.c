/* Runs a fuzz target once on each file named, and on each file of each folder named: how the kept
 * inputs are tested where there is no libFuzzer. */
#include "fuzz.h"

#include "base/memory.h"
#include "io/fs.h"

#include <stdio.h>
#include <stdlib.h>

static size_t replay_file(const char *path) {
    /* Not fs_read(), which would unpack what is gzipped. */
    FILE *file = fopen(path, "rbe");
    FUZZ_CHECK(file != NULL && fseek(file, 0, SEEK_END) == 0);
    size_t size = (size_t)ftell(file);
    rewind(file);
    uint8_t *data = malloc(size > 0 ? size : 1); /* to the byte: ASan sees what reads beyond */
    FUZZ_CHECK(data != NULL && fread(data, 1, size, file) == size);
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 1;
}

static size_t replay(const char *path) {
    if (!fs_is_folder(path))
        return replay_file(path);
    AUTO(text_list_free) text_list_t names = {0};
    error_t err = ERROR_INIT;
    FUZZ_CHECK(fs_list(path, "", &names, &err) == STATUS_OK);
    size_t n = 0;
    for (size_t i = 0; i < names.n; i++) {
        AUTO_FREE char *inner = fs_join(path, names.items[i]);
        n += replay(inner);
    }
    return n;
}

int main(int argc, char **argv) {
    size_t n = 0;
    LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc; i++)
        n += replay(argv[i]);
    printf("%zu inputs\n", n);
    FUZZ_CHECK(n > 0);
    return 0;
}
