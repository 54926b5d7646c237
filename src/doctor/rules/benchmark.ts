/** What the owner measured: whether it says what it seems to, and what it says. */

import type { Run } from '../../bench/model.js';
import { roughSize, times } from '../../bench/units.js';
import { type Case, type CurvePair, engineNamesText } from '../case.js';
import { MEASURE } from '../cures.js';
import type { Quote } from '../facts/document.js';
import {
  type Curve,
  isTableRow,
  measurements,
  megabytesPerSecond,
  tableRate,
  tableRows,
} from '../facts/results.js';
import type { Found, Rule } from '../finding.js';
import { costText, WORKLOADS, workloadsText } from '../prediction.js';

const hasDoubt = (run: Run, code: string): boolean =>
  run.doubts.some((doubt) => doubt.code === code) ||
  run.measurements.some(({ doubts }) => doubts.some((doubt) => doubt.code === code));

const userTime: Rule = {
  id: 'benchmark-by-user-time',
  topic: 'benchmark',
  about: '`openssl speed` without -elapsed divides by CPU time, which stands still while an engine works',
  examine: ({ facts }) => {
    const found = facts.results.sets.flatMap(({ source, runs }) =>
      runs
        .filter(
          (run) =>
            run.measurements.length > 0 &&
            (hasDoubt(run, 'CPU_TIME_DIVISOR') || hasDoubt(run, 'CPU_TIME_NO_COUNTS')),
        )
        .map((run) => ({ run, source })),
    );
    const [first] = found;
    if (!first) return [];
    const rows = first.run.measurements.filter(
      ({ bytesPerSecond, requestBytes }) => bytesPerSecond !== undefined && requestBytes !== undefined,
    );
    const worst = rows.reduce<(typeof rows)[number] | undefined>(
      (most, row) =>
        (row.claimedBytesPerSecond ?? Infinity) / row.bytesPerSecond! >
        (most ? (most.claimedBytesPerSecond ?? Infinity) / most.bytesPerSecond! : 0)
          ? row
          : most,
      undefined,
    );
    const real = rows.map(
      ({ requestBytes, bytesPerSecond }) => `${requestBytes} B ${megabytesPerSecond(bytesPerSecond!)}`,
    );
    // Without counts the rate is the claim itself, and nothing shows that it is wrong.
    if (worst?.claimedBytesPerSecond && worst.claimedBytesPerSecond < worst.bytesPerSecond! * 1.2) return [];
    const factor = worst?.claimedBytesPerSecond
      ? times(worst.claimedBytesPerSecond / worst.bytesPerSecond!)
      : undefined;
    const quote: Quote = {
      source: first.source,
      line: worst?.line ?? first.run.lines?.[0] ?? 0,
      text: `${worst?.algorithmText ?? first.run.label}: ${worst?.requests ?? '?'} requests of ${worst?.requestBytes ?? '?'} B`,
    };
    return [
      {
        kind: 'problem',
        weight: 83.5,
        sureness: 'certain',
        verdict: `The figures are ${factor === undefined ? 'far too high' : `up to ${factor} too high`}: openssl speed ran without -elapsed and divided by CPU time, which stood still while somebody else worked`,
        details: [
          ...(real.length > 0
            ? [
                `By its own counts and the clock: ${real.join(', ')} (an estimate, since it did not write the seconds down).`,
              ]
            : ['Without the lines of counts no figure can be rescued from it.']),
          'That the program’s own time is small shows only that the work left it. The kernel’s software does that too: it is no proof of hardware.',
        ],
        evidence: [quote],
        steps: [MEASURE],
      },
    ];
  },
};

const notEvp: Rule = {
  id: 'benchmark-without-evp',
  topic: 'benchmark',
  about: '`openssl speed aes-128-cbc` without -evp never asks an engine',
  examine: (subject) => {
    const { facts, hardware } = subject;
    const found = facts.results.sets.flatMap(({ source, runs }) =>
      runs.filter((run) => hasDoubt(run, 'NOT_EVP')).map((run) => ({ run, source })),
    );
    const [first] = found;
    if (!first) return [];
    const wanted =
      hardware.length > 0 ||
      first.run.engine !== undefined ||
      facts.openssl.configured.size > 0 ||
      facts.modules.wanted.size > 0;
    return [
      {
        kind: wanted ? 'problem' : 'advice',
        weight: wanted ? 80 : 62.2,
        sureness: 'certain',
        verdict:
          'This benchmark cannot show an engine: without -evp, openssl speed runs OpenSSL’s own code and asks nobody',
        evidence: [
          {
            source: first.source,
            line: first.run.lines?.[0] ?? 0,
            text: first.run.command ?? first.run.label,
          },
        ],
        steps: [MEASURE],
      },
    ];
  },
};

