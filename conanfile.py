# SPDX-License-Identifier: Apache-2.0
"""The recipe for Conan 2: see platform/packages/conan."""
import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir

# The headers that a backend compiles its kernels with.
HEADERS = {"highway": ("highway/1.2.0", "hwy"), "xsimd": ("xsimd/13.0.0", "xsimd")}


class Fovea(ConanFile):
    name = "fovea"
    description = "Attention on small machines, without a heap"
    license = "Apache-2.0"
    topics = ("attention", "transformer", "softmax", "simd", "embedded")
    package_type = "library"
    implements = ["auto_shared_fpic"]
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "simd": ["auto", "helium", "highway", "neon", "rvv", "scalar", "xsimd"],
               "operators": ["ANY"]}
    default_options = {"shared": False, "fPIC": True, "simd": "auto", "operators": ""}
    exports_sources = "CMakeLists.txt", "LICENSE", "lib/*"
    test_package_folder = "platform/packages/conan/test_package"

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "lib", "include", "fovea", "base.h"))
        self.version = re.search(r'^#define FOVEA_VERSION_TEXT "(.*?)"', header, flags=re.M)[1]

    def _backend(self):
        """FOVEA_SIMD of lib/cmake/backend.cmake; on Arm the backend that needs no other package."""
        arch = str(self.settings.arch)
        if self.options.simd != "auto":
            return str(self.options.simd)
        if arch.startswith("x86") or arch == "wasm":
            return "highway"
        return "neon" if arch.startswith("armv8") else "auto"

    def requirements(self):
        if self._backend() in HEADERS:
            self.requires(HEADERS[self._backend()][0], visible=False, libs=False)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["FOVEA_SIMD"] = self._backend()
        toolchain.cache_variables["FOVEA_OPERATORS"] = str(self.options.operators).replace(",", ";")
        toolchain.cache_variables["FOVEA_INSTALL"] = True
        for name in ("TESTS", "BENCH", "EXAMPLES"):
            toolchain.cache_variables[f"FOVEA_BUILD_{name}"] = False
        # Neither the machine's headers nor a download: Conan's packages alone.
        toolchain.cache_variables["FETCHCONTENT_FULLY_DISCONNECTED"] = True
        if self._backend() in HEADERS:
            reference, folder = HEADERS[self._backend()]
            package = self.dependencies[reference.split("/")[0]]
            toolchain.cache_variables[f"FOVEA_{folder}_INCLUDE_DIR"] = package.cpp_info.includedirs[0]
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        rmdir(self, os.path.join(self.package_folder, "lib", "cmake"))
        rmdir(self, os.path.join(self.package_folder, "lib", "pkgconfig"))
        rmdir(self, os.path.join(self.package_folder, "share"))

    def package_info(self):
        self.cpp_info.libs = ["fovea"]
        self.cpp_info.set_property("cmake_file_name", "fovea")
        self.cpp_info.set_property("cmake_target_name", "fovea::fovea")
        self.cpp_info.set_property("pkg_config_name", "fovea")
