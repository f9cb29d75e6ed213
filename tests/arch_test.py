#!/usr/bin/env python3
"""Rules of the house that the compiler does not know: which area may include which, and where costly headers may stand.

Usage: arch_test.py [SOURCE_ROOT]; prints every breach as file:line and exits with 1 if there is any. With --self-test it
runs on small made-up trees, each with one breach, and checks that the breach is found.
"""
import pathlib
import re
import sys
import tempfile

# Area -> the areas it names; it may also use whatever those use. Lowest first (docs/architecture.md has the picture).
AREAS = {
    "base": [],
    "config": ["base"],
    "media": ["base"],
    "table": ["base"],
    "tensor": ["base"],
    "device": ["tensor"],
    "dist": ["config", "device"],
    "schema": ["config", "device"],
    "data": ["schema", "media", "table", "dist"],
    "nn": ["device"],
    "models": ["nn", "schema"],
    "optim": ["nn", "dist", "config"],
    "train": ["data", "models", "optim"],
    "policy": ["data", "models"],
    "recap": ["train", "policy", "report"],
    "eval": ["policy"],
    "serve": ["policy"],
    "align": ["train", "policy"],
    "perf": ["train", "policy"],
    "report": ["config"],
    "curate": ["data", "report"],  # apart from data: training needs none of it
    "cli": ["recap", "eval", "serve", "align", "perf", "curate", "report", "train"],
    "testing": ["nn", "data"],  # linked by tests only
}

# Costly headers and the one place each may stand in: (what, pattern of the include, pattern of the allowed path).
FENCES = [
    ("LibTorch's catch-all header", r"<(torch/torch\.h|torch/all\.h|torch/extension\.h|ATen/ATen\.h)>", r"(?!)"),
    ("torch/nn", r"<torch/nn", r"(?!)"),
    ("Arrow", r"<(arrow|parquet)/", r"table/[^/]*\.cpp|table/arrow_\w+\.h"),
    ("FFmpeg", r"<lib(av|sw)\w+/", r"media/[^/]*\.cpp"),
    ("nlohmann JSON", r"<nlohmann/", r"base/[^/]*\.cpp"),
    ("spdlog", r"<spdlog/", r"base/[^/]*\.cpp"),
    ("yaml-cpp", r"<yaml-cpp/", r"config/[^/]*\.cpp"),
    ("CLI11", r"<CLI/", r"config/[^/]*\.cpp"),
    ("SentencePiece", r"<sentencepiece", r"data/[^/]*\.cpp"),
    ("LibTorch in a header beyond its light core", r"<(torch|caffe2|c10/(?!core/|util/)|ATen/(?!core/(Tensor|Generator)\.h))",
     r".*\.cpp|tensor/tensor\.h|dist/\w+_c10d\.h"),
    ("standard <format>, which GCC 12 lacks", r"<format>", r"(?!)"),
]

# Headers that only their own area may include.
PRIVATE = re.compile(r"table/arrow_\w+\.h|dist/\w+_c10d\.h")

INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"(?P<own>[^"]+)"|(?P<system><[^>]+>))')


def closure(area):
    """The area and all it may use."""
    seen, todo = set(), [area]
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += AREAS[name]
    return seen


def check_includes(source_root):
    for path in sorted(source_root.rglob("*")):
        if path.suffix not in (".h", ".cpp"):
            continue
        relative = path.relative_to(source_root).as_posix()
        area = relative.split("/")[0]
        if area not in AREAS:
            yield f"src/{relative}:1: no area is called '{area}'"
            continue
        allowed = closure(area)
        for_tests = relative.endswith(("_test.cpp", "_fixture.h"))
        if for_tests:
            allowed = allowed | closure("testing")
        lines = path.read_text(encoding="utf-8").splitlines()
        if path.suffix == ".h" and "#pragma once" not in lines:
            yield f"src/{relative}:1: a header without #pragma once"
        for number, line in enumerate(lines, 1):
            found = INCLUDE.match(line)
            if not found:
                continue
            place = f"src/{relative}:{number}"
            if found["own"]:
                target = found["own"].split("/")[0]
                if "/" not in found["own"]:
                    yield f'{place}: write includes relative to src/: "{area}/{found["own"]}"'
                elif target not in AREAS:
                    yield f"{place}: no area is called '{target}'"
                elif target not in allowed:
                    yield f"{place}: {area}/ may not use {target}/, only {', '.join(a for a in AREAS if a in allowed)}"
                elif found["own"].endswith("_fixture.h") and not for_tests:
                    yield f'{place}: "{found["own"]}" is for tests only'
                elif PRIVATE.fullmatch(found["own"]) and target != area:
                    yield f'{place}: "{found["own"]}" is for {target}/ only'
                elif not (source_root / found["own"]).exists():
                    yield f'{place}: no such file: src/{found["own"]}'
            else:
                for what, pattern, where in FENCES:
                    if re.match(pattern, found["system"]) and not re.fullmatch(where, relative):
                        yield f"{place}: {what} may not stand here: {found['system']}"


