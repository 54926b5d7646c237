/**
 * Room `linux`: the only room that makes system calls (through koffi) or reads /proc, /sys and /etc/modprobe.d.
 *
 * May import: `errors`, and nothing else of hwcrypt. It knows the kernel's interfaces (byte layouts, errno values,
 * text formats), not crypto algorithms, and gives facts; what the facts mean for an algorithm is for the drivers and the doctor.
 *
 * Nothing is loaded, opened or read when this room is imported.
 */
export * from './abi.js';
export * from './device-mapper.js';
export * from './direct-io.js';
export * from './engine-interrupts.js';
export * from './errno.js';
export * from './ffi.js';
export * as libc from './libc.js';
export * from './loop.js';
export * from './modules.js';
export * from './netlink.js';
export * from './proc.js';
export * from './processes.js';
