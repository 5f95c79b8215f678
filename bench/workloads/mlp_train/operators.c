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

/* For each row of a whole tile: activations of the hidden layers of two steps, deltas of one, and
 * 16 for the last layer's deltas and the loss. */
size_t mlpt_steps_floats(const stage_t *stage, size_t layers, size_t width) {
    return (size_t)stage->tile_rows * (3 * (layers - 1) * width + 16);
}

/* Each is done by one kernel or by several: a list ends with MLPT_OPERATORS. Images need no gather
 * where the products read them by their numbers. */
typedef struct way {
    mlpt_operator_t fused, parts[3];
    bool of_step; /* not needed with MLPT_TRAIN_STEPS */
} way_t;

static const way_t WAYS[] = {
    {MLPT_LINEAR,
     {MLPT_LINEAR, MLPT_OPERATORS, MLPT_OPERATORS},
     false}, /* the validation's last layer */
    {MLPT_LINEAR_RELU, {MLPT_LINEAR, MLPT_RELU, MLPT_OPERATORS}, false},
    {MLPT_LINEAR_LOSS, {MLPT_LINEAR, MLPT_SOFTMAX_LOSS, MLPT_OPERATORS}, true},
    {MLPT_INPUT_GRADIENT_RELU, {MLPT_INPUT_GRADIENT, MLPT_RELU_GRADIENT, MLPT_OPERATORS}, true},
    {MLPT_TRAIN_LAYERS, {MLPT_WEIGHT_GRADIENT, MLPT_BIAS_GRADIENT, MLPT_UPDATE}, true},
    {MLPT_VALIDATE, {MLPT_VALIDATE, MLPT_OPERATORS, MLPT_OPERATORS}, false},
};

static status_t lacks(mlpt_operator_t part, mlpt_operator_t fused, error_t *err) {
    const char *name = MLPT_OPERATOR_NAMES[part];
    if (part == fused)
        return error_set(err, STATUS_FAILED, "its STAGES lack \"%s\"", name);
    return error_set(err, STATUS_FAILED, "its STAGES lack \"%s\", with no \"%s\" either", name,
                     MLPT_OPERATOR_NAMES[fused]);
}

status_t mlpt_kernels_check(const mlpt_kernels_t *kernels, error_t *err) {
    for (size_t i = 0; i < sizeof WAYS / sizeof *WAYS; i++)
        for (size_t k = 0; k < 3 && !kernels->has[WAYS[i].fused]; k++) {
            if (WAYS[i].of_step && kernels->has[MLPT_TRAIN_STEPS])
                break;
            const mlpt_operator_t part = WAYS[i].parts[k];
            if (part != MLPT_OPERATORS && !kernels->has[part])
                return lacks(part, WAYS[i].fused, err);
        }
    if (kernels->has[MLPT_LINEAR_LOSS] && !kernels->has[MLPT_TRAIN_LAYERS])
        return error_set(err, STATUS_FAILED,
                         "its STAGES have \"linear_loss\", whose losses only \"train_layers\" adds "
                         "up; found no such stage");
    return STATUS_OK;
}
