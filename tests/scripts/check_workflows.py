#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the files that GitHub reads, .github/workflows and .github/ISSUE_TEMPLATE, against the tree; no other check reads them.

Workflows: keys that GitHub knows, jobs and steps that others name, matrix values, actions pinned by a commit, no text from outside
in a shell; and this tree has every script, command of ./run, preset, build folder and CMake option that a step names.
The table of CONTRIBUTING.md: ./run test has its rows `each change`, .ci/run its rows `a stage`, and pull requests run both.
Issue forms: the fields that a form needs. Usage: check_workflows.py [top of the tree]
"""

import json
import pathlib
import re
import shlex
import subprocess
import sys

try:
    import yaml
except ImportError:
    print("skipped: there is no PyYAML")
    sys.exit(77)

TOP = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
WORKFLOW_KEYS = {"name", "on", "permissions", "concurrency", "env", "defaults", "jobs"}
JOB_KEYS = {"name", "if", "needs", "runs-on", "container", "strategy", "permissions", "environment", "concurrency", "env",
            "timeout-minutes", "steps"}
STEP_KEYS = {"name", "id", "if", "uses", "with", "run", "env", "shell", "working-directory"}
FORM_ELEMENTS = {"markdown", "textarea", "input", "dropdown", "checkboxes"}
EXPRESSION = re.compile(r"\$\{\{ (.+?) \}\}")
PINNED = re.compile(r"uses: +([\w./-]+)@([0-9a-f]{40}) +# (v\d+\.\d+\.\d+)$")
SAFE_IN_SHELL = re.compile(r"matrix\.")  # anything else must go through env, so that the shell does not execute it

faults = []
place = ""


def expect(condition, text):
    if not condition:
        faults.append(f"{place}: {text}")


def presets():
    return {p["name"] for p in json.loads((TOP / "CMakePresets.json").read_text())["configurePresets"] if not p.get("hidden")}


def run_commands():
    text = (TOP / "run").read_text().split("\ncase $command in\n")[1]
    return {name for names in re.findall(r"^  ([\w| -]+)\)", text, re.M) for name in names.split(" | ")}


def cross_names():
    return set(subprocess.run([TOP / "run", "cross", "list"], check=True, capture_output=True, text=True).stdout.split())


def cmake_options():
    files = list(TOP.glob("CMakeLists.txt")) + [f for d in ("lib", "platform", "tests") for f in (TOP / d).rglob("CMakeLists.txt")]
    return set(re.findall(r"(?:option|set)\((FOVEA_\w+)", "".join(f.read_text() for f in files)))


def check_command(words):
    """One command of a shell, without its redirections."""
    script = words[1] if words[0] in ("bash", "python3", "sh") and len(words) > 1 else words[0]
    if "/" in script:
        expect((TOP / script).is_file(), f"there is no {script}")
    if words[0] == "./run":
        expect(len(words) > 1 and words[1] in run_commands(), f"./run has no command {words[1:2]}")
        if words[1] == "cross":
            expect(words[2] in cross_names(), f"./run cross knows no {words[2]}")
    for before, word in zip(words, words[1:]):
        if before == "--preset":
            expect(word in presets(), f"there is no preset {word}")
        if before in ("--build", "--test-dir"):
            expect(word.startswith("build/") and word[len("build/"):] in presets(), f"{word} is no preset's folder")
    for option in re.findall(r"-D(FOVEA_\w+)=", " ".join(words)):
        expect(option in cmake_options(), f"there is no CMake option {option}")


def check_run(text, matrix):
    for expression in EXPRESSION.findall(text):
        expect(SAFE_IN_SHELL.match(expression), f"${{{{ {expression} }}}} in a shell: pass it by env")
    variants = [text]
    for key, values in matrix.items():
        variants = [v.replace(f"${{{{ matrix.{key} }}}}", str(value)) for v in variants for value in values]
    for variant in dict.fromkeys(variants):
        subprocess.run(["bash", "-n", "-c", variant], check=True)
        for line in variant.replace("\\\n", " ").splitlines():
            for command in re.split(r"&&|\|\||;", line) if "'" not in line else [line]:
                words = shlex.split(command, comments=True)
                if words:
                    check_command(words)


def check_job(name, job, jobs):
    global place
    here = place = f"{place}, {name}"
    expect(set(job) <= JOB_KEYS, f"keys that GitHub does not know: {set(job) - JOB_KEYS}")
    for key in ("runs-on", "timeout-minutes", "steps"):
        expect(key in job, f"has no {key}")
    needs = job.get("needs", [])
    for other in [needs] if isinstance(needs, str) else needs:
        expect(other in jobs, f"needs {other}, which there is not")
    matrix = job.get("strategy", {}).get("matrix", {})
    ids = {step["id"] for step in job["steps"] if "id" in step}
    for expression in EXPRESSION.findall(json.dumps(job)):
        for key in re.findall(r"matrix\.([\w-]+)", expression):
            expect(key in matrix, f"matrix has no {key}")
        for key in re.findall(r"steps\.([\w-]+)", expression):
            expect(key in ids, f"no step has the id {key}")
    for number, step in enumerate(job["steps"], 1):
        place = f"{here}, step {number}"
        expect(set(step) <= STEP_KEYS, f"keys that GitHub does not know: {set(step) - STEP_KEYS}")
        expect(("run" in step) != ("uses" in step), "has not one of run and uses")
        if "run" in step:
            check_run(step["run"], matrix)


def check_workflow(file, pins):
    global place
    place = str(file.relative_to(TOP))
    text = file.read_text()
    workflow = yaml.safe_load(text)
    workflow["on"] = workflow.pop(True, None)  # YAML 1.1 takes the word for a truth value
    expect(set(workflow) <= WORKFLOW_KEYS, f"keys that GitHub does not know: {set(workflow) - WORKFLOW_KEYS}")
    for key in ("name", "on", "permissions", "jobs"):
        expect(workflow.get(key), f"has no {key}")
    for line in text.splitlines():
        if "uses:" in line:
            pinned = PINNED.search(line)
            expect(pinned, f"not pinned by a commit and its version: {line.strip()}")
            if pinned:
                expect(pins.setdefault(pinned[1], pinned[2]) == pinned[2], f"{pinned[1]} has two commits")
    for name, job in workflow["jobs"].items():
        place = str(file.relative_to(TOP))
        check_job(name, job, workflow["jobs"])


def check_form(file):
    global place
    place = str(file.relative_to(TOP))
    form = yaml.safe_load(file.read_text())
    if file.stem == "config":
        return
    for key in ("name", "description", "body"):
        expect(form.get(key), f"has no {key}")
    asked = [element for element in form["body"] if element["type"] != "markdown"]
    expect({element["type"] for element in form["body"]} <= FORM_ELEMENTS, "an element that GitHub does not know")
    expect(asked and all(element.get("id") and element["attributes"].get("label") for element in asked), "no id or label")
    expect(len({element["id"] for element in asked}) == len(asked), "two elements have the same id")


def table_of_promises():
    """The rows of CONTRIBUTING.md: what holds a promise, and when it runs."""
    section = (TOP / "CONTRIBUTING.md").read_text().split("\n## What holds what\n")[1].split("\n## ")[0]
    rows = [line.strip("| ").split("|") for line in section.splitlines() if line.startswith("| ")]
    return [(held_by.strip(), when.strip()) for _, held_by, when in rows[2:]]


def commands_of(workflow, selects):
    jobs = yaml.safe_load((TOP / ".github/workflows" / workflow).read_text())["jobs"].values()
    return {step["run"] for job in jobs if selects(job) for step in job["steps"] if "run" in step}


def check_stages():
    """The stages of the workflow ci are those of .ci/run, each once but for what others of a group need."""
    global place
    place = ".github/workflows/ci.yml, stages"
    job = yaml.safe_load((TOP / ".github/workflows/ci.yml").read_text())["jobs"]["stages"]
    named = [name for group in job["strategy"]["matrix"]["stages"] for name in shlex.split(group)]
    listed = subprocess.run(["bash", TOP / ".ci/run", "--list"], check=True, capture_output=True, text=True).stdout.splitlines()
    for name in listed:
        expect(name.endswith(" (by name)") or name in named, f"does not run {name}")
    text = (TOP / ".ci/run").read_text()
    for name in named:
        expect(name in listed or f'"{name}"' in text, f"there is no stage {name}")


def tests_of_each_change():
    """The names of the tests that ./run test runs; a name is cut before a variable."""
    lists = "".join((TOP / folder / "CMakeLists.txt").read_text() for folder in ("tests", "tests/onnx", "platform/docs"))
    names = re.findall(r"(?:add_test\(NAME|fovea_(?:script|numpy|c99)_test\(|add_cases\()\s*(\w+)", lists)
    slow = re.findall(r"set_tests_properties\(([\w ]+) PROPERTIES LABELS [^)]*slow", lists)
    return set(names) - set(" ".join(slow).split())


def check_promises():
    global place
    place = "CONTRIBUTING.md"
    each_change = set().union(*(commands_of(name, lambda job: "if" not in job) for name in ("ci.yml", "docs.yml")))
    weekly = commands_of("ci.yml", lambda job: "schedule" in job.get("if", ""))
    expect("./run test" in each_change, "no job of a pull request runs ./run test")
    check_stages()
    place = "CONTRIBUTING.md"
    expect("bash .ci/run" in weekly, "no weekly job runs .ci/run")
    tests, stages = tests_of_each_change(), (TOP / ".ci/run").read_text()
    for held_by, when in table_of_promises():
        place = f"CONTRIBUTING.md: {held_by}"
        names = [name for name in re.findall(r"`([^`]+)`", held_by) if not name.startswith("./run check")]
        for name in names:
            expect("/" not in name or (TOP / name.split()[0]).exists(), f"there is no {name}")
        if when == "each change":
            named = re.findall(r"`(\w+)\*?`", held_by.partition("ctest ")[2])
            expect(named and set(named) <= tests, f"./run test has not these tests: {named}")
            for name in names:
                expect(not name.startswith("./run") or name in each_change, f"no job of a pull request runs {name}")
        elif when == "a stage":
            for name in names:
                word = re.escape(pathlib.Path(name).name)
                expect(re.search(rf"[\s/]{word}\s", stages), f".ci/run does not run {name}")
        else:
            expect(when == "by hand", f"runs {when}, which is not known")


def main():
    pins = {}
    workflows = sorted((TOP / ".github/workflows").glob("*.yml"))
    forms = sorted((TOP / ".github/ISSUE_TEMPLATE").glob("*.yml"))
    for file in workflows:
        check_workflow(file, pins)
    for file in forms:
        check_form(file)
    check_promises()
    print("\n".join(faults) or f"{len(workflows)} workflows and {len(forms)} issue templates: as they should be")
    return 1 if faults or not workflows or not forms else 0


sys.exit(main())
