#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The exporter against PyTorch: test_export.py <libfovea.so> [--random COUNT] [--seed N] [model...]

Each model of models.py, operations.py and families.py becomes C, which the host's C compiler builds as C99 without a warning. Its
test compares the answers with PyTorch's, and those to other inputs are compared here. In addition: tensors take at most 1.1 of the
bytes that live at once; the code neither allocates nor has a static constructor; an export takes at most 20 s; an encoder gives
the bits of a sequence of calls by hand, whose time is printed next to its own; and an operator that is not served is refused by
name, with the line of the model; and each mistake of a user in messages.py gets its message. Calls that are made wrong on purpose
are found. Files of ONNX in onnx_cases.py are compared with onnxruntime, where it is installed. --random tries that many random
graphs instead: each must be equal, or refused by name.
"""
import argparse
import concurrent.futures
import contextlib
import importlib.util
import io
import multiprocessing
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[5]
SKIPPED = 77
try:
    import torch
    import torchvision  # noqa: F401
    import transformers  # noqa: F401
except ImportError as error:
    print(f"skipped: {error}: pip install torch torchvision transformers")
    sys.exit(SKIPPED)
sys.path.insert(0, str(ROOT / "platform" / "packages" / "python"))

C99 = "-std=c99 -O1 -Wall -Wextra -Wpedantic -Wshadow -Werror".split()
LEAST_SECONDS = 20


def run(command, folder):
    done = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{command[0]}: {(done.stdout + done.stderr)[-1500:]}")
    return done.stdout


def build(folder, library):
    """Compiles the folder's C files and links its test with the library. Returns the test."""
    for source in sorted(folder.glob("*.c")):
        warnings = ["-Wconversion"] if source.name != "by_hand.c" else []  # what a person writes
        run(["cc", *C99, *warnings, f"-I{ROOT / 'lib' / 'include'}", "-c", source.name], folder)
    run(["cc", *[path.name for path in folder.glob("*.o")], library, f"-Wl,-rpath,{library.parent}", "-lm", "-o", "run"], folder)
    return folder / "run"


def check_objects(folder):
    from fovea.exporter import loops
    needed = run(["nm", "-u", "model.o"], folder)
    known = {"memcpy", "memset", "memmove", "model_weights", *loops.functions()}
    for name in re.findall(r"\bU (\w+)", needed):
        assert name.startswith("fovea_") or name in known, f"model.c needs {name}"
    assert ".init_array" not in run(["objdump", "-h", "model.o"], folder), "model.c has a static constructor"


def export_and_run(make, library, folder, **options):
    """Returns the report and the seconds that the export took."""
    import fovea.export
    from fovea.exporter import project
    module, inputs = make()
    kept, write = [], project.write
    begin = time.process_time()  # of processors: others may use them, too
    with mock.patch.object(project, "write", lambda exported, *rest: (kept.append(exported), write(exported, *rest))):
        report = fovea.export(module, inputs, out=folder, **options)
    seconds = time.process_time() - begin
    if not options:
        check_others(module, inputs, kept[0])
    test = build(pathlib.Path(folder), library)
    check_objects(pathlib.Path(folder))
    print("   ", run([test], folder).strip())
    assert report.arena_bytes <= 1.1 * report.arena_bound, f"arena {report.arena_bytes} of {report.arena_bound}"
    return report, seconds


def check_others(module, inputs, exported):
    """The same calls answer other inputs as PyTorch does: no number of the example is in them."""
    compare(module, [
        torch.randn_like(one) if one.is_floating_point() else one.flip(0 if one.dtype == torch.bool else -1) for one in inputs
    ], exported)


def compare(module, others, exported, given=None, limit=1e-5):
    """given: what the calls get in the place of the module's inputs."""
    from fovea.exporter.pipeline import difference
    from fovea.exporter.run import Runner
    torch.backends.mha.set_fastpath_enabled(False)  # which gives zeros for tokens of padding
    with torch.no_grad():
        wanted = [one for one in torch.utils._pytree.tree_leaves(module(*others)) if isinstance(one, torch.Tensor)]
    runner = Runner(exported.calls, exported.plans, exported.arena_bytes, exported.graph.inputs)
    runner.run([one.numpy() for one in given or others])
    error = max(difference(runner.tensor(tensor), one.float().numpy()) for tensor, one in zip(exported.graph.outputs, wanted))
    assert error <= limit, f"other inputs differ by {error}"


