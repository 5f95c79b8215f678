/* What the check of mnist_train finds: trainings with a fault in their update, as a contender would
 * hand them out, against the oracle's. The fault shows in `descent`; gradients and, at a small
 * rate, losses are right. */
#include "base/half.h"
#include "checks.h"
#include "measure/verify.h"
#include "mnist_training.h"
#include "workloads/mnist/oracle.h"

static const training_t HALVES = {64, 16, 10, 0.003, "f16"}, MIXED = {64, 16, 10, 0.003, "mixed"};

/* ---- trainings ------------------------------------------------------------------------------- */

enum { NO_LAYER = MNIST_LAYERS };

typedef struct fault {
    double of_rate; /* what the rate is multiplied with */
    size_t layer;   /* whose weights stay as they are */
    bool biases;    /* all of them stay as they are */
    bool odd_steps; /* leave everything as it is */
    bool halves;    /* weights are rounded to float16 */
} fault_t;

static const fault_t NO_FAULT = {.of_rate = 1, .layer = NO_LAYER};

static void copy_rows(mnist_net_t *to, const mnist_net_t *from, size_t l) {
    const size_t bytes = from->data->sizes[l + 1] * from->row[l] * sizeof(double);
    memcpy(to->w[l], from->w[l], bytes);
    if (to->kept_w[l] != to->w[l])
        memcpy(to->kept_w[l], from->kept_w[l], bytes);
}

static void copy_weights(mnist_net_t *to, const mnist_net_t *from, const fault_t *fault,
                         size_t step) {
    const size_t *sizes = from->data->sizes;
    const bool all = fault->odd_steps && step % 2 == 1;
    for (size_t l = 0; l < MNIST_LAYERS; l++) {
        if (all || fault->layer == l)
            copy_rows(to, from, l);
        if (all || fault->biases)
            memcpy(to->b[l], from->b[l], sizes[l + 1] * sizeof(double));
    }
}

static void round_weights(mnist_net_t *net) {
    const size_t *sizes = net->data->sizes;
    for (size_t l = 0; l < MNIST_LAYERS; l++) {
        for (size_t o = 0; o < sizes[l + 1]; o++)
            half_round_doubles(net->kept_w[l] + o * net->row[l], sizes[l]);
        half_round_doubles(net->kept_b[l], sizes[l + 1]);
    }
}

/* `every_step` 0: all steps have the first batch. */
static void train(const fault_t *fault, const mnist_data_t *data, size_t every_step, double rate,
                  mnist_fit_t *fit, float *const gradients[MNIST_LAYERS]) {
    mnist_net_t *net = mnist_net_new(data), *before = mnist_net_new(data);
    const fault_t everything = {.biases = true, .odd_steps = true};
    mnist_net_start(net);
    if (fault->halves)
        round_weights(net);
    for (size_t step = 0; step < fit->steps; step++) {
        copy_weights(before, net, &everything, 1);
        fit->losses[step] = mnist_net_step(net, step * every_step, rate * fault->of_rate,
                                           step == 0 ? gradients : NULL);
        copy_weights(net, before, fault, step);
        if (fault->halves)
            round_weights(net);
    }
    mnist_net_free(before);
    mnist_net_free(net);
}

static void write_output(const training_t *training, const fault_t *fault, text_list_t *names) {
    const mnist_data_t *data = data_of(training);
    mnist_fit_t fit = mnist_fit_new(mnist_checked_steps(data->hidden, data->steps));
    size_t n;
    const mnist_descent_t *descents = mnist_descents(data, &n);
    float *gradients[MNIST_LAYERS];
    for (size_t l = 0; l < MNIST_LAYERS; l++)
        gradients[l] = mem_zeroed((data->sizes[l] + 1) * data->sizes[l + 1], sizeof(float));
    train(fault, data, 1, training->rate, &fit, gradients);
    const char *folder = world.folder;
    assert_ok(mnist_write_gradients(data, gradients, folder, names, &err));
    assert_ok(mnist_write_losses(fit.losses, fit.steps, folder, names, &err));
    for (size_t i = 0; i < n; i++) {
        mnist_fit_t descent = mnist_fit_new(mnist_descent_steps(data->hidden, data->steps));
        train(fault, data, 0, descents[i].rate, &descent, NULL);
        assert_ok(mnist_write_descent(descents[i].name, descent.losses, descent.steps, folder,
                                      names, &err));
        mnist_fit_free(&descent);
    }
    for (size_t l = 0; l < MNIST_LAYERS; l++)
        free(gradients[l]);
    mnist_fit_free(&fit);
    mnist_data_release(data);
}

