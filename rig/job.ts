/** The job file: what one run asks of rig/guest-init.sh, as a shell script that the guest's kernel starts as process 1. */
import { delimiter, dirname } from 'node:path';
import { busybox, projectFolder } from './paths.js';
import { shellCommand, shellQuote } from './quote.js';
import type { GuestOptions } from './types.js';

/** Folders that the guest covers with its own: a clone inside one must be shared on its own. */
const covered = ['/tmp', '/var/tmp', '/run', '/dev', '/proc', '/sys'];

export function isCovered(folder: string): boolean {
  return covered.some((top) => folder === top || folder.startsWith(`${top}/`));
}

/** What both the job file and the start of the guest are made from. */
export interface Boot {
  readonly options: GuestOptions;
  /** Holds the job file; private to this run. */
  readonly runFolder: string;
  readonly resultsFolder: string;
  readonly memoryMiB: number;
}

/** What the kinds of guest differ in. */
export interface GuestSystem {
  /** Defaults. */
  readonly memoryMiB: number;
  readonly bootTimeoutSeconds: number;
  /** Throws `RigUnavailableError` where something is not installed. */
  check(): void;
  /** The folder that holds a folder of modules named after the guest's kernel release. */
  modulesFolder(): string;
  /** fd 1 and 2 of the program are the kernel's console; 3, 4, 5 the channels control, stdout, stderr. */
  launch(boot: Boot): Launch;
}

export interface Launch {
  readonly program: string;
  readonly args: readonly string[];
}

export function guestEnvironment(options: GuestOptions, resultsFolder: string): Record<string, string> {
  const path = [
    dirname(process.execPath),
    ...(process.env['PATH'] ?? '').split(delimiter),
    '/usr/local/sbin',
    '/usr/local/bin',
    '/usr/sbin',
    '/usr/bin',
    '/sbin',
    '/bin',
  ].filter((folder) => folder !== '');
  return {
    PATH: [...new Set(path)].join(delimiter),
    HOME: '/tmp',
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    HWCRYPT_RIG: options.kind,
    HWCRYPT_RESULTS: resultsFolder,
    ...options.env,
  };
}

export function jobScript({ options, resultsFolder, memoryMiB }: Boot, modulesFolder: string): string {
  const environment = Object.entries(guestEnvironment(options, resultsFolder)).map(
    ([name, value]) => `${name}=${value}`,
  );
  const shell = shellQuote(busybox);
  // `--` would not be understood by every env; a command with a `=` in its first word is not one.
  // With its path: the shell's own env would start the shell's own commands in the place of the system's.
  const command = shellCommand(['/usr/bin/env', '-i', ...environment, ...options.command]);
  return `#!/bin/sh
# busybox's shell, where it is there, has mount and its like in itself: a program costs 0.1 s in a guest.
[ -n "$rig_inner" ] || [ ! -x ${shell} ] || rig_inner=1 exec ${shell} sh "$0"
rig_kind=${options.kind}
rig_project=${shellQuote(projectFolder)}
rig_project_hidden=${isCovered(projectFolder) ? '1' : ''}
rig_results=${shellQuote(resultsFolder)}
rig_modules=${shellQuote(modulesFolder)}
rig_tmp_bytes=${Math.floor((memoryMiB * 1024 * 1024) / 2)}
rig_modprobe_conf=${shellQuote((options.modprobeConf ?? []).join('\n'))}
rig_load=${shellQuote((options.modules ?? []).join(' '))}
rig_command() { exec setsid ${command}; }
. ${shellQuote(`${projectFolder}/rig/guest-init.sh`)}
`;
}
