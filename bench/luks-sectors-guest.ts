/**
 * What sectors of 512 to 4096 bytes cost by each way, decrypted. Run by `luks-sectors.ts` in a guest; prints one line of JSON.
 *
 * Arguments: the engine's kernel driver, which has cbc(aes); rounds.
 */

import { diskProblem, measureDisk } from '#src/bench/disk/index.js';
import { parseDiskCipher } from '#src/bench/disk/specification.js';
import { median } from '#src/bench/engine/statistics.js';
import { SectorCipher } from '#src/luks/sectors/cipher.js';
import { parseSpecification } from '#src/luks/sectors/specification.js';
import { Router } from '#src/routing/router.js';

/** Bytes a second, by what did it. */
export type SectorRates = Readonly<Record<(typeof WAYS)[number], number>>;

export interface SectorFindings {
  readonly sectors: readonly (SectorRates & { readonly sectorBytes: number })[];
  /** A request for so many bytes. */
  readonly requests: readonly {
    readonly bytes: number;
    readonly engine: number;
    readonly software: number;
  }[];
  /** Who works below dm-crypt, and whom it passed over. */
  readonly bound: string;
  readonly passedOver: readonly string[];
}

const WAYS = ['software', 'dmCrypt', 'bySector', 'batched', 'xtsSoftware', 'xtsBatched'] as const;
const SIZES = [512, 1024, 2048, 4096];
/** Sector by sector, so much takes long enough; a batch is what it is. */
const SLOW_BYTES = 128 * 1024;
/** What is no sector any more, to see from where on a request pays. */
const REQUESTS = [8192, 16_384, 32_768, 65_536];
const BATCH_BYTES = 1024 * 1024;

const [engine = '', roundsText = '7'] = process.argv.slice(2);
const label = `afalg:${engine}`;
const router = (drivers: string): Router => new Router({ drivers, onFallback: () => {} });
const [software, pinned] = [router('libcrypto'), router(label)];
const cbc = parseSpecification('aes-cbc-plain64', 16);
const xts = parseSpecification('aes-xts-plain64', 32);
const key = Buffer.from(Array.from({ length: 32 }, (_, i) => i * 7 + 1));

const algorithm = cbc.algorithm;
const route = pinned.route(algorithm);
const single = route.driver.cipher(
  algorithm,
  'decrypt',
  key.subarray(0, 16),
  Buffer.alloc(16),
  route.options,
);

/** As dm-crypt asks: an IV and a request for each sector. */
function bySector(data: Buffer, sectorBytes: number): void {
  const iv = Buffer.alloc(16);
  for (let at = 0; at < data.length; at += sectorBytes) {
    iv.writeBigUInt64LE(BigInt(at / 512));
    const sector = data.subarray(at, at + sectorBytes);
    single.restart(iv);
    single.update(sector, sector);
  }
}

interface Work {
  readonly run: (data: Buffer) => void;
  readonly bytes: number;
}

const works = SIZES.map((sectorBytes) => {
  const cipher = (spec: typeof cbc, by: Router, keyBytes: number, bytes: number): Work => {
    const made = new SectorCipher(spec, 'decrypt', key.subarray(0, keyBytes), { sectorBytes, router: by });
    return { bytes, run: (data) => made.run(data, 0) };
  };
  return {
    software: cipher(cbc, software, 16, SLOW_BYTES),
    bySector: { bytes: SLOW_BYTES, run: (data: Buffer) => bySector(data, sectorBytes) },
    batched: cipher(cbc, pinned, 16, BATCH_BYTES),
    xtsSoftware: cipher(xts, software, 32, SLOW_BYTES),
    xtsBatched: cipher(xts, pinned, 32, BATCH_BYTES),
  };
});
type Own = keyof (typeof works)[number];
const OWN = Object.keys(works[0]!) as Own[];

const rates = SIZES.map(() => Object.fromEntries(WAYS.map((way) => [way, [] as number[]])));
const text = Buffer.from(Array.from({ length: BATCH_BYTES }, (_, i) => (i * 31) ^ (i >> 8)));

// Nothing is timed that is not right, and V8 compiles what it has seen for a while.
for (const [i, own] of works.entries()) {
  const made = (way: Own): Buffer => {
    const data = Buffer.from(text.subarray(0, own[way].bytes));
    own[way].run(data);
    return data.subarray(0, SLOW_BYTES);
  };
  for (let warm = 0; warm < 3; warm++) {
    const [want, wantXts] = [made('software'), made('xtsSoftware')];
    if (
      !made('bySector').equals(want) ||
      !made('batched').equals(want) ||
      !made('xtsBatched').equals(wantXts)
    )
      throw new Error(`sectors of ${SIZES[i]} bytes: the results differ`);
  }
}

const timed = (bytes: number, run: (data: Buffer) => void): number => {
  const data = Buffer.from(text.subarray(0, bytes));
  const start = process.hrtime.bigint();
  run(data);
  return (bytes * 1e9) / Number(process.hrtime.bigint() - start);
};
const larger = REQUESTS.map((bytes) => ({ bytes, engine: [] as number[], software: [] as number[] }));

const problem = diskProblem();
if (problem) throw new Error(problem.message);
const disk = parseDiskCipher('aes-cbc-plain64', 128)!;
let bound = '';
const passedOver = new Set<string>();
for (let round = 0; round < Number(roundsText); round++) {
  for (const [i, own] of works.entries()) {
    for (let turn = 0; turn < OWN.length; turn++) {
      const way = OWN[(turn + round) % OWN.length]!;
      rates[i]![way]!.push(timed(own[way].bytes, own[way].run));
    }
    const found = await measureDisk({ ciphers: [disk], sectors: [SIZES[i]!], seconds: 0.3 });
    const [row] = found.rows;
    if (row?.problem !== undefined) throw new Error(row.problem);
    bound = row?.bound?.kernelDriver ?? 'unknown';
    for (const one of found.passedOver) passedOver.add(one.text);
    rates[i]!['dmCrypt']!.push(row?.read?.bytesPerSecond ?? Number.NaN);
  }
  for (const { bytes, engine: own, software: theirs } of larger) {
    own.push(timed(SLOW_BYTES, (data) => bySector(data, bytes)));
    theirs.push(timed(SLOW_BYTES, works[0]!.software.run));
  }
}
const found: SectorFindings = {
  requests: larger.map(({ bytes, engine: own, software: theirs }) => ({
    bytes,
    engine: median(own),
    software: median(theirs),
  })),
  sectors: SIZES.map((sectorBytes, i) => ({
    sectorBytes,
    ...(Object.fromEntries(WAYS.map((way) => [way, median(rates[i]![way]!)])) as SectorRates),
  })),
  bound,
  passedOver: [...passedOver],
};
process.stdout.write(`${JSON.stringify(found)}\n`);