def check_model(name, library, folder):
    import models
    report, seconds = export_and_run(lambda: models.make(name, every()), library, folder)
    calls = ", ".join(f"{count} {call}" for call, count in report.calls.items())
    fused = ", ".join(f"{count} {pattern}" for pattern, count in report.fused.items())
    print(f"    {report.nodes} operations, {seconds:.1f} s: {calls}; fused: {fused or 'nothing'}; "
          f"arena {report.arena_bytes}, bound {report.arena_bound}; weights {report.weight_bytes}")
    assert seconds < LEAST_SECONDS, f"the export took {seconds:.0f} s"


def every():
    """All models by their names."""
    import families
    import models
    import operations
    return {**models.MODELS, **operations.MODELS, **families.FAMILIES}


def unserved():
    import families
    import models
    return {**models.UNSERVED, **families.REFUSED}


def check_refused(name, folder):
    """The message must name the operator and the line of the model's file that has it."""
    import models
    import fovea.export
    module, inputs = models.make(name, unserved())
    try:
        fovea.export(module, inputs, out=folder)
    except fovea.export.NotServed as refused:
        print("   ", refused)
        text = str(refused)
        assert refused.name in text and refused.line in text, "the message lacks the operator or its line"
        assert name in text, f"{name} is not what was refused"
        assert re.search(r"(models|families|modeling_\w+)\.py.*\d+|the module itself, \w+",
                         refused.line), f"no line of the model: {refused.line}"
        assert refused.replacement, "nothing is said of what could replace it"
        assert not list(pathlib.Path(folder).glob("*.c")), "files were written"
        return
    raise AssertionError("an operator that is not served was exported")


def check_by_hand(library, folder):
    """by_hand.c compares the bits with those of a sequence of calls that a person wrote, and prints both times."""
    import fovea.export
    import models
    module, inputs = models.make("encoder, norm first")
    fovea.export(module, inputs, out=folder, name="encoder")
    folder = pathlib.Path(folder)
    (folder / "encoder_test.c").unlink()
    shutil.copy(pathlib.Path(__file__).with_name("by_hand.c"), folder)
    print("   ", run([build(folder, library)], folder).strip())


def check_integers(library, folder):
    """Biases have the zero points of int8 inputs: with them in the call, half the instructions on a Cortex-M4F are sums."""
    import models
    _, inputs = models.make("keywords")
    samples = [tuple(torch.randn_like(one) for one in inputs) for _ in range(8)]
    report, _ = export_and_run(lambda: models.make("keywords"), library, folder, arithmetic="integer", calibrate=samples)
    calls = re.findall(r"fovea_linear_args args = \{.*?\};", (pathlib.Path(folder) / "model.c").read_text(), re.DOTALL)
    assert len(calls) == report.calls["fovea_linear"], f"{len(calls)} linear layers"
    assert not any(".x_zero_point" in call for call in calls), "a linear layer has a zero point"
    assert report.error < 0.05, f"error {report.error}"
    for name in ("keywords", "DeiT"):
        module, inputs = models.make(name, every())
        samples = [tuple(map(torch.randn_like, inputs)) for _ in range(32)]
        report, _ = export_and_run(lambda: (module, inputs), library, folder, arithmetic="integer", calibrate=samples, min_snr=28)
        print(f"    {name}: {report.snr:.1f} dB, {'; '.join(report.taken)}")
        assert report.snr >= 28 and report.error < 0.1, f"{name}: {report.snr:.1f} dB, error {report.error}"


def check_lengths(library, folder):
    """Lengths in the place of masks; and C refuses those that there are not."""
    import families
    import values
    values.check_lengths(folder, compare)
    pooled = values.Function(lambda x, m: (x * m[..., None]).sum(1) / m.sum(1, keepdim=True))
    export_and_run(lambda: (pooled, (torch.randn(2, 16, 8), families.mask())), library, folder, lengths=["inputs_1"])
    test = pathlib.Path(folder) / "model_test.c"
    good = test.read_text()
    for lengths, said in [("{1, 16}", "differs by"), ("{0, 16}", "a length or offset"), ("{16, 17}", "a length or offset")]:
        test.write_text(good.replace("model_test_data.given_inputs_1_lengths", f"(const uint32_t[]){lengths}"))
        try:
            run([build(pathlib.Path(folder), library)], folder)
            raise AssertionError(f"lengths {lengths} have the answers of others")
        except AssertionError as error:
            assert said in str(error), error


