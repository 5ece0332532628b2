#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes wrappers that send every call of a function of fovea.h through fovea_test::call (see tests/support/heap_trap.h),
and let it ignore a field (see tests/support/mutation.h): wrap_calls.py fovea.h wrappers.cc wrappers.options

The first file that it writes defines __wrap_<function> for each, the second has the linker's options that turn calls of
<function> to it, and __real_<function> to the library's.
"""
import re
import sys

import interface


def structures(declared):
    """The fields of each structure, as Structure of tests/support/mutation.h."""
    code = [f"extern const Structure k_{name};\n"
            f"template <>\nstruct StructureOf<{name}> {{\n  static constexpr const Structure* kValue = &k_{name};\n}};"
            for name in declared.structures]
    for name, fields in declared.structures.items():
        if not fields:
            code.append(f'const Structure k_{name} = {{"{name}", sizeof({name}), nullptr, 0}};')
            continue
        made = "".join(f"    struct_bytes<{name}>(),\n" if field == "struct_bytes" else
                       f'    field<decltype({name}::{field})>("{field}", offsetof({name}, {field})),\n' for field in fields)
        code.append(f"const Field k_fields_of_{name}[] = {{\n{made}}};\n"
                    f'const Structure k_{name} = {{"{name}", sizeof({name}), k_fields_of_{name}, {len(fields)}}};')
    return code


def parameter(declared, function, one):
    """As Parameter of tests/support/mutation.h. Images of states have the fields of states."""
    kind = f"decltype({one.name})"
    state = next((other.type for other in function.parameters if (other.type or "").endswith("_state")), None)
    if one.name == "image" and state:
        kind = f"{'const ' if 'const' in one.declaration else ''}{state}*"
    use = "kRead" if "const" in one.declaration else "kReadAndWritten"
    makes = re.search("_(begin|export|import|init|make)$", function.name)
    if makes and use != "kRead" and "struct_bytes" not in declared.structures.get(one.type, []):
        use = "kWritten"
    return f'{{field<{kind}>("{one.name}", 0), &{one.name}, Use::{use}}}'


def wrapper(declared, function):
    parameters = ", ".join(one.declaration for one in function.parameters) or "void"
    passed = ", ".join([f'"{function.name}"', f"__real_{function.name}"] + [one.name for one in function.parameters])
    described = ", ".join(parameter(declared, function, one) for one in function.parameters)
    return [f"{function.result} __real_{function.name}({parameters});", f"{function.result} __wrap_{function.name}({parameters});",
            f"{function.result} __wrap_{function.name}({parameters}) {{",
            f'  return call_ignoring("{function.name}", {{{described}}}, [&] {{ return call({passed}); }});', "}"]


def main():
    header, wrappers, options = sys.argv[1:]
    declared = interface.Interface(header)
    code = ["// Made by tests/scripts/wrap_calls.py.", '#include "support/mutation.h"', "", "namespace fovea_test {"]
    code += structures(declared)
    code += ["fovea_status status_of(const char* name) {"]
    code += [f'  if (std::strcmp(name, "{status}") == 0) return {status};' for status in declared.statuses]
    code += ["  return FOVEA_OK;", "}"]
    code += ["}  // namespace fovea_test", "", "using namespace fovea_test;", "", 'extern "C" {']
    code += [line for function in declared.functions for line in wrapper(declared, function)]
    with open(wrappers, "w") as file:
        file.write("\n".join(code + ["}", ""]))
    with open(options, "w") as file:
        file.writelines(f"-Wl,--wrap={function.name}\n" for function in declared.functions)


main()
