#include "checks.h"
#include "sweep/sweep.h"
#include "workloads/common/workload.h"

static const char ROOT[] = "tests/fixtures/sweep_root";

enum { MAX_SETS = 4 };

typedef struct example {
    const char *workload, *variant, *engine;
    const char *sets[MAX_SETS];
    const char *expected; /* ids, one a line, or the message */
} example_t;

static status_t make(const example_t *example, sweep_t *sweep, error_t *err) {
    sweep_options_t options = {.workload = example->workload,
                               .variant = example->variant,
                               .engine = example->engine,
                               .sets = example->sets};
    while (options.n_sets < MAX_SETS && example->sets[options.n_sets] != NULL)
        options.n_sets++;
    return sweep_from_options(&options, ROOT, sweep, err);
}

static void check_ids(const sweep_t *sweep, const char *expected) {
    AUTO(text_list_free) text_list_t ids = {0};
    for (size_t i = 0; i < sweep->n_cases; i++)
        text_list_add(&ids, sweep->cases[i].id);
    assert_text(text_list_join(&ids, "\n"), expected);
}

static void test_options_that_work(void **state) {
    static const example_t EXAMPLES[] = {
        {.workload = "device",
         .expected = "device/cuda/copy/bytes=1073741824\ndevice/cuda/bus/bytes=1073741824\n"
                     "device/cuda/matmul/bytes=1073741824\n"
                     "device/cpu/copy/bytes=1073741824"},
        {.workload = "mlp_infer",
         .variant = "omp",
         .sets = {"batch=1,64", "layers=4-5-1,8-16-4"},
         .expected = "mlp_infer/cpu/omp/batch=1\nmlp_infer/cpu/omp/batch=1/layers=8-16-4\n"
                     "mlp_infer/cpu/omp/batch=64\nmlp_infer/cpu/omp/batch=64/layers=8-16-4"},
        {.workload = "mlp_infer",
         .variant = "03_vectorized,eager",
         .sets = {"copy=pinned,mapped", "device=cpu", "dtype=f16"},
         .expected = "mlp_infer/cuda/03_vectorized/batch=64/copy=pinned/dtype=f16\n"
                     "mlp_infer/cuda/03_vectorized/batch=64/copy=mapped/dtype=f16\n"
                     "mlp_infer/pytorch-cpu/eager/batch=64/dtype=f16"},
        {.workload = "mlp_infer",
         .engine = "cuda",
         .expected = "mlp_infer/cuda/01_study/batch=64\n"
                     "mlp_infer/cuda/02_thread_per_sample/batch=64\n"
                     "mlp_infer/cuda/03_vectorized/batch=64"},
        /* Of all variants, those on the device that was asked for. */
        {.workload = "allocate",
         .sets = {"device=cpu"},
         .expected = "allocate/cpu/caching/live=100\nallocate/cpu/arena/live=100\n"
                     "allocate/pytorch-cpu/caching/live=100"},
        {.workload = "null",
         .variant = "noop",
         .sets = {"work_ns=1000"},
         .expected = "null/null/noop/work_ns=1000"},
    };
    for (size_t i = 0; i < COUNT_OF(EXAMPLES); i++) {
        AUTO(sweep_free) sweep_t sweep;
        assert_ok(make(&EXAMPLES[i], &sweep, &err));
        check_ids(&sweep, EXAMPLES[i].expected);
        assert_string_equal(sweep.path, "(command line)");
        assert_string_equal(sweep.name, EXAMPLES[i].workload);
        sweep_t again; /* the stored text is a sweep that does the same */
        assert_ok(sweep_parse("again.json", sweep.text, ROOT, &again, &err));
        check_ids(&again, EXAMPLES[i].expected);
        sweep_free(&again);
    }
}

