// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#if defined(_WIN32)
#include <windows.h>
#define FOVEA_POSIX_CONSOLE 0
#elif __has_include(<sys/ioctl.h>) && __has_include(<unistd.h>)
#include <sys/ioctl.h>
#include <unistd.h>
#define FOVEA_POSIX_CONSOLE 1
#else
#define FOVEA_POSIX_CONSOLE 0
#endif

#include "platform/platform.h"

namespace fovea::platform {
namespace {

// The variable's text; "" if it is not set.
const char* variable(const char* name) {
  const char* text = std::getenv(name);
  return text ? text : "";
}

#if !defined(_WIN32)
bool locale_allows_utf8() {
  const char* locale = "";
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {  // POSIX: the first that is set and not empty
    locale = variable(name);
    if (*locale) break;
  }
  return !*locale || std::strstr(locale, "UTF-8") || std::strstr(locale, "utf8") || std::strstr(locale, "UTF8") ||
         std::strstr(locale, "utf-8");
}
#endif

}  // namespace

#if defined(_WIN32)

Console console() {
  Console facts = {false, false, GetConsoleOutputCP() == CP_UTF8, 80};
  const HANDLE out = GetStdHandle(STD_OUTPUT_HANDLE);
  DWORD mode = 0;
  facts.terminal = GetConsoleMode(out, &mode) != 0;
  CONSOLE_SCREEN_BUFFER_INFO info;
  if (facts.terminal && GetConsoleScreenBufferInfo(out, &info)) {
    facts.columns = static_cast<unsigned>(info.srWindow.Right - info.srWindow.Left + 1);
  }
  facts.colours =
      facts.terminal && !*variable("NO_COLOR") && SetConsoleMode(out, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING) != 0;
  return facts;
}

#else

Console console() {
  Console facts = {false, false, locale_allows_utf8(), 80};
#if FOVEA_POSIX_CONSOLE
  facts.terminal = isatty(STDOUT_FILENO) != 0;
  winsize size = {};
  if (facts.terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col) facts.columns = size.ws_col;
#endif
  const char* term = variable("TERM");
  facts.colours = facts.terminal && *term && std::strcmp(term, "dumb") != 0 && !*variable("NO_COLOR");
  return facts;
}

#endif

}  // namespace fovea::platform