function label({ series }: Curve): string {
  const way = series.engine ?? series.driver ?? `“${series.label}”`;
  return series.kernelDriver === undefined ? way : `${way} (${series.kernelDriver})`;
}

/** One finding for the pair that says most; others of the same kind add a sentence. */
const worthIt: Rule = {
  id: 'engine-worth-it',
  topic: 'benchmark',
  about: 'handed over against OpenSSL’s own code: slower everywhere, or from which size on it wins',
  examine: (subject) => {
    const [pair, ...others] = subject.pairs;
    if (!pair) return [];
    const { kind } = pair.crossover;
    const evidence = [pair.software.quote, pair.offloaded.quote];
    const multi = others.filter(
      ({ algorithm, offloaded }) => algorithm === pair.algorithm && (offloaded.series.parallel ?? 1) > 1,
    );
    const common = {
      evidence,
      ...(workloadsText(pair) === undefined ? {} : { gain: workloadsText(pair)! }),
    };
    const details = [
      ...(costText(pair.offloaded) === undefined
        ? []
        : [`With ${label(pair.offloaded)} ${costText(pair.offloaded)}.`]),
      ...severalText(subject, pair),
      ...multi
        .slice(0, 1)
        .map(
          ({ offloaded }) =>
            `With ${offloaded.series.parallel} processes it reaches ${peak(offloaded)}: what the CPU has in cores counts too.`,
        ),
    ];
    if (kind === 'never-faster' || (pair.ratios.length === 1 && pair.ratios[0]!.outcome === 'slower'))
      return [slower(subject, pair, common, details)];
    if (kind === 'crosses' || kind === 'several') return [crossing(subject, pair, common, details)];
    if (kind === 'always-faster') {
      return [
        {
          kind: 'fine',
          weight: 50,
          sureness: 'certain',
          verdict: `It is worth it: ${pair.algorithm} by ${label(pair.offloaded)} is faster than the CPU’s own code at every size measured, ${range(pair)}`,
          details,
          ...common,
        },
      ];
    }
    return kind === 'even'
      ? [
          {
            kind: 'advice',
            weight: 67,
            sureness: 'certain',
            verdict: `${label(pair.offloaded)} makes no difference for ${pair.algorithm}: the figures with and without are the same`,
            details: [
              'Either it was not used at all, or what is behind it is as fast as OpenSSL’s own code. Interrupts of the engine, and the program’s CPU time, tell which.',
            ],
            ...common,
            steps: [MEASURE],
          },
        ]
      : [];
  },
};

function slower(subject: Case, pair: CurvePair, common: Partial<Found>, details: readonly string[]): Found {
  const losses = pair.ratios.map(({ ratio }) => 1 / ratio);
  const loss = `${times(Math.min(...losses))} to ${times(Math.max(...losses))}`;
  const used = pair.offloaded.run.doubts.some(({ code }) => code === 'CPU_TIME_DIVISOR');
  return {
    kind: 'problem',
    weight: 84.5,
    sureness: 'certain',
    verdict: `Handing ${pair.algorithm} over to ${label(pair.offloaded)} is a loss: the CPU’s own code is faster at every size, by ${loss}`,
    details: [
      ...(used
        ? ['It is used, as the small CPU time shows: the verdict is “used, and a loss”, not “not used”.']
        : []),
      ...(subject.hardware.length === 0
        ? [
            'If the kernel’s software is behind it, it can never win: the same computation, and the way into the kernel on top.',
          ]
        : []),
      ...details,
    ],
    ...common,
    steps: [
      {
        text: 'Do not use it for programs; keep it for what the kernel encrypts itself, if a measurement of that says so',
        commands: ['hwcrypt benchmark --disk'],
      },
      {
        system: 'openwrt',
        text: 'Turn the engine off',
        commands: ["uci set openssl.devcrypto.enabled='0'; uci commit openssl; /etc/init.d/openssl restart"],
      },
    ],
  };
}

