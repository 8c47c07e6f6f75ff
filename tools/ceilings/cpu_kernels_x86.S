# Hot loops of the CPU ceilings, x86-64. Assembly, because a ceiling is a claim about instructions, which a compiler may
# unroll, fuse or drop. Every loop lies between <name>_loop and <name>_loop_end; the audit counts its instructions.
#
# Compute:   name(trips, in, out). `in` has 64-byte slots: a, b, then the starting values of 14 accumulators. The
#            accumulators are stored to `out` at the end, to check results.
# Bandwidth: name(a, b, c, bytes, trips). Each array has `bytes`, a multiple of 1024. Each trip advances by the bytes of
#            the loop body and wraps at the end with a conditional move: a nested loop would mispredict its exit.

  .text

  .macro begin name
  .globl \name
  .hidden \name
  .type \name, @function
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

# Compute --------------------------------------------------------------------------------------------------------------

  .macro compute name, move, reg, op:vararg
  begin \name
  \move 0(%rsi), %\reg\()15
  \move 64(%rsi), %\reg\()14
  .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13
  \move (128 + 64 * \i)(%rsi), %\reg\()\i
  .endr
  .ifc \reg, zmm
  .irp i, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25
  vmovaps %zmm0, %zmm\i
  .endr
  .endif
  loop \name
  \op
  dec %rdi
  jnz \name\()_loop
  loop_end \name
  .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13
  \move %\reg\()\i, (64 * \i)(%rdx)
  .endr
  .ifnc \reg, xmm
  vzeroupper
  .endif
  ret
  .size \name, . - \name
  .endm

# x = a*x + b on 12 accumulators, 8 times: 96 instructions.
  .macro fma_body reg, type
  .rept 8
  .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
  vfmadd213\type %\reg\()14, %\reg\()15, %\reg\()\i
  .endr
  .endr
  .endm

# x = b - x: alternates between two values, so nothing grows.
  .macro add_body reg, type
  .rept 8
  .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
  vsub\type %\reg\()\i, %\reg\()14, %\reg\()\i
  .endr
  .endr
  .endm

# x = x*a; x = x + b, as in code without fused instructions: 14 accumulators, 6 times, 84 of each.
  .macro mul_add_body type
  .rept 6
  .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13
  mul\type %xmm15, %xmm\i
  .endr
  .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13
  add\type %xmm14, %xmm\i
  .endr
  .endr
  .endm

# Accumulators 0-7 do x = a*x + b and 8-13 x = b - x, 48 of each, for cores whose adders are separate from the
# multipliers: 8 chains hide the 4-clock latency of an FMA on two pipes, 6 chains the 3-clock latency of an addition.
  .macro fma_add_body reg, type
  .rept 2
  vfmadd213\type %\reg\()14, %\reg\()15, %\reg\()0
  vsub\type %\reg\()8, %\reg\()14, %\reg\()8
  vfmadd213\type %\reg\()14, %\reg\()15, %\reg\()1
  vsub\type %\reg\()9, %\reg\()14, %\reg\()9
  vfmadd213\type %\reg\()14, %\reg\()15, %\reg\()2
  vsub\type %\reg\()10, %\reg\()14, %\reg\()10
  vfmadd213\type %\reg\()14, %\reg\()15, %\reg\()3
  vsub\type %\reg\()11, %\reg\()14, %\reg\()11
  vfmadd213\type %\reg\()14, %\reg\()15, %\reg\()4
  vsub\type %\reg\()12, %\reg\()14, %\reg\()12
  vfmadd213\type %\reg\()14, %\reg\()15, %\reg\()5
  vsub\type %\reg\()13, %\reg\()14, %\reg\()13
  vfmadd213\type %\reg\()14, %\reg\()15, %\reg\()6
  vsub\type %\reg\()8, %\reg\()14, %\reg\()8
  vfmadd213\type %\reg\()14, %\reg\()15, %\reg\()7
  vsub\type %\reg\()9, %\reg\()14, %\reg\()9
  vfmadd213\type %\reg\()14, %\reg\()15, %\reg\()0
  vsub\type %\reg\()10, %\reg\()14, %\reg\()10
  vfmadd213\type %\reg\()14, %\reg\()15, %\reg\()1
  vsub\type %\reg\()11, %\reg\()14, %\reg\()11
  vfmadd213\type %\reg\()14, %\reg\()15, %\reg\()2
  vsub\type %\reg\()12, %\reg\()14, %\reg\()12
  vfmadd213\type %\reg\()14, %\reg\()15, %\reg\()3
  vsub\type %\reg\()13, %\reg\()14, %\reg\()13
  vfmadd213\type %\reg\()14, %\reg\()15, %\reg\()4
  vsub\type %\reg\()8, %\reg\()14, %\reg\()8
  vfmadd213\type %\reg\()14, %\reg\()15, %\reg\()5
  vsub\type %\reg\()9, %\reg\()14, %\reg\()9
  vfmadd213\type %\reg\()14, %\reg\()15, %\reg\()6
  vsub\type %\reg\()10, %\reg\()14, %\reg\()10
  vfmadd213\type %\reg\()14, %\reg\()15, %\reg\()7
  vsub\type %\reg\()11, %\reg\()14, %\reg\()11
  vfmadd213\type %\reg\()14, %\reg\()15, %\reg\()0
  vsub\type %\reg\()12, %\reg\()14, %\reg\()12
  vfmadd213\type %\reg\()14, %\reg\()15, %\reg\()1
  vsub\type %\reg\()13, %\reg\()14, %\reg\()13
  vfmadd213\type %\reg\()14, %\reg\()15, %\reg\()2
  vsub\type %\reg\()8, %\reg\()14, %\reg\()8
  vfmadd213\type %\reg\()14, %\reg\()15, %\reg\()3
  vsub\type %\reg\()9, %\reg\()14, %\reg\()9
  vfmadd213\type %\reg\()14, %\reg\()15, %\reg\()4
  vsub\type %\reg\()10, %\reg\()14, %\reg\()10
  vfmadd213\type %\reg\()14, %\reg\()15, %\reg\()5
  vsub\type %\reg\()11, %\reg\()14, %\reg\()11
  vfmadd213\type %\reg\()14, %\reg\()15, %\reg\()6
  vsub\type %\reg\()12, %\reg\()14, %\reg\()12
  vfmadd213\type %\reg\()14, %\reg\()15, %\reg\()7
  vsub\type %\reg\()13, %\reg\()14, %\reg\()13
  .endr
  .endm

