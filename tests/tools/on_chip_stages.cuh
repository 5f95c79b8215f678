// The stages of a step of mnist_train's 06_on_chip. Predicted: hops as in docs/on-chip.md, products from shared memory
// alone, for HIDDEN = 512, 1024 or 2048. What is in a wait is predicted together with it, in the last stage of the wait.
#pragma once
enum { AT_START, AT_IMAGES_HERE, AT_PRODUCT, AT_SUMS_HERE, AT_ACTIVATIONS_SENT, AT_ACTIVATIONS_HERE, AT_PANEL_HERE,
       AT_LOGITS_HERE, AT_SOFTMAX, AT_BACKWARD, AT_UPDATE, AT_DELTA_SUMS_HERE, AT_DELTAS_HERE };
#include "stages.cuh"

constexpr unsigned PREDICTED = HIDDEN <= 512 ? 0 : HIDDEN <= 1024 ? 1 : 2;
constexpr double of_width(double narrow, double middle, double wide) {
    return PREDICTED == 0 ? narrow : PREDICTED == 1 ? middle : wide;
}
constexpr double WITHIN = of_width(0.45, 0.5, 0.7), ACROSS = of_width(0.65, 0.7, 0.75);  // hops
constexpr double SUMS_ACROSS = of_width(0.65, 0.75, 0.95), TURN = 0.05;
constexpr double FORWARD_US = of_width(0.16, 0.44, 0.84), BACKWARD_US = of_width(0.16, 0.44, 0.57);

static const stage_row_t STAGE_ROWS[] = {
    {AT_START, 0, "", 0},
    {AT_IMAGES_HERE, 0, "images of the step", 0.02},
    {AT_PRODUCT, 0, "product 0", 0.25},
    {AT_SUMS_HERE, 0, "sums of layer 0, within a cluster", WITHIN},
    {AT_ACTIVATIONS_SENT, 0, "their sum, activations 1 sent", TURN},
    {AT_ACTIVATIONS_HERE, 0, "activations 1, between clusters", ACROSS},
    {AT_PRODUCT, 1, "product 1", FORWARD_US},
    {AT_SUMS_HERE, 1, "sums of layer 1, within a cluster", WITHIN},
    {AT_ACTIVATIONS_SENT, 1, "their sum, activations 2 sent", TURN},
    {AT_ACTIVATIONS_HERE, 1, "activations 2, between clusters", ACROSS},
    {AT_PRODUCT, 2, "product 2", FORWARD_US},
    {AT_SUMS_HERE, 2, "sums of layer 2, within a cluster", WITHIN},
    {AT_ACTIVATIONS_SENT, 2, "their sum, activations 3 sent", TURN},
    {AT_ACTIVATIONS_HERE, 2, "activations 3, between clusters", ACROSS},
    {AT_PRODUCT, 3, "product 3, logits sent", 0.15},
    {AT_PANEL_HERE, 0, "the cluster's activations 3", 0},
    {AT_LOGITS_HERE, 0, "logits, within a cluster", WITHIN},
    {AT_SOFTMAX, 0, "softmax, delta 3", 0.15},
    {AT_BACKWARD, 3, "backward product 3", 0.05},
    {AT_BACKWARD, 2, "backward product 2, its sums sent", BACKWARD_US},
    {AT_UPDATE, 3, "update 3, in the wait", 0},
    {AT_UPDATE, 2, "update 2, in the wait", 0},
    {AT_DELTA_SUMS_HERE, 2, "sums of deltas 1, between clusters", SUMS_ACROSS},
    {AT_DELTAS_HERE, 2, "deltas 1, within a cluster", WITHIN},
    {AT_BACKWARD, 1, "backward product 1, its sums sent", BACKWARD_US},
    {AT_UPDATE, 1, "update 1, in the wait", 0},
    {AT_DELTA_SUMS_HERE, 1, "sums of deltas 0, between clusters", SUMS_ACROSS},
    {AT_DELTAS_HERE, 1, "deltas 0, within a cluster", WITHIN},
    {AT_UPDATE, 0, "update 0", 0.29},
};
