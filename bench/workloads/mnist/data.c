#include "workloads/mnist/data.h"

#include "base/memory.h"
#include "base/rng.h"
#include "io/folders.h"
#include "io/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* ==== MNIST files ============================================================================= */

static const dataset_shape_t DATASET_MNIST = {60000, 10000, 28, 28};

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

const workload_files_t mnist_files = {
    .what = "MNIST",
    .find = dataset_find,
    .missing = "neither data/mnist nor $MNIST_DIR has it",
    .costs = "mnist_train and mlp_train use synthetic images and say so",
    .install = "reference_common/get_mnist.py",
    .broken_costs = "cases of mnist_train and mlp_train fail",
    .broken_install = "unset MNIST_DIR, then run reference_common/get_mnist.py",
};

static void dataset_make(dataset_t *set);

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

/* Images from Philox in the shape of DATASET_MNIST: a pattern of bright pixels per class, plus
 * noise. The bytes are the same in every language (docs/workloads.md). */
static void dataset_make(dataset_t *set) {
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

/* ==== images that cases share ================================================================= */

enum { STREAM_ORDER = 64 };

static struct {
    dataset_t set;
    unsigned users;
} images;

status_t mnist_images_take(const dataset_t **set, error_t *err) {
    if (images.users == 0) {
        char *root;
        TRY(folders_data(&root, err));
        status_t status = dataset_load(root, &images.set, err);
        free(root);
        TRY(status);
    }
    images.users++;
    *set = &images.set;
    return STATUS_OK;
}

static void mnist_images_release(void) {
    if (--images.users == 0)
        dataset_free(&images.set);
}

/* Does any open case use the images? */
static bool mnist_images_held(void) {
    return images.users > 0;
}

void mnist_images_order(uint32_t *order, uint64_t seed, uint32_t epoch) {
    for (uint32_t i = 0; i < MNIST_IMAGES; i++)
        order[i] = i;
    for (uint32_t i = MNIST_IMAGES - 1; i >= 1; i--) {
        const uint64_t word = rng_word(seed, STREAM_ORDER + epoch, i);
        const uint32_t j = (uint32_t)(word * (i + 1) >> 32);
        const uint32_t moved = order[i];
        order[i] = order[j];
        order[j] = moved;
    }
}

/* ==== weights, order and images =============================================================== */

enum { STREAM_W = 16, STREAM_B = 17, CHUNK = 1 << 20 };

void mnist_sizes(size_t layers, size_t hidden, size_t *sizes) {
    sizes[0] = MNIST_PIXELS;
    for (size_t l = 1; l < layers; l++)
        sizes[l] = hidden;
    sizes[layers] = MNIST_CLASSES;
}

double mnist_elements(size_t layers, const size_t *sizes) {
    double n = 0;
    for (size_t l = 0; l < layers; l++)
        n += (double)sizes[l] * (double)sizes[l + 1];
    return n;
}

double mnist_parameters(size_t layers, const size_t *sizes) {
    double n = mnist_elements(layers, sizes);
    for (size_t l = 0; l < layers; l++)
        n += (double)sizes[l + 1];
    return n;
}

size_t mnist_step_images(const mnist_data_t *data, size_t step) {
    const size_t left = data->n_order - step * data->batch;
    return left < data->batch ? left : data->batch;
}

/* ---- weights and order ----------------------------------------------------------------------- */

static void fill(float *values, size_t n, const mnist_data_t *data, uint32_t stream, float bound) {
#pragma omp parallel for schedule(dynamic)
    for (size_t first = 0; first < n; first += CHUNK) {
        const size_t count = n - first < CHUNK ? n - first : CHUNK;
        rng_fill_uniform(values + first, count, (rng_position_t){data->seed, stream, first}, -bound,
                         bound);
    }
}

/* Layer l takes w from stream 16 + 2 l and b from the next, in the range of torch.nn.Linear,
 * ±1/√in. */
static void make_weights(mnist_data_t *data) {
    data->n_weights = (size_t)mnist_parameters(data->layers, data->sizes);
    data->weights = mem_alloc(data->n_weights * sizeof *data->weights);
    float *next = data->weights;
    for (uint32_t l = 0; l < data->layers; l++) {
        const size_t in = data->sizes[l], out = data->sizes[l + 1];
        data->w[l] = next;
        data->b[l] = next + in * out;
        next = data->b[l] + out;
        const float bound = (float)(1.0 / sqrt((double)in));
        fill(data->w[l], in * out, data, STREAM_W + 2 * l, bound);
        fill(data->b[l], out, data, STREAM_B + 2 * l, bound);
    }
}

static void make_order(mnist_data_t *data) {
    const size_t epochs = data->n_order / MNIST_IMAGES;
    data->order = mem_alloc(data->n_order * sizeof *data->order);
#pragma omp parallel for schedule(dynamic)
    for (size_t epoch = 0; epoch < epochs; epoch++)
        mnist_images_order(data->order + epoch * MNIST_IMAGES, data->seed, (uint32_t)epoch);
}

static void *make(const void *shape) {
    mnist_data_t *data = mem_zeroed(1, sizeof *data);
    *data = *(const mnist_data_t *)shape;
    for (unsigned pixel = 0; pixel < 256; pixel++)
        data->x[pixel] = (float)pixel / 255.0f;
    make_weights(data);
    make_order(data);
    return data;
}

static bool same(const void *data, const void *shape) {
    const mnist_data_t *a = data, *b = shape;
    return a->layers == b->layers && a->hidden == b->hidden && a->batch == b->batch &&
           a->steps == b->steps && a->seed == b->seed;
}

static void free_data(void *dead) {
    mnist_data_t *data = dead;
    free(data->weights);
    free(data->order);
    free(data);
}

static void refill(void *refilled, uint64_t from, uint64_t to) {
    signs_t flips;
    signs_between(from, to, &flips);
    mnist_data_t *data = refilled;
    for (size_t l = 0; l < data->layers; l++) {
        signs_flip_floats(data->w[l], data->sizes[l] * data->sizes[l + 1], &flips);
        signs_flip_floats(data->b[l], data->sizes[l + 1], &flips);
    }
}

static shared_pool_t open_data = {.same = same, .make = make, .free = free_data, .refill = refill};

status_t mnist_shape_room(const mnist_data_t *shape, double more_bytes, error_t *err) {
    double need_bytes = more_bytes;
    if (!mnist_images_held())
        need_bytes += (double)(MNIST_IMAGES + MNIST_TEST_IMAGES) * (MNIST_PIXELS + 1);
    if (shared_data_find(&open_data, shape) == NULL)
        need_bytes += mnist_parameters(shape->layers, shape->sizes) * sizeof(float) +
                      (double)shape->n_order * sizeof(uint32_t);
    return host_room(need_bytes, err);
}

status_t mnist_shape_take(mnist_data_t *shape, const mnist_data_t **data, error_t *err) {
    TRY(mnist_images_take(&shape->images, err));
    *data = shared_data_take(&open_data, shape);
    return STATUS_OK;
}

void mnist_data_refill(const mnist_data_t *data, uint64_t seed) {
    shared_data_refill(&open_data, data, seed);
}

void mnist_data_release(const mnist_data_t *data) {
    shared_data_release(&open_data, data);
    mnist_images_release();
}

/* ==== images on a GPU ========================================================================= */

#define CUDA(call) TRY(cuda_check(&gpu->api, gpu->api.call, #call, err))

/* Images per conversion: 31 MB as floats. */
enum { STAGED_IMAGES = 10000 };

enum { IMAGE_BYTES = MNIST_PIXELS * sizeof(float) };

double mnist_gpu_images_bytes(void) {
    return (double)(MNIST_IMAGES + MNIST_TEST_IMAGES) * (IMAGE_BYTES + 1);
}

static void convert(const mnist_data_t *data, const uint8_t *pixels, size_t n, float *to) {
#pragma omp parallel for
    for (size_t i = 0; i < n; i++)
        to[i] = data->x[pixels[i]];
}

static status_t copy_images(gpu_t *gpu, const mnist_data_t *data, const uint8_t *pixels, size_t n,
                            cu_pointer_t to, error_t *err) {
    float *staging = mem_alloc(STAGED_IMAGES * IMAGE_BYTES);
    status_t status = STATUS_OK;
    for (size_t first = 0; first < n && status == STATUS_OK; first += STAGED_IMAGES) {
        const size_t count = n - first < STAGED_IMAGES ? n - first : STAGED_IMAGES;
        convert(data, pixels + first * MNIST_PIXELS, count * MNIST_PIXELS, staging);
        status = cuda_check(&gpu->api,
                            gpu->api.copy_in_async(to + first * IMAGE_BYTES, staging,
                                                   count * IMAGE_BYTES, gpu->stream),
                            "copy_in_async", err);
        if (status == STATUS_OK)
            status = gpu_sync(gpu, err);
    }
    free(staging);
    return status;
}

status_t mnist_gpu_images_place(gpu_memory_t *memory, gpu_t *gpu, const mnist_data_t *data,
                                bool test, mnist_gpu_images_t *set, error_t *err) {
    const dataset_t *from = data->images;
    const size_t n = test ? MNIST_TEST_IMAGES : MNIST_IMAGES;
    TRY(gpu_memory_device(memory, gpu, n * IMAGE_BYTES, &set->images, err));
    TRY(gpu_memory_device(memory, gpu, n, &set->labels, err));
    TRY(copy_images(gpu, data, test ? from->test_images : from->train_images, n, set->images, err));
    CUDA(copy_in_async(set->labels, test ? from->test_labels : from->train_labels, n, gpu->stream));
    return gpu_sync(gpu, err);
}
