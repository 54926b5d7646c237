/** Requests of the driver `cryptodev` beside those of a C loop, in one process. Run by `cryptodev.ts` with null-ioctl.c preloaded; prints JSON. */
import { type CipherAlgorithm, findAlgorithm, type HashAlgorithm } from '#src/algorithms.js';
import { getDriver } from '#src/drivers/registry.js';
import { address, processLibrary } from '#src/linux/index.js';
import { type Compared, compare } from './rounds.js';

export interface Overhead extends Compared {
  readonly what: string;
  readonly bytes: number;
}

/** Requests in one call of either side: one call into C costs what a request does, and would be charged to the C loop. */
const AT_ONCE = 256;

const opened = processLibrary();
if (!opened.library) throw new Error(opened.reason.message);
const nullLoop = opened.library.func(
  'int null_loop(int fd, uint32_t count, uint32_t len, uintptr_t src, uintptr_t dst, uintptr_t iv, uintptr_t mac)',
);

const driver = getDriver('cryptodev');
const cipher = findAlgorithm('aes-128-cbc') as CipherAlgorithm;
const hash = findAlgorithm('sha256') as HashAlgorithm;
const [key, iv] = [Buffer.alloc(16, 1), Buffer.alloc(16, 2)];

/** `offset` bytes behind a multiple of 64. */
function memory(bytes: number, offset: number): Uint8Array {
  const whole = new Uint8Array(bytes + 128);
  const at = ((64 - (address(whole) % 64)) % 64) + offset;
  return whole.subarray(at, at + bytes);
}

const found: Overhead[] = [];

function measure(
  what: string,
  [input, output, mac]: readonly [Uint8Array, Uint8Array | undefined, Uint8Array | undefined],
  request: () => void,
): void {
  const [src, dst, to] = [input, output, mac].map((view) => (view ? address(view) : 0));
  const bytes = input.length;
  const loop = () => {
    if (nullLoop(0, AT_ONCE, bytes, src!, dst!, address(iv), to!) !== 0) throw new Error('the loop failed');
  };
  const ours = () => {
    for (let i = 0; i < AT_ONCE; i++) request();
  };
  const { oursNs, theirsNs, ...rest } = compare(ours, loop, { rounds: 9, roundMs: 100 });
  found.push({ what, bytes, oursNs: oursNs / AT_ONCE, theirsNs: theirsNs / AT_ONCE, ...rest });
}

const session = driver.cipher(cipher, 'encrypt', key, iv);
if (session.driver !== 'cryptodev:null-without-kernel') throw new Error(`${session.driver} is not preloaded`);
for (const bytes of [16, 1024, 4096, 65_536]) {
  const [input, output] = [memory(bytes, 0).fill(7), memory(bytes, 0)];
  measure('cipher, update', [input, output, undefined], () => session.update(input, output));
  if (Buffer.compare(input, output) !== 0) throw new Error('the null cipher has changed something');
}
{
  const [input, output] = [memory(64, 0), memory(64, 0)];
  measure('cipher, a new IV each', [input, output, undefined], () => {
    session.restart(iv);
    session.update(input, output);
  });
}
{
  const [input, output] = [memory(65_536, 4), memory(65_536, 4)];
  measure('cipher, memory that lies askew', [input, output, undefined], () => session.update(input, output));
}
session.close();
{
  const digests = driver.hash(hash);
  const [input, digest] = [memory(64, 0), new Uint8Array(32)];
  measure('hash, once', [input, undefined, digest], () => digests.once(input, digest));
  digests.close();
}

process.stdout.write(`${JSON.stringify(found)}\n`);
