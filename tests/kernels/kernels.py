"""heaptrack on other kernels: Debian's, booted by qemu with nothing but the archive of `make dist`.

fetch() gets a kernel through apt, in folders of its own; make_image() packs an initramfs of busybox, the
archive and some programs; boot() runs guest.sh there and hands back what it left in /results, which comes
out of the machine by its second serial port. Processors are emulated: a boot takes a minute or two.
"""

import gzip
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
MIRROR = "http://deb.debian.org/debian"
# Name, Debian's suite, and how the package of its newest kernel is called there
KERNELS = {
    "5.10": ("bullseye", r"linux-image-5\.10\.\S+-cloud-amd64"),
    "6.1": ("bookworm", r"linux-image-6\.1\.\S+-cloud-amd64"),
    "6.12": ("bookworm-backports", r"linux-image-6\.12\.\S+-cloud-amd64"),
}
# With the versions of control groups whose memory controller they have
BOOTS = [("5.10", "v1"), ("5.10", "v2"), ("6.1", "v1"), ("6.1", "v2"), ("6.12", "v2")]
NEEDS = {"qemu-system-x86_64": "qemu-system-x86", "busybox": "busybox-static", "cpio": "cpio"}
PROGRAMS = ("combinations", "combinations_static", "combinations_musl", "combinations_musl_static")
BOOT_SECONDS = 600
CPU = "max,cx16=off"  # qemu 7.2 emulates cmpxchg16b wrongly now and then: Linux 6.12 ends in its own allocator


class Unavailable(Exception):
    """What is needed is not here, and why."""


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        raise Unavailable(f"{command[0]}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout


def install_needs():
    missing = [package for tool, package in NEEDS.items() if not shutil.which(tool)]
    if missing:
        if os.getuid() != 0 or not shutil.which("apt-get"):
            raise Unavailable("missing: " + " ".join(missing))
        run("apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing, timeout=600)


def apt(folder, suite):
    """apt with folders of its own: the system's sources and lists stay as they are."""
    for name in ("state/lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
    (folder / "sources.list").write_text(f"deb [signed-by={keys}] {MIRROR} {suite} main\n")
    (folder / "status").touch()
    settings = {"Dir::State": folder / "state", "Dir::Cache": folder / "cache",
                "Dir::State::status": folder / "status", "Dir::Etc::sourcelist": folder / "sources.list",
                "Dir::Etc::sourceparts": "/dev/null", "APT::Sandbox::User": "root"}
    return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]


def number(package):
    return [int(word) for word in re.findall(r"\d+", package)]


def fetch(name, folder):
    """Debian's newest kernel of that series; kept in `folder`."""
    suite, pattern = KERNELS[name]
    found = list((folder / name).glob("boot/vmlinuz-*"))
    if found:
        return found[0]
    if not shutil.which("apt-get"):
        raise Unavailable("there is no apt-get to fetch a kernel with")
    own = folder / name
    settings = apt(own, suite)
    run("apt-get", *settings, "-qq", "update", timeout=300)
    packages = run("apt-cache", *settings, "pkgnames", "linux-image-", timeout=60).split()
    packages = [package for package in packages if re.fullmatch(pattern, package)]
    if not packages:
        raise Unavailable(f"{suite} has no package {pattern}")
    run("apt-get", *settings, "-qq", "download", max(packages, key=number), cwd=own, timeout=300)
    run("dpkg-deb", "-x", next(own.glob("*.deb")), own, timeout=120)
    return next(own.glob("boot/vmlinuz-*"))


def loaded_by(*programs):
    """The C library and its loader, as ldd finds them: what is in the archive needs neither."""
    listed = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=False).stdout
    paths = {Path(path) for path in re.findall(r"(/\S+) \(0x", listed)}
    return [path for path in paths if re.match(r"(ld-|lib(c|m|dl|rt|pthread|resolv)\.so)", path.name)]


def make_image(build, folder):
    """An initramfs. The archive is made of `build` as `make dist` makes it."""
    root = folder / "root"
    shutil.rmtree(root, ignore_errors=True)
    for name in ("bin", "proc", "sys", "dev", "tmp", "results", "v"):
        (root / name).mkdir(parents=True)
    archive = run(SOURCE / "tools/dist", build, folder, cwd=SOURCE, timeout=300,
                  env={**os.environ, "XZ_OPT": "-0"}).strip().splitlines()[-1]
    run("tar", "-C", root, "-xf", archive)
    next(root.glob("heaptrack-*")).rename(root / "heaptrack")
    shutil.copy(shutil.which("busybox"), root / "bin/busybox")
    shutil.copy(HERE / "guest.sh", root / "init")
    run("gcc", "-O1", "-o", root / "v/guest", HERE / "guest.c")
    programs = [build / "tests/attach" / name for name in PROGRAMS]
    for program in filter(Path.exists, programs):
        shutil.copy(program, root / "v")
    for victim in ("processes", "resident", "tree"):
        shutil.copy(build / "tests/victims" / victim, root / "v")
    shutil.copy("/bin/dash", root / "v")  # busybox is static
    musl = [path for path in (Path("/lib/ld-musl-x86_64.so.1"),) if path.exists()]
    for path in [*loaded_by(root / "bin/busybox", *(root / "v").iterdir()), *musl]:
        (root / path.relative_to("/")).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, root / path.relative_to("/"))
    names = "\n".join(str(path.relative_to(root)) for path in sorted(root.rglob("*")))
    packed = subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=root, input=names.encode(),
                            capture_output=True, check=True).stdout
    image = folder / "image.gz"
    image.write_bytes(gzip.compress(packed, 1))
    return image


def boot(kernel, image, groups, folder):
    """What guest.sh has left: {name: bytes}, and the console's text."""
    out = folder / f"results-{kernel.name}-{groups}"
    command = ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", CPU, "-m", "2048", "-smp", "2",
               "-display", "none", "-nodefaults", "-no-reboot", "-serial", "stdio", "-serial", f"file:{out}",
               "-kernel", kernel, "-initrd", image,
               "-append", f"console=ttyS0 quiet panic=-1 cgroup={groups}"]
    written = folder / f"console-{kernel.name}-{groups}"
    with open(written, "wb") as console:
        machine = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=console,
                                   stderr=console)
    try:
        machine.wait(BOOT_SECONDS)
        console = ""
    except subprocess.TimeoutExpired:
        machine.kill()
        machine.wait()
        console = f"not done within {BOOT_SECONDS} s"
    console = written.read_text(errors="replace") + console
    files = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(out.read_bytes())) as tar:
            for member in tar:
                if member.isfile():
                    files[Path(member.name).name] = tar.extractfile(member).read()
    except (OSError, tarfile.TarError):
        pass  # the console says why there is none
    return Results(files, console)


class Results:
    """What the guest has left of each check: its status, what was said, and what is known."""

    def __init__(self, files, console):
        self.files, self.console = files, console

    def has(self, name):
        return f"{name}.status" in self.files

    def text(self, name, kind):
        return self.files.get(f"{name}.{kind}", b"").decode(errors="replace")

    def status(self, name):
        text = self.text(name, "status").strip()
        return int(text) if text else None

    def json(self, name):
        try:
            return json.loads(self.files.get(f"{name}.json", b""))
        except ValueError:
            return None

    def about(self, name):
        kinds = ("status", "out", "err", "program")
        told = "".join(f"--- {kind}\n{self.text(name, kind)[-2000:]}\n" for kind in kinds)
        return f"{name}:\n{told}--- console\n{self.console[-1500:]}"
