# `make run` shows heaptrack at work, `make check` proves it. Meson does the building.

BUILD ?= build
PREFIX ?= /usr/local
IS_ROOT := $(filter 0,$(shell id -u))

.PHONY: all run check install dist deb rpm npm image clean format
.SILENT:

all: $(BUILD)/build.ninja
	ninja -C $(BUILD)

# Meson looks again when one of these comes or goes
$(BUILD)/build.ninja: $(wildcard src/*/meson.build tests/*/meson.build tests/unit/test_*.c \
		tests/fuzz/fuzz_*.c tests/victims/*.c tests/victims/*.cpp)
	command -v meson >/dev/null || { \
		echo 'make: meson is missing. "make run" installs what a build needs on Debian and Ubuntu;' \
			'tools/packages.txt lists it for other systems.' >&2; exit 1; }
	if [ -e $@ ]; then meson setup --reconfigure $(BUILD) >/dev/null; \
	else meson setup $(BUILD) >/dev/null || { meson setup $(BUILD); exit 1; }; fi
	touch $@

# make run                     record the bundled demo program and print its report
# make run CMD="PROGRAM ARGS"  the same for any command
run:
	BUILD='$(BUILD)' tools/run

# make check                   every suite
# make check ONLY="unit e2e"   some of them; LONG=1 the long form; QUIET=1 fails what takes too long
check:
	BUILD='$(BUILD)' tools/install-packages build check $(if $(IS_ROOT),,tests)
	BUILD='$(BUILD)' tests/run $(if $(IS_ROOT),--install) $(if $(LONG),--long) $(if $(QUIET),--quiet) $(ONLY)

# make install PREFIX=/opt/heaptrack (DESTDIR is heeded)
install: all
	meson setup --reconfigure $(BUILD) -Dprefix='$(abspath $(PREFIX))' >/dev/null
	ninja -C $(BUILD) --quiet >/dev/null
	meson install -C $(BUILD) --no-rebuild

# make dist                    one archive that needs nothing of the system, and install.sh, in build/
dist: all
	tools/dist '$(BUILD)'

# make deb                     the package of Debian 11, 12 and 13, in build/
deb: all
	packaging/deb '$(BUILD)'

# make rpm, make npm, make image   the same for rpm's systems, for npm, and as a container image
rpm npm image: all
	packaging/$@ '$(BUILD)'

format:
	find src tools tests bench -name '*.[ch]' -o -name '*.cpp' 2>/dev/null | xargs clang-format-14 -i

clean:
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-tsan $(BUILD)-fuzz $(BUILD)-small $(BUILD)-clang