function crossing(subject: Case, pair: CurvePair, common: Partial<Found>, details: readonly string[]): Found {
  const first =
    pair.crossover.crossings.find(({ above }) => above === 'faster') ?? pair.crossover.crossings[0]!;
  const [low, high] = [pair.ratios[0]!, pair.ratios.at(-1)!];
  const bytes = first.estimateBytes;
  const below = WORKLOADS.filter(([size]) => size < bytes).map(([, what]) => what);
  const engine = subject.engineNames.length === 1 && pair.offloaded.series.kernelDriver === undefined;
  const name = engine ? `${label(pair.offloaded)} (${engineNamesText(subject)})` : label(pair.offloaded);
  return {
    kind: 'advice',
    weight: bytes > 1024 ? 70 : 59,
    sureness: 'certain',
    verdict:
      first.above === 'faster'
        ? `${name} wins for ${pair.algorithm} from about ${roughSize(bytes)} a request on: ${ratioText(low.ratio)} at ${low.requestBytes} B, ${ratioText(high.ratio)} at ${high.requestBytes} B`
        : `${name} is faster for ${pair.algorithm} only below about ${roughSize(bytes)} a request`,
    details: [
      ...(below.length > 0 ? [`Too small for it: ${below.join(', ')}.`] : []),
      ...details,
      'What decides is the size of your application’s requests, not the largest figure of the table.',
    ],
    ...common,
    steps: [
      {
        text: 'Let only programs with large requests use it; a configuration for what was measured comes from',
        commands: ['hwcrypt openssl --config cnf'],
      },
    ],
  };
}

const ratioText = (ratio: number): string =>
  ratio >= 1 ? `${times(ratio)} as fast` : `${times(1 / ratio)} slower`;

function range({ ratios }: CurvePair): string {
  const values = ratios.map(({ ratio }) => ratio);
  return `by ${times(Math.min(...values))} to ${times(Math.max(...values))}`;
}

function peak({ series }: Curve): string {
  return megabytesPerSecond(Math.max(...series.points.map(({ bytesPerSecond }) => bytesPerSecond)));
}

/** Software on all cores may do what one engine does. */
function severalText({ facts }: Case, pair: CurvePair): string[] {
  const curves = facts.results.subjects.find(({ algorithm }) => algorithm === pair.algorithm)?.curves ?? [];
  const cores = curves
    .filter(({ place, series }) => place === 'software' && (series.parallel ?? 1) > 1)
    .at(-1);
  return cores ? [`Software in ${cores.series.parallel} processes reaches ${peak(cores)}.`] : [];
}

/** Where only one side was measured. */
const alone: Rule = {
  id: 'one-side-measured',
  topic: 'benchmark',
  about: 'figures of an engine without software’s beside them, or the CPU’s alone',
  examine: (subject) => {
    if (subject.pairs.length > 0) return [];
    const curves = subject.facts.results.subjects.flatMap(({ algorithm, curves: all }) =>
      all.filter(({ series }) => series.points.length > 1).map((curve) => ({ algorithm, curve })),
    );
    const offloaded = curves.find(({ curve }) => curve.place === 'offloaded');
    if (offloaded) {
      const cost = costText(offloaded.curve);
      return [
        {
          kind: 'advice',
          weight: 47.5,
          sureness: 'certain',
          verdict: `These figures show what ${offloaded.algorithm} by ${label(offloaded.curve)} does, and not whether it is worth it: software’s are missing beside them`,
          details: cost === undefined ? [] : [`With it ${cost}.`],
          evidence: [offloaded.curve.quote],
          steps: [
            {
              text: 'Measure the CPU’s own code in the same way and compare',
              commands: [
                'openssl speed -elapsed -evp aes-128-cbc > software.txt 2>&1',
                'openssl speed -elapsed -evp aes-128-cbc -engine devcrypto > engine.txt 2>&1',
                'hwcrypt compare software.txt engine.txt   # on a machine with Node',
              ],
            },
          ],
        },
      ];
    }
    const plain = curves.find(({ curve }) => curve.place === 'software');
    if (!plain || subject.softwareRate === undefined || subject.cpuAes.length > 0) return [];
    // Whoever asked for one in vain is told so by another rule.
    if (plain.curve.run.engine !== undefined) return [];
    return [
      {
        kind: 'fine',
        weight: 20,
        sureness: 'certain',
        verdict: `These are the CPU’s own figures: nothing in the text asked for an engine (${plain.algorithm}: ${peak(plain.curve)} at most)`,
        evidence: [plain.curve.quote],
      },
    ];
  },
};

