/**
 * The `uml` guest: user-mode Linux, a kernel that runs as an ordinary process of the host. Boots in seconds and has all
 * of the kernel's software crypto; a system call costs some 50 µs, so it is for right answers, not for speed.
 */
import { existsSync } from 'node:fs';
import type { Boot, GuestSystem } from './job.js';
import { rigCache } from './paths.js';
import { kernelParameter } from './quote.js';
import { RigUnavailableError } from './types.js';

const folder = `${rigCache}/user-mode-linux`;
const kernel = `${folder}/usr/bin/linux.uml`;

export const uml: GuestSystem = {
  memoryMiB: 1024,
  bootTimeoutSeconds: 120,

  check() {
    const missing: string[] = [];
    if (!existsSync(kernel)) missing.push('user-mode-linux (unpacked into .cache/)');
    if (!existsSync('/lib/modules')) missing.push('the folder /lib/modules as a mount point');
    if (missing.length > 0) throw new RigUnavailableError(`the uml guest needs ${missing.join(', ')}`);
  },

  modulesFolder: () => `${folder}/usr/lib/uml/modules`,

  launch({ options, runFolder, memoryMiB }: Boot) {
    return {
      program: kernel,
      args: [
        `mem=${memoryMiB}M`,
        ...['root=/dev/root', 'rootfstype=hostfs', 'rootflags=/', 'ro'],
        kernelParameter('init', `${runFolder}/init`),
        // No `panic=`: user-mode Linux ends itself at a panic, and with `panic=-1` would start over instead.
        ...(options.onConsole ? [] : ['quiet']),
        ...['con=null', 'con0=null,fd:1'],
        // Serial lines 0, 1, 2 are the channels control, stdout, stderr; see guest-init.sh.
        ...['ssl=null', 'ssl0=fd:3', 'ssl1=fd:4', 'ssl2=fd:5'],
        // Its pid file and sockets would else be left in the home folder.
        ...[`uml_dir=${runFolder}`, 'umid=guest'],
      ],
    };
  },
};
