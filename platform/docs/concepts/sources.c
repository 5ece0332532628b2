/* SPDX-License-Identifier: Apache-2.0 */
#include "concept.h"

/* The same keys from pages of a pool, and from a callback: the same bits. */
enum { PAGE = 64, PAGES = KEYS / PAGE };

static float pool_keys[PAGES][HEADS][PAGE][DIM], pool_values[PAGES][HEADS][PAGE][DIM];

static void fill_pool(const uint32_t table[PAGES]) {
  for (int page = 0; page < PAGES; ++page) {
    for (int head = 0; head < HEADS; ++head) {
      memcpy(pool_keys[table[page]][head], keys[head][page * PAGE], sizeof pool_keys[0][0]);
      memcpy(pool_values[table[page]][head], values[head][page * PAGE], sizeof pool_values[0][0]);
    }
  }
}

//! [callback]
static int start(void* self, const fovea_kv_tile* tile) {
  (void)self;  // for example a driver, which begins a transfer here and waits for it in finish
  memcpy(tile->keys, keys[tile->kv_head][tile->first], tile->count * sizeof keys[0][0]);
  memcpy(tile->values, values[tile->kv_head][tile->first], tile->count * sizeof values[0][0]);
  return 0;
}
//! [callback]

static void attend(const fovea_attention_desc* desc, const fovea_attention_args* args) {
  fovea_attention_plan plan;
  check(fovea_attention_plan_init(&plan, desc));
  memset(out, 0, sizeof out);
  check(fovea_attention(&plan, args, workspace, sizeof workspace));
}

int main(void) {
  fovea_attention_desc desc = description();
  answer(&desc);
  fovea_attention_args args = arguments(out);

  //! [pages]
  const uint32_t table[PAGES] = {2, 0, 3, 1};  // token j is in page table[j / PAGE] of the pool
  fill_pool(table);
  desc.kv_kind = FOVEA_KV_PAGED;
  desc.page_tokens = PAGE;
  args.kv.keys = (fovea_in){pool_keys, HEADS * PAGE * DIM, PAGE * DIM, DIM};
  args.kv.values = (fovea_in){pool_values, HEADS * PAGE * DIM, PAGE * DIM, DIM};
  args.kv.page_table = table;
  args.kv.pages = PAGES;
  attend(&desc, &args);
  //! [pages]
  if (!same_bits()) return 1;

  //! [loader]
  const fovea_loader loader = {.start = start};
  desc.kv_kind = FOVEA_KV_LOAD;
  desc.page_tokens = 0;
  args.kv = (fovea_kv_source){.loader = &loader};
  attend(&desc, &args);
  //! [loader]
  return !same_bits();
}
