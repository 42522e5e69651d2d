# SPDX-License-Identifier: GPL-2.0-only
"""One run of one guest: start QEMU, pass its output on, judge how it ended.

Everything is event driven: the guest's console, output and control port are sockets in one selector,
so nothing polls, and the end of QEMU is the end of its sockets. QEMU and virtiofsd die with this
process even if it is killed (parent-death signal); a Ctrl-C at the terminal is for this process only, which ends them.
"""
import ctypes
import datetime
import os
import pathlib
import re
import selectors
import signal
import socket
import subprocess
import sys
import time

from . import accel, cache, disks, splat
from .cache import HarnessError, need_root

EXIT_HARNESS, EXIT_TIMEOUT, EXIT_SPLAT, EXIT_DEATH, EXIT_NOT_KILLED = 125, 124, 97, 96, 95
VIRTIOFSD = ("/usr/lib/qemu/virtiofsd", "/usr/libexec/virtiofsd")
KERNEL_ARGS = ("console=ttyS0 panic=-1 oops=panic net.ifnames=0 printk.devkmsg=on quiet loglevel=6 "
               "systemd.show_status=0 systemd.mask=dev-ttyS0.device random.trust_cpu=on mitigations=off "
               "tsc=reliable no_timer_check watchdog_thresh=40 rcupdate.rcu_cpu_stall_timeout=60 "
               "sysctl.kernel.hung_task_timeout_secs=60 kfence.sample_interval=100 "
               # All are one machine, which is booted again and again: pools belong to a host.
               "systemd.machine_id=d37e1a5c0f8b4e6a9c2d7f3b1e5a8c04")
# A guest begins at noon, whenever that is: at night tierd's default window is open.
HOUR = "12:00:00"
DEATH_EXCERPT_LINES, FAILURE_EXCERPT_LINES = 40, 12
# How far the guest's clock may be off at the end: this part of the time, and what a busy host takes to pass a line on.
CLOCK_SHARE, CLOCK_SLACK_S = 0.1, 2.0


def end_with_parent(number):
    """This process gets the signal when its parent ends, however that ends."""
    ctypes.CDLL(None, use_errno=True).prctl(1, number)      # PR_SET_PDEATHSIG


def _die_with_parent():
    end_with_parent(signal.SIGKILL)


class Result:
    """How a run ended: exit code of the harness, and one line that says why."""

    def __init__(self, code, reason, excerpt=()):
        self.code, self.reason, self.excerpt = code, reason, list(excerpt)