# With 32 registers: 12 chains of each (0-6 and 16-20, 7-13 and 21-25), 4 times, 48 of each. Only registers 0-13 are
# stored and checked.
  .macro fma_add_body_32 type
  .rept 4
  .irp i, 0, 1, 2, 3, 4, 5, 6, 16, 17, 18, 19, 20
  vfmadd213\type %zmm14, %zmm15, %zmm\i
  .endr
  .irp i, 7, 8, 9, 10, 11, 12, 13, 21, 22, 23, 24, 25
  vsub\type %zmm\i, %zmm14, %zmm\i
  .endr
  .endr
  .endm

# acc += dot(a, b) on 12 accumulators, 8 times.
  .macro dot_body reg, op, encoding
  .rept 8
  .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
  \encoding \op %\reg\()14, %\reg\()15, %\reg\()\i
  .endr
  .endr
  .endm

  compute pagoda_fma_f64_scalar, movups, xmm, fma_body xmm, sd
  compute pagoda_fma_f32_scalar, movups, xmm, fma_body xmm, ss
  compute pagoda_mul_add_f64_sse, movups, xmm, mul_add_body pd
  compute pagoda_mul_add_f32_sse, movups, xmm, mul_add_body ps
  compute pagoda_fma_f64_avx2, vmovups, ymm, fma_body ymm, pd
  compute pagoda_fma_f32_avx2, vmovups, ymm, fma_body ymm, ps
  compute pagoda_add_f64_avx2, vmovups, ymm, add_body ymm, pd
  compute pagoda_add_f32_avx2, vmovups, ymm, add_body ymm, ps
  compute pagoda_fma_add_f64_avx2, vmovups, ymm, fma_add_body ymm, pd
  compute pagoda_fma_add_f32_avx2, vmovups, ymm, fma_add_body ymm, ps
  compute pagoda_fma_f64_avx512, vmovups, zmm, fma_body zmm, pd
  compute pagoda_fma_f32_avx512, vmovups, zmm, fma_body zmm, ps
  compute pagoda_add_f64_avx512, vmovups, zmm, add_body zmm, pd
  compute pagoda_add_f32_avx512, vmovups, zmm, add_body zmm, ps
  compute pagoda_fma_add_f64_avx512, vmovups, zmm, fma_add_body_32 pd
  compute pagoda_fma_add_f32_avx512, vmovups, zmm, fma_add_body_32 ps
  compute pagoda_fma_f16_avx512, vmovups, zmm, fma_body zmm, ph
  compute pagoda_dot_i8_avx_vnni, vmovups, ymm, dot_body ymm, vpdpbusd, {vex}
  compute pagoda_dot_i8_avx512, vmovups, zmm, dot_body zmm, vpdpbusd
  compute pagoda_dot_bf16_avx512, vmovups, zmm, dot_body zmm, vdpbf16ps

