#!/usr/bin/env python3
"""Packs the program, every library that it needs and the recipes into one tar that runs from any folder of any machine
with the same processor family and a C library that is not older (the tar's README says which).

    tools/bundle.py PROGRAM [--out FILE.tar.gz] [--plugins FOLDER]   the tar, by default out/flexor-VERSION-linux-MACHINE.tar.gz
    tools/bundle.py PROGRAM --stage FOLDER [--links]                 the folder alone; --links: without copying LibTorch and Arrow

Libraries are those that the loader takes for PROGRAM, without the C library. Each is there with the licence of the
distribution package or wheel that it comes from; one without a licence is an error. Needs Debian's packages binutils and patchelf.
"""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
C_LIBRARY = re.compile(r"(ld-linux.*|libc|libm|libdl|libpthread|librt|libresolv|libutil|libanl|libmvec|libnss_\w+)\.so[.\d]*")
COMPILED_IN = ["nlohmann-json3-dev", "libcli11-dev"]  # packages that are headers only
FOLDERS = ["configs", "docs", "examples/data"]


class BundleError(Exception):
    """What is wrong, and what to do about it."""

    def __init__(self, what, hint):
        super().__init__(f"error: {what}\n  hint: {hint}")


@dataclasses.dataclass
class Component:
    """A distribution package or a wheel."""

    name: str
    version: str
    kind: str
    licences: list
    libraries: list = dataclasses.field(default_factory=list)


def output(*command, **options):
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout
    except FileNotFoundError:
        raise BundleError(f"{command[0]} is missing", f"make deps, or install {command[0]}") from None
    except subprocess.CalledProcessError as error:
        raise BundleError(f"{' '.join(map(str, command[:3]))} ends with {error.returncode}: {error.stderr.strip()[-300:]}",
                          "see its message") from None


def needed_libraries(program):
    """{name: file} of what the loader takes for the program, without the C library."""
    text = output(str(program), env=dict(os.environ, LD_TRACE_LOADED_OBJECTS="1"))
    found = dict(re.findall(r"^\t(\S+) => (.+?)(?: \(0x[0-9a-f]+\))?$", text, re.M))
    missing = sorted(name for name, path in found.items() if path == "not found")
    if missing:
        raise BundleError(f"{program} needs {', '.join(missing)}, which the loader does not find",
                          "install the package, or build again where it is")
    return {name: pathlib.Path(path) for name, path in found.items() if not C_LIBRARY.fullmatch(name)}


def wheel_of(path):
    """The wheel around a library below site-packages, by its .dist-info; None for another one."""
    for parent in path.parents:
        if parent.parent.name in ("site-packages", "dist-packages"):
            name = parent.name.removesuffix(".libs")
            for info in parent.parent.glob(f"{name}-*.dist-info"):
                files = [file for file in sorted(info.rglob("*")) if re.match(r"(LICEN[CS]E|NOTICE|COPYING)", file.name) and file.is_file()]
                return Component(name, info.name.removesuffix(".dist-info").partition("-")[2], "Python wheel",
                                 [(file, file.relative_to(info)) for file in files])
    return None


def package_of(name):
    licence = pathlib.Path("/usr/share/doc") / name / "copyright"
    version = output("dpkg-query", "-W", "-f=${source:Package} ${source:Version}\n", name).splitlines()[0]
    return Component(name, version, "distribution package", [(licence, pathlib.Path("copyright"))] if licence.exists() else [])


def package_names(paths):
    """{file: package}; a file may be known below / or /usr, which are one folder."""
    spellings = {str(pathlib.Path(spelling)): path for path in paths
                 for spelling in (path, path.resolve(), *(re.sub(r"^(/usr)?/", prefix, str(p), count=1)
                                                          for p in (path, path.resolve()) for prefix in ("/", "/usr/")))}
    text = subprocess.run(["dpkg-query", "-S", *spellings], capture_output=True, text=True, check=False).stdout
    owners = {}
    for line in text.splitlines():
        package, _, path = line.partition(": ")
        if path in spellings:
            owners[spellings[path]] = package.split(",")[0].split(":")[0]
    return owners


def components_of(libraries):
    """What the libraries {name: file} come from, each with its licence."""
    if shutil.which("dpkg-query") is None:
        raise BundleError("no dpkg on this system, which knows where libraries come from and their licences", "make the bundle on Debian or Ubuntu")
    found = {}
    wheels = {path: wheel for path in libraries.values() if (wheel := wheel_of(path))}
    owners = package_names([path for path in libraries.values() if path not in wheels])
    for name, path in sorted(libraries.items()):
        if path not in wheels and path not in owners:
            raise BundleError(f"{path} belongs to no package and no wheel", "its licence is unknown: build against a packaged one")
        component = wheels.get(path) or found.get(owners.get(path)) or package_of(owners[path])
        found.setdefault(component.name, component).libraries.append(name)
    for package in COMPILED_IN:
        found.setdefault(package, package_of(package)).libraries.append("compiled in")
    for component in found.values():
        if not component.licences:
            raise BundleError(f"no licence of {component.name} on this machine ({', '.join(component.libraries)})",
                              "reinstall it with its documentation")
    return sorted(found.values(), key=lambda component: (component.kind, component.name))


def dynamic_section(path):
    text = output("objdump", "-p", str(path))
    return {"needed": re.findall(r"^  NEEDED\s+(\S+)$", text, re.M), "runpath": re.findall(r"^  (?:RUNPATH|RPATH)\s+(\S*)$", text, re.M),
            "glibc": [tuple(map(int, version.split("."))) for version in re.findall(r"\bGLIBC_([\d.]+)$", text, re.M)]}


