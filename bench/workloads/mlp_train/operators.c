#include "workloads/mlp_train/operators.h"

const char *const MLPT_OPERATOR_NAMES[MLPT_OPERATORS] = {
    [MLPT_GATHER] = "gather",
    [MLPT_LINEAR] = "linear",
    [MLPT_RELU] = "relu",
    [MLPT_LINEAR_RELU] = "linear_relu",
    [MLPT_SOFTMAX_LOSS] = "softmax_loss",
    [MLPT_LINEAR_LOSS] = "linear_loss",
    [MLPT_INPUT_GRADIENT] = "input_gradient",
    [MLPT_RELU_GRADIENT] = "relu_gradient",
    [MLPT_INPUT_GRADIENT_RELU] = "input_gradient_relu",
    [MLPT_WEIGHT_GRADIENT] = "weight_gradient",
    [MLPT_BIAS_GRADIENT] = "bias_gradient",
    [MLPT_UPDATE] = "update",
    [MLPT_TRAIN_LAYERS] = "train_layers",
    [MLPT_TRAIN_STEPS] = "train_steps",
    [MLPT_VALIDATE] = "validate",
};

static size_t tiles(size_t n, uint32_t tile) {
    return tile == 0 ? 1 : (n + tile - 1) / tile;
}

size_t mlpt_blocks(const stage_t *stage, size_t rows, size_t columns) {
    const size_t split = stage->split == 0 ? 1 : stage->split;
    return tiles(rows, stage->tile_rows) * tiles(columns, stage->tile_columns) * split;
}

/* For each row of a tile: hidden activations of two steps, deltas of one, and 16 for the last
 * layer's deltas and the loss. */
size_t mlpt_steps_floats(const stage_t *stage, size_t layers, size_t width) {
    return (size_t)stage->tile_rows * (3 * (layers - 1) * width + 16);
}

/* Required operators, each done by one fused kernel or by several. `gather` is optional: products
 * can read images by number. */
static const struct {
    mlpt_operator_t fused;
    bool of_step; /* not needed with MLPT_TRAIN_STEPS */
    size_t n_parts;
    mlpt_operator_t parts[3];
} REQUIRED[] = {
    {MLPT_LINEAR, false, 1, {MLPT_LINEAR}}, /* the last layer in a validation */
    {MLPT_LINEAR_RELU, false, 2, {MLPT_LINEAR, MLPT_RELU}},
    {MLPT_LINEAR_LOSS, true, 2, {MLPT_LINEAR, MLPT_SOFTMAX_LOSS}},
    {MLPT_INPUT_GRADIENT_RELU, true, 2, {MLPT_INPUT_GRADIENT, MLPT_RELU_GRADIENT}},
    {MLPT_TRAIN_LAYERS, true, 3, {MLPT_WEIGHT_GRADIENT, MLPT_BIAS_GRADIENT, MLPT_UPDATE}},
    {MLPT_VALIDATE, false, 1, {MLPT_VALIDATE}},
};

static status_t lacks(mlpt_operator_t part, mlpt_operator_t fused, error_t *err) {
    const char *name = MLPT_OPERATOR_NAMES[part];
    if (part == fused)
        return error_set(err, STATUS_FAILED, "its STAGES lack \"%s\"", name);
    return error_set(err, STATUS_FAILED, "its STAGES lack \"%s\" (or \"%s\")", name,
                     MLPT_OPERATOR_NAMES[fused]);
}

status_t mlpt_kernels_check(const mlpt_kernels_t *kernels, error_t *err) {
    for (size_t i = 0; i < sizeof REQUIRED / sizeof *REQUIRED; i++) {
        const mlpt_operator_t fused = REQUIRED[i].fused;
        if (kernels->has[fused] || (REQUIRED[i].of_step && kernels->has[MLPT_TRAIN_STEPS]))
            continue;
        for (size_t k = 0; k < REQUIRED[i].n_parts; k++)
            if (!kernels->has[REQUIRED[i].parts[k]])
                return lacks(REQUIRED[i].parts[k], fused, err);
    }
    if (kernels->has[MLPT_LINEAR_LOSS] && !kernels->has[MLPT_TRAIN_LAYERS])
        return error_set(
            err, STATUS_FAILED,
            "its STAGES have \"linear_loss\" but lack \"train_layers\", which sums its "
            "losses");
    return STATUS_OK;
}
