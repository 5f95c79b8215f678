/* IDX files of a tiny data set: the input's first byte says which of the four it stands for, the
 * others are good. Refused with a message, or a set whose labels are digits. */
#include "fuzz.h"

#include "workloads/mnist/data.h"

#include <string.h>

static const dataset_shape_t SHAPE = {.n_train = 3, .n_test = 2, .rows = 2, .columns = 2};
static const char *const NAMES[] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                    "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};

/* Zeros behind a header for `n` images or labels. */
static void write_good(size_t file) {
    uint8_t bytes[16 + 12] = {0, 0, 8, 3, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 2};
    bool images = file % 2 == 0;
    size_t n = file < 2 ? SHAPE.n_train : SHAPE.n_test;
    bytes[3] = images ? 3 : 1;
    bytes[7] = (uint8_t)n;
    if (!images)
        memset(bytes + 8, 0, sizeof bytes - 8);
    fuzz_write(NAMES[file], bytes, images ? 16 + 4 * n : 8 + n);
}

static void check_labels(const uint8_t *labels, size_t n) {
    for (size_t i = 0; i < n; i++)
        FUZZ_CHECK(labels[i] < DATASET_CLASSES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static size_t last = 4; /* the file that the input before this one stood for */
    if (size == 0)
        return 0;
    for (size_t file = 0; file < 4; file++)
        if (last == 4 || file == last)
            write_good(file);
    last = data[0] % 4;
    fuzz_write(NAMES[last], data + 1, size - 1);
    dataset_t set;
    error_t err = ERROR_INIT;
    status_t status = dataset_read(fuzz_folder(), &SHAPE, &set, &err);
    if (status != STATUS_OK) {
        fuzz_check_refusal(status, &err);
        return 0;
    }
    check_labels(set.train_labels, SHAPE.n_train);
    check_labels(set.test_labels, SHAPE.n_test);
    dataset_free(&set);
    return 0;
}
