/**
 * The layers of the test run: which files, in which machine. A layer is a folder under test/; a test is put where the
 * thing that it needs is.
 *
 * - `unit`: on the host, a process a file.
 * - `kernel`: in user-mode Linux. Real AF_ALG, dm-crypt, loop, CUSE; a system call costs some 50 µs.
 * - `accelerator`: in QEMU with virtio_crypto loaded, and a processor that has AES instructions.
 * - `router` (test/accelerator/router): the same without AES instructions, so that the accelerator is worth its cost.
 *
 * In a guest, a test is root, and may load modules, write to /etc/modprobe.d, /tmp and $HWCRYPT_RESULTS; all of it is
 * gone with the guest, but for $HWCRYPT_RESULTS. The files of a guest's layer share one process and run one after the other.
 */
import { existsSync, readdirSync } from 'node:fs';
import { type GuestOptions, projectFolder } from '../../rig/index.js';

export interface Layer {
  readonly name: string;
  /** Under test/. */
  readonly folder: string;
  /** Under `folder`: another layer's. */
  readonly except?: string;
  /** Absent for the host. */
  readonly guest?: Pick<GuestOptions, 'kind'> & Partial<GuestOptions>;
  /** Without a sign of life for so long, the file that runs has failed. */
  readonly silenceSeconds: number;
  /** How long a process may go on after its last test; default 10. */
  readonly farewellSeconds?: number;
  /** Must it have tests? */
  readonly optional?: boolean;
}

export const layers: readonly Layer[] = [
  { name: 'unit', folder: 'unit', silenceSeconds: 180 },
  { name: 'kernel', folder: 'kernel', guest: { kind: 'uml' }, silenceSeconds: 180 },
  {
    name: 'accelerator',
    folder: 'accelerator',
    except: 'router',
    guest: { kind: 'qemu', modules: ['virtio_crypto'] },
    silenceSeconds: 180,
  },
  {
    name: 'router',
    folder: 'accelerator/router',
    guest: { kind: 'qemu', modules: ['virtio_crypto'], cpu: 'max,-aes,-vaes' },
    silenceSeconds: 180,
    optional: true,
  },
];

export function findLayer(name: string): Layer {
  const found = layers.find((layer) => layer.name === name);
  if (!found) throw new RangeError(`no layer is called '${name}'`);
  return found;
}

/**
 * The layer's test files, relative to test/, without their ending. Taken from the sources: a compiled file may be left
 * from a source that is gone.
 */
export function testFiles(layer: Layer): string[] {
  const folder = `${projectFolder}/test/${layer.folder}`;
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .filter((file) => layer.except === undefined || !file.startsWith(`${layer.except}/`))
    .map((file) => `${layer.folder}/${file.slice(0, -'.ts'.length)}`)
    .sort();
}

export function compiledFile(test: string): string {
  return `${projectFolder}/build/test/${test}.js`;
}
