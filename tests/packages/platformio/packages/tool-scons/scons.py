# SPDX-License-Identifier: Apache-2.0
import SCons.Script

SCons.Script.main()
