/** A comparison as data: JSON as docs/json.md describes it, and CSV. Room `report`. */
import type {
  Fit,
  KdfComparison,
  Pair,
  Point,
  Series,
  SubjectComparison,
} from '../../bench/comparison/index.js';
import type { ResultSet, SkippedLine } from '../../bench/model.js';
import { csvLine } from '../../interop/index.js';
import { verdictText } from '../verdict.js';
import { comparisonNotes } from './notes.js';

/** Lines of a text that no importer could use. */
export interface Unread {
  readonly source: string;
  readonly lines: readonly SkippedLine[];
}

export function comparisonJson(
  found: readonly SubjectComparison[],
  sets: readonly ResultSet[],
  unread: readonly Unread[],
  kdfs: readonly KdfComparison[] = [],
): string {
  const value = {
    sources: sets.map(({ source, tool, toolVersion, measuredAt, machine }) => ({
      source,
      tool,
      toolVersion,
      measuredAt,
      machine,
    })),
    subjects: found.map(({ subject, baseline, apartFrom, series, fits, pairs }) => ({
      ...subject,
      baseline: baseline?.label,
      apartFrom: apartFrom?.label,
      series: series.map((own, i) => seriesData(own, fits[i]!)),
      pairs: pairs.map(pairData),
    })),
    kdfs: kdfs.map(({ rows, ...kdf }) => ({
      ...kdf,
      rows: rows.map(({ measurement: { doubts, ...own }, ...row }) => ({
        ...row,
        ...own,
        doubts: doubts.map(({ code }) => code),
      })),
    })),
    notes: comparisonNotes(found),
    unread,
  };
  return `${JSON.stringify(value, null, 2)}\n`;
}

function seriesData({ points, leftOut, ...series }: Series, fit: Fit): object {
  return {
    ...series,
    points: points.map(({ measurement: _, doubts, ...point }) => ({
      ...point,
      doubts: doubts.map(({ code }) => code),
    })),
    leftOut: leftOut.map(({ reason, measurement: { requestBytes, line } }) => ({
      reason,
      requestBytes,
      line,
    })),
    fit,
  };
}

function pairData(pair: Pair): object {
  return {
    other: pair.other.label,
    ratios: pair.ratios.map(({ baseline: _, other: __, ...ratio }) => ratio),
    crossover: pair.crossover,
    cpu: pair.cpu,
    verdict: verdictText(pair),
  };
}

const COLUMNS = [
  'algorithm',
  'operation',
  'key_bits',
  'request_bytes',
  'baseline',
  'other',
  'baseline_bytes_per_second',
  'other_bytes_per_second',
  'ratio',
  'claimed_ratio',
  'corrected_ratio',
  'outcome',
  'estimated',
  'baseline_cpu_ns_per_byte',
  'other_cpu_ns_per_byte',
  'baseline_doubts',
  'other_doubts',
];

/** A line for each ratio. RFC 4180, as `writeCsv`. */
export function comparisonCsv(found: readonly SubjectComparison[]): string {
  const codes = ({ doubts }: Point): string => doubts.map(({ code }) => code).join(' ');
  const cpu = ({ cpu: cost }: Point): number | undefined =>
    cost?.scope === 'user+system' ? cost.nsPerByte : undefined;
  const lines = found.flatMap(({ subject, pairs }) =>
    pairs.flatMap((pair) =>
      pair.ratios.map(({ requestBytes, baseline, other, ...at }) =>
        csvLine([
          subject.algorithm ?? subject.algorithmText,
          subject.operation,
          subject.keyBits,
          requestBytes,
          pair.baseline.label,
          pair.other.label,
          baseline.bytesPerSecond,
          other.bytesPerSecond,
          at.ratio,
          at.claimedRatio,
          at.correctedRatio,
          at.outcome,
          at.estimated,
          cpu(baseline),
          cpu(other),
          codes(baseline),
          codes(other),
        ]),
      ),
    ),
  );
  return `${[COLUMNS.join(','), ...lines].join('\r\n')}\r\n`;
}
