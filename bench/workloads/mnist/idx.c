#include "workloads/mnist/idx.h"

#include "base/memory.h"
#include "base/rng.h"
#include "io/folders.h"
#include "io/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

const dataset_shape_t DATASET_MNIST = {60000, 10000, 28, 28};

/* The third byte of an IDX magic number is the element type (8: unsigned byte), the fourth the
 * number of dimensions that follow, each a big-endian 32-bit number. */
enum { MAGIC_LABELS = 0x00000801, MAGIC_IMAGES = 0x00000803 };
enum { MAX_HEADER_BYTES = 16, MAX_READ_BYTES = 1 << 30 };

enum { TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS, N_FILES };
static const char *const FILES[N_FILES] = {
    [TRAIN_IMAGES] = "train-images-idx3-ubyte",
    [TRAIN_LABELS] = "train-labels-idx1-ubyte",
    [TEST_IMAGES] = "t10k-images-idx3-ubyte",
    [TEST_LABELS] = "t10k-labels-idx1-ubyte",
};

typedef struct idx_file {
    const char *path;
    gzFile stream; /* also reads plain files */
    bool images;
    size_t n; /* expected images or labels */
    const dataset_shape_t *shape;
} idx_file_t;

static size_t header_bytes(const idx_file_t *file) {
    return file->images ? 16 : 8;
}

