/**
 * The `uml` guest: user-mode Linux, a kernel that runs as an ordinary process of the host. Boots in seconds and has all
 * of the kernel's software crypto; a system call costs some 50 µs, so it is for right answers, not for speed.
 */
import { existsSync } from 'node:fs';
import { rigCache } from './paths.js';
import { kernelParameter } from './quote.js';
import { type GuestOptions, type Launch, RigUnavailableError } from './types.js';

export const umlFolder = `${rigCache}/user-mode-linux`;

export const umlDefaults = { memoryMiB: 1024 };

export function umlModules(): string {
  return `${umlFolder}/usr/lib/uml/modules`;
}

export function checkUml(): void {
  const missing: string[] = [];
  if (!existsSync(`${umlFolder}/usr/bin/linux.uml`)) missing.push('user-mode-linux (unpacked into .cache/)');
  if (!existsSync('/lib/modules')) missing.push('the folder /lib/modules as a mount point');
  if (missing.length > 0) throw new RigUnavailableError(`the uml guest needs ${missing.join(' and ')}`);
}

export function umlLaunch(options: GuestOptions, runFolder: string, memoryMiB: number): Launch {
  return {
    program: `${umlFolder}/usr/bin/linux.uml`,
    args: [
      `mem=${memoryMiB}M`,
      'root=/dev/root',
      'rootfstype=hostfs',
      'rootflags=/',
      'ro',
      kernelParameter('init', `${runFolder}/init`),
      // A panic ends the process at once instead of waiting for somebody.
      'panic=-1',
      ...(options.onConsole ? [] : ['quiet']),
      'con=null',
      'con0=null,fd:1',
      // Serial lines 0, 1, 2 are the channels control, stdout, stderr; see guest-init.sh.
      'ssl=null',
      'ssl0=fd:3',
      'ssl1=fd:4',
      'ssl2=fd:5',
      // Its pid file and sockets would else be left in the home folder.
      `uml_dir=${runFolder}`,
      'umid=guest',
    ],
    env: {},
  };
}
