#include "cuda/nvml.h"

#include "base/memory.h"
#include "cuda/dynlib.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct nvmlDevice_st *nvml_device_t;

enum { CLOCK_SM = 1, TEMPERATURE_GPU = 0, BIT_IDLE = 1, TEXT_BYTES = 96, MEMORY_CLOCKS = 64 };
enum { NOT_SUPPORTED = 3, NO_PERMISSION = 4, INSUFFICIENT_SIZE = 7 }; /* nvmlReturn_t */

typedef struct nvml_api {
    int (*init)(void);
    int (*shutdown)(void);
    int (*by_uuid)(const char *uuid, nvml_device_t *);
    int (*clock)(nvml_device_t, int kind, unsigned *mhz);
    int (*max_clock)(nvml_device_t, int kind, unsigned *mhz);
    int (*power)(nvml_device_t, unsigned *milliwatts);
    int (*power_limit)(nvml_device_t, unsigned *milliwatts);
    int (*temperature)(nvml_device_t, int sensor, unsigned *celsius);
    int (*throttle)(nvml_device_t, unsigned long long *mask);
    int (*driver)(char *text, unsigned bytes);
    int (*ecc)(nvml_device_t, int *current, int *pending);
    int (*mig)(nvml_device_t, unsigned *current, unsigned *pending);
    int (*persistence)(nvml_device_t, int *mode);
    int (*memory_clocks)(nvml_device_t, unsigned *n, unsigned *mhz);
    int (*sm_clocks)(nvml_device_t, unsigned memory_mhz, unsigned *n, unsigned *mhz);
    int (*set_locked_clocks)(nvml_device_t, unsigned min_mhz, unsigned max_mhz);
    int (*reset_clocks)(nvml_device_t);
    int (*cpu_affinity)(nvml_device_t, unsigned n_words, unsigned long *cores);
    const char *(*error_text)(int result);
} nvml_api_t;

struct nvml {
    nvml_api_t api;
    nvml_device_t device;
};

static const library_symbol_t SYMBOLS[] = {
    {"nvmlInit_v2", offsetof(nvml_api_t, init), false},
    {"nvmlShutdown", offsetof(nvml_api_t, shutdown), false},
    {"nvmlDeviceGetHandleByUUID", offsetof(nvml_api_t, by_uuid), false},
    {"nvmlDeviceGetClockInfo", offsetof(nvml_api_t, clock), false},
    {"nvmlDeviceGetMaxClockInfo", offsetof(nvml_api_t, max_clock), false},
    {"nvmlDeviceGetPowerUsage", offsetof(nvml_api_t, power), false},
    {"nvmlDeviceGetEnforcedPowerLimit", offsetof(nvml_api_t, power_limit), false},
    {"nvmlDeviceGetTemperature", offsetof(nvml_api_t, temperature), false},
    {"nvmlDeviceGetCurrentClocksThrottleReasons", offsetof(nvml_api_t, throttle), false},
    {"nvmlSystemGetDriverVersion", offsetof(nvml_api_t, driver), false},
    {"nvmlDeviceGetEccMode", offsetof(nvml_api_t, ecc), true},
    {"nvmlDeviceGetMigMode", offsetof(nvml_api_t, mig), true},
    {"nvmlDeviceGetPersistenceMode", offsetof(nvml_api_t, persistence), true},
    {"nvmlDeviceGetSupportedMemoryClocks", offsetof(nvml_api_t, memory_clocks), true},
    {"nvmlDeviceGetSupportedGraphicsClocks", offsetof(nvml_api_t, sm_clocks), true},
    {"nvmlDeviceSetGpuLockedClocks", offsetof(nvml_api_t, set_locked_clocks), true},
    {"nvmlDeviceResetGpuLockedClocks", offsetof(nvml_api_t, reset_clocks), true},
    {"nvmlDeviceGetCpuAffinity", offsetof(nvml_api_t, cpu_affinity), true},
    {"nvmlErrorString", offsetof(nvml_api_t, error_text), true},
};

/* nvmlClocksThrottleReason…, named as in NVML. "Applications clocks setting" is a setting, not a
 * fault, but it too keeps samples below full clocks. */
static const struct {
    unsigned long long bit;
    const char *name;
} REASONS[] = {
    {0x02, "applications_clocks_setting"},
    {0x04, "sw_power_cap"},
    {0x08, "hw_slowdown"},
    {0x10, "sync_boost"},
    {0x20, "sw_thermal_slowdown"},
    {0x40, "hw_thermal_slowdown"},
    {0x80, "hw_power_brake_slowdown"},
    {0x100, "display_clock_setting"},
};

static status_t open_api(nvml_api_t *api, error_t *err) {
    static const char *const NAMES[] = {"libnvidia-ml.so.1", "libnvidia-ml.so", NULL};
    error_t why = ERROR_INIT;
    if (library_open(NAMES, SYMBOLS, sizeof SYMBOLS / sizeof *SYMBOLS, api, &why) != STATUS_OK)
        return error_set(err, STATUS_USAGE, "no NVML (%s)", why.text);
    return STATUS_OK;
}

status_t nvml_find(error_t *err) {
    nvml_api_t api;
    return open_api(&api, err);
}

status_t nvml_open(const char *uuid, nvml_t **nvml, error_t *err) {
    nvml_t opened;
    *nvml = NULL;
    TRY(open_api(&opened.api, err));
    int result = opened.api.init();
    if (result == 0)
        result = opened.api.by_uuid(uuid, &opened.device);
    if (result != 0)
        return error_set(err, STATUS_USAGE, "NVML did not find device %s (error %d)", uuid, result);
    *nvml = mem_alloc(sizeof opened);
    **nvml = opened;
    return STATUS_OK;
}

