# Build and test. `make help` lists the targets.
CC ?= gcc
BUILD ?= build
V ?= 0
Q = $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-5s %s\n' $(1) $(2))

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings \
            -Wpointer-arith -Wvla -Werror
CFLAGS ?= -O2 -g
# NVTX is header-only: ranges are compiled in where the toolkit's header is found.
CUDA_INCLUDE := $(firstword $(dir $(wildcard $(foreach home,$(CUDA_HOME) /usr/local/cuda /opt/cuda,\
                  $(home)/include/nvtx3/nvToolsExt.h))))
NVTX := $(if $(CUDA_INCLUDE),-isystem $(CUDA_INCLUDE:nvtx3/=))
ALL_CFLAGS := -std=c11 -D_GNU_SOURCE -Ibench -I$(BUILD) $(NVTX) $(WARNINGS) -fopenmp $(CFLAGS)
LIBS := -ljansson -lz -lxxhash -lm -ldl -lpthread

SOURCES := $(sort $(wildcard bench/*.c bench/*/*.c))
OBJECTS := $(SOURCES:%.c=$(BUILD)/obj/%.o)
LIBRARY := $(BUILD)/libbench.a
UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(sort $(wildcard tests/unit/test_*.c)))

.PHONY: all
all: $(BUILD)/bench ## build build/bench

$(BUILD)/bench: $(BUILD)/obj/bench/bench.o $(LIBRARY)
	$(call say,LINK,$@)
	$(Q)$(CC) -fopenmp $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(LIBRARY): $(filter-out $(BUILD)/obj/bench/bench.o,$(OBJECTS))
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

# Which source this binary was built from: part of every result. Rewritten only when it changes.
$(BUILD)/version.h: FORCE
	@mkdir -p $(@D)
	@tests/tools/version.sh > $@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@
FORCE:

$(BUILD)/obj/%.o: %.c Makefile | $(BUILD)/version.h
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/tests/%: tests/unit/%.c $(LIBRARY)
	@mkdir -p $(@D)
	$(call say,TEST,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -Itests -MMD -MP -o $@ $< $(LIBRARY) -lcmocka $(LIBS)

-include $(OBJECTS:.o=.d)
