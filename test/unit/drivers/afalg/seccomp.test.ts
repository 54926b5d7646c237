/** A real seccomp filter, as Docker's default is since May 2026: in a process of its own, since it cannot be taken off. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';

/** AUDIT_ARCH_* and the number of socket(2). */
const ARCH: Readonly<Record<string, { audit: number; socket: number }>> = {
  x64: { audit: 0xc000003e, socket: 41 },
  arm64: { audit: 0xc00000b7, socket: 198 },
};

const SCRIPT = `
const { address, processLibrary } = await import(process.argv[1]);
const { AfalgDriver } = await import(process.argv[2]);
const [audit, socket, errno] = process.argv.slice(3).map(Number);
const { library } = processLibrary();
// struct sock_filter: u16 code, u8 jt, u8 jf, u32 k.
const program = [
  [0x20, 0, 0, 4], [0x15, 0, 5, audit],       // another architecture: allow
  [0x20, 0, 0, 0], [0x15, 0, 3, socket],      // another call: allow
  [0x20, 0, 0, 16], [0x15, 0, 1, 38],         // another family: allow
  [0x06, 0, 0, 0x00050000 | errno],
  [0x06, 0, 0, 0x7fff0000],
];
const filter = new Uint8Array(program.length * 8);
const view = new DataView(filter.buffer);
program.forEach(([code, jt, jf, k], i) => {
  view.setUint16(i * 8, code, true);
  filter[i * 8 + 2] = jt;
  filter[i * 8 + 3] = jf;
  view.setUint32(i * 8 + 4, k, true);
});
const fprog = new Uint8Array(16);
new DataView(fprog.buffer).setUint16(0, program.length, true);
new DataView(fprog.buffer).setBigUint64(8, BigInt(address(filter)), true);
const prctl = library.func('int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)');
if (prctl(38, 1, 0, 0, 0) !== 0 || prctl(22, 2, address(fprog), 0, 0) !== 0) process.exit(77);
console.log(JSON.stringify(new AfalgDriver().probe()));
`;

function probeUnder(errno: number): { available: boolean; reason: Record<string, string> } | undefined {
  const { audit, socket } = ARCH[process.arch] as { audit: number; socket: number };
  try {
    const text = execFileSync(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        SCRIPT,
        import.meta.resolve('#src/linux/ffi.js'),
        import.meta.resolve('#src/drivers/afalg/index.js'),
        ...[audit, socket, errno].map(String),
      ],
      { encoding: 'utf8' },
    );
    return JSON.parse(text) as { available: boolean; reason: Record<string, string> };
  } catch (error) {
    if ((error as { status?: number }).status === 77) return undefined;
    throw error;
  }
}

const skip = process.platform === 'linux' && ARCH[process.arch] ? false : 'needs Linux on x86-64 or ARM64';

test('a filter that forbids AF_ALG', { skip }, (t) => {
  const probe = probeUnder(1);
  if (!probe) {
    t.skip('this kernel takes no seccomp filter');
    return;
  }
  assert.equal(probe.available, false);
  assert.deepEqual(
    [probe.reason['code'], probe.reason['errno'], probe.reason['syscall']],
    ['SECCOMP', 'EPERM', 'socket'],
  );
  assert.match(probe.reason['message'] ?? '', /runs under a seccomp filter/);
  assert.match(probe.reason['cure'] ?? '', /libcrypto/);
});

test('a sandbox that pretends there is no such call', { skip }, (t) => {
  const probe = probeUnder(38);
  if (!probe) {
    t.skip('this kernel takes no seccomp filter');
    return;
  }
  assert.deepEqual([probe.reason['code'], probe.reason['errno']], ['SECCOMP', 'ENOSYS']);
});

test('a security module that says no', { skip }, (t) => {
  const probe = probeUnder(13);
  if (!probe) {
    t.skip('this kernel takes no seccomp filter');
    return;
  }
  assert.deepEqual([probe.reason['code'], probe.reason['errno']], ['LSM_DENIED', 'EACCES']);
});
