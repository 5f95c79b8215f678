# Build and test. `make help` lists the targets.
CC ?= gcc
BUILD ?= build
V ?= 0
Q = $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-5s %s\n' $(1) $(2))

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings \
            -Wpointer-arith -Wvla -Werror
CFLAGS ?= -O2 -g
# NVTX is header-only: ranges are compiled in if the toolkit's header is found.
CUDA_INCLUDE := $(firstword $(dir $(wildcard $(foreach home,$(CUDA_HOME) /usr/local/cuda /opt/cuda,\
                  $(home)/include/nvtx3/nvToolsExt.h))))
NVTX := $(if $(CUDA_INCLUDE),-isystem $(CUDA_INCLUDE:nvtx3/=))
ALL_CFLAGS := -std=c11 -D_GNU_SOURCE -Ibench -I$(BUILD) $(NVTX) $(WARNINGS) -fopenmp $(CFLAGS)
SYSTEM_LIBS := -lm -ldl -lpthread
LIBS := -ljansson -lz -lxxhash $(SYSTEM_LIBS)
# --as-needed drops the dynamic libgomp that -fopenmp adds after the static one.
PORTABLE_LIBS := -Wl,--as-needed -Wl,-Bstatic -ljansson -lz -lxxhash -lgomp -Wl,-Bdynamic $(SYSTEM_LIBS)

SOURCES := $(sort $(shell find bench -name '*.c'))
OBJECTS := $(SOURCES:%.c=$(BUILD)/obj/%.o)
LIBRARY := $(BUILD)/libbench.a
# At the end, no core waits for one of these.
LONGEST := test_worker_client
UNIT := $(LONGEST) $(filter-out $(LONGEST),$(sort $(basename $(notdir $(wildcard tests/unit/test_*.c)))))
UNIT_TESTS = $(UNIT:%=$(BUILD)/tests/%)

.PHONY: all
all: $(BUILD)/bench features ## build build/bench and list the optional software found

$(BUILD)/bench: $(BUILD)/obj/bench/main.o $(LIBRARY) | $(BUILD)/libinputs.so
	$(call say,LINK,$@)
	$(Q)$(CC) -fopenmp $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# For workers in Python (reference_common/native.py), without OpenMP: they have threads of their own.
INPUTS := bench/base/rng.c

$(BUILD)/libinputs.so: $(INPUTS:%.c=$(BUILD)/pic/%.o)
	$(call say,LINK,$@)
	$(Q)$(CC) -shared -Wl,-Bsymbolic $(CFLAGS) $(LDFLAGS) -o $@ $^ -lm

$(BUILD)/pic/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(filter-out -fopenmp,$(ALL_CFLAGS)) -fopenmp-simd -fPIC -MMD -MP -c -o $@ $<

.PHONY: features
features: $(BUILD)/bench
	@$(BUILD)/bench doctor --short

.PHONY: portable
portable: $(BUILD)/bench-portable ## a binary that runs without the -dev packages

$(BUILD)/bench-portable: $(BUILD)/obj/bench/main.o $(LIBRARY)
	$(call say,LINK,$@)
	$(Q)$(CC) -fopenmp $(CFLAGS) $(LDFLAGS) -o $@ $^ $(PORTABLE_LIBS)

PREFIX ?= /usr/local

.PHONY: install uninstall
install: $(BUILD)/bench ## bench, its data, man page and completion below PREFIX (/usr/local); DESTDIR for packages
	$(Q)tests/tools/install.sh install $(BUILD)/bench "$(PREFIX)" "$(DESTDIR)"

uninstall: ## remove what `make install` with this PREFIX and DESTDIR has written
	$(Q)tests/tools/install.sh uninstall $(BUILD)/bench "$(PREFIX)" "$(DESTDIR)"

$(LIBRARY): $(filter-out $(BUILD)/obj/bench/main.o,$(OBJECTS))
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

# The revision that this binary is built from, recorded in every result. Rewritten only when it changes.
$(BUILD)/version.h: FORCE
	@mkdir -p $(@D)
	@tests/tools/version.sh > $@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@
FORCE:

# The style and script of HTML reports.
HTML_PARTS := $(addprefix bench/report/html/,style.css script.js)
$(BUILD)/html_parts.h: tests/tools/html_parts.sh $(HTML_PARTS)
	@mkdir -p $(@D)
	@tests/tools/html_parts.sh $(HTML_PARTS) > $@.new && mv $@.new $@

$(BUILD)/obj/%.o: %.c Makefile | $(BUILD)/version.h $(BUILD)/html_parts.h
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# A program's tests are its functions that take cmocka's state, which few use (tests/run_tests.h).
$(BUILD)/tests/%: tests/unit/%.c $(LIBRARY)
	@mkdir -p $(@D)
	$(call say,TEST,$@)
	$(Q)sed -n 's/^static void \([a-z0-9_]*\)(void \*\*state) {$$/TEST(\1)/p' $< > $@.tests
	$(Q)$(CC) $(ALL_CFLAGS) -Wno-unused-parameter -DUNIT_TESTS='"$@.tests"' -iquote . -Itests -MMD -MP -o $@ $< $(LIBRARY) -lcmocka $(LIBS)

