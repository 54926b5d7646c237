/** What the driver `cryptodev` puts above the ioctl: the null cipher without a kernel, against a C loop. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Overhead } from './cryptodev-client.js';
import { ns, type Row, type Section } from './report.js';

const MOST_NS = 1000;

const SECTION = {
  title: 'The driver cryptodev above its ioctl',
  command: 'npm run bench -- cryptodev',
  how: `A preloaded library answers /dev/crypto’s ioctls in place of the kernel, as the null cipher does: it copies. The driver’s requests and a C loop’s that fills the structure and makes the call, in one process, in turn, 9 rounds; the difference is the driver’s own. What a kernel adds to either is not in it: entering it, looking up the session, the crypto itself; there is no machine here with cryptodev-linux and a clock that can be trusted.`,
  columns: ['hwcrypt', 'C loop', 'above it', 'wanted'],
} as const;

function compiler(): string | undefined {
  return [process.env['CC'] ?? '', 'cc', 'gcc', 'clang'].find(
    (name) => name !== '' && spawnSync(name, ['--version']).status === 0,
  );
}

/** Why nothing can be measured on this machine; undefined where it can. */
function obstacle(cc: string | undefined): string | undefined {
  if (cc === undefined) return 'no C compiler here';
  // The structures in null-ioctl.c are those of 64-bit machines, the numbers those of most.
  return ['x64', 'arm64', 'riscv64', 'loong64'].includes(process.arch) ? undefined : `not on ${process.arch}`;
}

export function cryptodevOverhead(): Section {
  const cc = compiler();
  const problem = obstacle(cc);
  if (problem !== undefined) return { ...SECTION, rows: [{ what: problem, cells: ['–', '–', '–', '–'] }] };
  const folder = mkdtempSync(join(tmpdir(), 'hwcrypt-bench-'));
  try {
    const library = join(folder, 'null-ioctl.so');
    const source = new URL('../../bench/null-ioctl.c', import.meta.url).pathname;
    execFileSync(cc!, ['-O2', '-fPIC', '-shared', '-Wall', '-o', library, source, '-ldl']);
    const text = execFileSync(process.execPath, [new URL('cryptodev-client.js', import.meta.url).pathname], {
      encoding: 'utf8',
      env: { ...process.env, LD_PRELOAD: library },
    });
    return { ...SECTION, rows: (JSON.parse(text) as Overhead[]).map(rowOf) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function rowOf({ what, bytes, oursNs, theirsNs }: Overhead): Row {
  const above = oursNs - theirsNs;
  // Askew memory is copied twice on purpose, which is what it costs to spare the engine fifteen requests.
  const most = what.includes('askew') ? undefined : MOST_NS;
  return {
    what: `${what} ${bytes} B`,
    cells: [ns(oursNs), ns(theirsNs), ns(above), most === undefined ? '–' : `≤ ${ns(most)}`],
    ...(most === undefined ? {} : { met: above <= most }),
  };
}
