/**
 * Room `linux`: the only room that makes system calls (through koffi) or reads /proc, /sys and /etc/modprobe.d.
 *
 * May import: `errors`, and nothing else of hwcrypt. It knows the kernel's interfaces (byte layouts, errno values,
 * text formats), not crypto algorithms, and gives facts; what the facts mean for an algorithm is for the drivers and the doctor.
 *
 * Nothing is loaded, opened or read when this room is imported. What only measuring disks needs (device-mapper, loop devices, direct
 * I/O …) is imported from its own file, so that `list` and every program need not load it.
 */
export * from './abi.js';
export * from './cryptodev.js';
export * from './errno.js';
export * from './ffi.js';
export * from './fork.js';
export * as libc from './libc.js';
export * from './netlink.js';
export * from './proc.js';
