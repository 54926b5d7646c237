/**
 * Regret: what a routed request costs beside the same request by each single driver. Run by `routing.ts` in a guest; prints one
 * line of JSON.
 *
 * Arguments: drivers, separated by commas; the sizes, likewise; seconds for each size.
 */
import { type CipherAlgorithm, findAlgorithm } from '#src/algorithms.js';
import { median } from '#src/bench/engine/statistics.js';
import type { CipherSession } from '#src/drivers/driver.js';
import { parseDriver } from '#src/drivers/registry.js';
import { calibrate } from '#src/routing/calibrate.js';
import { openProfile } from '#src/routing/profile.js';
import { Router } from '#src/routing/router.js';

/** What the guest found. */
export interface Regret {
  readonly sizes: readonly SizeRegret[];
  /** Half 64-byte, half 64-KiB requests in one stream: nanoseconds a pair, by driver. */
  readonly mixed: Readonly<Record<string, number>>;
  readonly borders: readonly { readonly fromBytes: number; readonly driver: string }[];
  readonly calibrationSeconds: number;
}

export interface SizeRegret {
  readonly bytes: number;
  /** Median nanoseconds a request, by driver. */
  readonly drivers: Readonly<Record<string, number>>;
  readonly routed: number;
  /** Who did the routed ones. */
  readonly by: string;
  /** Median over the rounds of routed / best single driver. */
  readonly regret: number;
}

const ROUNDS = 9;
const ROUTED = 'routed';

const [labels = '', sizeList = '', secondsText = '1'] = process.argv.slice(2);
const drivers = labels.split(',');
const sizes = sizeList.split(',').map(Number);
const seconds = Number(secondsText);
const algorithm = findAlgorithm('aes-128-cbc') as CipherAlgorithm;

const started = performance.now();
const entries = await calibrate([algorithm], { drivers });
const calibrationSeconds = (performance.now() - started) / 1000;
const profile = openProfile({ path: '/tmp/profile.json' });
profile.saveEntries(entries);
const router = new Router({ drivers, policy: 'fastest', profile });
const route = router.route(algorithm);

const [key, iv] = [Buffer.alloc(16, 1), Buffer.alloc(16, 2)];
const sessions: Record<string, CipherSession> = {
  [ROUTED]: route.driver.cipher(algorithm, 'encrypt', key, iv),
};
for (const label of drivers) {
  const { driver, kernelDriver } = parseDriver(label);
  sessions[label] = driver.cipher(
    algorithm,
    'encrypt',
    key,
    iv,
    kernelDriver === undefined ? {} : { kernelDriver },
  );
}

/** Nanoseconds a call over some `ms`. */
function time(work: () => void, ms: number): number {
  const start = process.hrtime.bigint();
  let count = 0;
  let elapsed = 0;
  do {
    for (let i = 0; i < 4; i++) work();
    count += 4;
    elapsed = Number(process.hrtime.bigint() - start);
  } while (elapsed < ms * 1e6);
  return elapsed / count;
}

/** Rounds in turn: each contestant's figures, round by round. */
function rounds(works: Readonly<Record<string, () => void>>): Record<string, number[]> {
  const names = Object.keys(works);
  const ms = (seconds * 1000) / (ROUNDS * names.length);
  const figures: Record<string, number[]> = Object.fromEntries(names.map((name) => [name, []]));
  for (const name of names) time(works[name]!, ms);
  for (let round = 0; round < ROUNDS; round++) {
    for (let i = 0; i < names.length; i++) {
      const name = names[(i + round) % names.length]!;
      figures[name]!.push(time(works[name]!, ms));
    }
  }
  return figures;
}

// V8 compiles what it has seen for a while, and on an emulated processor that while is long.
for (const session of Object.values(sessions)) {
  const [data, other] = [Buffer.alloc(16_384), Buffer.alloc(16_384)];
  time(() => {
    session.update(data, other);
    session.update(data, data);
    for (let i = 0; i < 10; i++) session.update(data.subarray(0, 16), other);
  }, 2000);
}

const found: SizeRegret[] = [];
for (const bytes of sizes) {
  const input = Buffer.alloc(bytes, 7);
  const output = Buffer.alloc(bytes);
  const works = Object.fromEntries(
    Object.entries(sessions).map(([name, session]) => [name, () => session.update(input, output)]),
  );
  const figures = rounds(works);
  const medians = Object.fromEntries(Object.entries(figures).map(([name, list]) => [name, median(list)]));
  const best = drivers.reduce((a, b) => (medians[a]! <= medians[b]! ? a : b));
  found.push({
    bytes,
    drivers: Object.fromEntries(drivers.map((name) => [name, medians[name]!])),
    routed: medians[ROUTED]!,
    by: router.explain(algorithm, bytes).driver,
    regret: median(figures[ROUTED]!.map((own, round) => own / figures[best]![round]!)),
  });
}

const short = Buffer.alloc(64, 7);
const long = Buffer.alloc(65_536, 7);
const mixed = rounds(
  Object.fromEntries(
    Object.entries(sessions).map(([name, session]) => [
      name,
      () => {
        session.update(short, short);
        session.update(long, long);
      },
    ]),
  ),
);
const regret: Regret = {
  sizes: found,
  mixed: Object.fromEntries(Object.entries(mixed).map(([name, list]) => [name, median(list)])),
  borders: router.explain(algorithm, 0).borders,
  calibrationSeconds,
};
process.stdout.write(`${JSON.stringify(regret)}\n`);
