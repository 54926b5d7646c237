#!/usr/bin/env node
/**
 * The command `hwcrypt`.
 *
 * Room `cli`: parses arguments, calls the rooms below, prints. May import every room but `rig`; nothing imports it. A
 * command is loaded when it is asked for, so that none pays for another's start-up.
 */
import { type Commands, listOf, runFrom } from './commands.js';
import { EXIT_USAGE, leave, report } from './exit.js';
import { writeError, writeText } from './stdio.js';
import { version } from './version.js';

const COMMANDS: Commands = {
  list: {
    summary: 'what this machine has: drivers, algorithms, the kernel’s implementations',
    load: () => import('./commands/list.js'),
  },
  enc: {
    summary: 'encrypt and decrypt files, as `openssl enc` does',
    load: () => import('./commands/enc.js'),
  },
  dgst: {
    summary: 'digests and MACs of files, as `openssl dgst` and `sha256sum` do',
    load: () => import('./commands/dgst.js'),
  },
  rand: {
    summary: 'random bytes, as `openssl rand` does',
    load: () => import('./commands/rand.js'),
  },
  speed: {
    summary: 'measure ciphers, hashes and MACs over all drivers, as `openssl speed` does',
    load: () => import('./commands/speed.js'),
  },
  benchmark: {
    summary: 'measure key derivation, ciphers and encrypted disks, as `cryptsetup benchmark` does',
    load: () => import('./commands/benchmark.js'),
  },
  selftest: {
    summary: 'hold every driver against another implementation, with requests drawn at random',
    load: () => import('./commands/selftest.js'),
  },
  calibrate: {
    summary: 'measure from which request size on which driver is the cheapest',
    load: () => import('./commands/calibrate.js'),
  },
  explain: {
    summary: 'who would do a request of a size, and why',
    load: () => import('./commands/explain.js'),
  },
  compare: {
    summary: 'compare benchmark results of any tool: ratios, crossover, verdict',
    load: () => import('./commands/compare.js'),
  },
  report: {
    summary: 'benchmark results of any tool as one HTML page with charts',
    load: () => import('./commands/report.js'),
  },
  doctor: {
    summary: 'what keeps crypto hardware from being used, here or on a router, and what to do',
    load: () => import('./commands/doctor.js'),
  },
  openssl: {
    summary: 'which engines this system’s OpenSSLs can use, whether they do, and a configuration for it',
    load: () => import('./commands/openssl.js'),
  },
  probe: {
    summary: 'print the script that collects facts on a router that cannot run Node',
    load: () => import('./commands/probe.js'),
  },
  luks: {
    summary: 'encrypted disk images without device-mapper: inspect, open, change, make, serve them',
    group: true,
    load: () => import('./commands/luks.js'),
  },
  demo: {
    summary: 'encrypt the Node binary with every driver and prove the results equal',
    load: () => import('./commands/demo.js'),
  },
};

function usage(): string {
  return `Usage: hwcrypt COMMAND [options]

Commands:
${listOf(COMMANDS)}

hwcrypt COMMAND --help tells more. HWCRYPT_DEBUG=1 shows where an error came from.
`;
}

function unexpected(argument: string): number {
  writeError(`hwcrypt: unexpected argument "${argument}" (see hwcrypt --help)`);
  return EXIT_USAGE;
}

async function main(argv: readonly string[]): Promise<number> {
  const [first, ...rest] = argv;
  let name = first;
  let args: readonly string[] = rest;
  if (name === undefined) {
    writeError(usage().trimEnd());
    return EXIT_USAGE;
  }
  if (['--version', '-version', '-V', 'version'].includes(name)) {
    if (rest[0] !== undefined) return unexpected(rest[0]);
    writeText(`hwcrypt ${version()}\n`);
    return 0;
  }
  if (['--help', '-help', '-h', 'help'].includes(name)) {
    if (rest[0] === undefined) {
      writeText(usage());
      return 0;
    }
    name = rest[0];
    const inner = COMMANDS[name]?.group ? rest[1] : undefined;
    const extra = rest[inner === undefined ? 1 : 2];
    if (extra !== undefined) return unexpected(extra);
    args = inner === undefined ? ['--help'] : [inner, '--help'];
  }
  return await runFrom(COMMANDS, '', name, args);
}

let status: number;
try {
  status = await main(process.argv.slice(2));
} catch (error) {
  status = report(error);
}
await leave(status);