def place(source, target, runpath, links):
    """Copies a program or library, without symbols that only debuggers read, and lets it search `runpath`."""
    is_wheel = wheel_of(source) is not None
    if links and is_wheel:
        target.symlink_to(source.resolve())
        return
    shutil.copyfile(source.resolve(), target)
    target.chmod(0o755)
    if not links:
        output("strip", "--strip-unneeded", str(target))
    if dynamic_section(target)["runpath"] != [runpath]:
        output("patchelf", "--set-rpath", runpath, str(target))


def check_closed(folder):
    """Everything that files of the folder need is in it; the newest version of the C library that one asks for."""
    newest = (2, 0)
    for path in [*sorted((folder / "bin").iterdir()), *sorted((folder / "lib").iterdir())]:
        section = dynamic_section(path)
        newest = max([newest, *section["glibc"]])
        lost = [name for name in section["needed"] if not C_LIBRARY.fullmatch(name) and not (folder / "lib" / name).exists()]
        if lost and not path.name.startswith("libflexor_"):  # a back end needs its vendor's libraries
            raise BundleError(f"{path} needs {', '.join(lost)}, which is not in the bundle", "the loader took another library: report this")
    return ".".join(map(str, newest))


def notices(components):
    rows = "\n".join(f"| {c.name} | {c.version} | {c.kind} | {', '.join(sorted(c.libraries))} |" for c in components)
    return (ROOT / "tools/bundle_notices.md").read_text().replace("{rows}", rows)


def stage(program, folder, plugins, links):
    libraries = needed_libraries(program)
    components = components_of(libraries)
    for name in ("bin", "lib", "licences"):
        (folder / name).mkdir(parents=True)
    jobs = [(program, folder / "bin/flexor", "$ORIGIN/../lib", links)]
    jobs += [(path, folder / "lib" / name, "$ORIGIN", links) for name, path in libraries.items()]
    jobs += [(path, folder / "lib" / path.name, "$ORIGIN", links) for path in plugins]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda job: place(*job), jobs))
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name)
    for component in components:
        for file, name in component.licences:
            target = folder / "licences" / component.name / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
    shutil.copyfile(ROOT / "LICENSE", folder / "LICENSE")
    (folder / "NOTICES.md").write_text(notices(components))
    version = output(str(folder / "bin/flexor"), "--version").split()[1]
    readme = (ROOT / "tools/bundle_readme.md").read_text()
    facts = {"{version}": version, "{glibc}": check_closed(folder), "{machine}": platform.machine(),
             "{processor}": "x86-64-v3 (AVX2; 2013 and newer)" if platform.machine() == "x86_64" else platform.machine()}
    for key, value in facts.items():
        readme = readme.replace(key, value)
    (folder / "README.md").write_text(readme)
    return version, len(libraries)


def write_sums(folder):
    """SHA256SUMS, for sha256sum -c."""
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    (folder / "SHA256SUMS").write_text(output("sha256sum", *files, cwd=folder))


def pack(folder, target):
    """The same folder gives the same bytes."""
    target.parent.mkdir(parents=True, exist_ok=True)
    time = output("git", "-C", str(ROOT), "log", "-1", "--format=%ct").strip() if (ROOT / ".git").exists() else "0"
    part = target.with_name(target.name + ".part")
    packer = shutil.which("pigz") or "gzip"
    command = (f"tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@{time} -C '{folder.parent}' -cf - '{folder.name}'"
               f" | {packer} -n -6 > '{part}'")
    output("bash", "-c", f"set -o pipefail; {command}")
    os.replace(part, target)


def run(options):
    program = pathlib.Path(options.program).resolve()
    if not program.is_file():
        raise BundleError(f"there is no program {options.program}", "make build")
    plugins = sorted(pathlib.Path(options.plugins).glob("libflexor_*.so")) if options.plugins else []
    if options.plugins and not plugins:
        raise BundleError(f"no libflexor_*.so in {options.plugins}", "make plugins")
    if options.stage:
        folder = pathlib.Path(options.stage).absolute()
        if folder.exists():
            raise BundleError(f"{folder} is there already", "name a folder that is not")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as work:  # nothing half-way stays
            stage(program, pathlib.Path(work) / folder.name, plugins, options.links)
            (pathlib.Path(work) / folder.name).rename(folder)
        return
    with tempfile.TemporaryDirectory(prefix="flexor-bundle-", dir=program.parent) as work:
        folder = pathlib.Path(work) / "flexor"
        version, count = stage(program, folder, plugins, False)
        folder = folder.rename(folder.with_name(f"flexor-{version}-linux-{platform.machine()}"))
        write_sums(folder)
        target = pathlib.Path(options.out or ROOT / "out" / f"{folder.name}.tar.gz")
        pack(folder, target)
        unpacked = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"{target}: {target.stat().st_size / 1e6:.0f} MB, {unpacked / 1e6:.0f} MB unpacked, {count} libraries and {len(plugins)} back ends")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="build/flexor")
    parser.add_argument("--out", help="the tar")
    parser.add_argument("--plugins", help="folder of libflexor_*.so that go into lib/")
    parser.add_argument("--stage", help="make this folder instead of a tar")
    parser.add_argument("--links", action="store_true", help="with --stage: link to LibTorch and Arrow where they are")
    options = parser.parse_args()
    if options.links and not options.stage:
        parser.error("--links is of --stage: a tar holds its libraries")
    if options.out and options.stage:
        parser.error("--out and --stage: one of both")
    try:
        run(options)
    except BundleError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