void nvml_close(nvml_t *nvml) {
    if (nvml == NULL)
        return;
    nvml->api.shutdown();
    free(nvml);
}

nvml_reading_t nvml_read(nvml_t *nvml) {
    nvml_reading_t reading = {NAN, NAN, NAN, 0};
    unsigned value;
    if (nvml->api.clock(nvml->device, CLOCK_SM, &value) == 0)
        reading.sm_mhz = value;
    if (nvml->api.power(nvml->device, &value) == 0)
        reading.power_w = value / 1e3;
    if (nvml->api.temperature(nvml->device, TEMPERATURE_GPU, &value) == 0)
        reading.temperature_c = value;
    unsigned long long mask;
    if (nvml->api.throttle(nvml->device, &mask) == 0)
        reading.throttle = mask & ~(unsigned long long)BIT_IDLE;
    return reading;
}

bool nvml_cpu_affinity(nvml_t *nvml, unsigned long *cores, size_t n_words) {
    memset(cores, 0, n_words * sizeof *cores);
    return nvml->api.cpu_affinity != NULL &&
           nvml->api.cpu_affinity(nvml->device, (unsigned)n_words, cores) == 0;
}

double nvml_max_sm_mhz(nvml_t *nvml) {
    unsigned value;
    return nvml->api.max_clock(nvml->device, CLOCK_SM, &value) == 0 ? value : NAN;
}

void nvml_throttle_names(unsigned long long throttle, text_list_t *reasons) {
    for (size_t i = 0; i < sizeof REASONS / sizeof *REASONS; i++)
        if ((throttle & REASONS[i].bit) != 0)
            text_list_add_new(reasons, REASONS[i].name);
}

void nvml_describe(nvml_t *nvml, environment_t *env) {
    const nvml_api_t *api = &nvml->api;
    char text[TEXT_BYTES];
    unsigned value, pending;
    int mode, pending_mode;
    if (api->driver(text, sizeof text) == 0)
        environment_set(env, "gpu.driver", text);
    if (api->ecc != NULL && api->ecc(nvml->device, &mode, &pending_mode) == 0)
        environment_set_flag(env, "gpu.ecc", mode != 0);
    if (api->mig != NULL && api->mig(nvml->device, &value, &pending) == 0)
        environment_set_flag(env, "gpu.mig", value != 0);
    if (api->persistence != NULL && api->persistence(nvml->device, &mode) == 0)
        environment_set_flag(env, "gpu.persistence", mode != 0);
    if (api->power_limit(nvml->device, &value) == 0)
        environment_set_number(env, "gpu.power_limit_w", value / 1e3);
    if (api->max_clock(nvml->device, CLOCK_SM, &value) == 0)
        environment_set_number(env, "gpu.clock_max_mhz", value);
}

/* ---- locking the SM clock -------------------------------------------------------------------- */

static unsigned highest_memory_clock(nvml_t *nvml) {
    unsigned mhz[MEMORY_CLOCKS], n = MEMORY_CLOCKS, highest = 0;
    if (nvml->api.memory_clocks == NULL || nvml->api.memory_clocks(nvml->device, &n, mhz) != 0)
        return 0;
    for (unsigned i = 0; i < n; i++)
        highest = mhz[i] > highest ? mhz[i] : highest;
    return highest;
}

void nvml_sm_clocks(nvml_t *nvml, unsigned **mhz, size_t *n) {
    unsigned memory_mhz = highest_memory_clock(nvml), found = 0;
    *mhz = NULL;
    *n = 0;
    if (memory_mhz == 0 || nvml->api.sm_clocks == NULL ||
        nvml->api.sm_clocks(nvml->device, memory_mhz, &found, NULL) != INSUFFICIENT_SIZE)
        return;
    *mhz = mem_zeroed(found, sizeof **mhz);
    if (nvml->api.sm_clocks(nvml->device, memory_mhz, &found, *mhz) == 0)
        *n = found;
    if (*n > 0)
        return;
    free(*mhz);
    *mhz = NULL;
}

static status_t check(const nvml_t *nvml, int result, error_t *err) {
    if (result == 0)
        return STATUS_OK;
    if (result == NO_PERMISSION)
        return error_set(err, STATUS_FAILED, "permission denied by the driver: root is required");
    if (result == NOT_SUPPORTED)
        return error_set(err, STATUS_FAILED, "this GPU or its driver does not support it");
    return error_set(err, STATUS_FAILED, "NVML: %s (error %d)",
                     nvml->api.error_text != NULL ? nvml->api.error_text(result) : "call failed",
                     result);
}

status_t nvml_lock_sm_clock(nvml_t *nvml, unsigned mhz, error_t *err) {
    const nvml_api_t *api = &nvml->api;
    unsigned mig = 0, pending;
    if (api->set_locked_clocks == NULL || api->reset_clocks == NULL)
        return error_set(err, STATUS_FAILED,
                         "libnvidia-ml.so.1 has no nvmlDeviceSetGpuLockedClocks: update NVIDIA's "
                         "driver");
    if (api->mig != NULL && api->mig(nvml->device, &mig, &pending) == 0 && mig != 0)
        return error_set(err, STATUS_FAILED, "MIG is on, and all instances share the clock");
    return check(nvml, api->set_locked_clocks(nvml->device, mhz, mhz), err);
}

status_t nvml_free_sm_clock(nvml_t *nvml, error_t *err) {
    return check(nvml, nvml->api.reset_clocks(nvml->device), err);
}