static void test_options_that_do_not(void **state) {
    static const example_t EXAMPLES[] = {
        {.expected = "--workload is missing"},
        {.workload = "mlp-infer",
         .expected = "--workload: unknown workload \"mlp-infer\"; did you mean \"mlp_infer\"? "
                     "(known: null, device, allocate, gemm, linreg_train, "
                     "mlp_infer, mlp_train, mnist_train, reduce_sum, rms_norm, softmax)"},
        {.workload = "mlp\xff", .expected = "--workload: found bytes that are not UTF-8"},
        {.workload = "mlp_infer",
         .sets = {"dtype=f32", "copy=\xc3("},
         .expected = "--set: found bytes that are not UTF-8"},
        {.workload = "device",
         .variant = "cpy",
         .expected = "--variant: unknown variant \"cpy\" of device; did you mean \"copy\"? "
                     "(known: copy, bus, matmul); those of mine need --engine"},
        {.workload = "device",
         .variant = "cpy",
         .engine = "cpu",
         .expected = "--variant: unknown variant \"cpy\" of "
                     "device for engine cpu; did you mean \"copy\"? (known: copy)"},
        {.workload = "device",
         .engine = "gpu-cuda",
         .expected =
             "--engine: unknown engine \"gpu-cuda\" "
             "(known: cuda, cpu, null, pytorch, jax, python), and reference_gpu-cuda/worker.py "
             "does not exist"},
        {.workload = "mlp_infer",
         .sets = {"bacth=1"},
         .expected = "--set: unknown key \"bacth\" of mlp_infer; did you mean \"batch\"? (known: "
                     "batch, layers, dtype, alloc, copy, weights, launch, wait, device)"},
        {.workload = "mlp_infer",
         .sets = {"batch"},
         .expected = "--set: found \"batch\", expected key=value"},
        {.workload = "mlp_infer",
         .sets = {"batch=1", "batch=2"},
         .expected = "--set: \"batch\" is set twice; give several values as batch=a,b"},
        {.workload = "mlp_infer",
         .sets = {"device=cpu", "device=cuda"},
         .expected = "--set: \"device\" is set twice; give several values as device=a,b"},
        {.workload = "mlp_infer",
         .sets = {"batch=64x"},
         .expected = "--set batch: found string \"64x\", expected an integer "
                     "1…268435456"},
        {.workload = "mlp_infer",
         .sets = {"batch=1,,2"},
         .expected = "--set batch: found string \"\", expected an integer "
                     "1…268435456"},
        {.workload = "mlp_infer",
         .sets = {"batch="},
         .expected = "--set batch: found an empty array, expected an array of at "
                     "least one element"},
        {.workload = "mlp_infer",
         .sets = {"layers=4-x-1"},
         .expected = "--set layers: found string \"x\", expected an integer "
                     "1…4096"},
        {.workload = "mlp_infer",
         .engine = "cpu",
         .sets = {"copy=pinned"},
         .expected = "--set: copy applies to engine cuda only, not "
                     "to cpu"},
        {.workload = "mlp_infer",
         .variant = "omp",
         .sets = {"copy=pinned"},
         .expected = "--set: \"copy\" applies to engine cuda only, which is not in this run"},
        {.workload = "mlp_infer",
         .variant = "omp",
         .sets = {"device=cpu"},
         .expected = "--set: \"device\" applies to pytorch, jax and python only, which are not in "
                     "this run"},
    };
    for (size_t i = 0; i < COUNT_OF(EXAMPLES); i++) {
        sweep_t sweep;
        assert_fails(make(&EXAMPLES[i], &sweep, &err), STATUS_USAGE, EXAMPLES[i].expected);
        assert_null(sweep.cases);
        assert_null(sweep.text);
    }
}

/* Of PyTorch and JAX, in a sweep from options. */
static void check_modes(const example_t *example) {
    AUTO(sweep_free) sweep_t sweep;
    AUTO(text_list_free) text_list_t modes = {0};
    assert_ok(make(example, &sweep, &err));
    for (size_t i = 0; i < sweep.n_cases; i++)
        if (strcmp(sweep.cases[i].engine, "cuda") != 0)
            text_list_add_format(&modes, "%s-%s", sweep.cases[i].engine, sweep.cases[i].variant);
    AUTO_FREE char *text = text_list_join(&modes, " ");
    assert_string_equal(text, example->expected);
}

/* Where the computation is compared, they are run beside rungs that hide copies, and by name. */
static void test_modes_that_hide_copies(void **state) {
    static const example_t EXAMPLES[] = {
        {.sets = {"batch=64", "device=cuda"},
         .expected = "pytorch-eager pytorch-inference pytorch-compile pytorch-graph "
                     "pytorch-compile_graph jax-jit jax-aot"},
        {.sets = {"batch=64", "device=cuda", "copy=pinned,overlapped"},
         .expected = "pytorch-eager pytorch-inference pytorch-compile pytorch-graph "
                     "pytorch-compile_graph pytorch-overlap pytorch-compile_overlap jax-jit "
                     "jax-aot jax-overlap"},
        {.sets = {"batch=64", "device=cuda", "copy=mapped", "wait=poll"},
         .expected = "pytorch-eager pytorch-inference pytorch-compile pytorch-graph "
                     "pytorch-compile_graph pytorch-mapped jax-jit jax-aot"},
        {.variant = "overlap,mapped",
         .sets = {"batch=64", "device=cuda"},
         .expected = "pytorch-overlap pytorch-mapped jax-overlap"},
    };
    const workload_t *workload;
    assert_ok(workload_add_described("tests/fixtures/operators/splits", &workload, &err));
    for (size_t i = 0; i < COUNT_OF(EXAMPLES); i++) {
        example_t example = EXAMPLES[i];
        example.workload = workload->name;
        check_modes(&example);
    }
    /* Copies are what is compared. */
    check_modes(
        &(example_t){.workload = "mlp_infer",
                     .variant = "*",
                     .engine = "jax",
                     .expected = "jax-jit jax-aot jax-overlap jax-jit jax-aot jax-overlap"});
}

#include "run_tests.h"