const suggests: Rule = {
  id: 'benchmark-suggests-engine',
  topic: 'benchmark',
  about: 'CBC much faster than XTS in cryptsetup benchmark: the sign of an engine that has only CBC',
  examine: (subject) => {
    if (subject.hardware.length > 0 || subject.cpuAes.length > 0) return [];
    const rows = tableRows(subject.facts.results);
    const rate = (name: string, operation: 'encrypt' | 'decrypt'): ReturnType<typeof tableRate> => {
      const found = rows.find(
        (one) => isTableRow(one, name, operation) && one.row.bytesPerSecond !== undefined,
      );
      return found && tableRate(found, `${name}b`);
    };
    // XTS with 256 bits is AES-128: in software it is never slower than CBC with AES-256.
    const [cbc, xts, cbcBack, xtsBack] = [
      rate('aes-cbc 256', 'encrypt'),
      rate('aes-xts 256', 'encrypt'),
      rate('aes-cbc 256', 'decrypt'),
      rate('aes-xts 256', 'decrypt'),
    ];
    if (
      !cbc ||
      !xts ||
      !cbcBack ||
      !xtsBack ||
      cbc.value < xts.value * 1.25 ||
      cbcBack.value < xtsBack.value * 1.2
    )
      return [];
    return [
      {
        kind: 'advice',
        weight: 51.2,
        sureness: 'possible',
        verdict: `There seems to be an engine that does CBC and not XTS: aes-cbc with 256 bits is ${times(cbc.value / xts.value)} as fast as aes-xts with AES-128, and in software it would be slower`,
        details: [
          'So a disk with aes-xts, which is the default, gains little or nothing from it. /proc/crypto would say for certain.',
        ],
        evidence: [cbc.quote, xts.quote],
        steps: [{ text: 'See who does which', commands: ['hwcrypt list kernel', 'cat /proc/crypto'] }],
      },
    ];
  },
};

const overstated: Rule = {
  id: 'benchmark-unlike-disk',
  topic: 'benchmark',
  about: 'cryptsetup benchmark asks for 64 KiB at a time, a disk for 512 or 4096 bytes',
  examine: (subject) => {
    const { facts, hardware } = subject;
    const set = facts.results.sets.find(
      ({ tool, runs }) =>
        tool === 'cryptsetup benchmark' &&
        runs.some(({ measurements: rows }) => rows.some(({ status }) => status === 'ok')),
    );
    const engine = hardware.length > 0 || facts.devices.devices.length > 0;
    if (!set || !engine) return [];
    return [
      {
        kind: 'advice',
        weight: 46.5,
        sureness: 'certain',
        verdict:
          'cryptsetup’s benchmark is an upper bound for your disk: it asks for 64 KiB at a time, dm-crypt for one sector',
        details: [
          'An engine pays for each request, so it loses most of these figures with sectors of 512 bytes. Nor does the benchmark say which driver ran a row.',
        ],
        evidence: [
          { source: set.source, line: set.runs[0]?.lines?.[0] ?? 0, text: set.runs[0]?.command ?? set.tool },
        ],
        steps: [
          {
            text: 'Measure dm-crypt itself, in memory, with the driver named',
            commands: ['hwcrypt benchmark --disk'],
          },
        ],
      },
    ];
  },
};

