# SPDX-License-Identifier: GPL-2.0-only
#
# dm-tier: plain GNU make, one file, nothing recursive, no object in the source tree.
#
#   make                 user space, and the module for the running kernel if its headers are there (make all)
#   make user, tests     user space only; and its test programs
#   make setup           install with apt what building and testing need (Debian 12 or later)
#   make setup-build     ... what building and installing need
#   make check           every quick test: unit, scenarios, guests. make check-unit / check-vm: a part
#   make check-long      the long guest suites, tests/vm/l_*.sh
#   make check-crash     power cuts: POINTS=n (200) SEED=s (1); seeds add up
#   make check-kill      the guest is killed, KILLS=n (100) times of this SEED, while it writes and moves
#   make check-debug     suites on kernels that find bugs: DEBUG_TESTS="t_a ...", KCSAN_TESTS="..."
#   make check-matrix    suites on every kernel: MATRIX_TESTS="t_a ...", MATRIX_KERNELS (6.1, 6.12, sid)
#   make check-model     the protocols as models, with spin
#   make check-mutations proves that it can fail (MUTATIONS="name ...": some)
#   make coverage        how much of the kernel's pure files their unit tests reach (COVERAGE_MIN=90 percent)
#   make modules         the module for the kernels of the test guests (KERNELS="6.1 6.12", also sid, debug, kcsan)
#   make modules KDIR=/lib/modules/$(uname -r)/build     ... or for one tree of kernel headers
#   make demo, bench     the demonstration; the benchmarks (BENCH=<name>)
#   make fuzz            the fuzzers, FUZZ_RUNS=<executions> each (tests/fuzz/run)
#   make lint            what scripts can find: layers, shellcheck, sparse, checkpatch, man pages ... (LINT_BASE=<commit>:
#                        clang-format looks at lines changed since; what it needs is fetched the first time)
#   make install         user space, and the module if there is one (make install-user, modules_install: one of them)
#   make dkms            the module for each kernel that gets installed (make dkms-source: only its source)
#   make uninstall       takes all of them away
#   make clean           all but build/cache
#   make help            this
#
# Options: O=build (where everything goes), V=1 (show commands), SAN=1 (address and undefined behaviour
# sanitizers), WERROR=1, CC=clang, AR=, CFLAGS=, PKG_CONFIG=, INSTALL=, UNIT_TESTS="test_a", VM_TESTS="t_a t_b".
# Installation: DESTDIR=, prefix=/usr, sbindir=, mandir=, sysconfdir=/etc.
# Guests: VM_KERNELS="6.1 6.12 sid debug kcsan" (instead of each suite's own; built by make modules KERNELS=),
# TIER_VM_SLOTS, TIER_CACHE, TIER_ACCEL (tests/vm/README.md).
# A variant of the module gets its own folder: make modules VARIANT=name KCFLAGS_TIER=-D...
#
# Files are found by wildcards, so adding one needs no change here:
#   lib/*.c and the pure kernel files -> libtier.a     daemon/*.c minus main.c -> libtierd.a, all -> tierd
#   cli/*.c -> tierctl     tests/support/*.c -> libsupport.a
#   tests/unit/test_*.c, tests/sim/test_*.c -> one cmocka program each, linked with libtier.a only;
#     test_daemon_*.c also with libtierd.a, test_cli_*.c with libtiercli.a. A test that needs more libraries names their pkg-config
#     modules in a line of its own, `// link: libsystemd libudev`; so pure code proves that it is pure.
#   systemd/*, man/*.[578], conf/*.conf -> installed where each belongs, by its suffix
#   tests/unit/test_*.sh -> run as they are; tests/vm/*.c, tests/bench/*.c -> one program each for the guests

VERSION := 0.1.0