static size_t data_bytes(const idx_file_t *file) {
    return file->n * (file->images ? file->shape->rows * file->shape->columns : 1);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Without zlib's prefix "<fd:3>: ". */
static const char *stream_message(gzFile stream, int *code) {
    const char *message = gzerror(stream, code);
    if (*code == Z_ERRNO)
        return strerror(errno);
    const char *prefix = strstr(message, ">: ");
    return prefix != NULL ? prefix + strlen(">: ") : message;
}

/* Read up to `wanted` bytes. */
static status_t read_some(const idx_file_t *file, uint8_t *bytes, size_t wanted, size_t *got,
                          error_t *err) {
    *got = 0;
    while (*got < wanted) {
        const size_t left = wanted - *got;
        const int n = gzread(file->stream, bytes + *got,
                             (unsigned)(left < MAX_READ_BYTES ? left : MAX_READ_BYTES));
        int code;
        const char *message = stream_message(file->stream, &code);
        if (n < 0 || (n == 0 && code != Z_OK && code != Z_BUF_ERROR && code != Z_STREAM_END))
            return error_set(err, STATUS_USAGE, "%s: cannot read: %s", file->path, message);
        if (n == 0)
            return STATUS_OK;
        *got += (size_t)n;
    }
    return STATUS_OK;
}

static status_t too_short(const idx_file_t *file, size_t found_bytes, error_t *err) {
    return error_set(err, STATUS_USAGE, "%s: ends after %zu bytes, expected %zu", file->path,
                     found_bytes, header_bytes(file) + data_bytes(file));
}

static uint32_t big_endian(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static status_t check_header(const idx_file_t *file, const uint8_t *header, error_t *err) {
    const uint32_t magic = big_endian(header),
                   expected = file->images ? MAGIC_IMAGES : MAGIC_LABELS;
    if (magic != expected)
        return error_set(err, STATUS_USAGE,
                         "%s: found magic number 0x%08" PRIx32 ", expected 0x%08" PRIx32
                         ": no IDX file of %s",
                         file->path, magic, expected, file->images ? "images" : "labels");
    const uint32_t n = big_endian(header + 4);
    if (!file->images && n != file->n)
        return error_set(err, STATUS_USAGE,
                         "%s: found %" PRIu32 " labels, expected %zu, one for each image",
                         file->path, n, file->n);
    if (!file->images)
        return STATUS_OK;
    const uint32_t rows = big_endian(header + 8), columns = big_endian(header + 12);
    if (n != file->n || rows != file->shape->rows || columns != file->shape->columns)
        return error_set(
            err, STATUS_USAGE,
            "%s: found %" PRIu32 " images of %" PRIu32 " × %" PRIu32 ", expected %zu of %zu × %zu",
            file->path, n, rows, columns, file->n, file->shape->rows, file->shape->columns);
    return STATUS_OK;
}

static status_t read_header(const idx_file_t *file, error_t *err) {
    uint8_t header[MAX_HEADER_BYTES];
    size_t got;
    TRY(read_some(file, header, header_bytes(file), &got, err));
    if (got < header_bytes(file))
        return too_short(file, got, err);
    return check_header(file, header, err);
}

/* Tries to read one byte too many: the file must end there, and zlib compares the checksum only at
 * the end of the stream. */
static status_t read_data(const idx_file_t *file, uint8_t *data, error_t *err) {
    const size_t expected = data_bytes(file);
    uint8_t more;
    size_t got, n_more;
    TRY(read_some(file, data, expected, &got, err));
    if (got < expected)
        return too_short(file, header_bytes(file) + got, err);
    TRY(read_some(file, &more, 1, &n_more, err));
    if (n_more > 0)
        return error_set(err, STATUS_USAGE, "%s: goes on behind the %zu bytes that were expected",
                         file->path, header_bytes(file) + expected);
    for (size_t i = 0; !file->images && i < file->n; i++)
        if (data[i] >= DATASET_CLASSES)
            return error_set(err, STATUS_USAGE, "%s: label %zu is %u, expected 0 … %d", file->path,
                             i, data[i], DATASET_CLASSES - 1);
    return STATUS_OK;
}

static status_t read_opened(idx_file_t *file, uint8_t **data, error_t *err) {
    *data = mem_alloc(data_bytes(file));
    status_t status = read_header(file, err);
    if (status == STATUS_OK)
        status = read_data(file, *data, err);
    /* Only closing detects a gzip stream that lacks its trailer. */
    if (gzclose_r(file->stream) == Z_BUF_ERROR && status == STATUS_OK)
        status = error_set(err, STATUS_USAGE, "%s: the gzip stream ends too early", file->path);
    if (status != STATUS_OK) {
        free(*data);
        *data = NULL;
    }
    return status;
}

static status_t read_file(idx_file_t file, uint8_t **data, error_t *err) {
    const int fd = open(file.path, O_RDONLY | O_CLOEXEC);
    *data = NULL;
    if (fd < 0 || fs_is_folder(file.path)) {
        status_t failed = error_set(err, STATUS_USAGE, "%s: cannot open: %s", file.path,
                                    strerror(fd < 0 ? errno : EISDIR));
        if (fd >= 0)
            close(fd);
        return failed;
    }
    file.stream = gzdopen(fd, "rb");
    if (file.stream == NULL) {
        close(fd);
        return error_set(err, STATUS_USAGE, "%s: cannot open: out of memory", file.path);
    }
    gzbuffer(file.stream, 1 << 17);
    return read_opened(&file, data, err);
}

/* The path of the plain file, else of the gzipped one, else NULL. The caller frees it. */
static char *find_file(const char *folder, const char *name) {
    static const char *const ENDS[] = {"", ".gz"};
    for (size_t i = 0; i < sizeof ENDS / sizeof *ENDS; i++) {
        char *file = mem_format("%s%s", name, ENDS[i]);
        char *path = fs_join(folder, file);
        free(file);
        if (fs_exists(path))
            return path;
        free(path);
    }
    return NULL;
}

status_t dataset_read(const char *folder, const dataset_shape_t *shape, dataset_t *set,
                      error_t *err) {
    *set = (dataset_t){.shape = *shape};
    uint8_t **const data[N_FILES] = {&set->train_images, &set->train_labels, &set->test_images,
                                     &set->test_labels};
    status_t status = STATUS_OK;
    for (size_t i = 0; i < N_FILES && status == STATUS_OK; i++) {
        char *path = find_file(folder, FILES[i]);
        const idx_file_t file = {.path = path,
                                 .images = i == TRAIN_IMAGES || i == TEST_IMAGES,
                                 .n = i < TEST_IMAGES ? shape->n_train : shape->n_test,
                                 .shape = shape};
        status = path != NULL ? read_file(file, data[i], err)
                              : error_set(err, STATUS_USAGE, "%s: has no %s and no %s.gz", folder,
                                          FILES[i], FILES[i]);
        free(path);
    }
    if (status != STATUS_OK)
        dataset_free(set);
    return status;
}

void dataset_free(dataset_t *set) {
    free(set->train_images);
    free(set->train_labels);
    free(set->test_images);
    free(set->test_labels);
    *set = (dataset_t){0};
}

/* ---- search ---------------------------------------------------------------------------------- */

static bool has_any(const char *folder) {
    bool any = false;
    for (size_t i = 0; i < N_FILES && !any; i++) {
        char *path = find_file(folder, FILES[i]);
        any = path != NULL;
        free(path);
    }
    return any;
}

status_t dataset_find(const char *root, char **folder, error_t *err) {
    static const char *const PLACES[] = {"data/mnist", "../shared/data/mnist"};
    *folder = NULL;
    const char *wanted = getenv("MNIST_DIR");
    if (wanted != NULL && *wanted != '\0') {
        if (!has_any(wanted))
            return error_set(err, STATUS_USAGE, "$MNIST_DIR: %s has no %s and no %s.gz", wanted,
                             FILES[0], FILES[0]);
        *folder = mem_text(wanted);
        return STATUS_OK;
    }
    char *project = folders_project(root);
    for (size_t i = 0; i < sizeof PLACES / sizeof *PLACES && *folder == NULL; i++) {
        char *place = fs_join(project, PLACES[i]);
        if (has_any(place))
            *folder = place;
        else
            free(place);
    }
    free(project);
    return STATUS_OK;
}

status_t dataset_load(const char *root, dataset_t *set, error_t *err) {
    char *folder;
    *set = (dataset_t){0};
    TRY(dataset_find(root, &folder, err));
    if (folder == NULL) {
        dataset_make(set);
        return STATUS_OK;
    }
    status_t status = dataset_read(folder, &DATASET_MNIST, set, err);
    free(folder);
    return status;
}

/* ---- synthetic set --------------------------------------------------------------------------- */

/* No case has the seed 0, so these streams are not used elsewhere. */
enum { SYNTHETIC_KEY = 0, STREAM_PATTERNS = 200, STREAM_LABELS = 201, STREAM_PIXELS = 202 };
enum { PIXELS = 28 * 28, PIXELS_PER_BLOCK = 16, BLOCKS = PIXELS / PIXELS_PER_BLOCK };

/* One word in five is below this: digits cover about a fifth of an image. */
static const uint32_t LIT_BELOW = 858993459;

static void make_image(uint8_t *image, size_t number, const bool *lit) {
    const uint32_t key[2] = {SYNTHETIC_KEY, 0};
    for (size_t block = 0; block < BLOCKS; block++) {
        const uint32_t counter[4] = {(uint32_t)(number * BLOCKS + block), 0, STREAM_PIXELS, 0};
        uint32_t words[4];
        philox4x32_10(counter, key, words);
        for (size_t i = 0; i < PIXELS_PER_BLOCK; i++) {
            const size_t pixel = block * PIXELS_PER_BLOCK + i;
            const uint8_t noise = (uint8_t)(words[i / 4] >> 8 * (i % 4));
            image[pixel] = lit[pixel] ? noise : noise >> 3;
        }
    }
}

/* Images `first` … `first + n - 1`. */
static void make_images(uint8_t *images, uint8_t *labels, size_t first, size_t n,
                        const bool *patterns) {
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) {
        const uint64_t word = rng_word(SYNTHETIC_KEY, STREAM_LABELS, first + i);
        labels[i] = (uint8_t)(word * DATASET_CLASSES >> 32);
        make_image(images + i * PIXELS, first + i, patterns + (size_t)labels[i] * PIXELS);
    }
}

void dataset_make(dataset_t *set) {
    const size_t n_train = DATASET_MNIST.n_train, n_test = DATASET_MNIST.n_test;
    *set = (dataset_t){.shape = DATASET_MNIST,
                       .synthetic = true,
                       .train_images = mem_alloc(n_train * PIXELS),
                       .train_labels = mem_alloc(n_train),
                       .test_images = mem_alloc(n_test * PIXELS),
                       .test_labels = mem_alloc(n_test)};
    bool *patterns = mem_zeroed((size_t)DATASET_CLASSES * PIXELS, sizeof *patterns);
    for (size_t i = 0; i < (size_t)DATASET_CLASSES * PIXELS; i++)
        patterns[i] = rng_word(SYNTHETIC_KEY, STREAM_PATTERNS, i) < LIT_BELOW;
    make_images(set->train_images, set->train_labels, 0, n_train, patterns);
    make_images(set->test_images, set->test_labels, n_train, n_test, patterns);
    free(patterns);
}
