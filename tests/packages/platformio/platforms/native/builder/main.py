# SPDX-License-Identifier: Apache-2.0
"""Builds a program of this machine, as PlatformIO's own platform of the name does."""
from SCons.Script import AlwaysBuild, Default, DefaultEnvironment

environment = DefaultEnvironment()
environment.Replace(PROGNAME="program")
environment.Append(CXXFLAGS=["-std=gnu++11"])  # as platforms for boards do
program = environment.BuildProgram()
AlwaysBuild(environment.Alias("upload", program))
Default([program])