O ?= build
# One spelling: what was built under another one would not be built anew.
override O := $(patsubst $(CURDIR)/%,%,$(O))
prefix ?= /usr
sbindir ?= $(prefix)/sbin
mandir ?= $(prefix)/share/man
sysconfdir ?= /etc
INSTALL ?= install
PKG_CONFIG ?= pkg-config
AR ?= ar

Q := $(if $(filter 1,$(V)),,@)
silent := $(findstring s,$(firstword -$(MAKEFLAGS)))
say = $(if $(filter 1,$(V))$(silent),@:,@printf '  %-8s %s\n' $(1) $(2))

# ---------------------------------------------------------------- flags

CFLAGS ?= -O2 -g
tier_cppflags := -D_GNU_SOURCE -DTIER_VERSION='"$(VERSION)"' -DTIER_SYSCONFDIR='"$(sysconfdir)"'
tier_cflags := -std=gnu11 -fno-common -fno-strict-aliasing -fstack-protector-strong -fPIE \
	-Wall -Wextra -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition \
	-Wpointer-arith -Wwrite-strings -Wformat=2 -Wundef -Wno-unused-parameter -Wno-missing-field-initializers
tier_ldflags := -pie -Wl,-z,relro,-z,now -Wl,--as-needed
ifeq ($(SAN),1)
tier_cflags += -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
tier_ldflags += -fsanitize=address,undefined
else
tier_cppflags += -D_FORTIFY_SOURCE=2
endif
werror := $(if $(filter 1,$(WERROR)),-Werror)

inc_lib := -Ilib -Iinclude
inc_daemon := -Idaemon $(inc_lib)
inc_cli := -Icli $(inc_lib)
inc_kernel := -Ilib/kshim -Ikernel -Iinclude
inc_tests := -Itests/support -Ilib -Iinclude -Idaemon -Ilib/kshim -Ikernel

pkg_lib := devmapper blkid uuid
pkg_daemon := libsystemd libudev libconfig
pkg_cli := libsystemd
# Evaluated where used, so that `make setup` and `make clean` work with nothing installed.
pkg_cflags = $(shell $(PKG_CONFIG) --cflags $(1))
pkg_libs = $(shell $(PKG_CONFIG) --libs $(1))

# ---------------------------------------------------------------- files

