// SPDX-License-Identifier: Apache-2.0
//
// As much of Arduino as the examples use, on a machine with stdio.
#pragma once

#include <cstdio>

struct SerialPort {
  void begin(unsigned long) {}
  void print(const char* text) { std::printf("%s", text); }
  void print(double number, int digits) { std::printf("%.*f", digits, number); }
  void println(const char* text) { std::printf("%s\n", text); }
  void println(double number, int digits) { std::printf("%.*f\n", digits, number); }
};
extern SerialPort Serial;

void setup();
void loop();