class Guest:
    """Options in, Result out. `work` is a private folder for sockets; the caller removes it."""

    def __init__(self, work, kernel, root, stage, host_dir):
        self.work, self.kernel, self.root, self.stage, self.host_dir = work, kernel, root, stage, host_dir
        self.disks, self.append, self.mem_mib, self.cpus = [], "", 1024, 2
        self.systemd, self.icount, self.accel = False, False, "tcg"
        self.timeout_s, self.boot_timeout_s, self.kill_on, self.expect_splat = 300.0, 120.0, None, None
        self.qemu_args = []
        self._reset()

    def _reset(self):
        self.console, self.output_tail = bytearray(), b""
        self.rc, self.boot_s, self.uptime, self.seconds = None, None, None, 0.0
        self.ran_s = None       # from the boot's end to the command's: (by the guest's clock, by ours)
        self._control, self._booted_at = bytearray(), 0
        self._processes = []

    # -------------------------------------------------------------- command line

    def _qemu(self):
        append = KERNEL_ARGS
        khz = accel.tsc_khz() if self.accel == "tcg" and not self.icount else None
        if khz:
            append += f" tsc_early_khz={khz}"
        if not self.systemd:
            append += " init=/usr/local/sbin/vm-init"
        argv = ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
                "-M", "q35", "-m", str(self.mem_mib), "-smp", str(1 if self.icount else self.cpus),
                "-kernel", self.kernel.dir / "vmlinuz", "-initrd", self.kernel.initrd(),
                "-append", f"{append} {self.append}", *self._accel_args(),
                "-rtc", f"base={datetime.date.today()}T{HOUR}",
                "-device", "virtio-rng-pci", "-device", "virtio-serial-pci"]
        argv += ["-chardev", f"socket,id=console,path={self.work}/console", "-serial", "chardev:console"]
        for name in ("out", "ctl"):
            argv += ["-chardev", f"socket,id={name},path={self.work}/{name}",
                     "-device", f"virtserialport,chardev={name},name={name}"]
        argv += disks.internal("vm-root", self.root, snapshot=True)
        argv += disks.internal("vm-modules", self.kernel.dir / "modules.ext4", snapshot=True)
        argv += disks.internal("vm-stage", self.stage, snapshot=False)
        for disk in self.disks:
            argv += disk.arguments()
        argv += ["-object", f"memory-backend-memfd,id=mem,size={self.mem_mib}M,share=on",
                 "-numa", "node,memdev=mem", "-chardev", f"socket,id=fs,path={self.work}/fs",
                 "-device", "vhost-user-fs-pci,chardev=fs,tag=host"]
        return [str(a) for a in argv] + self.qemu_args

    def _accel_args(self):
        if self.icount:
            return ["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off", "-cpu", "qemu64,-cx16"]
        if self.accel == "kvm":
            return ["-accel", "kvm", "-cpu", "host"]
        # -cx16: with it QEMU 7.2 double-faults a 6.12 kernel
        return ["-accel", "tcg,thread=multi", "-cpu", "qemu64,-cx16"]

    # -------------------------------------------------------------- processes

    def _spawn(self, argv, log):
        try:
            # pylint: disable=consider-using-with,subprocess-popen-preexec-fn
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                                       start_new_session=True, preexec_fn=_die_with_parent)
        except FileNotFoundError as error:
            raise HarnessError(f"{argv[0]}: not found; `make setup` installs it") from error
        self._processes.append(process)
        return process

    def _start_virtiofsd(self):
        need_root("the folder shared with the guest (virtiofsd)")
        program = next((p for p in VIRTIOFSD if pathlib.Path(p).exists()), None)
        if program is None:
            raise HarnessError("virtiofsd not found; `make setup` installs it")
        if program == VIRTIOFSD[0]:
            options = ["-o", f"source={self.host_dir}", "-o", "sandbox=chroot", "-o", "cache=auto"]
        else:
            options = [f"--shared-dir={self.host_dir}", "--sandbox=chroot", "--cache=auto"]
        # A socket that listens before virtiofsd starts: QEMU can connect at once, nothing to wait for.
        pathlib.Path(f"{self.work}/fs").unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"{self.work}/fs")
            listener.listen(1)
            os.set_inheritable(listener.fileno(), True)
            argv = [program, f"--fd={listener.fileno()}", *options]
            with open(self.work / "virtiofsd.log", "wb") as log:
                # pylint: disable=consider-using-with,subprocess-popen-preexec-fn
                self._processes.append(subprocess.Popen(
                    argv, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                    pass_fds=[listener.fileno()], start_new_session=True, preexec_fn=_die_with_parent))

    def _stop_all(self):
        for process in reversed(self._processes):
            if process.poll() is None:
                process.kill()
            process.wait()

    # -------------------------------------------------------------- the run

    def _died_early(self, result):
        """Nothing of this project runs before the guest is up, or its systemd."""
        return (result.code in (EXIT_SPLAT, EXIT_DEATH) and self.boot_s is None and self.accel == "tcg"
                and not re.search(rb"dm_tier|systemd\[1\]", self.console) and not self.expect_splat)

    def run(self):
        # Emulated processors do not always survive that the kernel patches its own code: int3 in early boot, 1 of some
        # hundred boots of 6.12, and twice in a row on a busy host; both spin for ever, seen once on 6.1, which costs a
        # boot timeout.
        result, tries = self._run(), 1
        while self._died_early(result) and tries < (4 if result.code == EXIT_SPLAT else 2):
            cache.say(f"{result.reason} before the guest was up: once more")
            for line in result.excerpt:
                print(f"  | {line}", file=sys.stderr)
            self._reset()
            result, tries = self._run(), tries + 1
        return result

    def _run(self):
        start = time.monotonic()
        listeners = {}
        for name in ("console", "out", "ctl"):
            listeners[name] = socket.socket(socket.AF_UNIX)
            pathlib.Path(f"{self.work}/{name}").unlink(missing_ok=True)
            listeners[name].bind(f"{self.work}/{name}")
            listeners[name].listen(1)
        try:
            self._start_virtiofsd()
            with open(self.work / "qemu.log", "wb") as log:
                qemu = self._spawn(self._qemu(), log)
            ended = self._pump(qemu, listeners, start)
        finally:
            self._stop_all()
            for listener in listeners.values():
                listener.close()
            self.seconds = time.monotonic() - start
        return self._judge(ended)

    def _pump(self, qemu, listeners, start):
        """Serve the sockets until QEMU ends; returns 'exit', 'timeout', 'no boot' or 'killed'."""
        selector = selectors.DefaultSelector()
        pidfd = os.pidfd_open(qemu.pid)
        selector.register(pidfd, selectors.EVENT_READ, "exit")
        for name, listener in listeners.items():
            selector.register(listener, selectors.EVENT_READ, ("accept", name))
        connections, exited = [], False
        try:
            while True:
                # Once QEMU is gone only what its sockets still hold is left to read.
                booting = self.boot_s is None and self.boot_timeout_s < self.timeout_s
                limit_s = self.boot_timeout_s if booting else self.timeout_s
                left = 0 if exited else start + limit_s - time.monotonic()
                if not exited and left <= 0:
                    return "no boot" if booting else "timeout"
                events = selector.select(left)
                if exited and not events:
                    return "exit"
                for key, _ in events:
                    if key.data == "exit":
                        exited = True
                        selector.unregister(pidfd)
                    elif isinstance(key.data, tuple):
                        connection = key.fileobj.accept()[0]
                        connections.append(connection)
                        selector.unregister(key.fileobj)
                        selector.register(connection, selectors.EVENT_READ, key.data[1])
                    else:
                        data = key.fileobj.recv(65536)
                        if not data:
                            selector.unregister(key.fileobj)
                        elif self._received(key.data, data, start):
                            qemu.kill()
                            return "killed"
        finally:
            for connection in connections:
                connection.close()
            os.close(pidfd)
            selector.close()

    def _received(self, name, data, start):
        """Take what the guest said; True if this is the moment to kill it (--kill-on)."""
        if name == "console":
            self.console += data
            return False
        if name == "ctl":
            self._control += data
            for key, value in re.findall(rb"^(up|end|rc) (\S+)\n", self._control, re.M):
                if key == b"rc":
                    self.rc = int(value)
                elif key == b"end":
                    if self.ran_s is None:
                        self.ran_s = float(value) - self.uptime, time.monotonic() - start - self.boot_s
                elif self.uptime is None:
                    self.uptime, self.boot_s = float(value), time.monotonic() - start
                    self._booted_at = len(self.console)
            return False
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        # An expression may straddle two reads: keep the last, unfinished line.
        text = self.output_tail + data
        self.output_tail = text[text.rfind(b"\n") + 1:]
        return self.kill_on is not None and re.search(self.kill_on, text.decode(errors="replace")) is not None

    def _wrong_clock(self):
        """What is wrong with the guest's clock, or None. Time limits and rates of such a guest mean nothing.

        With counted instructions its time is not ours, and need not be.
        """
        if self.ran_s is None or self.icount:
            return None
        there, here = self.ran_s
        if abs(there - here) <= CLOCK_SHARE * here + CLOCK_SLACK_S:
            return None
        return f"the guest's clock ran wrong: {there:.1f} s there, {here:.1f} s here"

    def _judge(self, ended):
        console = self.console.decode(errors="replace").replace("\r", "")
        lines = console.splitlines()
        names, excerpt = splat.find(console) or ((), lines[-DEATH_EXCERPT_LINES:])
        if self.expect_splat:
            if self.expect_splat in names:
                return Result(0, f"kernel splat '{self.expect_splat}', as expected")
            return Result(EXIT_SPLAT, f"expected kernel splat '{self.expect_splat}', found {names or 'none'}", excerpt)
        if names:
            return Result(EXIT_SPLAT, f"kernel splat ({', '.join(names)})", excerpt)
        if ended == "timeout":
            return Result(EXIT_TIMEOUT, f"timeout after {self.timeout_s:.0f} s", lines[-DEATH_EXCERPT_LINES:])
        if ended == "no boot":
            return Result(EXIT_DEATH, f"no boot in {self.boot_timeout_s:.0f} s", lines[-DEATH_EXCERPT_LINES:])
        if ended == "killed":
            return Result(0, f"killed at '{self.kill_on}', as asked")
        if self.rc is None:
            qemu_log = (self.work / "qemu.log").read_text(errors="replace").splitlines()
            return Result(EXIT_DEATH, "the guest died", qemu_log[-10:] + lines[-DEATH_EXCERPT_LINES:])
        wrong_clock = self._wrong_clock()
        if wrong_clock:
            return Result(EXIT_HARNESS, f"{wrong_clock}; the command's exit code was {self.rc}")
        if self.kill_on is not None and self.rc == 0:
            return Result(EXIT_NOT_KILLED, f"ended before '{self.kill_on}' appeared")
        after_boot = self.console[self._booted_at:].decode(errors="replace").splitlines()
        return Result(self.rc, f"the command's exit code is {self.rc}",
                      after_boot[-FAILURE_EXCERPT_LINES:] if self.rc else ())