const beforeAfter: Rule = {
  id: 'two-states-compared',
  topic: 'benchmark',
  about: 'the same benchmark with and without an engine’s driver: what it brought for which cipher',
  examine: ({ facts }) => {
    const runs = facts.results.sets
      .filter(({ tool }) => tool === 'cryptsetup benchmark')
      .flatMap((set) => set.runs.map((run) => ({ run, set })));
    if (runs.length !== 2) return [];
    const rate = (
      { run }: (typeof runs)[number],
      name: string,
    ): { value: number; line: number } | undefined => {
      const row = run.measurements.find(
        (one) => isTableRow({ row: one }, name, 'encrypt') && one.status === 'ok',
      );
      return row?.bytesPerSecond === undefined
        ? undefined
        : { value: row.bytesPerSecond, line: row.line ?? 0 };
    };
    const names = ['aes-cbc 128', 'aes-cbc 256', 'aes-xts 256', 'aes-xts 512', 'serpent-xts 256'];
    const both = names.flatMap((name) => {
      const [one, other] = [rate(runs[0]!, name), rate(runs[1]!, name)];
      return one && other ? [{ name, ratio: other.value / one.value, one, other }] : [];
    });
    const cbc = both.filter(({ name }) => name.startsWith('aes-cbc')).at(-1);
    const xts = both.find(({ name }) => name.startsWith('aes-xts'));
    const changed = both.filter(({ ratio }) => ratio > 1.3 || ratio < 0.77);
    if (changed.length === 0) return [];
    const faster = changed[0]!.ratio > 1;
    const shown = [cbc, xts].filter((row) => row !== undefined);
    const text = (shown.length > 0 ? shown : changed)
      .map(({ name, ratio }) => `${name.replace(' ', ' with ')} bits ${times(faster ? ratio : 1 / ratio)}`)
      .join(', ');
    const uneven = cbc && xts && Math.abs(Math.log(cbc.ratio)) > Math.abs(Math.log(xts.ratio)) * 1.3;
    return [
      {
        kind: 'fine',
        weight: 51.5,
        sureness: 'likely',
        verdict: `Of the two benchmarks one has an accelerator: it brings ${text}, in requests of 64 KiB`,
        details: [
          ...(uneven
            ? ['CBC gains more than XTS: of XTS the engine does only the block cipher, or nothing.']
            : []),
          'On a disk with sectors of 512 bytes most of it is lost again: requests are 128 times as many.',
        ],
        evidence: (shown.length > 0 ? shown : changed).slice(0, 2).map(
          ({ name, one, other }): Quote => ({
            source: runs[1]!.set.source,
            line: other.line,
            text: `${name}: ${megabytesPerSecond(one.value)} and ${megabytesPerSecond(other.value)}`,
          }),
        ),
        steps: [{ text: 'With larger sectors it stays', commands: ['hwcrypt benchmark --disk'] }],
      },
    ];
  },
};

const kcapi: Rule = {
  id: 'kcapi-speed',
  topic: 'benchmark',
  about:
    'kcapi-speed’s words: (G) is portable C, and a driver that it could not allocate is another machine’s',
  examine: ({ facts }) => {
    const absent = facts.messages.filter(({ code }) => code === 'KCAPI_NO_DRIVER');
    const out: Found[] = [];
    if (absent[0]) {
      out.push({
        kind: 'fine',
        weight: 38,
        sureness: 'certain',
        verdict: `${absent[0].subject ?? 'The driver'} is not on this machine; kcapi-speed has a list of drivers of all machines and tries those that were asked for`,
        details: [
          'Names in ssse3, avx or aesni are x86’s, those in ce or neon Arm’s. It is no fault of the kernel.',
        ],
        evidence: absent.slice(0, 2).map(({ quote }) => quote),
      });
    }
    const generic = [...measurements(facts.results.sets)].filter(
      ({ set, measurement }) => set.tool === 'kcapi-speed' && /^G$/.test(measurement.driverHint ?? ''),
    );
    if (generic[0]) {
      const { set, measurement } = generic[0];
      out.push({
        kind: 'fine',
        weight: 40,
        sureness: 'certain',
        verdict: `${measurement.algorithmText} was measured with the kernel’s portable C code: (G) stands for generic, no hardware is in it`,
        evidence: [{ source: set.source, line: measurement.line ?? 0, text: measurement.algorithmText }],
      });
    }
    return out;
  },
};

export const benchmarkRules: readonly Rule[] = [
  userTime,
  notEvp,
  worthIt,
  alone,
  overstated,
  suggests,
  beforeAfter,
  kcapi,
];
