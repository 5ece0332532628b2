// SPDX-License-Identifier: Apache-2.0
//
// std::string, of which the toolchain has only the headers. bare/cxx_library.cc has the rest.
#include <string>

template class std::basic_string<char>;
