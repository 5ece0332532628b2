// SPDX-License-Identifier: Apache-2.0
//
// What bare/cxx_library.cc leaves over: std::string, of which there are only the headers.
#include <string>

template class std::basic_string<char>;