kernel_pure := $(wildcard $(addprefix kernel/dm-tier-,args.c map.c heat.c format.c image.c replay.c))
objs = $(patsubst %.c,$(O)/%.o,$(1))
lib_objs := $(call objs,$(wildcard lib/*.c) $(kernel_pure))
daemon_objs := $(call objs,$(filter-out daemon/main.c,$(wildcard daemon/*.c)))
cli_objs := $(call objs,$(wildcard cli/*.c))
support_objs := $(call objs,$(wildcard tests/support/*.c))
unit_progs := $(patsubst %.c,$(O)/%,$(wildcard tests/unit/test_*.c tests/sim/test_*.c))
guest_progs := $(patsubst %.c,$(O)/guest/%,$(notdir $(wildcard tests/vm/*.c tests/bench/*.c))) \
	$(O)/guest/crash_load $(O)/guest/crash_check
unit_scripts := $(wildcard tests/unit/test_*.sh tests/sim/test_*.sh)

programs := $(if $(wildcard daemon/main.c),$(O)/tierd) $(if $(wildcard cli/main.c),$(O)/tierctl)
APPLETS := tpcreate tpextend tpreduce tpchange tpremove tps tpcheck tpdump tprestore tprepair \
	tvcreate tvextend tvremove tvrename tvchange tvs tes
applet_links := $(if $(wildcard cli/main.c),$(addprefix $(O)/,$(APPLETS)))

# ---------------------------------------------------------------- user space

.PHONY: all help user tests guest-programs module-host
all: user module-host
# The list at the head of this file.
help:
	$(Q)sed -n -e '/^#   make/,/^$$/ s/^# \{0,1\}//p' -e '/^VERSION/q' Makefile
user: $(if $(lib_objs),$(O)/libtier.a) $(programs) $(applet_links)
guest-programs: $(guest_progs)
tests: user $(unit_progs) guest-programs $(O)/crashdisk

# Objects depend on the flags they were made with: SAN=1 after a plain make rebuilds everything.
is_dry_run := $(findstring n,$(firstword -$(MAKEFLAGS)))
flags := $(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(tier_cppflags) $(tier_cflags) $(tier_ldflags)
ifeq ($(is_dry_run)$(filter clean setup setup-build lint help,$(MAKECMDGOALS)),)
$(shell mkdir -p $(O); echo '$(subst ','\'',$(flags))' | cmp -s - $(O)/.flags || \
	echo '$(subst ','\'',$(flags))' > $(O)/.flags)
endif
$(O)/.flags: ;

$(O)/lib/%.o: inc := $(inc_lib)
# The user-space faces of the kernel's pure code, which is written against the shim.
$(O)/lib/format.o: inc := -Ilib $(inc_kernel)
$(O)/lib/format%.o: inc := -Ilib $(inc_kernel)
$(O)/lib/text.o: inc := -Ilib $(inc_kernel)
$(O)/lib/%.o: pkg := $(pkg_lib)
$(O)/kernel/%.o: inc := $(inc_kernel)
$(O)/kernel/%.o: pkg :=
$(O)/daemon/%.o: inc := $(inc_daemon)
$(O)/daemon/%.o: pkg := $(pkg_daemon)
$(O)/cli/%.o: inc := $(inc_cli)
$(O)/cli/%.o: pkg := $(pkg_cli) devmapper
$(O)/tests/%.o: inc := $(inc_tests)
$(O)/tests/crash/%.o: inc := -Itests/crash -Itests/vm $(inc_tests)
$(O)/tests/%.o: pkg := cmocka $(pkg_lib)
$(O)/tests/unit/test_cli_%.o: inc := -Icli $(inc_tests)
$(O)/tests/unit/test_daemon_%.o: pkg := cmocka $(pkg_lib) $(pkg_daemon)

define compile
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(inc) $(tier_cppflags) $(CPPFLAGS) $(if $(pkg),$(call pkg_cflags,$(pkg))) \
		$(tier_cflags) $(CFLAGS) $(werror) -MMD -MP -c -o $@ $<
endef
$(O)/%.o: %.c $(O)/.flags ; $(compile)

define archive
	$(call say,AR,$@)
	@mkdir -p $(@D)
	$(Q)rm -f $@ && $(AR) rcs $@ $(filter %.o,$^)
endef
$(O)/libtier.a: $(lib_objs) ; $(archive)
$(O)/libtierd.a: $(daemon_objs) ; $(archive)
$(O)/libsupport.a: $(support_objs) ; $(archive)

define link
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(tier_ldflags) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(1) -lm
endef
$(O)/tierd: $(O)/daemon/main.o $(O)/libtierd.a $(O)/libtier.a
	$(call link,$(call pkg_libs,$(pkg_daemon) $(pkg_lib)))
$(O)/tierctl: $(cli_objs) $(O)/libtier.a
	$(call link,$(call pkg_libs,$(pkg_cli) $(pkg_lib)))
$(applet_links): $(O)/tierctl
	$(Q)ln -sf tierctl $@

# The CLI minus main.c as an archive: a test brings its own answers of kernel, tierd and disks.
$(O)/libtiercli.a: $(filter-out %/cli/main.o,$(cli_objs)) ; $(archive)
support_lib := $(if $(support_objs),$(O)/libsupport.a)
# The `// link:` line of a test, as linker arguments.
test_libs = $(call pkg_libs,cmocka $(shell sed -n 's,^// link: ,,p' $(1)))
$(O)/tests/unit/test_daemon_%: $(O)/tests/unit/test_daemon_%.o $(support_lib) $(O)/libtierd.a $(O)/libtier.a
	$(call link,$(call test_libs,tests/unit/test_daemon_$*.c))
$(O)/tests/unit/test_cli_%: $(O)/tests/unit/test_cli_%.o $(support_lib) $(O)/libtiercli.a $(O)/libtier.a
	$(call link,$(call test_libs,tests/unit/test_cli_$*.c))
# The fuzzer of the offline tools has all it needs compiled once more, over a format that is tiny.
small_objs := $(patsubst %.c,$(O)/small/%.o,tests/unit/test_tools_fuzz.c tests/support/ring.c lib/crc32c.c \
	$(kernel_pure) $(wildcard lib/format*.c) $(addprefix lib/,backend.c cause.c name.c policy.c))
$(O)/small/%.o: inc := -include tests/fuzz/small.h $(inc_tests)
$(O)/small/%.o: pkg := cmocka
$(O)/small/%.o: %.c $(O)/.flags
	$(compile)
$(O)/tests/unit/test_tools_fuzz: $(small_objs)
	$(call link,$(call test_libs,tests/unit/test_tools_fuzz.c))
$(O)/tests/unit/%: $(O)/tests/unit/%.o $(support_lib) $(O)/libtier.a
	$(call link,$(call test_libs,tests/unit/$*.c))
$(O)/tests/sim/test_%: $(O)/tests/sim/test_%.o $(support_lib) $(O)/libtier.a
	$(call link,$(call test_libs,tests/sim/test_$*.c))
$(O)/crashdisk: $(call objs,$(wildcard tests/crash/*.c)) $(O)/libtier.a
	$(call link)
$(O)/guest/crash_load: $(patsubst %,$(O)/tests/crash/guest/crash_%.o,load io journal) $(O)/libtier.a
	$(call link,-lpthread $(call pkg_libs,$(pkg_lib)))
$(O)/guest/crash_check: $(O)/tests/crash/guest/crash_check.o $(O)/libtier.a
	$(call link,-lpthread $(call pkg_libs,$(pkg_lib)))
$(O)/guest/%: $(O)/tests/vm/%.o $(O)/libtier.a
	$(call link,-lpthread $(call pkg_libs,$(pkg_lib)))
$(O)/guest/%: $(O)/tests/bench/%.o $(O)/libtier.a
	$(call link,-lpthread $(call pkg_libs,$(pkg_lib)))

.SECONDARY:
.DELETE_ON_ERROR:
-include $(shell find $(O)/lib $(O)/small $(O)/daemon $(O)/cli $(O)/kernel $(O)/tests -name '*.d' 2>/dev/null)

# ---------------------------------------------------------------- the module

# kernel/ is linked file by file into the folder it is built in, so that the source tree stays clean
# and several kernels and variants can stand side by side: build/modules/<kernel>[-<variant>]/dm-tier.ko
# The kernel's own make must not see our O=, CC= and so on, so it starts without MAKEFLAGS.

KERNELS ?= 6.1 6.12
# 1: the windows of the drain protocol widened; 2: and its key step left out, to be found out
ifneq ($(DRAIN_STRESS),)
VARIANT := drain$(DRAIN_STRESS)
KCFLAGS_TIER += -DDM_TIER_STRESS_DRAIN $(if $(filter 2,$(DRAIN_STRESS)),-DDM_TIER_STRESS_NO_REREAD)
endif
variant := $(if $(VARIANT),-$(VARIANT))
host_kver := $(shell uname -r)
host_kdir := $(wildcard /lib/modules/$(host_kver)/build)
kernel_srcs := $(wildcard kernel/dm-tier-*.c)
# What `uname -r` says there; include/config/kernel.release of Debian's headers does not.
ifneq ($(KDIR),)
kdir_release := $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' $(KDIR)/include/generated/utsrelease.h)
$(if $(kdir_release),,$(error KDIR=$(KDIR) is no tree of kernel headers))
endif

# $(call build_module,<folder under build/modules>,<shell word that gives the header tree>[,<command that make runs in>])
define build_module
	$(call say,MODULE,$(O)/modules/$(1)$(variant)/dm-tier.ko)
	$(Q)set -e; dir=$$(realpath -m $(O)/modules/$(1)$(variant)); kdir=$(2); [ -n "$$kdir" ]; \
	mkdir -p $$dir/include; find $$dir -xtype l -delete; \
	ln -sfn $(CURDIR)/include/dm-tier.h $$dir/include/; \
	ln -sfn $(CURDIR)/kernel/Kbuild $(addprefix $(CURDIR)/,$(wildcard kernel/*.[ch])) $$dir/; \
	env -u MAKEFLAGS -u MFLAGS $(3) $(if $(3),make,$(MAKE)) -j$$(nproc) $(if $(filter 1,$(V)),,-s) -C $$kdir M=$$dir \
		KCFLAGS_TIER='$(KCFLAGS_TIER)' \
		CONFIG_DEBUG_INFO_BTF_MODULES= $(if $(filter 1,$(WERROR)),KCFLAGS=-Werror) \
		$(if $(C),C=$(C)) $(if $(CF),CF='$(CF)') modules
endef

all_kernels := $(sort $(KERNELS) 6.1 6.12 sid debug kcsan)
# sid's kernels need sid's compiler.
in_sid = tests/vm/in-chroot sid $(CURDIR) $$dir $$(dirname $$kdir)/../.. --
.PHONY: modules module-one $(addprefix module-,$(all_kernels))
ifeq ($(kernel_srcs),)
modules module-host:
	@echo "  MODULE   nothing to build: kernel/ is empty"
else
ifneq ($(KDIR),)
modules: module-one
else
modules: $(addprefix module-,$(KERNELS))
endif
module-one:
	$(call build_module,$(kdir_release),$(KDIR))
$(addprefix module-,$(all_kernels)): module-%:
	$(call build_module,$*,$$(tests/vm/fetch headers $*),$(if $(filter sid,$*),$(in_sid)))
ifneq ($(host_kdir),)
module-host:
	$(call build_module,$(host_kver),$(host_kdir))
else
module-host:
	@echo "  MODULE   no headers of the running kernel ($(host_kver)): user space only"
endif
endif

# ---------------------------------------------------------------- tests

.PHONY: check check-unit check-vm check-long check-crash check-kill check-mutations check-model check-debug check-matrix
.PHONY: demo bench fuzz coverage lint setup setup-build
UNIT_TESTS ?=
unit_suites := $(unit_progs) $(unit_scripts)
unit_selected := $(if $(UNIT_TESTS),$(foreach t,$(UNIT_TESTS),$(filter %/$(t) %/$(t).sh,$(unit_suites))),$(unit_suites))
export O

# Each suite leaves "<suite>: N passed, N failed, N skipped" in build/results; a failing one does not
# stop the others; the verdict adds up.
check:
	$(Q)tests/setup.sh
	$(Q)$(MAKE) --no-print-directory check-all
# Not spelled $(MAKE) where more than make is run: `make -n` would run that line.
submake = $(MAKE)
.PHONY: check-all
check-all: tests
	$(Q)rm -rf $(O)/results
	$(Q)tests/suites.sh unit $(unit_suites)
	$(Q)if tests/suites.sh build modules $(submake) --no-print-directory modules; then tests/suites.sh vm; fi
	$(Q)tests/suites.sh verdict
check-unit: tests
	$(Q)rm -rf $(O)/results
	$(Q)tests/suites.sh unit $(unit_selected)
	$(Q)tests/suites.sh verdict
check-vm: tests modules
	$(Q)rm -rf $(O)/results
	$(Q)tests/suites.sh vm $(VM_TESTS)
	$(Q)tests/suites.sh verdict
check-long: tests modules
	$(Q)rm -rf $(O)/results
	$(Q)tests/suites.sh vm $(sort $(filter l_%,$(vm_suites)))
	$(Q)tests/suites.sh verdict
# Power cuts (tests/crash/README.md): POINTS of them, of this SEED; build/check-crash.json has the result.
POINTS ?= 200
SEED ?= 1
check-crash: tests modules
	$(Q)tests/crash/run --points $(POINTS) --seed $(SEED)
# The guest is killed again and again while it writes and moves: half an hour.
KILLS ?= 100
check-kill: tests
	$(Q)$(MAKE) --no-print-directory modules KERNELS=6.1
	$(Q)KILLS=$(KILLS) SEED=$(SEED) tests/vm/h_restart.sh
# The module with one rule broken at a time: each must be caught.
check-mutations:
	$(Q)tests/mutations/run $(MUTATIONS)
# The protocols as models (tests/model/README.md); not in check, as only who changes one can break it.
check-model:
	$(Q)tests/setup.sh spin
	$(Q)tests/model/model.sh
# From nothing: installs what is missing first, so it depends on nothing that needs a compiler.
demo:
	$(Q)tests/setup.sh --demo
	$(Q)$(MAKE) --no-print-directory user guest-programs module-6.1
	$(Q)tests/demo/demo.sh
BENCH ?= hotpath
bench: tests
	$(Q)$(MAKE) --no-print-directory modules KERNELS=6.1
	$(Q)tests/bench/$(BENCH).sh
# The suites on kernels that find bugs: memory, locks, leaks; and data races. Two hours on two cores.
DEBUG_TESTS ?= t_smoke t_pool t_space t_modes t_tables t_moves t_counters t_cli t_tierd
KCSAN_TESTS ?= t_smoke t_space t_modes t_tables t_moves t_counters
check-debug: tests
	$(Q)tests/setup.sh flex bison bc
	$(Q)rm -rf $(O)/results
	$(Q)$(MAKE) --no-print-directory modules KERNELS="debug kcsan"
	$(Q)VM_KERNELS=debug tests/suites.sh vm $(DEBUG_TESTS)
	$(Q)VM_KERNELS=kcsan tests/suites.sh vm $(KCSAN_TESTS)
	$(Q)tests/suites.sh verdict
# The suites on every kernel: Debian 12's two, and that of sid.
MATRIX_KERNELS ?= 6.1 6.12 sid
MATRIX_TESTS ?= $(DEBUG_TESTS) t_extent1g t_tierctl
check-matrix: tests
	$(Q)rm -rf $(O)/results
	$(Q)$(MAKE) --no-print-directory modules KERNELS="$(MATRIX_KERNELS)"
	$(Q)VM_KERNELS="$(MATRIX_KERNELS)" tests/suites.sh vm $(MATRIX_TESTS)
	$(Q)tests/suites.sh verdict
# The format and the offline tools with clang's libFuzzer; the short form is in check-unit.
fuzz:
	$(Q)tests/fuzz/run
# Branches of the kernel's pure files that their unit tests take; fails under COVERAGE_MIN (90) percent.
coverage:
	$(Q)$(MAKE) --no-print-directory O=$(O)/cov CFLAGS="-Og -g --coverage" LDFLAGS=--coverage tests
	$(Q)find $(O)/cov -name '*.gcda' -delete
	$(Q)O=$(O)/cov tests/suites.sh unit $(patsubst $(O)/%,$(O)/cov/%,$(filter-out %/test_plan_scale,$(unit_progs)))
	$(Q)tests/coverage.sh $(O)/cov $(kernel_pure)
lint:
	$(Q)tests/lint.sh
setup:
	$(Q)tests/setup.sh
setup-build:
	$(Q)tests/setup.sh --build

# A suite that does not exist is refused before anything is built. $(call check_names,TARGET,NAMES,ALL)
vm_suites := $(notdir $(basename $(wildcard tests/vm/[thl]_*.sh)))
check_names = $(if $(filter $(1),$(MAKECMDGOALS)),$(if $(filter-out $(3),$(2)),$(error no such suite: $(filter-out $(3),$(2)))))
$(call check_names,check-unit,$(UNIT_TESTS),$(notdir $(unit_suites) $(basename $(unit_scripts))))
$(call check_names,check-vm,$(VM_TESTS),$(vm_suites))
$(call check_names,check-debug,$(DEBUG_TESTS) $(KCSAN_TESTS),$(vm_suites))
$(call check_names,check-matrix,$(MATRIX_TESTS),$(vm_suites))
$(call check_names,bench,$(BENCH),$(filter-out %_guest,$(notdir $(basename $(wildcard tests/bench/*.sh)))))

# ---------------------------------------------------------------- install

unitdir := $(prefix)/lib/systemd/system
module_dir = $(DESTDIR)/lib/modules/$(1)/updates
# Text files that name a path carry @SBINDIR@ or @SYSCONFDIR@.
define install_text
	$(Q)set -e; for f in $(1); do $(INSTALL) -d $(DESTDIR)$(2); \
	sed -e 's,@SBINDIR@,$(sbindir),g' -e 's,@SYSCONFDIR@,$(sysconfdir),g' -e 's,@VERSION@,$(VERSION),g' $$f \
		> $(DESTDIR)$(2)/$$(basename $$f $(3))$(4); \
	chmod 644 $(DESTDIR)$(2)/$$(basename $$f $(3))$(4); done
endef
sd = $(filter-out systemd/org.%,$(wildcard $(addprefix systemd/*.,$(1))))

.PHONY: install install-user modules_install dkms dkms-source uninstall clean
# What `journalctl -x` knows. A package that is made with DESTDIR leaves it to the machine that installs it.
update_catalog = $(if $(DESTDIR),,$(Q)if command -v journalctl >/dev/null; then journalctl --update-catalog; fi)
host_module := $(wildcard $(O)/modules/$(host_kver)/dm-tier.ko)
install: install-user $(if $(host_module),modules_install)
	@$(if $(host_module),:,echo "no module of $(host_kver) is built (make says why): only user space is installed")

install-user: user
	$(call say,INSTALL,$(DESTDIR)$(prefix))
	$(Q)$(INSTALL) -d $(DESTDIR)$(sbindir) $(DESTDIR)$(sysconfdir)
	$(Q)set -e; for p in $(programs); do $(INSTALL) -m 755 $$p $(DESTDIR)$(sbindir); done
	$(Q)set -e; for a in $(notdir $(applet_links)); do ln -sf tierctl $(DESTDIR)$(sbindir)/$$a; done
	$(Q)set -e; for m in $(wildcard man/*.[578]); do \
		$(INSTALL) -D -m 644 $$m $(DESTDIR)$(mandir)/man$${m##*.}/$${m##*/}; done
	$(Q)set -e; for c in $(wildcard conf/tierd.conf); do \
		[ -e $(DESTDIR)$(sysconfdir)/tierd.conf ] || $(INSTALL) -m 644 $$c $(DESTDIR)$(sysconfdir); done
	$(call install_text,$(filter-out conf/tierd.conf,$(wildcard conf/*.conf)),$(prefix)/share/doc/dm-tier/examples)
	$(call install_text,$(call sd,service timer target path socket),$(unitdir))
	$(call install_text,$(call sd,rules),$(prefix)/lib/udev/rules.d)
	$(call install_text,$(call sd,sysusers),$(prefix)/lib/sysusers.d,.sysusers,.conf)
	$(call install_text,$(call sd,tmpfiles),$(prefix)/lib/tmpfiles.d,.tmpfiles,.conf)
	$(call install_text,$(call sd,modules-load),$(prefix)/lib/modules-load.d,.modules-load,.conf)
	$(call install_text,$(call sd,catalog),$(prefix)/lib/systemd/catalog)
	$(call install_text,$(wildcard systemd/org.*.conf),$(prefix)/share/dbus-1/system.d)
	$(call install_text,$(wildcard systemd/org.*.service),$(prefix)/share/dbus-1/system-services)
	$(call install_text,$(wildcard systemd/org.*.policy),$(prefix)/share/polkit-1/actions)
	$(update_catalog)

# The module of the running kernel, or of KDIR.
modules_install: kver = $(if $(KDIR),$(kdir_release),$(host_kver))
modules_install: $(if $(KDIR),module-one,module-host)
	$(call say,INSTALL,$(call module_dir,$(kver))/dm-tier.ko)
	$(Q)test -e $(O)/modules/$(kver)/dm-tier.ko || { echo "no module for $(kver): its kernel headers are needed" >&2; exit 1; }
	$(Q)$(INSTALL) -D -m 644 $(O)/modules/$(kver)/dm-tier.ko $(call module_dir,$(kver))/dm-tier.ko
	$(Q)if [ -d $(DESTDIR)/lib/modules/$(kver)/kernel ]; then depmod $(if $(DESTDIR),-b $(DESTDIR)) $(kver); fi

# The source that dkms rebuilds for every kernel that gets installed.
dkms_dir = $(DESTDIR)/usr/src/dm-tier-$(VERSION)
dkms-source:
	$(call say,INSTALL,$(dkms_dir))
	$(Q)$(INSTALL) -d $(dkms_dir)/include
	$(Q)$(INSTALL) -m 644 kernel/Kbuild $(wildcard kernel/*.[ch]) $(dkms_dir)
	$(Q)$(INSTALL) -m 644 include/dm-tier.h $(dkms_dir)/include
	$(Q)sed 's,@VERSION@,$(VERSION),g' kernel/dkms.conf.in > $(dkms_dir)/dkms.conf
dkms:
	@command -v dkms >/dev/null || { echo "dkms is not installed: apt-get install dkms" >&2; exit 1; }
	$(Q)$(MAKE) --no-print-directory dkms-source
	$(Q)dkms install --force -m dm-tier -v $(VERSION)

# What install puts somewhere, is removed from there: the list is that of an installation into a folder of its own.
# Stays: a tierd.conf that somebody has changed, what tierd has written down, a module that is loaded.
uninstall: user
	$(call say,REMOVE,$(DESTDIR)$(prefix))
	$(Q)set -e; list=$$(mktemp -d); trap 'rm -rf "$$list"' EXIT; \
	$(submake) -s --no-print-directory DESTDIR=$$list install-user; \
	find $$list ! -type d -printf '/%P\n' | while read -r file; do \
		if [ $$file = $(sysconfdir)/tierd.conf ] && [ -e $(DESTDIR)$$file ] && ! cmp -s conf/tierd.conf $(DESTDIR)$$file; then \
			echo "kept $(DESTDIR)$$file, as it was changed"; \
		else \
			rm -f $(DESTDIR)$$file; \
		fi; \
	done; \
	rm -f $(DESTDIR)$(prefix)/share/doc/dm-tier/examples/*.conf; \
	if cd $(DESTDIR)$(prefix)/share/doc 2>/dev/null; then rmdir -p dm-tier/examples 2>/dev/null || :; cd - >/dev/null; fi; \
	for module in $(DESTDIR)/lib/modules/*/updates/dm-tier.ko; do \
		[ -e $$module ] || continue; \
		rm $$module; kernel=$${module%/updates/*}; \
		if [ -d $$kernel/kernel ]; then depmod $(if $(DESTDIR),-b $(DESTDIR)) $${kernel##*/}; fi; \
	done; \
	if [ -z "$(DESTDIR)" ] && command -v dkms >/dev/null && [ -d $(dkms_dir) ]; then dkms remove dm-tier/$(VERSION) --all; fi; \
	rm -rf $(dkms_dir)
	$(update_catalog)

clean:
	$(Q)tests/clean.sh $(O)
