/* run/devices/share: the cores of each of several GPUs. */
#include "checks.h"
#include "run/devices/devices.h"

enum { MOST_GPUS = 4 };

typedef struct setting {
    int n_cores, offset; /* core c and c + offset are threads of one physical core; 0: none */
    size_t n_gpus;
    unsigned long near[MOST_GPUS]; /* of the first 64 cores; 0: all */
    const char *expected[MOST_GPUS];
} setting_t;

static status_t make(const setting_t *setting, core_share_t *shares, error_t *err) {
    core_place_t places[MOST_CORES];
    for (int c = 0; c < setting->n_cores; c++)
        places[c] = (core_place_t){c, setting->offset > 0 ? c % setting->offset : c};
    for (size_t i = 0; i < setting->n_gpus; i++) {
        shares[i].device = (int)i + 4;
        memset(shares[i].near, setting->near[i] == 0 ? 0xff : 0, sizeof shares[i].near);
        if (setting->near[i] != 0)
            shares[i].near[0] = setting->near[i];
    }
    return core_shares_make(places, (size_t)setting->n_cores, shares, setting->n_gpus, err);
}

static void cores_are_shared(void **state) {
    static const setting_t SETTINGS[] = {
        /* unknown places, or one node */
        {8, 0, 2, {0, 0}, {"0-3", "4-7"}},
        {16, 0, 3, {0, 0, 0}, {"0-4", "5-9", "10-14"}},
        /* two nodes */
        {16, 0, 2, {0xff00, 0x00ff}, {"8-15", "0-7"}},
        {32, 0, 4, {0xffff, 0xffff, 0xffff0000, 0xffff0000}, {"0-7", "8-15", "16-23", "24-31"}},
        /* hyperthreads stay together */
        {16, 8, 2, {0, 0}, {"0-3,8-11", "4-7,12-15"}},
        {20, 10, 4, {0, 0, 0, 0}, {"0-1,10-11", "3-4,13-14", "5-6,15-16", "8-9,18-19"}},
        /* one GPU's cores are among the other's: it chooses first */
        {16, 0, 2, {0xffff, 0x00ff}, {"8-15", "0-7"}},
        {16, 0, 2, {0x00ff, 0xffff}, {"0-7", "8-15"}},
        /* as many for each */
        {16, 0, 2, {0xff00, 0x003f}, {"8-13", "0-5"}},
    };
    core_share_t *shares = calloc(MOST_GPUS, sizeof *shares);
    for (size_t s = 0; s < COUNT_OF(SETTINGS); s++) {
        assert_ok(make(&SETTINGS[s], shares, &err));
        for (size_t i = 0; i < SETTINGS[s].n_gpus; i++) {
            char *text = cores_text(shares[i].cores, shares[i].n);
            assert_string_equal(text, SETTINGS[s].expected[i]);
            free(text);
        }
    }
    free(shares);
}

static void too_few_are_refused(void **state) {
    static const setting_t SETTINGS[] = {
        {7, 0, 2, {0, 0}, {NULL}},
        {16, 0, 2, {0xfff8, 0x0007}, {NULL}},
        {16, 0, 2, {0x00ff, 1UL << 40}, {NULL}}, /* none near it */
    };
    static const char *const TOLD[] = {"device 4 would have 3 of 7 cores",
                                       "device 5 would have 3 of 16 cores",
                                       "device 5 would have 0 of 16 cores"};
    core_share_t *shares = calloc(MOST_GPUS, sizeof *shares);
    for (size_t s = 0; s < COUNT_OF(SETTINGS); s++) {
        error_t err = ERROR_INIT;
        assert_int_equal(make(&SETTINGS[s], shares, &err), STATUS_USAGE);
        assert_non_null(strstr(err.text, TOLD[s]));
        assert_non_null(strstr(err.text, "8 cores would do"));
    }
    free(shares);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cores_are_shared),
        cmocka_unit_test(too_few_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
