/** Routing by size against each single driver, in the guests: an accelerator, a device that is slow to answer, and a CPU that needs neither. */
import { findAlgorithm } from '#src/algorithms.js';
import { getDriver } from '#src/drivers/registry.js';
import { Health } from '#src/routing/health.js';
import { Squad } from '#src/routing/squad.js';
import { Stats } from '#src/routing/stats.js';
import { type GuestOptions, runInGuest } from '../rig/index.js';
import { regretPicture } from './picture.js';
import { ns, type Row, ratio, type Section } from './report.js';
import { compare } from './rounds.js';
import type { Regret } from './routing-guest.js';

/** Powers of two, and odd sizes between them, in whole blocks. */
const SIZES = Array.from({ length: 17 }, (_, i) => 2 ** (i + 4)).flatMap((bytes) =>
  bytes < 2 ** 20 ? [bytes, 16 * Math.round((bytes * 1.37) / 16)] : [bytes],
);
const MOST_REGRET = 1.05;
const DELAY_MICROSECONDS = 300;

async function measured(
  options: Partial<GuestOptions> & Pick<GuestOptions, 'kind'>,
  drivers: string,
  seconds: number,
  prefix: readonly string[] = [],
): Promise<Regret> {
  const program = new URL('./routing-guest.js', import.meta.url).pathname;
  const sizes = [...new Set(SIZES)].join(',');
  const { status, stdout, stderr } = await runInGuest({
    output: 'capture',
    timeoutSeconds: 900,
    ...options,
    command: [...prefix, process.execPath, program, drivers, sizes, String(seconds)],
  });
  if (status !== 0) throw new Error(`the guest failed: ${stderr.slice(-2000)}`);
  return JSON.parse(stdout.trim().split('\n').at(-1) as string) as Regret;
}

function rowsOf({ sizes, mixed }: Regret): Row[] {
  const names = Object.keys(sizes[0]!.drivers);
  const rows = sizes.map(
    ({ bytes, drivers, routed, by, regret }): Row => ({
      what: `${bytes} B`,
      cells: [...names.map((name) => ns(drivers[name]!)), ns(routed), by, ratio(regret)],
      met: regret <= MOST_REGRET,
    }),
  );
  const best = Math.min(...names.map((name) => mixed[name]!));
  rows.push({
    what: '64 B and 64 KiB in turn',
    cells: [
      ...names.map((name) => ns(mixed[name]!)),
      ns(mixed['routed']!),
      'both',
      ratio(mixed['routed']! / best),
    ],
    met: mixed['routed']! <= best,
  });
  return rows;
}

const HOW =
  'AES-128-CBC encryption, one session each, turn by turn; the routed one was calibrated before, in the same guest. The last column is the median over ' +
  'the rounds of routed / better single driver: the regret, at most 1.05 wanted.';

/** A CPU without AES instructions and virtio-crypto: the rig's router. */
export async function accelerator(): Promise<Section> {
  const found = await measured(
    { kind: 'qemu', cpu: 'max,-aes,-vaes', modules: ['virtio_crypto'] },
    'libcrypto,afalg',
    2,
  );
  const rows = rowsOf(found);
  const at = found.sizes.find(({ bytes }) => bytes === 65_536)!;
  const gain = at.drivers['libcrypto']! / at.routed;
  rows.push({ what: 'software / routed at 64 KiB', cells: ['', '', '', '', ratio(gain)], met: gain >= 5 });
  return {
    title: 'Routing by size: an accelerator behind a CPU without AES instructions (qemu)',
    command: 'npm run bench -- routing',
    how: HOW,
    columns: ['libcrypto', 'afalg', 'routed', 'who', 'regret'],
    rows,
    picture: { file: 'routing.svg', svg: await regretPicture(found) },
  };
}

/** The same machine with AES instructions: nobody needs the accelerator. */
export async function instructions(): Promise<Section> {
  const found = await measured(
    { kind: 'qemu', cpu: 'max', modules: ['virtio_crypto'] },
    'libcrypto,afalg',
    1.5,
  );
  const rows = rowsOf(found);
  rows.push({
    what: 'libcrypto at every size',
    cells: ['', '', '', found.borders.map(({ driver }) => driver).join(', '), ''],
    met: found.borders.length === 1 && found.borders[0]!.driver === 'libcrypto',
  });
  return {
    title: 'Routing by size: the same accelerator behind a CPU with AES instructions (qemu)',
    command: 'npm run bench -- routing-aes',
    how: HOW,
    columns: ['libcrypto', 'afalg', 'routed', 'who', 'regret'],
    rows,
  };
}

/** /dev/crypto served from user space, some time late, against the kernel's own software. */
export async function served(): Promise<Section> {
  const found = await measured({ kind: 'uml' }, 'afalg,cryptodev', 2, [
    process.execPath,
    new URL('../rig/cryptodev/main.js', import.meta.url).pathname,
    '--knobs',
    JSON.stringify({ delayMicroseconds: DELAY_MICROSECONDS }),
    '--',
  ]);
  return {
    title: `Routing by size: /dev/crypto that answers ${DELAY_MICROSECONDS} µs late, and the kernel’s software (uml)`,
    command: 'npm run bench -- routing-served',
    how: HOW,
    columns: ['afalg', 'cryptodev', 'routed', 'who', 'regret'],
    rows: rowsOf(found),
  };
}

/** What deciding costs, and what a relay adds to a short request. */
export function decision(): Section {
  const algorithm = findAlgorithm('aes-128-cbc');
  if (algorithm?.kind !== 'cipher') throw new Error('aes-128-cbc is not in the table');
  const candidates = (['libcrypto', 'node'] as const).map((name) => ({
    driver: getDriver(name),
    label: name,
    options: {},
  }));
  const curve = (fixed: number, slope: number) =>
    [16, 1 << 20].map((requestBytes) => {
      const elapsedNs = fixed + slope * requestBytes;
      return { requestBytes, elapsedNs, cpuNs: elapsedNs };
    });
  const squad = new Squad({
    algorithm,
    candidates,
    costs: { curves: [curve(100, 10), curve(9_100, 1)], by: 'elapsedNs' },
    health: new Health(),
    stats: new Stats(),
  });
  let at = 0;
  // Each size depends on the choice before it, so that none can be left out.
  const decide = (): void => {
    for (let i = 0; i < 1000; i++) at = (at * 31 + squad.pick((at + i * 97) & 0xffff)) & 0xffff;
  };
  const each = compare(decide, decide).oursNs / 1000;
  return {
    title: 'Routing by size: what the decision costs (host)',
    command: 'npm run bench -- routing-decision',
    how: 'Who gets a request, of two drivers with a border at 1000 bytes: 1000 decisions over mixed sizes, with the loop around them.',
    columns: ['a decision'],
    rows: [
      {
        what: 'Squad.pick',
        cells: [ns(each)],
        met: each < 200,
      },
    ],
  };
}
