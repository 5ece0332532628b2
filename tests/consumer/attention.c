/* SPDX-License-Identifier: Apache-2.0
 *
 * Needs the operator attention. */
#include <fovea/fovea.h>

int main(void) { return fovea_attention(0, 0, 0, 0) == FOVEA_OK; }