# ---- tests ------------------------------------------------------------------------------------------

.PHONY: check
check: ## every test that needs no GPU; installs what the tests need, or prints the command
	$(Q)tests/tools/setup.sh check
	$(Q)$(MAKE) --no-print-directory -j$(shell nproc) --output-sync=target layers format-check lint
	$(Q)$(MAKE) --no-print-directory -j$(shell nproc) BUILD=$(BUILD)/asan CFLAGS="$(SANITIZE)" unit fuzz-replay
	$(Q)tests/tools/pytest.sh --all-cores tests

# A tenth of the tests: of each thing that set-up installs, some that use it.
INSTALLED := $(patsubst %,tests/%.py,cli/test_all_cores cli/test_cuda_headers cli/test_install cli/test_kernels cli/test_linreg_lean \
  cli/test_missing_software cli/test_operator cli/test_plot cli/test_run cli/test_setup jax/test_jax_worker \
  pytorch/test_pytorch_mlp_infer pytorch/test_pytorch_needs)

.PHONY: check-installed
check-installed: ## a short check of a machine just set up: the tests that use what was installed
	$(Q)tests/tools/setup.sh check
	$(Q)$(MAKE) --no-print-directory -j$(shell nproc) --output-sync=target format-check lint
	$(Q)$(MAKE) --no-print-directory -j$(shell nproc) UNIT="test_compile test_csv test_stats" unit
	$(Q)$(MAKE) --no-print-directory $(BUILD)/asan/tests/test_stats
	$(Q)tests/tools/pytest.sh --all-cores $(INSTALLED)

.PHONY: check-long
check-long: $(BUILD)/bench ## the tests that make check leaves out: a shorter or a similar one shows most of what each does
	$(Q)tests/tools/setup.sh check
	$(Q)CHECK_LONG=1 tests/tools/pytest.sh --all-cores -m long tests

.PHONY: check-pytorch
check-pytorch: $(BUILD)/bench ## the tests of PyTorch's workers with other versions: TORCH="2.4.1 2.8.0"
	$(Q)tests/tools/check_pytorch.sh $(TORCH)

.PHONY: quick
quick: $(BUILD)/bench ## a short check while you work: layers, format, unit tests, golden command line
	$(Q)tests/tools/setup.sh check
	$(Q)$(MAKE) --no-print-directory -j$(shell nproc) --output-sync=target layers format-check $(UNIT_TESTS)
	$(Q)$(MAKE) --no-print-directory unit
	$(Q)tests/tools/pytest.sh tests/cli/test_golden.py tests/cli/test_layers.py

.PHONY: check-fresh
check-fresh: ## ./run_all.sh and make check on a temporary bare Debian; needs root and debootstrap
	$(Q)"$$(tests/tools/python.sh)" tests/tools/check_fresh.py

.PHONY: unit
unit: $(UNIT_TESTS) ## the C unit tests
	$(Q)tests/tools/unit.sh $(UNIT_TESTS)

# gcc's format-truncation warning has false positives under the sanitizers. The checks of every pointer for null and for
# arithmetic that wraps are left out: they take long in loops over arrays, and an access through such a pointer faults.
SANITIZE := -O1 -g1 -fsanitize=address,undefined -fno-sanitize=pointer-overflow,null -fno-sanitize-recover=all \
    -Wno-format-truncation

# One unit test under the sanitizers: make build/asan/tests/test_stats
$(BUILD)/asan/tests/%: FORCE
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD)/asan CFLAGS="$(SANITIZE)" $@

