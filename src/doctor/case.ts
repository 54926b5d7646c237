/** What several rules ask of the facts: engines, who is used for what, what the owner wants encrypted, curves side by side. */
import {
  type Crossover,
  crossover,
  fitLine,
  type Line,
  predictNs,
  type RatioAt,
  ratios,
} from '../bench/comparison/index.js';
import { judgeHardware } from '../drivers/hardware.js';
import { CRYPTO_ALG } from '../linux/netlink.js';
import { moduleName } from '../linux/proc.js';
import { ENGINES, type Engine, engineOf } from './engines.js';
import { candidates, hardwareEntries, type KernelEntry, winner } from './facts/algorithms.js';
import type { Device } from './facts/devices.js';
import type { Quote } from './facts/document.js';
import type { Facts } from './facts/index.js';
import type { Curve } from './facts/results.js';

/** Something of the owner's that uses an algorithm of the kernel. */
export interface Use {
  /** `xts(aes)`. */
  readonly algorithm: string;
  readonly by: 'dm-crypt' | 'LUKS' | 'cryptsetup benchmark';
  readonly quote: Quote;
}

/** The same algorithm by the program's own code and handed over. */
export interface CurvePair {
  readonly algorithm: string;
  readonly software: Curve;
  readonly offloaded: Curve;
  readonly ratios: readonly RatioAt[];
  readonly crossover: Crossover;
}

export interface Case {
  readonly facts: Facts;
  /** Entries of engines in the kernel's list. */
  readonly hardware: readonly KernelEntry[];
  /** Engines that have registered something, each once. */
  readonly engines: readonly Engine[];
  /** Names of engines for sentences: `EIP93`; those that no table knows by their driver. */
  readonly engineNames: readonly string[];
  /** Devices whose engine has registered nothing. */
  readonly idleDevices: readonly Device[];
  readonly uses: readonly Use[];
  /** Those of a known engine first, then those with most sizes in common. */
  readonly pairs: readonly CurvePair[];
  /** Signs that the CPU has instructions for AES, the best first. */
  readonly cpuAes: readonly Quote[];
  /** The most bytes a second of AES in CBC, CTR or GCM that the CPU reached by itself. */
  readonly softwareRate?: { readonly bytesPerSecond: number; readonly quote: Quote };
}

/** So much no CPU of the kinds in question reaches without instructions for AES. */
const WITHOUT_INSTRUCTIONS = 400e6;

export function derive(facts: Facts): Case {
  const hardware = hardwareEntries(facts.kernel);
  const engines = ENGINES.filter((engine) =>
    hardware.some(({ verdict }) => engineOf(verdict.engine) === engine),
  );
  const engineNames = [
    ...new Set(
      hardware.map(({ verdict, driver }) => engineOf(verdict.engine)?.name ?? verdict.engine ?? driver),
    ),
  ];
  const softwareRate = fastest(facts);
  return {
    facts,
    hardware,
    engines,
    engineNames,
    idleDevices: facts.devices.devices.filter(({ engine }) => !engines.includes(engine)),
    uses: usesOf(facts),
    pairs: pairsOf(facts),
    cpuAes: cpuAesOf(facts, softwareRate),
    ...(softwareRate ? { softwareRate } : {}),
  };
}

function usesOf({ disks, results }: Facts): Use[] {
  const uses: Use[] = [];
  for (const { kernelName, quote } of disks.tables)
    if (kernelName !== undefined) uses.push({ algorithm: kernelName, by: 'dm-crypt', quote });
  for (const { cipher } of disks.headers) {
    const [, name, mode] = /^([a-z0-9_]+)-(cbc|xts|ecb)\b/.exec(cipher?.value ?? '') ?? [];
    if (cipher && name !== undefined)
      uses.push({ algorithm: `${mode}(${name})`, by: 'LUKS', quote: cipher.quote });
  }
  for (const { source, tool, runs } of results.sets) {
    if (tool !== 'cryptsetup benchmark') continue;
    for (const { algorithmText, status, line } of runs.flatMap(({ measurements }) => measurements)) {
      const [, name, mode] = /^([a-z0-9]+)-(cbc|xts)$/.exec(algorithmText) ?? [];
      if (
        name === undefined ||
        status !== 'ok' ||
        uses.some(({ algorithm, by }) => by === 'cryptsetup benchmark' && algorithm === `${mode}(${name})`)
      )
        continue;
      uses.push({
        algorithm: `${mode}(${name})`,
        by: 'cryptsetup benchmark',
        quote: { source, line: line ?? 0, text: algorithmText },
      });
    }
  }
  return uses;
}

