// SPDX-License-Identifier: Apache-2.0
#define CONFIG_ESP_DEFAULT_CPU_FREQ_MHZ 240
#define CONFIG_IDF_TARGET "esp32s3"