# ---- fuzzing: a target for each tests/fuzz/*.c, with its saved inputs in tests/fuzz/corpus ------------
FUZZ_SHARED := tests/fuzz/fuzz.c
FUZZ_TARGETS := $(filter-out fuzz replay,$(patsubst tests/fuzz/%.c,%,$(sort $(wildcard tests/fuzz/*.c))))
FUZZ_SECONDS ?= 600
FUZZ_CC ?= $(firstword $(shell command -v clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14))
FUZZ_FLAGS := -O1 -g -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined \
              -fno-sanitize-recover=all -Wno-error

.PHONY: fuzz
fuzz: ## libFuzzer with ASan and UBSan on every reader, FUZZ_SECONDS=600 each; needs clang
	$(Q)test -n "$(FUZZ_CC)" || { echo "make fuzz: needs clang: apt-get install clang libomp-dev" >&2; exit 2; }
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD)/fuzz CC=$(FUZZ_CC) CFLAGS="$(FUZZ_FLAGS)" \
	  $(FUZZ_TARGETS:%=$(BUILD)/fuzz/fuzz-%)
	$(Q)tests/tools/fuzz.sh $(BUILD)/fuzz $(FUZZ_SECONDS) $(FUZZ_TARGETS)

$(BUILD)/fuzz-%: tests/fuzz/%.c $(FUZZ_SHARED) $(LIBRARY)
	$(call say,FUZZ,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -fsanitize=fuzzer -Itests/fuzz -o $@ $< $(FUZZ_SHARED) $(LIBRARY) $(LIBS)

.PHONY: fuzz-replay
fuzz-replay: $(FUZZ_TARGETS:%=$(BUILD)/replay-%) ## run the saved fuzzing inputs once, with any compiler
	$(Q)tests/tools/fuzz_replay.sh $(BUILD) $(FUZZ_TARGETS)

$(BUILD)/replay-%: tests/fuzz/%.c tests/fuzz/replay.c $(FUZZ_SHARED) $(LIBRARY)
	$(call say,TEST,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -Itests/fuzz -o $@ $< tests/fuzz/replay.c $(FUZZ_SHARED) $(LIBRARY) $(LIBS)

.PHONY: cheats
cheats: $(BUILD)/bench ## scripts that cheat, each with the verdict that it must get (docs/cheating.md)
	$(Q)tests/tools/setup.sh check
	$(Q)CHECK_LONG=1 tests/tools/pytest.sh tests/cli/test_cheats.py tests/cli/test_operator_import.py

.PHONY: check-slurm
check-slurm: $(BUILD)/bench ## bench cluster with a real Slurm of two nodes on this machine; needs slurm-wlm and munge
	$(Q)tests/tools/setup.sh check
	$(Q)CHECK_SLURM=1 tests/tools/pytest.sh --durations=0 tests/slurm

.PHONY: check-gpu
check-gpu: $(BUILD)/bench ## every CUDA rung and PyTorch mode against the float64 reference; needs a GPU
	$(Q)tests/tools/check_gpu.sh $(BUILD)/bench

.PHONY: harness-cost
harness-cost: $(BUILD)/bench ## cost of the harness itself: a sample, an answer, a round, a case
	$(Q)"$$(tests/tools/python.sh)" tests/tools/harness_cost.py $(BUILD)/bench

.PHONY: report-cost
report-cost: $(BUILD)/bench ## how long a report takes of 500 to 10,000 sizes
	$(Q)"$$(tests/tools/python.sh)" tests/tools/report_cost.py $(BUILD)/bench

$(BUILD)/gate_truth $(BUILD)/fleet_truth $(BUILD)/interval_truth $(BUILD)/operator_fill: $(BUILD)/%: tests/tools/%.c $(LIBRARY)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -o $@ $< $(LIBRARY) $(LIBS)

.PHONY: gate-truth
gate-truth: $(BUILD)/gate_truth ## the gate's false alarms and detections, on generated sweeps whose truth is known
	$(Q)$(BUILD)/gate_truth

.PHONY: fleet-truth
fleet-truth: $(BUILD)/fleet_truth ## false alarms and detections of bench fleet, on generated fleets whose truth is known
	$(Q)$(BUILD)/fleet_truth

.PHONY: interval-truth
interval-truth: $(BUILD)/interval_truth ## how often the interval over passes holds the truth, on made-up runs
	$(Q)$(BUILD)/interval_truth

.PHONY: perf-check
perf-check: $(BUILD)/bench ## is this tree slower than the previous revision? BASE=REV selects another (docs/ci.md)
	$(Q)tests/tools/perf_check.sh

.PHONY: gate-real
gate-real: $(BUILD)/bench ## the gate's false alarms and detections on this machine, with a compiled-in slowdown
	$(Q)"$$(tests/tools/python.sh)" tests/tools/gate_real.py

.PHONY: faults
faults: $(BUILD)/bench ## every fault in every phase on a fake GPU, and 200 kills of each kind of process
	$(Q)"$$(tests/tools/python.sh)" tests/tools/faults.py

.PHONY: layers
layers: $(BUILD)/bench ## check that includes and calls inside bench/ point downward only
	$(Q)"$$(tests/tools/python.sh)" tests/tools/layers.py --objects $(BUILD)/obj/bench

C_FILES = $(shell find bench -name '*.[ch]') $(wildcard tests/unit/*.[ch] tests/tools/*.c tests/fuzz/*.[ch] tests/*.h)

.PHONY: format
format: ## run clang-format and ruff in place
	$(Q)tests/tools/clang_format.sh -i $(C_FILES)
	$(Q)tests/tools/ruff.sh format
	$(Q)tests/tools/ruff.sh check --fix

.PHONY: format-check
format-check: ## check that everything is formatted
	$(Q)tests/tools/clang_format.sh --dry-run --Werror $(C_FILES)
	$(Q)tests/tools/ruff.sh format --check
	@echo "format: $(words $(C_FILES)) C files and the Python files are formatted"

.PHONY: lint
lint: ## run cppcheck and ruff; find tests that depend on how busy the machine is
	$(Q)tests/tools/cppcheck.sh
	$(Q)tests/tools/ruff.sh check
	$(Q)"$$(tests/tools/python.sh)" tests/tools/moods.py
	@echo "lint: clean"

# ---- other ------------------------------------------------------------------------------------------

.PHONY: clean
clean: ## remove build/ (programs, cached cubins)
	rm -rf $(BUILD)

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

-include $(OBJECTS:.o=.d) $(INPUTS:%.c=$(BUILD)/pic/%.d)