/* ---- checks ---------------------------------------------------------------------------------- */

static reference_t right_output(const training_t *training) {
    reference_t reference;
    text_list_t names = {0};
    write_output(training, &NO_FAULT, &names);
    assert_ok(reference_load(world.folder, &names, &reference, &err));
    text_list_free(&names);
    return reference;
}

static check_t check_of(const training_t *training, const fault_t *fault,
                        const reference_t *reference, char **reason) {
    const workload_t *workload = workload_find("mnist_train");
    case_t spec = make_case("ref", training);
    text_list_t names = {0};
    check_t check;
    write_output(training, fault, &names);
    verify_outputs(reference, world.folder, workload->tolerance(&spec), &check, reason);
    text_list_free(&names);
    case_free(&spec);
    return check;
}

static void test_right_training_passes(void **state) {
    char *reason;
    reference_t reference = right_output(&HALVES);
    assert_int_equal(reference.names.n, MNIST_LAYERS + 2);
    assert_string_equal(reference.names.items[MNIST_LAYERS + 1], "descent");
    check_t check = check_of(&HALVES, &NO_FAULT, &reference, &reason);
    assert_true(check.ok);
    assert_null(reason);
    reference_free(&reference);
}

static void expect_found(const training_t *training, const fault_t *fault,
                         const reference_t *reference, const char *array) {
    char *reason,
        *told = mem_format("%s differs from the reference output: relative L2 error ", array);
    const check_t check = check_of(training, fault, reference, &reason);
    if (check.ok || strncmp(reason, told, strlen(told)) != 0)
        fail_msg("rate * %g, layer %zu%s: %s", fault->of_rate, fault->layer,
                 fault->halves ? ", float16" : "", check.ok ? "is not found" : reason);
    free(reason);
    free(told);
}

static void test_faults_of_the_update_are_found(void **state) {
    static const fault_t FAULTS[] = {
        {.of_rate = 0, .layer = NO_LAYER}, {.of_rate = -1, .layer = NO_LAYER},
        {.of_rate = 2, .layer = NO_LAYER}, {.of_rate = 0.9, .layer = NO_LAYER},
        {.of_rate = 1, .layer = 0},        {.of_rate = 1, .layer = 1},
        {.of_rate = 1, .layer = 2},        {.of_rate = 1, .layer = 3},
        {1, NO_LAYER, .biases = true},     {1, NO_LAYER, .odd_steps = true},
    };
    reference_t reference = right_output(&HALVES);
    for (size_t i = 0; i < COUNT_OF(FAULTS); i++)
        expect_found(&HALVES, &FAULTS[i], &reference, "descent");
    reference_free(&reference);
}

/* With dtype mixed: float16 weights lose most updates of a small rate. */
static void test_float16_weights_are_found(void **state) {
    static const fault_t HALF_WEIGHTS = {1, NO_LAYER, .halves = true};
    static const fault_t NO_LAYER_1 = {.of_rate = 1, .layer = 1};
    reference_t reference = right_output(&MIXED);
    expect_found(&MIXED, &HALF_WEIGHTS, &reference, "small_descent");
    expect_found(&MIXED, &NO_LAYER_1, &reference, "descent");
    reference_free(&reference);
}

/* As long as the sum of a ReLU's inputs is right, the order in which it was formed may send it to
 * either neighbour; sums in float16 do so with more of them. */
static void test_tolerance_is_the_technique_s(void **state) {
    const workload_t *workload = workload_find("mnist_train");
    static const struct {
        const char *dtype, *accumulate;
        double tolerance;
    } KNOWN[] = {{"f32", NULL, 1e-4},
                 {"f16", NULL, 2.5e-2},
                 {"f16", "f32", 2.5e-2},
                 {"f16", "f16", 1e-1},
                 {"mixed", NULL, 2.5e-2}};
    for (size_t i = 0; i < COUNT_OF(KNOWN); i++) {
        case_t spec = {.engine = mem_text(KNOWN[i].accumulate != NULL ? "cuda" : "pytorch"),
                       .variant = mem_text("v"),
                       .dtype = mem_text(KNOWN[i].dtype)};
        if (KNOWN[i].accumulate != NULL)
            case_add_technique(&spec, "accumulate", KNOWN[i].accumulate);
        workload_complete(workload, &spec);
        assert_near(workload->tolerance(&spec), KNOWN[i].tolerance, 0);
        case_free(&spec);
    }
}

#define GROUP_SET_UP open_all
#define GROUP_TEAR_DOWN close_all
#include "run_tests.h"
