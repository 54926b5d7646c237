/** What was measured of disk ciphers, wherever it comes from: curves of cost by request size, with who did the work. */
import type { Quote } from '../doctor/facts/document.js';
import type { Facts } from '../doctor/facts/index.js';
import { type Curve, megabytesPerSecond } from '../doctor/facts/results.js';
import type { CostCurve } from '../routing/cost.js';
import type { Profile } from '../routing/profile.js';
import { LINES } from './lines.js';

/** Encrypting is writing, decrypting is reading. */
export type Operation = 'encrypt' | 'decrypt';
export const OPERATIONS: readonly Operation[] = ['encrypt', 'decrypt'];

export interface Figure {
  /** Of `DiskLine`. */
  readonly algorithm: string;
  /** Absent where the text does not say. */
  readonly operation?: Operation;
  /**
   * `dm-crypt`: a mapping was measured, and a request is a sector. `kernel`: the kernel's cipher as a program reaches it. `program`: a library's own code on the
   * CPU, which is not what a disk uses.
   */
  readonly by: 'dm-crypt' | 'kernel' | 'program';
  /** Reached through AF_ALG, which never gets to an engine from Linux 7.2 on. */
  readonly afalg: boolean;
  readonly kernelDriver?: string;
  readonly points: CostCurve;
  /** Something else used the machine meanwhile. */
  readonly disturbed?: true;
  readonly quote: Quote;
}

const WANTED = new Set(LINES.map(({ algorithm }) => algorithm));

/** In the texts. What several processes did together is another question, and left out. */
export function figuresOf({ results }: Facts): Figure[] {
  const figures = results.subjects.flatMap(({ algorithm, curves }) => {
    const name = nameOf(algorithm);
    if (name === undefined) return [];
    return curves.flatMap((curve): (Figure & { readonly program: string })[] => {
      const { series, quote } = curve;
      if ((series.parallel ?? 1) > 1 || series.points.length === 0) return [];
      const operation = series.points[0]!.measurement.operation;
      const tool = results.sets[series.set]?.tool;
      const by = byOf(curve, tool);
      const points = series.points.map(({ requestBytes, bytesPerSecond, correctedBytesPerSecond }) => ({
        requestBytes,
        elapsedNs: (requestBytes * 1e9) / (correctedBytesPerSecond ?? bytesPerSecond),
        cpuNs: 0,
      }));
      return [
        {
          algorithm: name,
          ...(operation === 'encrypt' || operation === 'decrypt' ? { operation } : {}),
          by,
          afalg:
            series.driver === 'afalg' ||
            tool === 'cryptsetup benchmark' ||
            tool === 'kcapi-speed' ||
            /af_?alg/i.test(curve.run.engine?.requested ?? series.engine ?? ''),
          ...(series.kernelDriver === undefined ? {} : { kernelDriver: series.kernelDriver }),
          program: series.driver ?? tool ?? '',
          points,
          ...(series.points.some(({ doubts }) => doubts.some(({ code }) => code === 'NOISY'))
            ? { disturbed: true as const }
            : {}),
          quote: {
            ...quote,
            text: textOf(
              `${name}${operation === undefined ? '' : ` ${operation}`}`,
              (by === 'program' ? series.driver : series.kernelDriver) ??
                series.engine ??
                series.driver ??
                series.driverHint ??
                curve.run.label,
              points,
              series.points.map(({ bytesPerSecond }) => bytesPerSecond),
            ),
          },
        },
      ];
    });
  });
  // Of libraries OpenSSL's is the one whose code is like the kernel's: both use what instructions there are.
  const openssl = new Set(
    figures.flatMap(({ program, algorithm }) => (/^(?:libcrypto|openssl)/.test(program) ? [algorithm] : [])),
  );
  return figures
    .filter(({ program, algorithm }) => !OTHER_LIBRARIES.test(program) || !openssl.has(algorithm))
    .map(({ program: _, ...figure }) => figure);
}

const OTHER_LIBRARIES = /^(?:node|nettle|gcrypt)\b/;

/** `aes-128-xts decrypt, cbc-aes-caam: 512 B 8.20 MB/s, 65536 B 24.1 MB/s`. */
function textOf(what: string, who: string, points: CostCurve, said: readonly number[] = []): string {
  const shown =
    points.length <= 4
      ? points
      : [
          points[0]!,
          ...[512, 4096].flatMap((bytes) => points.filter((point) => point.requestBytes === bytes)),
          points.at(-1)!,
        ];
  const rates = shown.map((point) => {
    const { requestBytes, elapsedNs } = point;
    const rate = (requestBytes * 1e9) / elapsedNs;
    const own = said[points.indexOf(point)] ?? rate;
    // Of cryptsetup's table, which is in MiB/s.
    return Math.abs(own - rate) <= rate * 1e-6
      ? `${requestBytes} B ${megabytesPerSecond(rate)}`
      : `${requestBytes} B ${(own / 2 ** 20).toFixed(1)} MiB/s as printed, ${megabytesPerSecond(rate)} corrected`;
  });
  return `${what}${who === '' ? '' : `, ${who}`}: ${[...new Set(rates)].join(', ')}`;
}

/** `xchacha12,aes-adiantum` and its like have no name of hwcrypt's; cryptsetup's table has them as they are. */
function nameOf(algorithm: string): string | undefined {
  if (WANTED.has(algorithm)) return algorithm;
  const [, cipher] =
    /^(?:capi:)?(?:adiantum\()?(xchacha(?:12|20)),aes(?:-adiantum|\))/.exec(algorithm.toLowerCase()) ?? [];
  return cipher === undefined ? undefined : `${cipher},aes-adiantum`;
}

function byOf({ series, place }: Curve, tool: string | undefined): Figure['by'] {
  if (series.driver === 'dm-crypt') return 'dm-crypt';
  if (tool === 'cryptsetup benchmark' || tool === 'kcapi-speed' || tool === 'cryptodev speed')
    return 'kernel';
  return place === 'offloaded' ? 'kernel' : 'program';
}

/** What `hwcrypt calibrate` found on this machine, where that still holds. */
export function profileFigures(profile: Profile): Figure[] {
  return LINES.flatMap(({ algorithm }) =>
    OPERATIONS.flatMap((operation) =>
      (profile.entry(algorithm, operation)?.implementations ?? []).flatMap(
        ({ driver, kernelDriver, points }): Figure[] => {
          if (points.length === 0 || OTHER_LIBRARIES.test(driver)) return [];
          const kernel = /^(afalg|cryptodev)\b/.exec(driver)?.[1];
          return [
            {
              algorithm,
              operation,
              by: kernel === undefined ? 'program' : 'kernel',
              afalg: kernel === 'afalg',
              ...(kernel === undefined ? {} : { kernelDriver }),
              points,
              quote: {
                source: 'hwcrypt calibrate',
                line: 0,
                text: textOf(`${algorithm} ${operation}`, driver, points),
              },
            },
          ];
        },
      ),
    ),
  );
}
