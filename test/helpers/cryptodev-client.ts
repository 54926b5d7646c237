/** `node cryptodev-client.js DEVICE`: opens a session of AES-128-CBC and encrypts one page, for tests that kill it meanwhile. */
import { openSync } from 'node:fs';
import { address } from '#src/linux/ffi.js';
import { ioctl } from '#src/linux/libc.js';
import { CIOCCRYPT, CIOCGSESSION } from '../../rig/cryptodev/abi.js';

const fd = openSync(process.argv[2]!, 'r+');
const page = Buffer.alloc(4096);
const op = Buffer.alloc(128);
op.writeUInt32LE(11, 0);
op.writeUInt32LE(16, 8);
op.writeBigUInt64LE(BigInt(address(page)), 16);
if (ioctl(fd, CIOCGSESSION, address(op)) !== 0) process.exit(1);

const id = op.readUInt32LE(40);
op.fill(0);
op.writeUInt32LE(id, 0);
op.writeUInt32LE(page.length, 8);
op.writeBigUInt64LE(BigInt(address(page)), 16);
op.writeBigUInt64LE(BigInt(address(page)), 24);
if (ioctl(fd, CIOCCRYPT, address(op)) !== 0) process.exit(1);