# Tile products: `in` has the tile configuration at 0, tile a at 64 and tile b at 1088, all with rows of 64 bytes; four
# accumulator tiles are stored to `out`. 16 products per trip.
  .macro amx name, op
  begin \name
  ldtilecfg (%rsi)
  mov $64, %eax
  tileloadd 64(%rsi, %rax), %tmm4
  tileloadd 1088(%rsi, %rax), %tmm5
  .irp i, 0, 1, 2, 3
  tilezero %tmm\i
  .endr
  loop \name
  .rept 4
  .irp i, 0, 1, 2, 3
  \op %tmm5, %tmm4, %tmm\i
  .endr
  .endr
  dec %rdi
  jnz \name\()_loop
  loop_end \name
  .irp i, 0, 1, 2, 3
  tilestored %tmm\i, (1024 * \i)(%rdx, %rax)
  .endr
  tilerelease
  ret
  .size \name, . - \name
  .endm

  amx pagoda_amx_bf16, tdpbf16ps
  amx pagoda_amx_i8, tdpbssd

# A chain of 128 dependent additions per trip takes 128 clocks on every core. Operands are registers, because some cores
# fold additions of constants. The vector variants also run FMAs at half their rate, for cores that lower their clock
# under wide instructions.
  .macro chain name, width
  begin \name
  mov $1, %eax
  xor %edx, %edx
  .ifnb \width
  .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 14, 15
  vpxor %xmm\i, %xmm\i, %xmm\i
  .endr
  .endif
  loop \name
  .rept 16
  .irp i, 0, 1, 2, 3, 4, 5, 6, 7
  add %rax, %rdx
  .ifnb \width
  vfmadd213pd %\width\()14, %\width\()15, %\width\()\i
  .endif
  .endr
  .endr
  dec %rdi
  jnz \name\()_loop
  loop_end \name
  .ifnb \width
  vzeroupper
  .endif
  mov %rdx, %rax
  ret
  .size \name, . - \name
  .endm

  chain pagoda_chain
  chain pagoda_chain_avx2, ymm
  chain pagoda_chain_avx512, zmm

# Bandwidth ------------------------------------------------------------------------------------------------------------

# %r9: offset, %r10: 0. `step`: bytes of each array that the body processes per trip.
  .macro bandwidth name, step, body:vararg
  begin \name
  xor %r9d, %r9d
  xor %r10d, %r10d
  loop \name
  \body
  add $\step, %r9
  cmp %rcx, %r9
  cmove %r10, %r9
  dec %r8
  jnz \name\()_loop
  loop_end \name
  sfence
  ret
  .size \name, . - \name
  .endm

# Two streams at once, one through each half of the array, for cores whose prefetchers need more than one stream to keep
# the path from L2 busy. %r11: the second half.
  .macro bandwidth_halves name, step, body:vararg
  begin \name
  shr %rcx
  lea (%rdi, %rcx), %r11
  xor %r9d, %r9d
  xor %r10d, %r10d
  loop \name
  \body
  add $(\step / 2), %r9
  cmp %rcx, %r9
  cmove %r10, %r9
  dec %r8
  jnz \name\()_loop
  loop_end \name
  ret
  .size \name, . - \name
  .endm

  .macro load_halves_body move, reg, width
  .irp i, 0, 1, 2, 3, 4, 5, 6, 7
  \move (\width * \i)(%rdi, %r9), %\reg\()\i
  \move (\width * \i)(%r11, %r9), %\reg\()\i
  .endr
  .endm

# One stream, with a prefetch of data 2 KiB ahead.
  .macro load_ahead_body move, reg, width
  .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
  .if (\width * \i) % 64 == 0
  prefetcht0 (2048 + \width * \i)(%rdi, %r9)
  .endif
  \move (\width * \i)(%rdi, %r9), %\reg\()\i
  .endr
  .endm

  .macro load_body move, reg, width
  .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
  \move (\width * \i)(%rdi, %r9), %\reg\()\i
  .endr
  .endm

# Stores a register whose value is not set; the check requires the same contents in every vector.
  .macro store_body move, reg, width
  .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
  \move %\reg\()0, (\width * \i)(%rdi, %r9)
  .endr
  .endm

# a = b
  .macro copy_body load, store, reg, width
  .irp i, 0, 1, 2, 3, 4, 5, 6, 7
  \load (\width * \i)(%rsi, %r9), %\reg\()\i
  \store %\reg\()\i, (\width * \i)(%rdi, %r9)
  .endr
  .endm

