/* .npy: refused with a message, or an array with as many values as its shape says. */
#include "io/npy.h"

#include "fuzz.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    npy_t array;
    error_t err = ERROR_INIT;
    status_t status = npy_read(fuzz_file(data, size), &array, &err);
    if (status != STATUS_OK) {
        fuzz_check_refusal(status, &err);
        return 0;
    }
    size_t n = 1;
    double sum = 0;
    for (unsigned d = 0; d < array.n_dimensions; d++)
        n *= array.shape[d];
    FUZZ_CHECK(n == array.n && array.n_dimensions <= NPY_MAX_DIMENSIONS);
    for (size_t i = 0; i < array.n; i++)
        sum += array.values[i];
    FUZZ_CHECK(sum == sum || isnan(sum)); /* every value is read */
    npy_free(&array);
    return 0;
}
