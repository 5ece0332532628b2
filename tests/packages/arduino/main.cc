// SPDX-License-Identifier: Apache-2.0
#include "Arduino.h"

SerialPort Serial;

int main() { setup(); }