# a = b + c, in doubles
  .macro triad_body load, store, add, reg, width
  .irp i, 0, 1, 2, 3, 4, 5, 6, 7
  \load (\width * \i)(%rsi, %r9), %\reg\()\i
  \add (\width * \i)(%rdx, %r9), %\reg\()\i, %\reg\()\i
  \store %\reg\()\i, (\width * \i)(%rdi, %r9)
  .endr
  .endm

# a ^= a constant: read and written in place, in pairs of lines (load, load, store, store). Line by line, cores that
# merge a line's transfer out of L2 with the next line's transfer in lose a seventh of this rate.
  .macro update_pair load, store, flip, reg, width, i, next, first, second
  \load (\width * \i)(%rdi, %r9), \first
  \load (\width * \next)(%rdi, %r9), \second
  \flip %\reg\()15, \first, \first
  \flip %\reg\()15, \second, \second
  \store \first, (\width * \i)(%rdi, %r9)
  \store \second, (\width * \next)(%rdi, %r9)
  .endm

  .macro update_body load, store, flip, reg, width
  .irp i, 0, 2, 4, 6
  update_pair \load, \store, \flip, \reg, \width, \i, (\i + 1), %\reg\()0, %\reg\()1
  .endr
  .endm

# The same, each pair with a prefetch of the lines 4 KiB ahead: the hardware prefetchers are late, and spread out like
# this, prefetches do not delay the demand loads.
  .macro update_ahead_body load, store, flip, reg, width
  .irp i, 0, 2, 4, 6
  prefetcht0 (4096 + \width * \i)(%rdi, %r9)
  .if \width == 64
  prefetcht0 (4096 + \width * (\i + 1))(%rdi, %r9)
  .endif
  update_pair \load, \store, \flip, \reg, \width, \i, (\i + 1), %\reg\()0, %\reg\()1
  .endr
  .endm

  bandwidth pagoda_load_sse, 256, load_body movaps, xmm, 16
  bandwidth pagoda_load_avx2, 512, load_body vmovaps, ymm, 32
  bandwidth pagoda_load_avx512, 1024, load_body vmovaps, zmm, 64
  bandwidth_halves pagoda_load_halves_avx2, 512, load_halves_body vmovaps, ymm, 32
  bandwidth_halves pagoda_load_halves_avx512, 1024, load_halves_body vmovaps, zmm, 64
  bandwidth pagoda_load_ahead_avx2, 512, load_ahead_body vmovaps, ymm, 32
  bandwidth pagoda_load_ahead_avx512, 1024, load_ahead_body vmovaps, zmm, 64
  bandwidth pagoda_store_sse, 256, store_body movaps, xmm, 16
  bandwidth pagoda_store_avx2, 512, store_body vmovaps, ymm, 32
  bandwidth pagoda_store_avx512, 1024, store_body vmovaps, zmm, 64
  bandwidth pagoda_store_nt_avx2, 512, store_body vmovntps, ymm, 32
  bandwidth pagoda_store_nt_avx512, 1024, store_body vmovntps, zmm, 64
  bandwidth pagoda_copy_sse, 128, copy_body movaps, movaps, xmm, 16
  bandwidth pagoda_copy_avx2, 256, copy_body vmovaps, vmovaps, ymm, 32
  bandwidth pagoda_copy_avx512, 512, copy_body vmovaps, vmovaps, zmm, 64
  bandwidth pagoda_copy_nt_avx2, 256, copy_body vmovaps, vmovntps, ymm, 32
  bandwidth pagoda_copy_nt_avx512, 512, copy_body vmovaps, vmovntps, zmm, 64
  bandwidth pagoda_triad_avx2, 256, triad_body vmovaps, vmovaps, vaddpd, ymm, 32
  bandwidth pagoda_triad_avx512, 512, triad_body vmovaps, vmovaps, vaddpd, zmm, 64
  bandwidth pagoda_triad_nt_avx2, 256, triad_body vmovaps, vmovntps, vaddpd, ymm, 32
  bandwidth pagoda_triad_nt_avx512, 512, triad_body vmovaps, vmovntps, vaddpd, zmm, 64
  bandwidth pagoda_update_avx2, 256, update_body vmovaps, vmovaps, vpxor, ymm, 32
  bandwidth pagoda_update_avx512, 512, update_body vmovaps, vmovaps, vpxorq, zmm, 64
  bandwidth pagoda_update_ahead_avx2, 256, update_ahead_body vmovaps, vmovaps, vpxor, ymm, 32
  bandwidth pagoda_update_ahead_avx512, 512, update_ahead_body vmovaps, vmovaps, vpxorq, zmm, 64

  .section .note.GNU-stack, "", @progbits
