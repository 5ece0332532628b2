/* SPDX-License-Identifier: Apache-2.0
 *
 * Macros that headers of platforms define, under names that others want: X11, windows.h, Arduino, Zephyr. The public
 * headers compile after them. */
#define Status int
#define Bool int
#define None 0L
#define Success 0
#define Always 2
#define near
#define far
#define small char
#define interface struct
#define ERROR 0
#define IN
#define OUT
#define OPTIONAL
#define VOID void
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define abs(x) ((x) > 0 ? (x) : -(x))
#define round(x) ((long)(x))
#define F(text) (text)
#define B0 0
#define B1 1
#define PI 3.14
#define bit(b) (1UL << (b))
#define DEFAULT 1
#define INTERNAL 3
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define BIT(n) (1UL << (n))
