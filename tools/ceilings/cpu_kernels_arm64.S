// Hot loops of the CPU ceilings, AArch64: NEON, which every core has; half floats, dot products, bfloat16 and SVE if
// the core supports them. Layout and calls are as in cpu_kernels_x86.S.

  .arch armv8.6-a+fp16+dotprod+bf16+sve
  .text

  .macro begin name
  .globl \name
  .hidden \name
  .type \name, %function
  .p2align 6
\name:
  .endm

  .macro loop name
  .globl \name\()_loop
  .hidden \name\()_loop
  .p2align 6
\name\()_loop:
  .endm

  .macro loop_end name
  .globl \name\()_loop_end
  .hidden \name\()_loop_end
\name\()_loop_end:
  .endm

// x += a * b on 20 accumulators, 5 times: v0-v19; a in v30, b in v31. Only the first 14 are stored.
// The lower 64 bits of v8-v15 are callee-saved: saved and restored.
  .macro compute name, op:vararg
  begin \name
  stp d8, d9, [sp, #-64]!
  stp d10, d11, [sp, #16]
  stp d12, d13, [sp, #32]
  stp d14, d15, [sp, #48]
  ldr q30, [x1]
  ldr q31, [x1, #64]
  .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13
  ldr q\i, [x1, #(128 + 64 * \i)]
  .endr
  .irp i, 14, 15, 16, 17, 18, 19
  ldr q\i, [x1, #128]
  .endr
  loop \name
  .rept 5
  .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19
  step_\op \i
  .endr
  .endr
  subs x0, x0, #1
  b.ne \name\()_loop
  loop_end \name
  .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13
  str q\i, [x2, #(64 * \i)]
  .endr
  ldp d14, d15, [sp, #48]
  ldp d12, d13, [sp, #32]
  ldp d10, d11, [sp, #16]
  ldp d8, d9, [sp], #64
  ret
  .size \name, . - \name
  .endm

  .macro step_f64 i
  fmla v\i\().2d, v30.2d, v31.2d
  .endm
  .macro step_f32 i
  fmla v\i\().4s, v30.4s, v31.4s
  .endm
  .macro step_f16 i
  fmla v\i\().8h, v30.8h, v31.8h
  .endm
  .macro step_scalar i
  fmadd d\i, d30, d31, d\i
  .endm
  .macro step_i8 i
  sdot v\i\().4s, v30.16b, v31.16b
  .endm
  .macro step_bf16 i
  bfdot v\i\().4s, v30.8h, v31.8h
  .endm

  compute pagoda_fma_f64_scalar, scalar
  compute pagoda_fma_f64_neon, f64
  compute pagoda_fma_f32_neon, f32
  compute pagoda_fma_f16_neon, f16
  compute pagoda_dot_i8_neon, i8
  compute pagoda_dot_bf16_neon, bf16

// 128 dependent additions per trip.
  begin pagoda_chain
  mov x1, #1
  mov x2, #0
  loop pagoda_chain
  .rept 128
  add x2, x2, x1
  .endr
  subs x0, x0, #1
  b.ne pagoda_chain_loop
  loop_end pagoda_chain
  mov x0, x2
  ret
  .size pagoda_chain, . - pagoda_chain

// a: x0, b: x1, c: x2, bytes: x3, trips: x4. x5: offset; x6, x7, x8: addresses of the trip.
  .macro bandwidth name, step, op
  begin \name
  mov x5, #0
  loop \name
  add x6, x0, x5
  add x7, x1, x5
  add x8, x2, x5
  body_\op
  add x5, x5, #\step
  cmp x5, x3
  csel x5, xzr, x5, eq
  subs x4, x4, #1
  b.ne \name\()_loop
  loop_end \name
  ret
  .size \name, . - \name
  .endm

  .macro body_load
  .irp i, 0, 1, 2, 3, 4, 5, 6, 7
  ldp q0, q1, [x6, #(32 * \i)]
  .endr
  .endm
  .macro body_store
  .irp i, 0, 1, 2, 3, 4, 5, 6, 7
  stp q0, q0, [x6, #(32 * \i)]
  .endr
  .endm
  .macro body_store_nt
  .irp i, 0, 1, 2, 3, 4, 5, 6, 7
  stnp q0, q0, [x6, #(32 * \i)]
  .endr
  .endm
  .macro body_copy
  .irp i, 0, 1, 2, 3, 4, 5, 6, 7
  ldp q0, q1, [x7, #(32 * \i)]
  stp q0, q1, [x6, #(32 * \i)]
  .endr
  .endm
  .macro body_triad
  .irp i, 0, 1, 2, 3, 4, 5, 6, 7
  ldp q0, q1, [x7, #(32 * \i)]
  ldp q2, q3, [x8, #(32 * \i)]
  fadd v0.2d, v0.2d, v2.2d
  fadd v1.2d, v1.2d, v3.2d
  stp q0, q1, [x6, #(32 * \i)]
  .endr
  .endm

  bandwidth pagoda_load_neon, 256, load
  bandwidth pagoda_store_neon, 256, store
  bandwidth pagoda_store_nt_neon, 256, store_nt
  bandwidth pagoda_copy_neon, 256, copy
  bandwidth pagoda_triad_neon, 256, triad

// SVE: the same with vectors of the machine's length, at most 64 bytes as the slots.
  begin pagoda_sve_bytes
  rdvl x0, #1
  ret
  .size pagoda_sve_bytes, . - pagoda_sve_bytes

  .macro step_sve i, type
  fmla z\i\().\type, p0/m, z30.\type, z31.\type
  .endm
  .macro compute_sve name, type
  begin \name
  stp d8, d9, [sp, #-64]!
  stp d10, d11, [sp, #16]
  stp d12, d13, [sp, #32]
  stp d14, d15, [sp, #48]
  ptrue p0.b
  ldr z30, [x1]
  add x9, x1, #64
  ldr z31, [x9]
  .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13
  add x9, x1, #(128 + 64 * \i)
  ldr z\i, [x9]
  .endr
  add x9, x1, #128
  .irp i, 14, 15, 16, 17, 18, 19
  ldr z\i, [x9]
  .endr
  loop \name
  .rept 5
  .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19
  step_sve \i, \type
  .endr
  .endr
  subs x0, x0, #1
  b.ne \name\()_loop
  loop_end \name
  .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13
  add x9, x2, #(64 * \i)
  str z\i, [x9]
  .endr
  ldp d14, d15, [sp, #48]
  ldp d12, d13, [sp, #32]
  ldp d10, d11, [sp, #16]
  ldp d8, d9, [sp], #64
  ret
  .size \name, . - \name
  .endm

  compute_sve pagoda_fma_f64_sve, d
  compute_sve pagoda_fma_f32_sve, s
  compute_sve pagoda_fma_f16_sve, h

// 16 vectors of each array per trip: 1024 bytes with vectors of 64 bytes, a divisor of that with shorter ones.
  .macro bandwidth_sve name, op
  begin \name
  mov x5, #0
  loop \name
  add x6, x0, x5
  add x7, x1, x5
  add x8, x2, x5
  .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
  sve_\op \i
  .endr
  addvl x5, x5, #16
  cmp x5, x3
  csel x5, xzr, x5, eq
  subs x4, x4, #1
  b.ne \name\()_loop
  loop_end \name
  ret
  .size \name, . - \name
  .endm

  .macro sve_load i
  ldr z0, [x6, #\i, mul vl]
  .endm
  .macro sve_store i
  str z0, [x6, #\i, mul vl]
  .endm
  .macro sve_copy i
  ldr z0, [x7, #\i, mul vl]
  str z0, [x6, #\i, mul vl]
  .endm
  .macro sve_triad i
  ldr z0, [x7, #\i, mul vl]
  ldr z1, [x8, #\i, mul vl]
  fadd z0.d, z0.d, z1.d
  str z0, [x6, #\i, mul vl]
  .endm

  bandwidth_sve pagoda_load_sve, load
  bandwidth_sve pagoda_store_sve, store
  bandwidth_sve pagoda_copy_sve, copy
  bandwidth_sve pagoda_triad_sve, triad

  .section .note.GNU-stack, "", %progbits