def check_wrong(folder):
    """Calls that compute something else are an error that says where it begins, and no file is written."""
    import fovea.export
    import models
    from fovea.exporter import arena, lower
    lifetimes = arena.lifetimes
    first = mock.patch.object(lower.Lowering, "mul", lambda self, node: self.pair(node, "fovea_add"))
    memory = mock.patch.object(
        arena, "lifetimes", lambda calls: {one: (0, 0) if one.count == 32 else life for one, life in lifetimes(calls).items()})
    for fault, options, words in [(first, {}, r"first in add \(rsub\), at models\.py:\d+"), (first, {"weights": "i8"}, "first in add"),
                                  (memory, {}, "first in mul")]:
        module, inputs = models.make("numbers")
        try:
            with fault:
                fovea.export(module, inputs, out=folder, **options)
            raise AssertionError(f"{words}: was exported")
        except RuntimeError as error:
            assert re.search(words, str(error)), f"{words}: {error}"
        assert not list(pathlib.Path(folder).iterdir()), "files were written"
    module, (x, shown) = models.make("attention, masks of two numbers")
    try:
        fovea.export(module, (x, shown.flip(1)), out=folder)  # the first keys of padding see themselves alone
        raise AssertionError("queries that see no key have answers")
    except ValueError as error:
        assert "hides all keys from a query" in str(error), error


def check_onnx(folder):
    """With onnxruntime where it is installed, and without it."""
    try:
        import onnx  # noqa: F401
        import onnx_cases
    except ImportError as error:
        print(f"    skipped: {error}: pip install onnx onnxruntime")
        return
    onnx_cases.check(folder)
    if importlib.util.find_spec("onnxruntime"):  # whose operators onnx does not know
        onnx_cases.check(folder, onnx_cases.MICROSOFT)
        onnx_cases.check_own(folder)
    with mock.patch.dict(sys.modules, onnxruntime=None):
        onnx_cases.check(folder)
        onnx_cases.check_all_covered(folder)


def check_random(seed, library, folder):
    import fovea.export
    import random_graphs
    torch.manual_seed(seed)
    try:
        export_and_run(lambda: random_graphs.make(seed), library, folder)
    except fovea.export.NotServed as refused:
        assert refused.name and refused.replacement, "refused without a name"
        print("    refused:", refused)


CHECKS = []  # (name, function of a folder): processes that are forked have them


def checked(index):
    """What a check prints, and its error."""
    torch.set_num_threads(1)
    said = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(said):
        try:
            CHECKS[index][1](folder)
        except Exception as error:  # the others run, too
            return said.getvalue(), f"{type(error).__name__}: {error}"
    return said.getvalue(), None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--random", type=int, default=0, metavar="COUNT")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    library = arguments.library.resolve()
    os.environ["FOVEA_LIBRARY"] = str(library)
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
    import int8
    import messages
    import values
    checks = [(name, lambda folder, name=name: check_model(name, library, folder))
              for name in arguments.models or ([] if arguments.random else every())]
    if not arguments.models and not arguments.random:
        checks += [(name, lambda folder, name=name: check_refused(name, folder)) for name in unserved()]
        checks.append(("wrong calls", check_wrong))
        checks.append(("ONNX", check_onnx))
        checks.append(("int8 tensors", lambda folder: check_integers(library, folder)))
        checks.append(("messages", messages.check))
        checks.append(("values", lambda folder: values.check(folder, compare)))
        checks.append(("layers that are kept", values.check_kept))
        checks.append(("lengths", lambda folder: check_lengths(library, folder)))
        checks.append(("calibration", int8.check))
        checks.append(("encoder by hand", lambda folder: check_by_hand(library, folder)))
    checks += [(f"random graph {seed}", lambda folder, seed=seed: check_random(seed, library, folder))
               for seed in range(arguments.seed, arguments.seed + arguments.random)]
    failed = []
    CHECKS.extend(checks)
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("fork")) as pool:
        for (name, _), (said, error) in zip(checks, pool.map(checked, range(len(checks)))):
            print(name, said, sep="\n", end="", flush=True)
            if error:
                failed.append(name)
                print(f"    failed: {error}", flush=True)
    print(f"{len(checks)} models, failed: {len(failed)} {failed or ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