function pairsOf({ results }: Facts): CurvePair[] {
  const pairs: CurvePair[] = [];
  for (const { algorithm, curves } of results.subjects) {
    const usable = curves.filter(({ series }) => series.points.length > 0);
    // One process against one process: what several do together is another question.
    const single = (curve: Curve): boolean => (curve.series.parallel ?? 1) === 1;
    const ranked = [...usable.filter(single), ...usable.filter((curve) => !single(curve))];
    for (const offloaded of ranked.filter(({ place }) => place === 'offloaded')) {
      const software = ranked.find(
        ({ place, series }) =>
          place === 'software' && (series.parallel ?? 1) === (offloaded.series.parallel ?? 1),
      );
      if (!software) continue;
      const both = ratios(software.series, offloaded.series);
      if (both.length > 0)
        pairs.push({
          algorithm,
          software,
          offloaded,
          ratios: both,
          crossover: crossover(software.series, offloaded.series),
        });
    }
  }
  // An engine that is known by its driver's name says more than software of the kernel, whatever the door.
  const known = ({ offloaded: { series } }: CurvePair): number =>
    Number(
      series.kernelDriver !== undefined && judgeHardware({ driver: series.kernelDriver }).hardware === 'yes',
    );
  return pairs.sort((a, b) => known(b) - known(a) || b.ratios.length - a.ratios.length);
}

/** No engine of a small machine reaches so much through AF_ALG, which is what cryptsetup measures: that is a CPU with instructions. */
const SURELY_CPU = 500e6;

function fastest({ results }: Facts): Case['softwareRate'] {
  let best: { bytesPerSecond: number; quote: Quote } | undefined;
  for (const { algorithm, curves } of results.subjects) {
    if (!/^aes-\d+-(?:cbc|ctr|gcm|ecb|xts)/.test(algorithm)) continue;
    for (const { place, series, quote, run } of curves) {
      if ((series.parallel ?? 1) > 1 || run.engine?.loaded === 'yes') continue;
      for (const { bytesPerSecond } of series.points) {
        if (place !== 'software' && bytesPerSecond < SURELY_CPU) continue;
        if (bytesPerSecond > (best?.bytesPerSecond ?? 0)) best = { bytesPerSecond, quote };
      }
    }
  }
  return best;
}

function cpuAesOf({ machine, kernel }: Facts, rate: Case['softwareRate']): Quote[] {
  const signs: Quote[] = [];
  if (machine.aes?.value) signs.push(machine.aes.quote);
  const entry = kernel.entries.find(
    ({ driver }) =>
      /-aesni|-vaes-|-aes-ce$|aes-ce\b|-ce$|zvk|-p8$|^p8_aes|-s390$/.test(driver) && /aes/.test(driver),
  );
  if (entry) signs.push(entry.quote);
  if (rate && rate.bytesPerSecond >= WITHOUT_INSTRUCTIONS && machine.aes?.value !== false)
    signs.push(rate.quote);
  return signs;
}

/** Who the kernel gives this name to, where the listing says. */
export function usedFor({ facts }: Case, algorithm: string): KernelEntry | undefined {
  return winner(facts.kernel, algorithm);
}

/** Would dm-crypt refuse it, from Linux 5.9 on? The flag is known from netlink only; of engines in a listing it is known by their name. */
export function allocatesMemory({ flags = 0, verdict }: KernelEntry): boolean {
  return (flags & CRYPTO_ALG.ALLOCATES_MEMORY) !== 0 || engineOf(verdict.engine)?.allocates === true;
}

/** The engine's own entry for a name, used or not. */
export function engineEntry({ facts }: Case, algorithm: string): KernelEntry | undefined {
  return candidates(facts.kernel, algorithm).find(({ verdict }) => verdict.hardware === 'yes');
}

/** `EIP93`, or `EIP93 and CAAM`. */
/** The module of an engine's driver that is loaded, by the texts. */
export function loadedModule({ modules }: Facts, engine: Engine): string | undefined {
  return engine.modules.map(moduleName).find((module) => modules.loaded.has(module));
}

export function engineNamesText({ engineNames }: Case): string {
  return listed(engineNames.slice(0, 3));
}

export function listed(words: readonly string[], last = 'and'): string {
  return words.length < 2 ? (words[0] ?? '') : `${words.slice(0, -1).join(', ')} ${last} ${words.at(-1)}`;
}

/** The line behind a curve, where there is one that can be believed. */
export function lineOf({ series }: Curve): Line | undefined {
  const { line, problem } = fitLine(series.points);
  return problem === undefined || problem === 'POOR_FIT' ? line : undefined;
}

/** Bytes a second at a request size: measured where it was, by the line elsewhere. */
export function rateAt(curve: Curve, requestBytes: number): number | undefined {
  const measured = curve.series.points.find((point) => point.requestBytes === requestBytes);
  if (measured) return measured.bytesPerSecond;
  const line = lineOf(curve);
  const ns = line && predictNs(line, requestBytes);
  return ns !== undefined && ns > 0 ? (requestBytes * 1e9) / ns : undefined;
}
