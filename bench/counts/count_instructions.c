// SPDX-License-Identifier: Apache-2.0
//
// A plugin for QEMU (API version 1, QEMU 4.2 and later) that counts how often each instruction of a program runs:
//   cc -O2 -shared -fPIC count_instructions.c -o count_instructions.so
//   qemu-aarch64 -plugin ./count_instructions.so,out=counts.txt program
// The file has a line for each address: "<address in hex> <count>". The declarations below are the part of QEMU's
// interface that is used, docs/devel/tcg-plugins.rst: Debian does not ship its header.
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PUBLIC __attribute__((visibility("default")))

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_info;
enum { kInlineAdd = 0 };  // QEMU_PLUGIN_INLINE_ADD_U64

extern void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*translated)(uint64_t id, struct qemu_plugin_tb*));
extern void qemu_plugin_register_atexit_cb(uint64_t id, void (*at_exit)(uint64_t id, void* user), void* user);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb*);
extern struct qemu_plugin_insn* qemu_plugin_tb_get_insn(const struct qemu_plugin_tb*, size_t index);
extern uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn*);
extern void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn*, int operation, void* counter,
                                                       uint64_t operand);

PUBLIC int qemu_plugin_version = 1;

// A hash table of fixed size, because QEMU keeps the addresses of its counters.
enum { kSlots = 1 << 20 };
static struct { uint64_t address, count; } slots[kSlots];
static size_t used;
static const char* out_path = "counts.txt";

static uint64_t* counter_of(uint64_t address) {
  size_t i = (size_t)(address * 0x9e3779b97f4a7c15u >> 44);
  while (slots[i].address != address && slots[i].address != 0) i = (i + 1) % kSlots;
  if (slots[i].address == 0 && ++used > kSlots / 2) {
    fprintf(stderr, "count_instructions: too many instructions\n");
    exit(1);
  }
  slots[i].address = address;
  return &slots[i].count;
}

static void translated(uint64_t id, struct qemu_plugin_tb* block) {
  (void)id;
  const size_t count = qemu_plugin_tb_n_insns(block);
  for (size_t i = 0; i < count; ++i) {
    struct qemu_plugin_insn* instruction = qemu_plugin_tb_get_insn(block, i);
    uint64_t* counter = counter_of(qemu_plugin_insn_vaddr(instruction) + 1);  // 0 marks an empty slot
    qemu_plugin_register_vcpu_insn_exec_inline(instruction, kInlineAdd, counter, 1);
  }
}

static void at_exit(uint64_t id, void* user) {
  (void)id;
  (void)user;
  FILE* file = fopen(out_path, "w");
  if (!file) {
    fprintf(stderr, "count_instructions: cannot write %s\n", out_path);
    return;
  }
  for (size_t i = 0; i < kSlots; ++i) {
    if (slots[i].count) fprintf(file, "%" PRIx64 " %" PRIu64 "\n", slots[i].address - 1, slots[i].count);
  }
  fclose(file);
}

PUBLIC int qemu_plugin_install(uint64_t id, const struct qemu_info* info, int argc, char** argv) {
  (void)info;
  for (int i = 0; i < argc; ++i) {
    if (strncmp(argv[i], "out=", 4) == 0) out_path = strdup(argv[i] + 4);
  }
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_atexit_cb(id, at_exit, NULL);
  return 0;
}
