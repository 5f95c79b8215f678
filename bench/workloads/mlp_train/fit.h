/* What an mlp_train training leaves, whatever ran it: shared by the CPU and CUDA sessions. */
#ifndef BENCH_WORKLOADS_MLP_TRAIN_FIT_H
#define BENCH_WORKLOADS_MLP_TRAIN_FIT_H

#include "allocators/allocator.h"
#include "workloads/mlp_train/data.h"

enum { MLPT_LOSS_EVERY = 10 }; /* steps, in the results */

/* After one epoch, on the test images. */
typedef struct mlpt_epoch {
    double validation_loss, accuracy;
    bool has_memory;
    allocator_stats_t memory; /* of the epoch and its validation */
} mlpt_epoch_t;

typedef struct mlpt_fit {
    size_t n_steps, n_epochs; /* that were made */
    double *losses;           /* of each step's batch, before the update */
    mlpt_epoch_t *epochs;
} mlpt_fit_t;

/* Room for so many; free it with mlpt_fit_free(). */
mlpt_fit_t mlpt_fit_new(size_t steps, size_t epochs);
void mlpt_fit_free(mlpt_fit_t *fit);

/* Append the losses of some steps. Fails with "loss is not finite from step S on" when one is no
 * finite float32: also where only the oracle's range still holds it, so that a case ends alike in
 * all engines. */
status_t mlpt_fit_add(mlpt_fit_t *fit, const double *losses, size_t n, error_t *err);
/* Fails when its loss is not finite. */
status_t mlpt_fit_add_epoch(mlpt_fit_t *fit, const mlpt_epoch_t *epoch, error_t *err);

/* {"loss": [[step, value], …], "epochs": […], "accuracy": …, "dataset": "mnist", "allocator": …},
 * with every tenth step and the last one; "epochs" and "accuracy" where there are any, "allocator"
 * unless it is NULL. The caller frees it. */
char *mlpt_fit_json(const mlpt_fit_t *fit, const dataset_t *images, const char *allocator);

#endif