def check_cmake(source_root):
    """src/CMakeLists.txt adds the areas in the order of the table and links no more than the table allows."""
    cmake = source_root / "CMakeLists.txt"
    order = list(AREAS)
    added = []
    for number, line in enumerate(cmake.read_text(encoding="utf-8").splitlines(), 1):
        found = re.match(r"\s*flexor_area\((\w+)(.*)\)", line)
        if not found:
            continue
        area, rest = found[1], found[2]
        place = f"src/CMakeLists.txt:{number}"
        if area not in AREAS:
            yield f"{place}: no area is called '{area}'"
            continue
        for used in re.findall(r"\bflexor_(\w+)", rest):
            if used in ("torch", "arrow"):
                continue
            if used not in closure(area) or used == area:
                yield f"{place}: {area} may not use {used}"
            elif used not in added:
                yield f"{place}: {area} uses {used}, which is not added above it"
        added.append(area)
    for area in sorted(p.name for p in source_root.iterdir() if p.is_dir()):
        if area not in added:
            yield f"src/CMakeLists.txt:1: the folder src/{area} is no area"
    for area in added:
        late = [a for a in added[added.index(area) + 1:] if a in closure(area)]
        if area in order and late:
            yield f"src/CMakeLists.txt:1: {area} stands above {', '.join(late)}, which it may use"


def check_picture(source_root):
    """docs/architecture.md has a row for every folder, and none for others."""
    picture = source_root.parent / "docs" / "architecture.md"
    if not picture.exists():
        return
    rows = {found[1]: number for number, line in enumerate(picture.read_text(encoding="utf-8").splitlines(), 1)
            if (found := re.match(r"\| `(\w+)` \|", line))}
    folders = {p.name for p in source_root.iterdir() if p.is_dir()}
    for area in sorted(folders - rows.keys()):
        yield f"docs/architecture.md:1: no row for the area {area}"
    for area in sorted(rows.keys() - folders):
        yield f"docs/architecture.md:{rows[area]}: there is no area {area}"


def breaches(source_root):
    return [*check_includes(source_root), *check_cmake(source_root), *check_picture(source_root)]


SELF_TESTS = [  # (file, content, expected text of the breach; None for a clean tree)
    ("base/text.cpp", "#include <string>\n", None),
    ("nn/block.cpp", '#include "tensor/shape.h"\n', None),
    ("base/text.cpp", '#include "tensor/shape.h"\n', "src/base/text.cpp:1: base/ may not use tensor/"),
    ("nn/block.cpp", '\n#include "tensor/missing.h"\n', "src/nn/block.cpp:2: no such file"),
    ("nn/block.cpp", '#include "block.h"\n', "src/nn/block.cpp:1: write includes relative to src/"),
    ("nn/block.cpp", "#include <torch/torch.h>\n", "src/nn/block.cpp:1: LibTorch's catch-all header"),
    ("nn/block.cpp", "#  include <ATen/ATen.h>\n", "src/nn/block.cpp:1: LibTorch's catch-all header"),
    ("nn/block.h", "#pragma once\n#include <ATen/ops/mm.h>\n", "src/nn/block.h:2: LibTorch in a header beyond"),
    ("nn/block.h", "#include <vector>\n", "src/nn/block.h:1: a header without #pragma once"),
    ("nn/block.cpp", "#include <arrow/api.h>\n", "src/nn/block.cpp:1: Arrow may not stand here"),
    ("table/arrow_values.h", "#pragma once\n#include <arrow/api.h>\n", "src/CMakeLists.txt:1: the folder src/table is no area"),
    ("table/values.h", "#pragma once\n#include <arrow/api.h>\n", "src/table/values.h:2: Arrow may not stand here"),
    ("data/x.cpp", '#include "table/arrow_values.h"\n', 'src/data/x.cpp:1: "table/arrow_values.h" is for table/ only'),
    ("nn/block.cpp", '#include "nn/golden_fixture.h"\n', 'src/nn/block.cpp:1: "nn/golden_fixture.h" is for tests only'),
    ("other/block.cpp", "", "src/other/block.cpp:1: no area is called 'other'"),
    ("CMakeLists.txt", "flexor_area(tensor USES flexor_base)\nflexor_area(base)\nflexor_area(nn USES flexor_tensor)\n",
     "src/CMakeLists.txt:1: tensor uses base, which is not added above it"),
    ("CMakeLists.txt", "flexor_area(base)\nflexor_area(tensor USES flexor_base flexor_nn)\nflexor_area(nn)\n",
     "src/CMakeLists.txt:2: tensor may not use nn"),
    ("../docs/architecture.md", "| `base` | x |\n| `nn` | x |\n| `tensor` | x |\n", None),
    ("../docs/architecture.md", "| `base` | x |\n| `nn` | x |\n", "docs/architecture.md:1: no row for the area tensor"),
    ("../docs/architecture.md", "| `base` | x |\n| `old` | x |\n| `nn` | x |\n| `tensor` | x |\n",
     "docs/architecture.md:2: there is no area old"),
]


def self_test():
    failures = 0
    for name, content, expected in SELF_TESTS:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder) / "src"
            files = {"tensor/shape.h": "#pragma once\n", "base/file.h": "#pragma once\n", "nn/x.h": "#pragma once\n",
                     "CMakeLists.txt": "flexor_area(base)\nflexor_area(tensor USES flexor_base flexor_torch)\n"
                                       "flexor_area(nn TENSOR USES flexor_tensor)\n", name: content}
            for path, text in files.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text, encoding="utf-8")
            found = breaches(root)
            if (not found) if expected is None else any(b.startswith(expected) for b in found):
                continue
            failures += 1
            print(f"self-test {name!r} {content!r}: expected {expected!r}, found {found}")
    print(f"{len(SELF_TESTS) - failures} passed, {failures} failed")
    return 1 if failures else 0


def main():
    arguments = sys.argv[1:]
    if arguments == ["--self-test"]:
        return self_test()
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).resolve().parent.parent / "src"
    found = breaches(root)
    for breach in found:
        print(breach)
    print(f"{len(found)} breaches of the rules of src/")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
